"""Methods of `scipy.stats` that dispatch on Tensors inside of `tapegrad.in_place_of_scipy`."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.stats import circular, counts, densities, skewed
from tapegrad.stats.generic.families import method_of
from tapegrad.stats.multivariate import elliptical, matrices, vectors

_METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_FREEZING = ("__call__", "freeze")
_OURS = {
    name: value
    for module in (circular, counts, densities, elliptical, matrices, skewed, vectors)
    for name, value in vars(module).items()
    if not isinstance(value, type) and any(hasattr(value, method) for method in _METHODS)
}
_OF_VECTORS = (
    "dirichlet",
    "matrix_normal",
    "multinomial",
    "multivariate_normal",
    "multivariate_t",
    "wishart",
)
inside: ContextVar[int] = ContextVar(
    "inside in_place_of_scipy", default=0
)  # how deep, in this thread or task


class Patches:
    """Patches of SciPy's methods that refuse Tensors, while a context is entered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: list[tuple[type, str, Any]] = []

    def add(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                for cls, name in _methods():
                    self._before.append((cls, name, vars(cls)[name]))
                    setattr(cls, name, _asking(vars(cls)[name], name))

    def remove(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                while self._before:
                    setattr(*self._before.pop())


patches = Patches()


def _methods() -> Iterator[tuple[type, str]]:
    """Yield the classes of SciPy's distributions, and the methods that each defines."""
    import scipy.stats

    generic = {cls for each in (scipy.stats.norm, scipy.stats.poisson) for cls in type(each).__mro__[1:-1]}
    for cls in (*generic, *(type(getattr(scipy.stats, name)) for name in _OF_VECTORS)):
        for name in (*_METHODS, *_FREEZING):
            if name in vars(cls):
                yield cls, name


def _asking(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a method that is ours where it gets a Tensor inside of `in_place_of_scipy`."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        given = (*args, *kwds.values())
        if not inside.get() or not any(is_tensor(value) or holds_tensors(value) for value in given):
            return original(self, *args, **kwds)
        frozen = _Frozen(self, args, kwds)
        return frozen if name in _FREEZING else frozen.method(name)()

    return method


class _Frozen:
    """A distribution with parameters that are Tensors.

    Parameters
    ----------
    distribution
        SciPy's.
    args, kwds
        What its methods take behind the variable.
    """

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = distribution, args, kwds

    def method(self, name: str) -> Callable[..., Any]:
        """Return our method of a name, which takes the variable before the parameters."""
        own = _OURS.get(_name_of(self.dist))
        found = getattr(own, name, None) or method_of(self.dist, name)
        if found is None:
            raise UnsupportedError(
                f"scipy.stats.{_name_of(self.dist)}.{name}: tapegrad.stats has no {'method' if own else 'distribution'}"
                " of this name that takes Tensors; write its logarithm with tapegrad's functions"
            )
        return lambda *x, **more: found(*x, *self.args, **self.kwds, **more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.method(name)


def _name_of(distribution: Any) -> str:
    """Return the name of a distribution in `scipy.stats`; empty for one of the user's."""
    import scipy.stats

    kind = type(distribution)
    name = getattr(distribution, "name", None) or kind.__name__.removesuffix("_gen")
    return name if type(getattr(scipy.stats, name, None)) is kind else kind.__name__
