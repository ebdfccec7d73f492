"""All stand-ins: for functions of the same name as ours, and for those of the tables beside this file."""

import importlib
import math
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tapegrad import integrate, linalg
from tapegrad.foreign import StandIn, original
from tapegrad.interop.in_place import distances, integrals, interpolators, matrices, scalars, solvers
from tapegrad.interop.in_place.stand_ins import FunctionStandIn, ScalarStandIn, SolverStandIn

# Modules of SciPy whose functions of the same name as ours take the same arguments, but for those of `_DIFFERENT`
_MODULES = ("special", "linalg", "interpolate", "integrate", "ndimage", "signal", "fft", "stats")
_DIFFERENT: dict[str, dict[str, Callable[..., Any]]] = {
    "linalg": matrices.FUNCTIONS,
    "interpolate": interpolators.FUNCTIONS,
    "integrate": integrals.FUNCTIONS,
    "spatial.distance": distances.FUNCTIONS,
    "spatial": {"distance_matrix": distances.distance_matrix},
    "sparse.linalg": {"spsolve": linalg.spsolve},
}
_SOLVERS: dict[str, dict[str, Callable[..., Any]]] = {
    "integrate": {
        "quad": integrate.quad, "solve_ivp": integrate.solve_ivp, "odeint": integrate.odeint, **integrals.SOLVERS,
    },
    "optimize": solvers.SOLVERS,
}  # fmt: skip
PUBLIC = frozenset(f"scipy.{name}" for name in (*_MODULES, *_DIFFERENT, *_SOLVERS))


@lru_cache(1)
def stand_ins() -> tuple[StandIn, ...]:
    """Return all stand-ins; this imports the modules of SciPy that they are of."""
    of_math = [
        ScalarStandIn(getattr(math, name), ours)
        for name, ours in scalars.FUNCTIONS.items()
        if hasattr(math, name)
    ]
    return (*of_math, *_of_scipy())


def _of_scipy() -> Iterator[StandIn]:
    known: set[int] = set()
    for kind, name, theirs, ours in _pairs():
        if id(theirs) not in known:  # several names of one function
            known.add(id(theirs))
            yield kind(name, theirs, ours)


def _pairs() -> Iterator[tuple[type[FunctionStandIn], str, Any, Callable[..., Any]]]:
    """Yield kinds, names, and functions of SciPy with ours."""
    for kind, tables in ((SolverStandIn, _SOLVERS), (FunctionStandIn, _DIFFERENT)):
        for module, functions in tables.items():
            theirs = vars(importlib.import_module(f"scipy.{module}"))
            for name in functions.keys() & theirs.keys():
                yield kind, f"scipy.{module}.{name}", original(theirs[name]), functions[name]
    for module in _MODULES:
        ours, theirs = (
            vars(importlib.import_module(f"{package}.{module}")) for package in ("tapegrad", "scipy")
        )
        for name in theirs["__all__"]:
            if name in ours and _is_replaced(module, function := original(theirs[name])):
                yield FunctionStandIn, f"scipy.{module}.{name}", function, ours[name]


def _is_replaced(module: str, function: Any) -> bool:
    """Return whether a function, or a class, does not take Tensors itself."""
    if getattr(function, "__name__", "").endswith("fftfreq"):
        return False  # of a count
    if module == "stats" or not callable(function):
        return isinstance(function, types.FunctionType)
    takes_them = isinstance(function, np.ufunc) or type(function) is type(np.sinc)
    return not (takes_them or (isinstance(function, type) and issubclass(function, Exception)))
