"""The verdict of numerical derivatives on a derivative: right, wrong, or inconclusive.

The estimate with the least error decides, with two exceptions. The result of an adaptive solver is smooth at small
steps, but off by the solver's tolerance, which shows as noise at larger steps. So a derivative is right also if it
agrees with an estimate whose error is noise, unless small steps contradict it clearly. And a function that is rounded
to fewer digits is constant at small steps, which proves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapegrad.testing.numerical import MARGIN, DirectionalEstimate

_AMBIGUOUS = 0.3  # largest relative error of an estimate that keeps a derivative from being called wrong
_SOLVER_NOISE = 2.0  # a solver's noise is not random: so many times the usual margin is allowed for it
_SOLVER_ERROR = 2e-3  # largest relative difference that is attributed to a solver
_NEGLIGIBLE = 2e4  # a derivative counts as zero below so many rounding errors of the function's value
# Further limits, in units of the negligible derivative:
# Of the function's value, over its rounding error: the error that confirms a zero
NOTHING = 1e-3 / _NEGLIGIBLE
_ROUNDING = 100 / _NEGLIGIBLE  # noise above this is more than rounding
_CANCELLED = 16 / _NEGLIGIBLE  # what may remain where terms of a derivative cancel


@dataclass(frozen=True)
class Tolerance:
    """Tolerance of a derivative, and the accuracy that the numerical one must have.

    Attributes
    ----------
    absolute, relative
        The tolerances of the caller.
    resolution
        Largest relative error of a numerical derivative that can confirm another one.
    """

    absolute: float
    relative: float

    @property
    def resolution(self) -> float:
        return max(0.01, self.relative)


@dataclass(frozen=True)
class Verdict:
    """The verdict on each element, with the numerical derivative behind it.

    Attributes
    ----------
    wrong, inconclusive
        Elements that are wrong, and elements that are neither confirmed nor wrong.
    number, error, allowed, how
        The best numerical derivative, its error, the allowed difference from it, and how it was found.
    """

    wrong: np.ndarray
    inconclusive: np.ndarray
    number: np.ndarray
    error: np.ndarray
    allowed: np.ndarray
    how: list[str]


def judge(
    exact: np.ndarray,
    found: Sequence[DirectionalEstimate],
    tolerance: Tolerance,
    negligible: np.ndarray,
    nothing: np.ndarray,
    rounding: np.ndarray | float = 0.0,
) -> Verdict:
    """Judge derivatives by numerical ones.

    Parameters
    ----------
    exact
        The derivatives.
    found
        The numerical ones at several scales.
    tolerance
        By how much they may be off.
    negligible, nothing
        The size of each that counts as zero, and the largest error that confirms a derivative of exactly zero.
    rounding
        Rounding error of `exact` itself.
    """
    with np.errstate(all="ignore"):
        evidence = _Evidence(exact, found, tolerance, negligible, nothing, rounding)
        right = evidence.is_confirmed() | evidence.is_within_solver_error()
        inconclusive = ~right & (
            evidence.is_not_contradicted() | evidence.is_ambiguous() | evidence.may_oscillate()
        )
    number, error, allowed = evidence.at_best(evidence.number, evidence.error, evidence.allowed)
    return Verdict(
        ~right & ~inconclusive, inconclusive, number, error, allowed, [found[k].how for k in evidence.best[0]]
    )


class _Evidence:
    """Derivatives and numerical ones: a row for each numerical estimate, a column for each element."""

    def __init__(
        self,
        exact: np.ndarray,
        found: Sequence[DirectionalEstimate],
        tolerance: Tolerance,
        negligible: np.ndarray,
        nothing: np.ndarray,
        rounding: np.ndarray | float,
    ) -> None:
        self.exact, self.negligible = exact, negligible
        self.number, self.error = np.stack([e.number for e in found]), np.stack([e.error for e in found])
        self.noise, self.suspect = np.stack([e.noise for e in found]), np.stack([e.suspect for e in found])
        self.steps = np.broadcast_to([[e.step] for e in found], self.number.shape)
        self.found = np.isfinite(self.error)
        self.trusted = self.found & ~self.suspect
        self.best = np.argmin(np.where(self.trusted, self.error, np.inf), axis=0)[None]
        self.off = np.abs(exact - self.number)
        self.size = np.maximum(np.abs(self.number), np.abs(exact))
        self.slack = slack_of(self.error, negligible)
        self.allowed = tolerance.absolute + tolerance.relative * self.size + self.slack + MARGIN * rounding
        self.agrees = np.isfinite(exact) & self.found & (self.off <= self.allowed)
        # Less accuracy confirms that a result does not depend on an argument than how it does.
        self._enough = np.maximum(tolerance.absolute, np.where(exact == 0, nothing, negligible))
        self.resolved = self.slack <= np.maximum(self._enough, tolerance.resolution * self.size)
        self._longer_and_noisy = (
            np.isfinite(self.noise)
            & (self.steps > self.at_best(self.steps)[0])
            & (self.off <= self.allowed + _SOLVER_NOISE * self.slack)
        )

    def at_best(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Return the values of arrays at the best estimate of each element."""
        return _at(self.best, *arrays)

    def is_confirmed(self) -> np.ndarray:
        """Return where the best estimate agrees and is accurate enough."""
        return self.at_best(self.agrees & self.trusted & self.resolved)[0]

    def is_within_solver_error(self) -> np.ndarray:
        """Return where the best estimate differs by no more than what shows as noise at longer steps."""
        (step, off, size), noisy = self.at_best(self.steps, self.off, self.size), self._longer_and_noisy
        hidden = _SOLVER_NOISE * MARGIN * np.max(np.where(noisy, self.noise, 0.0), axis=0) / step
        return np.asarray(
            np.any(noisy & self.resolved, axis=0) & (off <= np.minimum(hidden, _SOLVER_ERROR * size))
        )

    def is_not_contradicted(self) -> np.ndarray:
        """Return where the best estimate agrees, accurate or not, or where there is none."""
        return np.asarray(self.at_best(self.agrees)[0] | ~np.any(self.trusted, axis=0))

    def is_ambiguous(self) -> np.ndarray:
        """Return where another estimate agrees that may be the true one: at longer steps, or of a rounded function."""
        size = self.at_best(self.size)[0]
        is_flat = self.suspect & self.agrees & (np.abs(self.exact) <= _SOLVER_ERROR * size)
        close = self.slack <= np.maximum(self._enough, _AMBIGUOUS * size)
        found: np.ndarray = np.any((self._longer_and_noisy | is_flat) & close, axis=0)
        return found

    def may_oscillate(self) -> np.ndarray:
        """Return where even the shortest steps show noise only, which a steep oscillation may cause."""
        shortest = np.argmin(np.where(self.found, self.steps, np.inf), axis=0)[None]
        number, error, noise, step = _at(shortest, self.number, self.error, self.noise, self.steps)
        hides = np.isfinite(noise) & (noise > _ROUNDING * self.negligible) & (error > np.abs(number))
        return np.asarray(hides & (np.abs(self.exact) * step > noise))


def slack_of(error: np.ndarray, negligible: np.ndarray) -> np.ndarray:
    """Return by how much a derivative may differ for the error of the numerical one."""
    return MARGIN * error + _CANCELLED * negligible


def _at(row: np.ndarray, *arrays: np.ndarray) -> list[np.ndarray]:
    """Return from each array, for each column, the element in the row that `row` names."""
    return [np.take_along_axis(a, row, 0)[0] for a in arrays]


def negligible(size: np.ndarray, unit: float, reach: float) -> np.ndarray:
    """Return the size below which a derivative counts as zero, given the function's size and that of the direction."""
    return np.asarray(_NEGLIGIBLE * unit * size * min(1.0, reach))
