"""Parameters that are fixed, or share a value: a short vector of what is free, in place of all of them."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, taken_apart
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.indexing.indexing import scatter_add
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.stop_gradient import stop_gradient

_FIXED = -1


class Tied:
    """Groups of elements of a vector, each with one value.

    Parameters
    ----------
    groups : numpy.ndarray of int, shape (n,)
        The group of each element; -1 for one that is fixed.
    values : numpy.ndarray, shape (n,)
        The vector that fixed elements are taken from.

    Attributes
    ----------
    size
        Number of groups.
    """

    def __init__(self, groups: np.ndarray, values: np.ndarray) -> None:
        self.groups, self._values = groups, values
        self.size = int(groups.max(initial=_FIXED)) + 1
        self._is_plain = np.array_equal(groups, np.arange(len(groups)))
        self._fixed = values[groups == _FIXED]
        self._places = _places(groups, self.size)

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Equal for groups that spread numbers alike."""
        return self.groups.tobytes(), self._fixed.tobytes()

    def spread(self, free: Any) -> Any:
        """Return all elements, given one for each group; an array or a Tensor."""
        if self._is_plain:
            return free
        join = np.concatenate if isinstance(free, np.ndarray) else concatenate
        return join([free, self._fixed])[self._places]

    def collected(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of each group."""
        own = self.groups != _FIXED
        sums = np.bincount(self.groups[own], values[own], self.size)
        means: np.ndarray = sums / np.bincount(self.groups[own], minlength=self.size)
        return means

    def errors(self, variances: np.ndarray) -> np.ndarray:
        """Return the standard error of all elements, given the variances of the groups: nan where they are fixed."""
        own = np.append(np.sqrt(np.where(variances >= 0.0, variances, np.nan)), np.nan)
        errors: np.ndarray = own[self.groups]
        return errors


def tied(layout: LeafLayout, values: np.ndarray, map_: Any) -> Tied:
    """Return the groups that the argument `map` of a fit means, given the layout and the values of the parameters.

    Raises
    ------
    ValueError, TypeError
        If it fixes all of them, and as `groups_of` does.
    """
    groups = groups_of(layout, map_)
    if groups.max(initial=_FIXED) == _FIXED:
        raise ValueError("laplace: map= fixes all parameters, so there is nothing to fit")
    return Tied(groups, values)


def tie(structure: Any, map_: Any) -> Any:
    """Return a structure with the mean of its group in place of each element; what is fixed has no gradient."""
    leaves, layout = taken_apart(structure, "laplace: parameters")
    groups = groups_of(layout, map_)
    vector, size = joined(leaves, np.dtype(np.float64)), int(groups.max(initial=_FIXED)) + 1
    own, fixed = np.flatnonzero(groups != _FIXED), np.flatnonzero(groups == _FIXED)
    sums = scatter_add(vector[own], groups[own], (size,))
    means = sums / np.bincount(groups[own], minlength=size)
    return layout.split(concatenate([means, stop_gradient(vector[fixed])])[_places(groups, size)])


def _places(groups: np.ndarray, size: int) -> np.ndarray:
    """Return where each element is in a vector of the values of the groups, and of what is fixed behind them."""
    return np.where(groups == _FIXED, size + np.cumsum(groups == _FIXED) - 1, groups)


def groups_of(layout: LeafLayout, map_: Any) -> np.ndarray:
    """Return the group of each element of a vector of parameters, -1 for one that is fixed.

    Parameters
    ----------
    layout
        The layout of the parameters.
    map_
        For a structure of one array, an array of integers like it; for a dict of parameters a dict with some of its
        keys. Equal numbers share a value, -1 is fixed.

    Raises
    ------
    ValueError
        For keys that there are not, or arrays of other shapes.
    TypeError
        For anything but integers.
    """
    groups: list[np.ndarray] = []
    count = 0
    for shape, given in zip(layout.shapes, _labels(layout, map_), strict=True):
        numbers = _checked(given, shape).ravel()
        free = numbers != _FIXED
        distinct, places = np.unique(numbers[free], return_inverse=True)
        found = np.full(numbers.size, _FIXED)
        found[free] = count + places
        count += len(distinct)
        groups.append(found)
    return np.concatenate([np.zeros(0, int), *groups])


def _labels(layout: LeafLayout, map_: Any) -> list[Any]:
    """Return for each leaf the numbers that tell its elements apart: those of `map`, or one for each element."""
    own = [np.arange(int(np.prod(shape, dtype=int))).reshape(shape) for shape in layout.shapes]
    if map_ is None:
        return own
    structure = unflatten(layout.definition, own)
    if not isinstance(structure, dict):
        given = flatten(map_)[0]
        if len(given) != len(own):
            raise ValueError(f"laplace: map= has {len(given)} arrays, but there are {len(own)} of parameters")
        return given
    if not isinstance(map_, dict) or not set(map_) <= set(structure):
        raise ValueError(
            f"laplace: map= must be a dict with some of the keys {', '.join(map(repr, structure))}"
        )
    return flatten({**structure, **map_})[0]


def _checked(numbers: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"laplace: map= takes integers, equal for what shares a value and -1 for what is fixed, not {array.dtype}"
        )
    if array.shape != shape:
        raise ValueError(f"laplace: map= has shape {array.shape} for parameters of shape {shape}")
    if array.size and array.min() < _FIXED:
        raise ValueError(f"laplace: map= has {array.min()}; numbers are from 0 on, and -1 is fixed")
    return array
