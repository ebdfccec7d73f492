"""COMPILED FUNCTIONS ELSEWHERE: in functions of Numba's, behind C pointers, in other packages.

In reading order:

    numba_type                     compiled functions as arguments and globals of Numba's functions
    numba_call                     their calls in there
    signatures, assignment         C signatures; which argument each of their parameters is
    thunk, c_function              C functions that call compiled ones, and pointers to them
    packages                       other packages, and functions as they take them
    nutpie_model, log_probability  log densities for nutpie; for emcee
    minuit, nlopt_objective        functions with gradients for iminuit and NLopt
    scipy_callable                 functions for SciPy's integration
    right_hand_side                differential equations, for SciPy and numbalsoda
    jax_function                   functions for JAX and blackjax

It imports the rooms up to `optimize`.
"""

from typing import Any

from tapegrad.interop.c_function import CFunction as CFunction
from tapegrad.interop.c_function import cfunc
from tapegrad.interop.jax_function import jax as jax
from tapegrad.interop.log_probability import emcee as emcee
from tapegrad.interop.minuit import iminuit as iminuit
from tapegrad.interop.nlopt_objective import nlopt as nlopt
from tapegrad.interop.nutpie_model import nutpie as nutpie
from tapegrad.interop.right_hand_side import ode as ode
from tapegrad.interop.scipy_callable import scipy as scipy
from tapegrad.transforms.compiled import Compiled


def _numba_type(compiled: Compiled) -> Any:
    """The type of a compiled function, for Numba, which asks for it; what that needs is imported then."""
    from tapegrad.interop import numba_call, numba_type  # noqa: F401, PLC0415  slow to import

    return numba_type.type_of(compiled)


Compiled._numba_type_ = property(_numba_type)
Compiled.cfunc = cfunc
