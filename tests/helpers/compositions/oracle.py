"""Derivatives of programs by central differences of their values on plain arrays.

A line is the values at nine points of a step and nine of half that step along a direction. Stencils of both give
directional derivatives up to the third order; mixed ones follow by polarisation. They are accepted where both steps
agree, and where no point is singular that others are not: elsewhere a kink, a cut, a pole or a tie is near.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.compositions.program import Arrays, Program
from helpers.compositions.twins import FIRST, SECOND, THIRD, with_counts

_STEP = 0.01
_STENCILS = {0: np.eye(9)[4], 1: FIRST, 2: SECOND, 3: THIRD}
_NOISE = {0: 1e-11, 1: 1e-9, 2: 1e-7, 3: 1e-5}
_SMOOTH = {0: 1.0, 1: 1e-6, 2: 1e-4, 3: 3e-2}


@dataclass(frozen=True)
class Estimate:
    """A derivative, and how far it may be off."""

    value: np.ndarray
    error: float

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(self.value + other.value, self.error + other.error)

    def __mul__(self, factor: float) -> "Estimate":
        return Estimate(self.value * factor, self.error * abs(factor))


class Oracle:
    """Values and derivatives of a program at its points."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @functools.cache  # noqa: B019 - the oracle lives as long as its program is checked
    def value(self, point: int, contents: int = 0) -> np.ndarray:
        """Return the value at a point, with the constants of this or another one."""
        return self.program.reference(self.program.points[point], contents)

    @functools.cache  # noqa: B019
    def derivative(self, order: int, point: int, contents: int) -> Estimate | None:
        """Return the derivative along `u`, along `u` and `v`, or along `u`, `v` and `v`; `None` if not smooth."""
        parts = {1: ["u"], 2: ["sum", "difference"], 3: ["sum", "difference", "u"]}[order]
        lines = [self._line(name, point, contents) for name in parts]
        if any(line is None for line in lines):
            return None
        found = [_along(line, order) for line in lines if line is not None]
        if order == 1:
            return found[0]
        if order == 2:
            return (found[0] + found[1] * -1.0) * 0.25
        return (found[0] + found[1] + found[2] * -2.0) * (1 / 6)

    @functools.cache  # noqa: B019
    def _line(self, name: str, point: int, contents: int) -> np.ndarray | None:
        """Return values at multiples -8 to 8 of half a step, or `None` if they are not those of a smooth function."""
        arguments, direction = self.program.points[point], self._direction(name)
        try:
            moved = [self.program.moved(arguments, direction, k * _STEP / 2) for k in range(-8, 9)]
            samples = [with_counts(functools.partial(self.program.reference, x, contents)) for x in moved]
            line = np.stack([value for value, _ in samples])
        except Exception:  # near by it is not defined, or has another shape
            return None
        if len({counted for _, counted in samples}) > 1:
            return None
        return line if np.all(np.isfinite(line)) and _is_smooth(line) else None

    def _direction(self, name: str) -> Arrays:
        u, v = self.program.directions
        return {
            "u": u,
            "sum": tuple(a + b for a, b in zip(u, v, strict=True)),
            "difference": tuple(a - b for a, b in zip(u, v, strict=True)),
        }[name]


def _is_smooth(line: np.ndarray) -> bool:
    for order, tolerance in _SMOOTH.items():
        estimate = _along(line, order)
        if estimate.error > tolerance * _scale(line, estimate.value) + 20 * _noise(
            order, line, estimate.value
        ):
            return False
    return True


def _along(line: np.ndarray, order: int) -> Estimate:
    coarse, fine = (
        np.tensordot(_STENCILS[order], points, 1) / step**order
        for points, step in ((line[::2], _STEP), (line[4:13], _STEP / 2))
    )
    difference = float(np.max(np.abs(coarse - fine), initial=0.0))
    return Estimate(coarse, 4 * difference + _noise(order, line, coarse))


def _scale(line: np.ndarray, derivative: np.ndarray) -> float:
    return float(max(1.0, np.max(np.abs(line), initial=0.0), np.max(np.abs(derivative), initial=0.0)))


def _noise(order: int, line: np.ndarray, derivative: np.ndarray) -> float:
    return _NOISE[order] * _scale(line, derivative)


def largest(found: Any, expected: np.ndarray) -> float:
    """Return the largest difference of two arrays, infinity if shapes differ or one alone is not finite."""
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape:
        return np.inf
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(same, 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0.0))
