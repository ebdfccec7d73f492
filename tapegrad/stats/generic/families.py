"""Families of distributions that SciPy or a user defines: their public methods, with Tensors.

SciPy's methods select the elements inside of the support, and compute a private method of those. Here the private
method, copied for Tensors, is computed of all elements, those outside replaced by a point inside of the support; the
result outside is a constant.
"""

import functools
import math
from typing import Any

import numpy as np

from tapegrad.errors import LostGradientWarning, TracedValueError, UnsupportedError
from tapegrad.frontend.conversions.guarded_results import call_guarded, is_computed, is_recording
from tapegrad.frontend.tensor.modes import thread, watch_now
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.stats.continuous import ContinuousMethods
from tapegrad.stats.discrete import DiscreteMethods
from tapegrad.stats.distribution import DESCRIBED, Function
from tapegrad.stats.functions import log
from tapegrad.stats.generic.code import Copies
from tapegrad.stats.generic.elements import (
    ResultForm,
    constant,
    inner_point,
    less_plain,
    plain,
    select,
    with_infinite_derivative,
)
from tapegrad.stats.generic.own_methods import METHODS, NUMERICAL, Parametrised, own_methods
from tapegrad.stats.generic.substitutes import has_tensors, where
from tapegrad.stats.parameters import parse, variable

# Shape parameters at which SciPy computes a limit by a formula without them: their numbers, values and radii.
_LIMITS: dict[str, tuple[tuple[int, float, float], ...]] = {
    "kappa4": ((0, 0.0, 0.0), (1, 0.0, 0.0)), "pearson3": ((0, 0.0, 1.6e-5),), "tukeylambda": ((0, 0.0, 0.0),),
    "ncx2": ((1, 0.0, 0.0),), "triang": ((0, 0.0, 0.0), (0, 1.0, 0.0)),
}  # fmt: skip
_QUIET = np.errstate(all="ignore")  # of elements that are selected against


