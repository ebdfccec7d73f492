"""All stand-ins: for functions of the same name as ours, and for those of the tables beside this file."""

import importlib
import math
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.foreign import StandIn, original
from tapegrad.interop.in_place import distances, integrals, interpolators, matrices, scalars, solvers
from tapegrad.interop.in_place.stand_ins import FunctionStandIn, ScalarStandIn, SolverStandIn

# Modules of SciPy whose functions of the same name as ours take the same arguments, but for those of `_different`
_MODULES = ("special", "linalg", "interpolate", "integrate", "ndimage", "signal", "fft", "stats")
_Table = dict[str, dict[str, Callable[..., Any]]]


def _different() -> _Table:
    return {
        "linalg": matrices.functions(),
        "interpolate": interpolators.FUNCTIONS,
        "integrate": integrals.FUNCTIONS,
        "spatial.distance": distances.FUNCTIONS,
        "spatial": {"distance_matrix": distances.distance_matrix},
        "sparse.linalg": {"spsolve": linalg.spsolve},
    }


_SOLVERS: _Table = {"integrate": integrals.SOLVERS, "optimize": solvers.SOLVERS}


@lru_cache(1)
def stand_ins() -> tuple[StandIn, ...]:
    """Return all stand-ins; this imports the modules of SciPy that they are of."""
    known = {
        id(function := getattr(math, name)): ScalarStandIn(function, ours)
        for name, ours in scalars.FUNCTIONS.items()
        if hasattr(math, name)
    }
    for kind, name, theirs, ours in _of_scipy():
        known.setdefault(id(theirs), kind(name, theirs, ours))  # type: ignore[arg-type]
    return tuple(known.values())


def _of_scipy() -> Iterator[tuple[type[FunctionStandIn], str, Any, Callable[..., Any]]]:
    """Yield kinds, names, and functions of SciPy with ours."""
    for kind, tables in ((SolverStandIn, _SOLVERS), (FunctionStandIn, _different())):
        for module, functions in tables.items():
            theirs = vars(importlib.import_module(f"scipy.{module}"))
            for name in functions.keys() & theirs.keys():
                yield kind, f"scipy.{module}.{name}", original(theirs[name]), functions[name]
    for module in _MODULES:
        ours = vars(importlib.import_module(f"tapegrad.{module}"))
        theirs = vars(importlib.import_module(f"scipy.{module}"))
        for name in ours.keys() & theirs["__all__"]:
            if _is_replaced(module, function := original(theirs[name])):
                yield FunctionStandIn, f"scipy.{module}.{name}", function, ours[name]


def _is_replaced(module: str, function: Any) -> bool:
    """Return whether a function, or a class, does not take Tensors itself."""
    if getattr(function, "__name__", "").endswith("fftfreq"):
        return False  # of a count
    if module == "stats" or not callable(function):
        return isinstance(function, types.FunctionType)
    takes_them = isinstance(function, np.ufunc) or type(function) is type(np.sinc)
    return not (takes_them or (isinstance(function, type) and issubclass(function, Exception)))
