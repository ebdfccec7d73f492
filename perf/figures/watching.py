"""Cost of comparing captured state before a replay."""

import sys
import types
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.workloads import WORKLOADS, Array, rosenbrock
from tapegrad.testing.timer import Contender, race

ITEMS = 1_000
_LINKS = 50  # helper functions, each with a variable of its own
_SIZE = 10
_X = np.random.default_rng(0).uniform(-1.0, 1.0, _SIZE)
_UNRELATED, _ITEM = 0.1e-6, 10e-9


class Model:
    """Model with the Rosenbrock function as a method, and other attributes."""

    parts: Any
    converted: Any

    def __init__(self, **attributes: Any) -> None:
        self.weight, self.xp = 1.0, tapegrad()
        vars(self).update(attributes)

    def loss(self, x: Any) -> Any:
        return self.weight * rosenbrock(self.xp, x)

    def loss_of_converted(self, x: Any) -> Any:
        return np.asarray(self.converted)[0] * rosenbrock(self.xp, x)

    def loss_of_parts(self, x: Any) -> Any:
        return self.parts[0] * rosenbrock(self.xp, x)


class Converted:
    """Object of an installed package that NumPy converts; it stands for those of torch and others."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._array


_PACKAGE = types.ModuleType("perf_installed")
_PACKAGE.__file__ = "/lib/site-packages/perf_installed.py"
sys.modules[_PACKAGE.__name__] = _PACKAGE
Converted.__module__ = _PACKAGE.__name__


class _Cell:
    """An object with attributes."""

    def __init__(self, k: int) -> None:
        self.k, self.array, self.above = k, np.ones(3), types.SimpleNamespace(k=k)


def _compiled() -> Any:
    kernel = import_module("numba").njit(lambda x: 2 * x.sum())
    kernel(_X)
    return kernel


def _of_functions() -> Callable[..., Any]:
    """Return the function behind a chain of helpers, in a module of its own."""
    names: dict[str, Any] = {"rosenbrock": partial(rosenbrock, tapegrad()), "f0": lambda x: x}
    for k in range(1, _LINKS):
        names[f"k{k}"] = 1.0
        exec(f"def f{k}(x): return f{k - 1}(x) if k{k} else x", names)
    exec(f"def loss(x): return rosenbrock(f{_LINKS - 1}(x))", names)
    loss: Callable[..., Any] = names["loss"]
    return loss


def _of_classes() -> Callable[..., Any]:
    """Return a method at the end of a line of classes, each with methods of its own."""
    cls: type = Model
    for k in range(12):
        cls = type(f"Model{k}", (cls,), {f"method_{j}": lambda self: self for j in range(10)})
    made: Callable[..., Any] = cls().loss
    return made


def _unrelated() -> dict[str, Callable[..., Any]]:
    """Return objects that no code of the function names."""
    objects = [_Cell(k) for k in range(100)]
    return {
        "an object": Model().loss,
        "an unused @njit function": Model(kernel=_compiled()).loss,
        f"an unused dict of {ITEMS:,} tuples": Model(table={k: (k, [k]) for k in range(ITEMS)}).loss,
        "unused objects, arrays and modules": Model(objects=objects, numpy=np, array=Converted(_X)).loss,
        "twelve classes of ten methods": _of_classes(),
    }


def _related() -> dict[str, tuple[int, Callable[..., Any]]]:
    """Return objects that the function names, and of how many items they consist."""
    numbers = [1.0, *map(float, range(1, ITEMS))]
    return {
        f"a tuple of {ITEMS:,} floats": (ITEMS, Model(parts=tuple(numbers)).loss_of_parts),
        f"a list of {ITEMS:,} floats": (ITEMS, Model(parts=numbers).loss_of_parts),
        f"a dict of {ITEMS:,} floats": (ITEMS, Model(parts=dict(enumerate(numbers))).loss_of_parts),
        "an object with __array__": (100, Model(converted=Converted(np.ones(100))).loss_of_converted),
        f"{2 * _LINKS} variables and {_LINKS} functions": (3 * _LINKS, _of_functions()),
    }


def _contender(name: str, function: Callable[..., Any]) -> Contender:
    library = tapegrad()
    return Contender(name, partial(library.value_and_grad(library.jit(function, fuse=True)), _X))


def measure(settings: Settings) -> Outcome:
    """Measure how much longer a gradient takes than that of a function without captured state."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    unrelated, related = _unrelated(), _related()
    functions: dict[str, Callable[..., Any]] = {"nothing": partial(rosenbrock, tapegrad())}
    functions |= unrelated | {name: function for name, (_, function) in related.items()}
    answer = WORKLOADS["rosenbrock"].reference(_X)
    timings = race([_contender(*each) for each in functions.items()], answer, settings.budget)
    more = {timing.name: timing.median - timings[0].median for timing in timings}
    targets = [Target(f"{name}: more than nothing", more[name], _UNRELATED, "s") for name in unrelated]
    targets += [
        Target(f"{name}: an item", more[name] / count, _ITEM, "s") for name, (count, _) in related.items()
    ]
    return Outcome(targets, timings)


WATCHING = (
    Figure("watching", "What a replay compares beside its arguments: a gradient of ten elements", measure),
)