class _Family:
    """A family of distributions of `scipy.stats`, or of a user's subclass.

    Parameters
    ----------
    distribution
        SciPy's instance.
    """

    _places: tuple[str, ...] = ("loc", "scale")

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution

    def __repr__(self) -> str:
        return f"<tapegrad.stats.from_scipy({self.name})>"

    @property
    def name(self) -> str:
        """Its name, in messages."""
        return getattr(self.distribution, "name", None) or type(self.distribution).__name__

    @property
    def function(self) -> Any:
        """The distribution, if a user's, for replays: they look for changes of what its methods see."""
        return None if _is_scipys(self.distribution) else self.distribution

    def _full(self, method: str) -> str:
        return f"tapegrad.stats.{self.name}.{method}"

    def _variable(self, x: Any, method: str) -> Any:
        return variable(x, self._full(method))

    def _arguments(
        self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any]
    ) -> tuple[ResultForm, list[Any]]:
        """Return the form of the result, and variable and parameters of its elements."""
        names = (*(self.distribution.shapes or "").replace(",", " ").split(), *self._places)
        values = [self._variable(x, method), *parse(self._full(method), names, args, kwds)]
        values += [1.0] * (self._places == ("loc",))  # the scale
        form = ResultForm(values)
        return form, [form.of(value) for value in values]

    @_QUIET
    def _probability(
        self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any], ends: tuple[float, float]
    ) -> Tensor:
        """Compute a private method inside of the support, and the values `ends` below and above it."""
        form, (x, *shapes, loc, scale) = self._arguments(method, x, args, kwds)
        copy, z = _copy_of(self), self._standard(x, loc, scale)
        low, high = _ask(copy, "get_support", *shapes)
        inside = self._inside(copy, method, z, shapes, low, high)
        value = self._call(copy, method, select(inside, z, self._inner(low, high)), shapes)
        outside = ends[0] if ends[0] == ends[1] else where(z >= high, ends[1], ends[0])
        value = select(inside, self._scaled(method, value, scale), outside)
        return form.whole(_valid(copy, value, z, shapes, scale))

    def _density(self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Tensor:
        outside = 0.0 if method in ("pdf", "pmf") else -math.inf
        return self._probability(method, x, args, kwds, (outside, outside))

    def _call(self, copy: Any, method: str, z: Any, shapes: list[Any]) -> Any:
        """Call a private method; its derivative is infinite by parameters that SciPy's limits leave out."""
        try:
            value = _computed(copy, method, z, shapes)
        except (UnsupportedError, LostGradientWarning, TypeError) as error:
            kind = type(self.distribution)
            reason = str(error).splitlines()[0].split("; ")[0].split(". To ")[0].split(": call ")[0]
            refusal = UnsupportedError(
                f"{self._full(method)} runs {kind.__module__}.{kind.__name__}._{method}, which does not take Tensors:"
                f" {reason}. Write the method with functions of tapegrad and tapegrad.special, or make the parameter a"
                " number"
            )
            # A transform raises the cause of an error in its place, if a Tensor was asked for its value.
            raise refusal from None if isinstance(error, TracedValueError) else error
        for number, limit, radius in _LIMITS.get(self.name, ()) if _is_scipys(self.distribution) else ():
            value = with_infinite_derivative(value, shapes[number], limit, radius)
        return value

    # --- what continuous and discrete ones do differently ----------------------------------------------------------

    _standard: Function
    _inside: Function
    _inner: Function
    _scaled: Function


def _is_scipys(distribution: Any) -> bool:
    return type(distribution).__module__.startswith("scipy.stats.")


def _ask(copy: Any, method: str, *args: Any) -> Any:
    """Call a private method; a conversion of a Tensor to a number, which loses its gradient, raises."""
    before, thread.refuses_numbers = thread.refuses_numbers, True
    try:
        return getattr(copy, f"_{method}")(*args)
    finally:
        thread.refuses_numbers = before


def _computed(copy: Any, method: str, z: Any, shapes: list[Any]) -> Any:
    """Call a private method; again with arguments of one shape if it has to index all of them alike."""
    try:
        return _ask(copy, method, z, *shapes)
    except (IndexError, ValueError):
        return _ask(copy, method, *np.broadcast_arrays(z, *shapes))


def _valid(copy: Any, value: Any, z: Any, shapes: list[Any], scale: Any) -> Any:
    """Return a value; nan where a parameter is outside of its domain, or the variable is nan."""
    for condition in (_ask(copy, "argcheck", *shapes), scale > 0, z == z):
        value = select(condition, value, copy.badvalue)
    return value


class GenericContinuous(_Family, ContinuousMethods):
    """A family of continuous distributions of `scipy.stats`, or of a user's subclass of `rv_continuous`."""

    @like(
        ContinuousMethods.ppf,
        ("the inverse of `cdf`", "the inverse of `sf`"),
        raises="",
        examples=">>> tg.stats.lomax.isf(0.25, 2.0)\nTensor(1.)",
    )
    def isf(self, q: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._quantile("isf", q, args, kwds)

    def _standard(self, x: Any, loc: Any, scale: Any) -> Any:
        return less_plain(x, loc) / scale

    def _inside(self, copy: Any, method: str, z: Any, shapes: list[Any], low: Any, high: Any) -> Any:
        is_density = method in ("pdf", "logpdf")
        return _ask(copy, "support_mask", z, *shapes) if is_density else (low < z) & (z < high)

    _inner = staticmethod(inner_point)

    def _scaled(self, method: str, value: Any, scale: Any) -> Any:
        if method == "logpdf":
            return value - (log(scale) if is_tensor(scale) else np.log(scale))
        return value / scale if method == "pdf" else value

    @_QUIET
    def _quantile(self, method: str, q: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Tensor:
        form, (q, *shapes, loc, scale) = self._arguments(method, q, args, kwds)
        copy, inside = _copy_of(self), (q > 0) & (q < 1)
        share = select(inside, q, 0.5)
        try:
            value = self._call(copy, method, share, shapes)
        except UnsupportedError as error:
            value = self._implicit(copy, method, share, shapes, error)
        ends = _ask(copy, "get_support", *shapes)[:: 1 if method == "ppf" else -1]
        value = select(inside, value, where(q == 0, ends[0], where(q == 1, ends[1], math.nan))) * scale + loc
        return form.whole(_valid(copy, value, q, shapes, scale))

    def _implicit(self, copy: Any, method: str, q: Any, shapes: list[Any], error: Exception) -> Any:
        """Return SciPy's quantiles, with the derivatives of two steps of Newton's method from there.

        Each step doubles the order that is right, as it does with digits: derivatives up to the third are.
        """
        if is_recording() and any(is_computed(value) for value in (q, *shapes)):
            raise UnsupportedError(
                f"{self._full(method)} calls SciPy to find quantiles, which a replay does not: call it outside of jit"
            ) from error
        value = start = call_guarded(getattr(self.distribution, method), q, *shapes)
        share, sign = ("cdf", 1.0) if method == "ppf" else ("sf", -1.0)
        for _ in range(2):
            residual = self._call(copy, share, value, shapes) - q
            value = value - sign * residual / self._call(copy, "pdf", value, shapes)
        return start + (value - plain(value))


class GenericDiscrete(_Family, DiscreteMethods):
    """A family of discrete distributions of `scipy.stats`, or of a user's subclass of `rv_discrete`."""

    _places = ("loc",)

    def _variable(self, x: Any, method: str) -> Any:
        """Return numbers as an array, unless a replay computes them: they say how many terms a sum has."""
        if has_tensors(x):
            return constant(super()._variable(x, method))
        array = np.asarray(x)
        watch_now(array)
        return array.astype(float)

    def _standard(self, x: Any, loc: Any, scale: Any) -> Any:
        return plain(less_plain(x, loc))

    def _inside(self, copy: Any, method: str, z: Any, shapes: list[Any], low: Any, high: Any) -> Any:
        if method not in ("pmf", "logpmf"):
            return (low <= z) & (z < high)
        is_sample = hasattr(self.distribution, "xk")  # whose numbers need not be whole
        return _ask(copy, "support_mask", z, *shapes) & (is_sample or _ask(copy, "nonzero", z, *shapes))

    def _inner(self, low: Any, high: Any) -> Any:
        return where(low > -math.inf, low, where(high < math.inf, high, math.nan))

    def _scaled(self, method: str, value: Any, scale: Any) -> Any:
        """Clip a probability to [0, 1]; one that roundings alone carried out of there keeps its derivative."""
        if method not in ("pmf", "cdf", "sf"):
            return value
        near = np.clip(plain(value), 0.0, 1.0)
        rounded = value + (near - plain(value))
        return select(np.abs(plain(value) - near) < 1e-9, rounded, np.clip(value, 0.0, 1.0))


# --- doors -----------------------------------------------------------------------------------------------------------


@functools.cache
def _copies() -> Copies:
    return Copies(_standing_for, own_methods())


def _copy_of(family: Any) -> Any:
    """Return a distribution with the attributes that SciPy's has now, and copied methods."""
    kind = _copies().class_of(type(family.distribution))
    copy: Any = object.__new__(kind)
    state = {name: _standing_for(value) for name, value in vars(family.distribution).items()}
    vars(copy).update({**state, "_family": family, **NUMERICAL})
    return copy


def _standing_for(value: Any) -> Any:
    """Return what stands for a distribution of SciPy, frozen or not, in copied code; any other value unchanged."""
    from scipy.stats.distributions import rv_frozen

    if isinstance(value, rv_frozen):
        return Parametrised(family_of(value.dist), *value.args, **value.kwds)
    family = family_of(value)
    return value if family is None else _copy_of(family)


def family_of(distribution: Any) -> GenericContinuous | GenericDiscrete | None:
    """Return the family of a distribution; `None` for any other value."""
    from scipy.stats import rv_continuous, rv_discrete

    if isinstance(distribution, rv_continuous):
        return GenericContinuous(distribution)
    return GenericDiscrete(distribution) if isinstance(distribution, rv_discrete) else None


def method_of(distribution: Any, name: str) -> Function | None:
    """Return a public method of a distribution, with Tensors; `None` if there is none."""
    return getattr(family_of(distribution), name, None) if name in METHODS else None


def from_scipy(distribution: Any) -> Any:
    """Return a distribution with the methods of `tapegrad.stats`, computed by the code of one of SciPy or a user.

    Parameters
    ----------
    distribution : scipy.stats.rv_continuous or scipy.stats.rv_discrete
        An instance, of a class of SciPy or of a subclass. Its private methods (``_logpdf``, ``_pdf``, ``_cdf``,
        ``_pmf``, ...) run with Tensors: written in NumPy and `scipy.special`, they stay as they are.

    Returns
    -------
    GenericContinuous or GenericDiscrete
        Its methods raise `UnsupportedError` where a private method integrates numerically, or calls compiled code. For
        a distribution of SciPy that `tapegrad.stats` describes by formulas of its own, that one is returned.

    Raises
    ------
    TypeError
        If it is no such instance.

    Examples
    --------
    >>> import numpy as np, scipy.stats, tapegrad as tg
    >>> class Ramp(scipy.stats.rv_continuous):
    ...     def _pdf(self, x, slope):
    ...         return 1 + slope * (x - 0.5)
    >>> ramp = tg.stats.from_scipy(Ramp(a=0.0, b=1.0, name="ramp"))
    >>> tg.grad(lambda slope: np.sum(ramp.logpdf([0.25, 1.5], slope)))(0.5)
    -0.2857142857142857
    """
    family = family_of(distribution)
    if family is None:
        raise TypeError(
            "from_scipy takes an instance of scipy.stats.rv_continuous or rv_discrete, such as scipy.stats.lomax, not"
            f" {type(distribution).__name__}; parameters are arguments of its methods"
        )
    return DESCRIBED.get(family.name, family) if _is_scipys(distribution) else family
