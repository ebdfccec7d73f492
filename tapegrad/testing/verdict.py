"""What numerical derivatives say of a derivative: right, wrong, or that they cannot tell.

The estimate with the least error decides, with two exceptions. An adaptive solver is smooth at small steps, but what
it is smooth around is off by its tolerance: at larger steps that is noise. So a derivative is right, too, if it agrees
with an estimate whose error is noise, as long as the small steps do not say something else altogether. And a function
that is rounded to fewer digits is constant at small steps: that alone says nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapegrad.testing.numerical import MARGIN, Estimate

_DOUBT = 0.3  # up to which relative error noise excuses a derivative: so little that it is told from zero
_LENIENT = 2.0  # how much more noise may be off there than elsewhere, for it is no random one
_EXCUSED = 2e-3  # up to which relative difference it is taken for the solver's
_NEGLIGIBLE = 2e4  # rounding errors of the function's value, by which a derivative of zero is told
NOTHING = 1e-3 / _NEGLIGIBLE  # of the function's value, relative to rounding errors of the negligible
_ROUNDING = 100 / _NEGLIGIBLE  # of that is more than rounding
_CANCELLED = 16 / _NEGLIGIBLE  # of that may be left where terms of a derivative cancel


@dataclass(frozen=True)
class Tolerance:
    """How far a derivative may be off, and how exactly the numbers must know that.

    Attributes
    ----------
    absolute, relative
        As the caller has them.
    resolution
        Relative error of a numerical derivative up to which it can say that another one is right.
    """

    absolute: float
    relative: float

    @property
    def resolution(self) -> float:
        return max(0.01, self.relative)


@dataclass(frozen=True)
class Verdict:
    """What is said of each element, with the numerical derivative that says so.

    Attributes
    ----------
    wrong, undecided
        Elements that are wrong, and those of which nothing can be said.
    number, error, allowed, how
        The best numerical derivative, its error, how far off it one may be, and how it was found.
    """

    wrong: np.ndarray
    undecided: np.ndarray
    number: np.ndarray
    error: np.ndarray
    allowed: np.ndarray
    how: list[str]


def judge(
    exact: np.ndarray,
    found: Sequence[Estimate],
    tolerance: Tolerance,
    negligible: np.ndarray,
    nothing: np.ndarray,
    rounding: np.ndarray | float = 0.0,
) -> Verdict:
    """Hold derivatives against numerical ones.

    Parameters
    ----------
    exact
        The derivatives.
    found
        The numerical ones at several scales.
    tolerance
        How far they may be off.
    negligible, nothing
        An error of each that is as good as none, and one by which a derivative of exactly zero is told.
    rounding
        Error of `exact` itself.
    """
    with np.errstate(all="ignore"):
        evidence = _Evidence(exact, found, tolerance, negligible, nothing, rounding)
        right = evidence.confirms() | evidence.is_of_a_solver()
        undecided = ~right & (evidence.is_near() | evidence.leaves_doubt() | evidence.may_oscillate())
    number, error, allowed = evidence.at_best(evidence.number, evidence.error, evidence.allowed)
    return Verdict(
        ~right & ~undecided, undecided, number, error, allowed, [found[k].how for k in evidence.best[0]]
    )


class _Evidence:
    """Derivatives beside numerical ones: a row for each of these, a column for each element."""

    def __init__(
        self,
        exact: np.ndarray,
        found: Sequence[Estimate],
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
        # That a result does not depend on an argument is told by less than how it does.
        self._enough = np.maximum(tolerance.absolute, np.where(exact == 0, nothing, negligible))
        self.resolved = self.slack <= np.maximum(self._enough, tolerance.resolution * self.size)
        self._longer_and_noisy = (
            np.isfinite(self.noise)
            & (self.steps > self.at_best(self.steps)[0])
            & (self.off <= self.allowed + _LENIENT * self.slack)
        )

    def at_best(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """What stands beside the best estimate of each element."""
        return _at(self.best, *arrays)

    def confirms(self) -> np.ndarray:
        """Where the best estimate agrees, and knows enough for that."""
        return self.at_best(self.agrees & self.trusted & self.resolved)[0]

    def is_of_a_solver(self) -> np.ndarray:
        """Where the best steps only disagree by what at longer steps turns out to be noise."""
        (step, off, size), noisy = self.at_best(self.steps, self.off, self.size), self._longer_and_noisy
        hidden = _LENIENT * MARGIN * np.max(np.where(noisy, self.noise, 0.0), axis=0) / step
        return np.asarray(
            np.any(noisy & self.resolved, axis=0) & (off <= np.minimum(hidden, _EXCUSED * size))
        )

    def is_near(self) -> np.ndarray:
        """Where the best estimate does not contradict, or there is none."""
        return np.asarray(self.at_best(self.agrees)[0] | ~np.any(self.trusted, axis=0))

    def leaves_doubt(self) -> np.ndarray:
        """Where another estimate agrees that may be the true one: of longer steps, or of a staircase's stairs."""
        size = self.at_best(self.size)[0]
        is_flat = self.suspect & self.agrees & (np.abs(self.exact) <= _EXCUSED * size)
        close = self.slack <= np.maximum(self._enough, _DOUBT * size)
        found: np.ndarray = np.any((self._longer_and_noisy | is_flat) & close, axis=0)
        return found

    def may_oscillate(self) -> np.ndarray:
        """Where even the shortest steps find noise only, and the derivative is too steep to be seen by them."""
        shortest = np.argmin(np.where(self.found, self.steps, np.inf), axis=0)[None]
        number, error, noise, step = _at(shortest, self.number, self.error, self.noise, self.steps)
        hides = np.isfinite(noise) & (noise > _ROUNDING * self.negligible) & (error > np.abs(number))
        return np.asarray(hides & (np.abs(self.exact) * step > noise))


def slack_of(error: np.ndarray, negligible: np.ndarray) -> np.ndarray:
    """By how much a derivative may be off for what its numerical one does not know."""
    return MARGIN * error + _CANCELLED * negligible


def _at(row: np.ndarray, *arrays: np.ndarray) -> list[np.ndarray]:
    """What stands in a row of each array, another one for each column."""
    return [np.take_along_axis(a, row, 0)[0] for a in arrays]


def negligible(size: np.ndarray, unit: float, reach: float) -> np.ndarray:
    """A derivative that is as good as zero, for a function's largest values and the size of the direction."""
    return np.asarray(_NEGLIGIBLE * unit * size * min(1.0, reach))
