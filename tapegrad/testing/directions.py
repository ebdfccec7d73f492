"""In which directions derivatives are checked: every argument by itself, and every scale.

A random direction through all elements shows the large contributions only: a wrong sign by one that is a millionth of
the others is lost in rounding. So a few elements go one by one, and many in groups of like size and like share.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tapegrad.testing.subject import Subject

_ALONE, _ALONE_DERIVED = (
    16,
    6,
)  # up to so many elements each has its own direction, at first and in a derivative
_GROUPS, _DECADES = 6, 2.0
_EACH = 2  # random directions a group


@dataclass(frozen=True, eq=False)
class Direction:
    """Steps in some elements of one argument.

    Attributes
    ----------
    argument
        The number of the float array that moves.
    chosen
        Its elements that do, as flat indices.
    parts
        The steps in all arrays: zero in all others.
    """

    argument: int
    chosen: np.ndarray
    parts: list[np.ndarray]

    def halves(self) -> Iterator["Direction"]:
        """The direction in two parts; nothing if there is one element only."""
        if self.chosen.size > 1:
            for chosen in np.array_split(self.chosen, 2):
                yield _direction(self.parts, self.argument, chosen, self.parts[self.argument].ravel()[chosen])


def directions(
    subject: Subject, shares: list[np.ndarray] | None, rng: np.random.Generator
) -> Iterator[Direction]:
    """Directions that show each argument and scale.

    Parameters
    ----------
    subject
        What is checked.
    shares
        Cotangents of its arguments, for random ones of the results, if there is a reverse mode.
    rng
        Of the random steps.
    """
    alone = _ALONE if subject.linear_from is None else _ALONE_DERIVED
    few = sum(x.size for x in subject.primals[: subject.linear_from]) <= alone
    for k, x in enumerate(subject.primals):
        units = _units(x)
        if subject.linear_from is not None and k >= subject.linear_from:
            groups = [np.arange(x.size)]
        elif few:
            groups = [np.array([i]) for i in range(x.size)]
        else:
            groups = _groups(x, None if shares is None else shares[k].ravel() * units)
        for chosen in filter(len, groups):
            for _ in range(_EACH if chosen.size > 1 else 1):
                lengths = rng.uniform(0.5, 1.5, chosen.size) if chosen.size > 1 else 1.0
                signs = rng.choice([-1.0, 1.0], chosen.size)
                yield _direction(subject.primals, k, chosen, signs * lengths * units[chosen])


def _units(x: np.ndarray) -> np.ndarray:
    """The size of each element, or of the others where one is zero."""
    sizes = np.abs(x.ravel().astype(np.float64))
    sizes[~np.isfinite(sizes)] = 0.0
    mean = float(np.sqrt(np.mean(sizes**2))) if x.size else 0.0
    sizes[sizes == 0] = mean if mean > 0 else 1.0
    return sizes


def _groups(x: np.ndarray, shares: np.ndarray | None) -> list[np.ndarray]:
    """The elements by their size and their share in the result, a few orders of magnitude each."""
    levels = _levels(np.abs(x.ravel().astype(np.float64)))
    if shares is not None:
        levels = levels * 1000 + _levels(np.abs(shares))
    return [np.flatnonzero(levels == level) for level in np.unique(levels)]


def _levels(sizes: np.ndarray) -> np.ndarray:
    """The order of magnitude of each size, so coarse that there are not many."""
    with np.errstate(all="ignore"):
        decades = np.log10(sizes)
    decades = np.where(np.isfinite(decades), decades, -400.0)
    width = _DECADES
    while np.unique(levels := np.round(decades / width)).size > _GROUPS:
        width *= 2
    return np.asarray(levels, np.int64)


def _direction(like: list[np.ndarray], k: int, chosen: np.ndarray, steps: np.ndarray) -> Direction:
    parts = [np.zeros_like(x) for x in like]
    parts[k].ravel()[chosen] = steps
    return Direction(k, chosen, parts)


def first_wrong(direction: Direction, is_wrong: Callable[[Direction], bool]) -> Direction:
    """The smallest part of a wrong direction that is found wrong by halving it."""
    for half in direction.halves():
        if is_wrong(half):
            return first_wrong(half, is_wrong)
    return direction


def random_direction(subject: Subject, rng: np.random.Generator) -> list[np.ndarray]:
    """A direction in all elements at once."""
    signs = (rng.choice([-1.0, 1.0], x.shape) * rng.uniform(0.5, 1.5, x.shape) for x in subject.primals)
    return [
        np.asarray(s * _units(x).reshape(x.shape), x.dtype)
        for s, x in zip(signs, subject.primals, strict=True)
    ]
