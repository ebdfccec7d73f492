"""Covariances of parameters and effects, and of functions of both.

The covariance of the parameters is the inverse of the Hessian of the marginal density's negative logarithm. Given them,
the effects have the inverse of their own Hessian; what the mode moves with the parameters comes on top (Kass and
Steffey, *JASA* 84, 1989).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.errors import check_function
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, taken_apart
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseFactor
from tapegrad.frontend.words.frames import program_level
from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.search import ModeToMode
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import jit

_FIRST_STEP, _STEP = 1e-4, 0.02  # of differences: of a parameter, and in standard deviations
_WEIGHTS = (8 / 12, -1 / 12)  # of the differences one and two steps away
_MAX_ELEMENTS = 1 << 22  # of right sides at a time


def marginal_hessian(model: LatentModel, free: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return the Hessian of the marginal density's negative logarithm, by differences of its exact gradient.

    They are of fourth order, with steps by the curvature.
    """
    function = ModeToMode(model, effects)
    sizes = np.maximum(np.abs(free), 1.0) * _FIRST_STEP
    rough = np.diag(_differences(function, free, sizes, (0.5,)))
    with np.errstate(divide="ignore", invalid="ignore"):
        curved = np.where(rough > 0.0, _STEP / np.sqrt(rough), sizes)
    curved = np.clip(curved, 1e-2 * sizes, 1e3 * sizes)
    found = _differences(function, free, curved, _WEIGHTS)
    hessian: np.ndarray = (found + found.T) / 2
    return hessian


def _differences(
    function: ModeToMode, free: np.ndarray, sizes: np.ndarray, weights: tuple[float, ...]
) -> np.ndarray:
    columns = []
    for k, size in enumerate(sizes):
        column = np.zeros_like(free)
        for step, weight in enumerate(weights, 1):
            moved = np.zeros_like(free)
            moved[k] = step * size
            column += weight / size * (function(free + moved)[1] - function(free - moved)[1])
        columns.append(column)
    return np.array(columns)


class Uncertainty:
    """Covariances at a fit.

    Parameters
    ----------
    model
        The model.
    free, effects
        The parameters and the mode.

    Attributes
    ----------
    cov
        Covariance of the free parameters: nan if the Hessian is not positive definite.
    factor
        The factor of the Hessian by the effects.
    slopes
        Derivatives of the mode by the free parameters.
    """

    def __init__(self, model: LatentModel, free: np.ndarray, effects: np.ndarray) -> None:
        self._model, self._free, self._effects = model, free, effects
        self.hessian = marginal_hessian(model, free, effects)
        self.cov = inverse_or_nan(self.hessian)
        if np.isnan(self.cov).any():
            _warn_of_no_minimum()
        self.factor: SparseFactor = model.factor(free, effects)
        self.slopes = model.mode_slopes(free, effects, self.factor)

    def variances_of_effects(self) -> np.ndarray:
        """Return the variance of each effect, with that of the parameters."""
        cholesky = self.factor.cholesky
        own = self.factor.inverse_on_pattern().data[cholesky.rows == cholesky.columns]
        found: np.ndarray = own + np.einsum("ij,jk,ik->i", self.slopes, self.cov, self.slopes)
        return found

    def deviations(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw deviations of the effects from their mode, given the parameters: one row a draw."""
        return self.factor.half_solve(rng.standard_normal((size, self.factor.cholesky.n)))

    def predict(self, function: Callable[..., Any]) -> tuple[Any, Any]:
        """Return what a function of parameters and effects returns, and standard errors by the delta method."""
        outputs = _Outputs(self._model, function)
        recorded, at = jit(outputs), (self._free, self._effects)
        values = recorded(*at)
        by_effects = jacobian(recorded, argnums=1, sparse=True)(*at)
        through = jacobian(recorded, argnums=0)(*at) + by_effects @ self.slopes
        variances = np.einsum("ij,jk,ik->i", through, self.cov, through)
        most = max(1, _MAX_ELEMENTS // max(1, len(self._effects)))
        for begin in range(0, len(values), most):
            rows = by_effects[begin : begin + most].toarray()
            variances[begin : begin + most] += np.sum(rows * self.factor.solve(rows.T).data.T, axis=1)
        return outputs.layout.split(values), outputs.layout.split(np.sqrt(variances))


class _Outputs:
    """Function of parameters and effects as a function of two vectors, which returns one.

    Attributes
    ----------
    layout
        Layout of its results, known from the first call on.
    """

    layout: LeafLayout

    def __init__(self, model: LatentModel, function: Callable[..., Any]) -> None:
        check_function("predict", function)
        self._model, self._function = model, function

    def __call__(self, free: Any, vector: Any) -> Any:
        found = self._function(*self._model.arguments(free, vector))
        leaves, self.layout = taken_apart(found, "predict: result")
        return joined(leaves, np.dtype(np.float64))


def _warn_of_no_minimum() -> None:
    from scipy.optimize import OptimizeWarning

    text = (
        "the Hessian of the marginal likelihood is not positive definite at the estimates, so covariances and standard"
        " errors are nan: they are no minimum, or one that does not depend on all parameters; begin elsewhere, pass"
        " another method=, or fix a parameter"
    )
    warnings.warn(text, OptimizeWarning, stacklevel=program_level())


def inverse_or_nan(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix; nan of another one."""
    try:
        lower = np.linalg.cholesky(matrix)
    except LinAlgError:
        return np.full(matrix.shape, np.nan)
    half = np.linalg.solve(lower, np.eye(len(matrix)))
    return half.T @ half
