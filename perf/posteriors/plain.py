"""The words of the models in NumPy, for real and complex numbers: the oracle of tapegrad's derivatives.

The complex step: Squire and Trapp (1998), "Using complex variables to estimate derivatives of real functions".
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from perf.posteriors.model import Model

STEP, TOLERANCE = 1e-30, 1e-8
_SAME = "exp", "log", "log1p", "sqrt", "sum", "cumsum", "concatenate", "reshape", "stack"


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _logaddexp(a: Any, b: Any) -> Any:
    larger = np.where(np.real(a) > np.real(b), a, b)
    return larger + np.log1p(np.exp(a + b - 2 * larger))


def _scan(step: Callable[..., Any], carry: Any, rows: Any) -> tuple[Any, Any]:
    found = []
    for row in rows:
        carry, result = step(carry, row)
        found.append(result)
    return carry, np.array(found)


def _cholesky(matrix: Any) -> Any:
    """Return the lower factor of a symmetric matrix, of which NumPy would take the conjugate."""
    factor = np.zeros_like(matrix)
    for j in range(len(matrix)):
        rest = matrix[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = rest / np.sqrt(rest[0])
    return factor


def _solve(rates: Any, span: Any, first: Any, *rest: Any, max_steps: int, **options: Any) -> Any:
    """Solve as SciPy does, which knows no bound of the number of steps."""
    return solve_ivp(rates, span, np.asarray(first, complex), *rest, **options)


PLAIN = SimpleNamespace(
    **{name: getattr(np, name) for name in _SAME},
    sigmoid=_sigmoid,
    logaddexp=_logaddexp,
    scan=_scan,
    linalg=SimpleNamespace(cholesky=_cholesky),
    integrate=SimpleNamespace(solve_ivp=_solve),
)


def value_and_gradient(model: Model, vector: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a log density and its gradient by the complex step."""
    moved = vector + 1j * STEP * np.eye(len(vector))
    values = [model.log_density(PLAIN, model.split(each)) for each in moved]
    return float(values[0].real), np.array([each.imag for each in values]) / STEP


def check(model: Model, points: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> None:
    """Refuse log densities and gradients of rows of points that are not those by the complex step."""
    for point, value, gradient in zip(points, values, gradients, strict=True):
        wanted, slope = value_and_gradient(model, point)
        errors = abs(value - wanted) / abs(wanted), np.max(np.abs(gradient - slope)) / np.max(np.abs(slope))
        if not max(errors) <= TOLERANCE:
            raise ArithmeticError(f"log density and gradient are off by {errors[0]:.1e} and {errors[1]:.1e}")
