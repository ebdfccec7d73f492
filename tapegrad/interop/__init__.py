"""COMPILED FUNCTIONS ELSEWHERE: in functions of Numba's, behind C pointers, in other packages.

Functions for other packages: `nutpie` and `emcee` (log densities for samplers), `iminuit`, `nlopt` and `lmfit`
(objectives), `ceres` and `gtsam` (residuals), `pyomo` (grey-box models), `pymc` and `pytensor` (models and graphs),
`ode` (differential equations), `scipy` (integrals), `jax` and `torch`.

In reading order; each imports only those above it:

    numba_type                     compiled functions as arguments and globals of Numba's functions
    numba_call                     their calls in there
    packages                       other packages, and functions as they take them
    frameworks                     functions for JAX and PyTorch
    minimizers                     functions for iminuit, NLopt, lmfit, Ceres, GTSAM and Pyomo
    scipy_callable                 functions for SciPy's integration
    signatures                     C signatures
    assignment                     which argument each of their parameters is
    thunk                          C functions that call a compiled function
    c_function                     `Compiled.cfunc`
    pytensor_graphs                graphs of PyTensor's
    samplers                       log densities for nutpie and emcee, models of PyMC's
    right_hand_side                differential equations, for SciPy and numbalsoda
    in_place                       code written with SciPy and `math`: functions that stand under their names

It imports the rooms up to `optimize`.
"""

from typing import Any

from tapegrad.interop.c_function import CFunction as CFunction
from tapegrad.interop.c_function import cfunc
from tapegrad.interop.frameworks import jax as jax
from tapegrad.interop.frameworks import torch as torch
from tapegrad.interop.minimizers import ceres as ceres
from tapegrad.interop.minimizers import gtsam as gtsam
from tapegrad.interop.minimizers import iminuit as iminuit
from tapegrad.interop.minimizers import lmfit as lmfit
from tapegrad.interop.minimizers import nlopt as nlopt
from tapegrad.interop.minimizers import pyomo as pyomo
from tapegrad.interop.pytensor_graphs import pytensor as pytensor
from tapegrad.interop.pytensor_graphs import pytensor_op as pytensor_op
from tapegrad.interop.pytensor_graphs import register_pytensor as register_pytensor
from tapegrad.interop.pytensor_graphs import tapegrad_funcify as tapegrad_funcify
from tapegrad.interop.right_hand_side import ode as ode
from tapegrad.interop.samplers import LogProbability as LogProbability
from tapegrad.interop.samplers import emcee as emcee
from tapegrad.interop.samplers import nutpie as nutpie
from tapegrad.interop.samplers import pymc as pymc
from tapegrad.interop.samplers import register_nutpie as register_nutpie
from tapegrad.interop.scipy_callable import scipy as scipy
from tapegrad.transforms.compiled.compiled import Compiled

__all__ = [
    "CFunction",
    "LogProbability",
    "ceres",
    "emcee",
    "gtsam",
    "iminuit",
    "jax",
    "lmfit",
    "nlopt",
    "nutpie",
    "ode",
    "pymc",
    "pyomo",
    "pytensor",
    "pytensor_op",
    "register_nutpie",
    "register_pytensor",
    "scipy",
    "tapegrad_funcify",
    "torch",
]


def _numba_type(compiled: Compiled) -> Any:
    """Return Numba's type of a compiled function; its modules are imported on this first call."""
    from tapegrad.interop import numba_call, numba_type  # noqa: F401, PLC0415  slow to import

    return numba_type.type_of(compiled)


Compiled._numba_type_ = property(_numba_type)
Compiled.cfunc = cfunc
