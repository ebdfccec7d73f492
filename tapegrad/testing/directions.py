"""Directions in which derivatives are checked: for each argument, and for each scale of its elements.

A random direction through all elements shows only the large contributions: a wrong sign of one that is a millionth of
the others is lost in rounding. So few elements are moved one by one, and many in groups of similar size and similar
share in the result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tapegrad.engine.inspection.verify.directions import random_direction
from tapegrad.testing.subject import Subject

_ALONE = 16  # up to so many elements are moved one by one
_ALONE_DERIVED = 6  # the same for a function that is itself a derivative
_GROUPS = 6  # at most
_DECADES = 2.0  # orders of magnitude within a group, at least
_PER_GROUP = 2  # random directions


@dataclass(frozen=True, eq=False)
class Direction:
    """Steps in some elements of one argument.

    Attributes
    ----------
    argument
        The number of the float array that is moved.
    chosen
        Flat indices of its elements that are moved.
    parts
        The steps of all elements of all arrays, zero for those that are not moved.
    """

    argument: int
    chosen: np.ndarray
    parts: list[np.ndarray]

    def halves(self) -> Iterator["Direction"]:
        """Yield two halves of the direction; nothing for a single element."""
        if self.chosen.size > 1:
            for chosen in np.array_split(self.chosen, 2):
                yield _direction(self.parts, self.argument, chosen, self.parts[self.argument].ravel()[chosen])


def directions(
    subject: Subject, shares: list[np.ndarray] | None, rng: np.random.Generator
) -> Iterator[Direction]:
    """Yield directions that cover each argument and scale.

    Parameters
    ----------
    subject
        What is checked.
    shares
        Cotangents of its arguments for random cotangents of the results; `None` if reverse mode is not checked.
    rng
        Source of the random steps.
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
            for _ in range(_PER_GROUP if chosen.size > 1 else 1):
                lengths = rng.uniform(0.5, 1.5, chosen.size) if chosen.size > 1 else 1.0
                signs = rng.choice([-1.0, 1.0], chosen.size)
                yield _direction(subject.primals, k, chosen, signs * lengths * units[chosen])


def _units(x: np.ndarray) -> np.ndarray:
    """Return the size of each element; the mean size for elements that are zero."""
    sizes = np.abs(x.ravel().astype(np.float64))
    sizes[~np.isfinite(sizes)] = 0.0
    mean = float(np.sqrt(np.mean(sizes**2))) if x.size else 0.0
    sizes[sizes == 0] = mean if mean > 0 else 1.0
    return sizes


def _groups(x: np.ndarray, shares: np.ndarray | None) -> list[np.ndarray]:
    """Group the elements by the orders of magnitude of their size and of their share in the result."""
    levels = _levels(np.abs(x.ravel().astype(np.float64)))
    if shares is not None:
        levels = levels * 1000 + _levels(np.abs(shares))
    return [np.flatnonzero(levels == level) for level in np.unique(levels)]


def _levels(sizes: np.ndarray) -> np.ndarray:
    """Return the order of magnitude of each size, rounded until there are few different ones."""
    with np.errstate(all="ignore"):
        decades = np.log10(sizes)
    decades = np.where(np.isfinite(decades), decades, -400.0)
    width = _DECADES
    while np.unique(levels := np.round(decades / width)).size > _GROUPS:
        width *= 2
    return np.asarray(levels, np.int64)


def _direction(like: list[np.ndarray], k: int, chosen: np.ndarray, steps: np.ndarray) -> Direction:
    parts = [np.zeros(x.shape, x.dtype) for x in like]  # in C order, which `chosen` counts in
    parts[k].ravel()[chosen] = steps
    return Direction(k, chosen, parts)


def smallest_wrong(direction: Direction, is_wrong: Callable[[Direction], bool]) -> Direction:
    """Bisect a wrong direction to the smallest part that is still wrong."""
    for half in direction.halves():
        if is_wrong(half):
            return smallest_wrong(half, is_wrong)
    return direction


def random_steps(subject: Subject, rng: np.random.Generator) -> list[np.ndarray]:
    """Return a random direction in all elements at once."""
    return [
        np.asarray(random_direction(rng, x.shape) * _units(x).reshape(x.shape), x.dtype)
        for x in subject.primals
    ]
