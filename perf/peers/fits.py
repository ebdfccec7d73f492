"""Residuals of NIST's regressions and their Jacobians, as functions that SciPy can call: NumPy in and out."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from perf.peers.base import Peer, jax, load, table, tapegrad
from perf.workloads import Array

Functions = tuple[Callable[[Array], Array], Callable[[Array], Array]]


def _tapegrad(problem: Any) -> Functions:
    both = tapegrad().optimize.residuals(problem.residuals, problem.starts[0])
    return both.fun, both.jac


def _residuals(problem: Any, namespace: Any) -> Callable[[Any], Any]:
    """Return the problem's residuals with another NumPy: its models use no other name of their module."""
    model = FunctionType(problem.model.__code__, {"np": namespace})
    return lambda b: model(b, problem.x) - problem.response


def _jax(problem: Any) -> Functions:
    library, function = jax(), _residuals(problem, load("jax.numpy"))
    residuals, jacobian = library.jit(function), library.jit(library.jacfwd(function))
    return lambda b: np.asarray(residuals(b)), lambda b: np.asarray(jacobian(b))


def _autograd(problem: Any) -> Functions:
    function = _residuals(problem, load("autograd.numpy"))
    return function, load("autograd").jacobian(function)


# Each prepares the two functions of a problem.
FUNCTIONS = table(
    Peer("tapegrad replay", "tapegrad", _tapegrad),
    Peer("JAX jit, NumPy in and out", "jax", _jax),
    Peer("HIPS autograd", "autograd", _autograd),
)
