"""Directional derivatives by numbers alone, with an estimate of their error.

Differences: C. J. F. Ridders, "Accurate computation of F'(x) and F'(x)F''(x)", Advances in Engineering Software 4
(1982) 75-76. Central differences of smaller and smaller steps are extrapolated to step zero, in a tableau as
Richardson's and Neville's; the entry counts that differs least from its neighbours, and that difference is the
estimate. Added to it here is what rounding of the function's values and of the points does to a difference, without
which two entries that agree by chance would count.

Complex step: W. Squire and G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM Review
40 (1998) 110-112. Exact to rounding, but only for analytic functions: one that takes absolute values gives a wrong
number without a word. So it counts only where it agrees with the differences.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Along = Callable[[float], np.ndarray]

_LARGEST, _RATIO, _STEPS = 2.0**-5, 4.0, 12
_IMAGINARY = 1e-30


@dataclass(frozen=True)
class Estimate:
    """A directional derivative of every element of a result.

    Attributes
    ----------
    number, error
        The derivative, and the estimate of its error: infinite where nothing could be found.
    how
        ``differences`` or ``complex step``.
    """

    number: np.ndarray
    error: np.ndarray
    how: str


def steps(eps: float | None) -> list[float]:
    """Steps to take differences by, from the largest to the smallest."""
    if eps is None:
        return [_LARGEST / _RATIO**k for k in range(_STEPS)]
    return [eps / _RATIO**k for k in range(3)]


def differences(along: Along, sizes: Sequence[float], unit: float, enough: float) -> Estimate:
    """Ridders' extrapolation of central differences.

    Parameters
    ----------
    along
        The result at a distance from the point, in the direction.
    sizes
        Steps, each a quarter of the one before.
    unit
        Relative rounding error of the results.
    enough
        Error at which no smaller step is tried, relative to the largest derivative.
    """
    before: list[np.ndarray] = []
    number = error = np.zeros(0)
    for step in sizes:
        above, below = along(step), along(-step)
        row = _row((above - below) / (2 * step), before)
        if not before:
            number, error = row[0], np.full(row[0].shape, np.inf)
        noise = unit * (np.maximum(np.abs(above), np.abs(below)) + np.abs(row[0])) / step
        for j in range(1, len(row)):
            off = np.maximum(np.abs(row[j] - row[j - 1]), np.abs(row[j] - before[j - 1])) + noise
            number, error = np.where(off < error, row[j], number), np.where(off < error, off, error)
        if np.all(error <= enough * np.max(np.abs(number), initial=0.0)):
            break
        before = row
    return Estimate(number, error, "differences")


def _row(difference: np.ndarray, before: list[np.ndarray]) -> list[np.ndarray]:
    """A row of the tableau: the difference, and its extrapolations with those of the steps before."""
    row = [difference]
    for j, coarse in enumerate(before):
        row.append(row[j] + (row[j] - coarse) / (_RATIO ** (2 * j + 2) - 1))
    return row


def complex_step(
    function: Callable[..., Any], primals: Sequence[np.ndarray], direction: Sequence[np.ndarray], unit: float
) -> Estimate | None:
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
    if not np.all(np.isfinite(number)):
        return None
    return Estimate(number, 4 * unit * np.abs(number), "complex step")
