"""Table of all stand-ins: for functions of the same name as ours, and for those of the files beside this one."""

import importlib
import math
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.foreign import StandIn, original
from tapegrad.frontend.numpy_face.numpy_protocols import CREATION, FUNCTIONS
from tapegrad.interop.in_place import distances, integrals, interpolators, matrices, scalars, solvers
from tapegrad.interop.in_place.stand_ins import (
    ConverterStandIn,
    CreationStandIn,
    FunctionStandIn,
    ScalarStandIn,
    SolverStandIn,
)

# Modules of SciPy whose functions of the same name as ours take the same arguments, but for those of `_different`.
# Those of `scipy.fft` take Tensors by a protocol.
_MODULES = ("special", "linalg", "interpolate", "integrate", "ndimage", "signal", "stats")
_OTHERS = ("optimize", "spatial", "spatial.distance", "sparse.linalg")
# Modules that keep no functions of SciPy's and NumPy's own.
PUBLIC = frozenset({"numpy", *(f"scipy.{name}" for name in (*_MODULES, *_OTHERS))})
_CONVERTERS = (
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require", "asarray_chkfinite",
)  # fmt: skip
# Functions that know Tensors by a protocol, but not lists of them.
_OF_LISTS = (
    "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "average", "cross", "cumprod", "cumsum", "diff", "dot",
    "inner", "max", "mean", "median", "min", "nanmax", "nanmean", "nanmin", "nansum", "outer", "prod", "ptp", "ravel",
    "sort", "std", "sum", "transpose", "var", "vdot",
)  # fmt: skip
_CREATION = (
    "zeros", "ones", "empty", "full", "eye", "identity", "zeros_like", "ones_like", "empty_like", "full_like",
)  # fmt: skip
_Table = dict[str, dict[str, Callable[..., Any]]]


def _different() -> _Table:
    return {
        "linalg": matrices.functions(),
        "interpolate": interpolators.FUNCTIONS,
        "integrate": integrals.FUNCTIONS,
        "spatial.distance": distances.functions(),
        "sparse.linalg": {"spsolve": linalg.spsolve},
        "spatial": {"distance_matrix": lambda x, y, p=2: linalg.cdist(x, y, "minkowski", p=p)},
    }


_SOLVERS: _Table = {"integrate": integrals.SOLVERS, "optimize": solvers.SOLVERS}


@lru_cache(1)
def stand_ins() -> tuple[StandIn, ...]:
    """Return all stand-ins; this imports the modules of SciPy that they are of."""
    known: dict[int, StandIn] = {
        id(function := getattr(math, name)): ScalarStandIn(f"math.{name}", function, ours)
        for name, ours in scalars.FUNCTIONS.items()
    }
    for kind, name, theirs, ours in _of_scipy():
        known.setdefault(id(theirs), kind(name, theirs, ours))
    known.update({id(each.__wrapped__): each for each in _of_numpy()})
    return tuple(known.values())


def _of_numpy() -> Iterator[FunctionStandIn]:
    ours = {**FUNCTIONS, **CREATION}
    for kind, names in ((ConverterStandIn, (*_CONVERTERS, *_OF_LISTS)), (CreationStandIn, _CREATION)):
        yield from (kind(f"numpy.{name}", getattr(np, name), ours[name]) for name in names)


def _of_scipy() -> Iterator[tuple[type[FunctionStandIn], str, Any, Callable[..., Any]]]:
    """Yield kinds, names, and functions of SciPy with ours."""
    for kind, tables in ((SolverStandIn, _SOLVERS), (FunctionStandIn, _different())):
        for module, functions in tables.items():
            theirs = vars(importlib.import_module(f"scipy.{module}"))
            for name in sorted(functions.keys() & theirs.keys()):
                yield kind, f"scipy.{module}.{name}", original(theirs[name]), functions[name]
    for module in _MODULES:
        ours = vars(importlib.import_module(f"tapegrad.{module}"))
        theirs = vars(importlib.import_module(f"scipy.{module}"))
        for name in sorted(ours.keys() & theirs["__all__"]):
            kinds = types.FunctionType if module == "stats" else types.FunctionType | type
            if isinstance(function := original(theirs[name]), kinds) and name != "LinAlgError":
                yield FunctionStandIn, f"scipy.{module}.{name}", function, ours[name]
