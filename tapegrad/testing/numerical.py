"""Directional derivatives by numbers alone, with an estimate of their error that knows the noise of the function.

Differences: at one scale the function is sampled at Chebyshev points on both sides, and half the differences between
the sides are expanded in odd Chebyshev polynomials. The coefficients of a smooth function fall until they reach its
noise, and stay there: the level of the last ones is the noise, the first ones beyond the cut are what is cut off, and
the derivative at the middle is a sum of those before. It is J. J. More and S. M. Wild's way, "Estimating computational
noise", SIAM J. Sci. Comput. 33 (2011) 1292-1314, with a spectrum in place of their table of differences: many samples
say what the noise is, where two differences may agree by chance. Z. Battles and L. N. Trefethen, "An extension of
MATLAB to continuous functions and operators", SIAM J. Sci. Comput. 25 (2004) 1743-1770, cut spectra so.

Complex step: W. Squire and G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review
40 (1998) 110-112. Exact to rounding, but only for analytic functions: one that takes absolute values gives a wrong
number without a word. So it counts only where it agrees with differences that say something.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Along = Callable[[float], np.ndarray]

POINTS = 12  # on each side
MARGIN = 8.0  # estimated errors by which a number may be off
_TERMS = 6  # at most so many are summed, so that half of them or more say what the noise is
_IMAGINARY = 1e-30

_ODD = 2.0 * np.arange(1, POINTS + 1) - 1
_ANGLES = _ODD * np.pi / (4 * POINTS)
NODES = np.cos(_ANGLES)
_TRANSFORM = 2 / POINTS * np.cos(np.outer(_ODD, _ANGLES))
_BEHIND = POINTS - 1.0 - np.arange(_TERMS)  # coefficients behind each cut
_GAIN = np.sqrt(
    np.cumsum(_ODD**2)[1 : _TERMS + 1]
)  # of the noise in what is summed, and in the first behind it
_SLOPES = _ODD * (-1.0) ** np.arange(POINTS)  # of the polynomials at 0


@dataclass(frozen=True)
class Samples:
    """A function's values at one scale, on both sides of a point.

    Attributes
    ----------
    step
        The distance of the outermost points.
    odd
        Half of the differences between the sides, a row for each of `NODES` and a column for each element.
    size
        The largest absolute value of each element.
    flat
        Whether an element has the same value at most neighbouring points: it is constant, or the step is too small.
    """

    step: float
    odd: np.ndarray
    size: np.ndarray
    flat: np.ndarray

    def projected(self, weights: np.ndarray) -> "Samples":
        """The samples of the weighted sum of the elements."""
        used = weights != 0
        odd, w = self.odd[:, used], weights[used]
        size = np.sum(np.abs(w) * self.size[used], keepdims=True)
        return Samples(self.step, (odd @ w)[:, None], size, np.any(self.flat[used], keepdims=True))


@dataclass(frozen=True)
class Estimate:
    """A directional derivative of every element of a result.

    Attributes
    ----------
    number, error
        The derivative, and the estimate of its error: infinite where nothing could be found.
    noise
        Of the function's values, where the error is that of noise and not of a step that is too long; else infinite.
    suspect
        Where the function seems constant, but only at small steps, so that it may be rounded.
    step
        The scale; that of the longest steps where a number is made of several, and infinite without steps.
    how
        ``differences`` or ``complex step``.
    """

    number: np.ndarray
    error: np.ndarray
    noise: np.ndarray
    suspect: np.ndarray
    step: float = np.inf
    how: str = "differences"


def composed(number: np.ndarray, error: np.ndarray, how: str, step: float = np.inf) -> Estimate:
    """An estimate that is not of one scale."""
    nowhere = np.zeros(number.shape, bool)
    return Estimate(number, error, np.full(number.shape, np.inf), nowhere, step, how)


def sample(along: Along, step: float) -> Samples:
    """The samples at a scale."""
    with np.errstate(all="ignore"):
        above = np.stack([along(step * node) for node in NODES])
        below = np.stack([along(-step * node) for node in NODES])
        values = np.concatenate([above, below[::-1]])
        equal = np.sum(values[1:] == values[:-1], axis=0)
        return Samples(step, (above - below) / 2, np.max(np.abs(values), axis=0), equal >= POINTS)


def estimates(taken: Sequence[Samples], unit: float) -> list[Estimate]:
    """The derivatives by the samples of each scale, from the largest to the smallest."""
    found = []
    constant: Any = True
    for samples in sorted(taken, key=lambda samples: -samples.step):
        constant = constant & samples.flat
        found.append(_estimate(samples, unit, samples.flat & ~constant))
    return found


def _estimate(samples: Samples, unit: float, suspect: np.ndarray) -> Estimate:
    """The cut of the spectrum that has the least error, for each element."""
    with np.errstate(all="ignore"):
        scale = np.where(samples.size > 0, samples.size, 1.0)  # squares neither overflow nor vanish
        spectrum = _TRANSFORM @ (samples.odd / scale)
        finite = np.isfinite(np.sum(spectrum, axis=0))
        numbers = np.cumsum(_SLOPES[:_TERMS, None] * spectrum[:_TERMS], axis=0)
        errors = _errors(np.abs(spectrum), 0.25 * unit * np.sqrt(2 / POINTS) * (samples.size > 0))
        best = np.argmin(np.where(finite, errors, np.inf), axis=0)[None]
        number, error = (np.take_along_axis(a, best, 0)[0] * scale / samples.step for a in (numbers, errors))
        is_level = finite & (_level(spectrum[-3:]) >= 0.2 * _level(spectrum[-6:-3]))  # it falls no further
        noise = np.where(is_level, _level(spectrum[-6:]) * scale, np.inf)
    return Estimate(number, np.where(finite, error, np.inf), noise, suspect, samples.step)


def _errors(spectrum: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """The error of each cut: the noise in it, what may be hidden by noise behind it, and what stands out there."""
    squares = np.cumsum(spectrum[::-1] ** 2, axis=0)[::-1][1 : _TERMS + 1]
    noise = np.maximum(np.sqrt(squares / _BEHIND[:, None]), rounding)
    behind = sum(
        _ODD[k : k + _TERMS, None] * np.maximum(spectrum[k : k + _TERMS] - 2 * noise, 0) for k in (1, 2)
    )
    return np.asarray(noise * _GAIN[:, None] + behind)


def _level(coefficients: np.ndarray) -> np.ndarray:
    level: np.ndarray = np.sqrt(np.mean(coefficients**2, axis=0))
    return level


def complex_step(
    function: Callable[..., Any], primals: Sequence[np.ndarray], direction: Sequence[np.ndarray]
) -> np.ndarray | None:
    """The derivative by a step into the complex plane; `None` where the function does not go there."""
    points = [x + 1j * _IMAGINARY * d.astype(np.float64) for x, d in zip(primals, direction, strict=True)]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")  # NumPy only warns when it drops an imaginary part
            results = function(*points)
    except Exception:  # it was written for real numbers
        return None
    if not all(isinstance(r, np.ndarray | np.generic) and r.dtype.kind == "c" for r in results):
        return None
    number = np.concatenate([np.zeros(0), *(np.imag(r).ravel() / _IMAGINARY for r in results)])
    return number if np.all(np.isfinite(number)) else None
