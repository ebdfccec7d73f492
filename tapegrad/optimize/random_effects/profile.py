"""Likelihood profiles: one parameter at some values, the others where the likelihood is largest given it."""

import math
from typing import NamedTuple

import numpy as np

from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.search import ModeToMode

_REACH = 3.0  # of a profile, in standard errors on each side
_ROOT_95 = np.sqrt(1.920729410347062)  # of half the 95 % quantile of chi-squared with one degree of freedom
_MAX_EVALUATIONS_PER_POINT = 5
_FLAT = 0.01  # rise of a step, relative to that along a parabola, of which many say that a side is flat
_MAX_FLAT_STEPS = 8  # each twice as long as the one before
_AGREEMENT = 1e-4  # of two interpolations, relative to the half width of the interval
_MAX_REFINEMENTS = 6


class LikelihoodProfile(NamedTuple):
    """Profile of the likelihood along one parameter.

    Attributes
    ----------
    values : numpy.ndarray, shape (m,)
        Values of the parameter, ascending.
    fun : numpy.ndarray, shape (m,)
        Minus the logarithm of the largest likelihood at each.
    x : numpy.ndarray
        The value at which `fun` is smallest: the estimate.
    """

    values: np.ndarray
    fun: np.ndarray
    x: float
    least: float

    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % confidence interval: -inf or inf where the profile does not reach that far.

        Returns
        -------
        low, high : float
            Where minus the log-likelihood is 1.92 above its minimum, interpolated in the square root of the difference.
        """
        roots = np.sqrt(np.maximum(self.fun - self.least, 0.0))
        below, above = self.values < self.x, self.values > self.x
        low = _crossing(
            np.append(self.x, self.values[below][::-1]), np.append(0.0, roots[below][::-1]), -np.inf
        )
        high = _crossing(np.append(self.x, self.values[above]), np.append(0.0, roots[above]), np.inf)
        return low, high


def _crossing(values: np.ndarray, roots: np.ndarray, otherwise: float) -> float:
    """Return where roots, from the estimate outwards, first reach that of the quantile."""
    beyond = np.flatnonzero(roots >= _ROOT_95)
    if not len(beyond):
        return otherwise
    ends = slice(beyond[0] - 1, beyond[0] + 1)
    return float(np.interp(_ROOT_95, roots[ends], values[ends]))


class _ProfileSide:
    """Side of a profile: its points from the estimate outwards.

    Steps are chosen by the rise of the root of the likelihood's fall, which is even along a parabola. The standard
    error may be a hundred times too long on a steep side, and the other one may be flat for ever.

    Parameters
    ----------
    model, free, effects, least, group
        As for `profile_of`.
    """

    def __init__(
        self, model: LatentModel, free: np.ndarray, effects: np.ndarray, least: float, group: int
    ) -> None:
        self._search, self._others = ModeToMode(model, effects), np.delete(free, group)
        self._least, self._group = least, group
        self.values, self.funs, self.roots = [float(free[group])], [least], [0.0]

    def walk(self, step: float, points: int) -> None:
        """Take steps up to where the root is as it is three standard errors along a parabola, or no longer rises."""
        rise = _REACH / np.sqrt(2.0) / points
        flat = 0
        for _ in range(_MAX_EVALUATIONS_PER_POINT * points):
            gained = self._try(step, 1.5 * rise)
            flat = flat + 1 if 0.0 <= gained < _FLAT * rise else 0
            if gained < 0.0:
                step *= 0.5
            elif gained < 0.5 * rise:
                step *= 2.0
            if flat == _MAX_FLAT_STEPS or self.roots[-1] > points * rise * (1.0 - 1e-6):
                break
        self._refine()

    def _try(self, step: float, most: float) -> float:
        """Add the point a step further, and return the rise of the root; add nothing and return -1 if that is large."""
        point = self._point(self.values[-1] + step)
        gained = point[2] - self.roots[-1]
        if not gained <= most:  # also nan
            return -1.0
        self._add(len(self.values), point)
        return max(gained, 0.0)

    def _point(self, value: float) -> tuple[float, float, float]:
        """Return a value, minus the logarithm of the largest likelihood there, and the root of the difference."""
        known = self._search.effects
        others, fun = _fitted(self._search, self._others, self._group, value)
        root = float(np.sqrt(max(fun - self._least, 0.0))) if np.isfinite(fun) else np.inf
        if root < self.roots[-1] + 1.0:
            self._others = others
        else:
            self._search.effects = known
        return value, fun, root

    def _add(self, at: int, point: tuple[float, float, float]) -> None:
        for known, new in zip((self.values, self.funs, self.roots), point, strict=True):
            known.insert(at, new)

    def _refine(self) -> None:
        """Add points where a line and a parabola of the root do not agree on the end of the interval."""
        for _ in range(_MAX_REFINEMENTS):
            beyond = next((k for k, root in enumerate(self.roots) if root >= _ROOT_95), 0)
            if beyond < 2:
                break
            low, high = self.values[beyond - 1 : beyond + 1]
            line = _crossing(np.array(self.values), np.array(self.roots), np.inf)
            value = _by_parabola(self.roots[beyond - 2 : beyond + 1], self.values[beyond - 2 : beyond + 1])
            if abs(value - line) < _AGREEMENT * abs(line - self.values[0]):
                break
            self._add(
                beyond, self._point(value if min(low, high) < value < max(low, high) else 0.5 * (low + high))
            )


def _by_parabola(roots: list[float], values: list[float]) -> float:
    """Return the value at the root of the quantile, by the parabola through three points; nan for equal roots."""
    (a, b, c), (x, y, z) = roots, values
    if a == b or b == c:
        return math.nan
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    return float(y + first * (_ROOT_95 - b) + (second - first) / (c - a) * (_ROOT_95 - a) * (_ROOT_95 - b))


def profile_of(
    model: LatentModel,
    free: np.ndarray,
    effects: np.ndarray,
    least: float,
    group: int,
    spread: float,
    points: int,
) -> LikelihoodProfile:
    """Compute a profile.

    Parameters
    ----------
    model
        The model.
    free, effects, least
        The fit, and minus the logarithm of its likelihood.
    group
        Number of the free parameter.
    spread
        Its standard error.
    points
        How many values on each side of a parabola.
    """
    found = [(float(free[group]), least)]
    for direction in (-1.0, 1.0):
        side = _ProfileSide(model, free, effects, least, group)
        side.walk(direction * _REACH * spread / points, points)
        found += zip(side.values[1:], side.funs[1:], strict=True)
    values, fun = np.array(sorted(found)).T
    return LikelihoodProfile(values, fun, float(free[group]), least)


def _fitted(search: ModeToMode, start: np.ndarray, group: int, value: float) -> tuple[np.ndarray, float]:
    """Return the other parameters where the likelihood is largest given one, and minus its logarithm."""
    from scipy.optimize import minimize

    def objective(others: np.ndarray) -> tuple[float, np.ndarray]:
        fun, slope = search(np.insert(others, group, value))
        return fun, np.delete(slope, group)

    search.begin_anew()
    if not len(start):
        return start, float(objective(start)[0])
    found = minimize(objective, start, jac=True, method="BFGS")
    return found.x, float(found.fun)
