"""Repeated and rolled elements: tile, repeat, roll, grids of coordinates."""

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad.engine.tape import views
from tapegrad.frontend.conversions.conversion import concrete_array
from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.indexing.indexing import getitem
from tapegrad.frontend.recording.copied_views import copied_view, joined_slices
from tapegrad.frontend.recording.record_structural import as_numbers, in_shape
from tapegrad.frontend.recording.shape import broadcast_to, contiguous, expand_dims, ravel, reshape
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array, is_tensor


def _copied(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a copy of a view, which may repeat elements, in another shape."""
    copy = contiguous(x)
    return in_shape(copy, shape) if copy._tape is not None else reshape(copy, shape)


def _numbers(value: Any, name: str, what: str) -> tuple[int, ...]:
    """Convert counts to plain integers; a recording guards them."""
    if type(value) is int:
        return (value,)
    array = np.asarray(concrete_array(value, f"{what} of {name}") if is_tensor(value) else value)
    if array.ndim > 1 or (array.size and array.dtype.kind not in "biu"):
        raise TypeError(f"{name}: {what} must be an integer, or a sequence of them, not {value!r}")
    return tuple(array.reshape(-1).tolist())


# --- repetition --------------------------------------------------------------------------------------------------


def tile(A: Any, reps: Any) -> Tensor:  # noqa: N803  NumPy's name
    """Return the input again and again, side by side.

    Parameters
    ----------
    A : Tensor or array_like
        Input.
    reps : int or sequence of int
        Repetitions along each axis. If there are fewer numbers than axes, they are those of the last axes; where
        there are more, `A` is given further dimensions in front.

    Returns
    -------
    Tensor
        A copy. Its cotangent is summed over the repetitions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tile(tg.tensor([1.0, 2.0]), (2, 2))
    Tensor([[1., 2., 1., 2.],
            [1., 2., 1., 2.]])
    """
    x = as_numbers(A, "numpy.tile")
    counts, shape = _numbers(reps, "numpy.tile", "reps"), x.shape
    counts = (1,) * (len(shape) - len(counts)) + counts
    lead = len(counts) - len(shape)
    shape = (1,) * lead + shape
    new: list[int] = []  # positions of the inserted axes of repetitions
    spread: list[int] = []
    for axis, (count, extent) in enumerate(zip(counts, shape, strict=True)):
        if axis >= lead and (count == 1 or extent == 1):
            spread.append(count * extent)
        else:
            new.append(len(spread))
            spread += (count, extent) if axis >= lead else (count,)
    inserted, seen = tuple(new), tuple(spread)
    tiled = tuple([count * extent for count, extent in zip(counts, shape, strict=True)])
    made = copied_view(x, tiled, (views.view_expanded, inserted), (views.view_broadcast, seen))
    return (
        _copied(broadcast_to(expand_dims(x, inserted) if inserted else x, seen), tiled)
        if made is None
        else made
    )


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Return each element, or each part along an axis, several times.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    repeats : int or array_like of int
        Repetitions: one number for all, or one for each element along the axis.
    axis : int, optional
        Axis along which to repeat. By default the input is flattened.

    Returns
    -------
    Tensor
        A copy. Its cotangent is summed over the repetitions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.repeat(tg.tensor([1.0, 2.0]), 2)
    Tensor([1., 1., 2., 2.])
    >>> tg.repeat(tg.tensor([1.0, 2.0]), [3, 1])
    Tensor([1., 1., 1., 2.])
    """
    x = as_numbers(a, "numpy.repeat")
    shape = x.shape
    if axis is None or not shape:  # a number has one dimension here, as in NumPy
        x, axis = (x if len(shape) == 1 else ravel(x)), 0 if axis is None else axis
        shape = (math.prod(shape),)
    axis = normalize_axis_index(axis, len(shape))
    counts = _numbers(repeats, "numpy.repeat", "repeats")
    before, extent, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    if len(counts) != 1:
        return getitem(x, (*(slice(None),) * axis, np.arange(extent).repeat(counts)))
    spread, shape = (*before, extent, *counts, *behind), (*before, extent * counts[0], *behind)
    made = copied_view(x, shape, (views.view_expanded, (axis + 1,)), (views.view_broadcast, spread))
    return _copied(broadcast_to(expand_dims(x, axis + 1), spread), shape) if made is None else made


def resize(a: Any, new_shape: Any) -> Tensor:
    """Return the elements in another shape, again and again until it is filled.

    Parameters
    ----------
    a : Tensor or array_like
        Elements in C order.
    new_shape : int or tuple of int
        The shape of the result, which may have more elements than `a`, or fewer.

    Returns
    -------
    Tensor
        A copy; zeros where `a` has no elements.

    Raises
    ------
    ValueError
        If an extent is negative.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.resize(tg.tensor([1.0, 2.0]), (2, 3))
    Tensor([[1., 2., 1.],
            [2., 1., 2.]])
    """
    x = ravel(as_numbers(a, "numpy.resize"))
    shape = (new_shape,) if isinstance(new_shape, int | np.integer) else tuple(new_shape)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"numpy.resize: all extents of the new shape {shape} must be non-negative")
    total = math.prod(shape)
    if total <= x.size:
        return _copied(x[:total], shape)
    if x.size == 0:
        return from_array(np.zeros(shape, x.dtype), constant=True)
    whole, rest = divmod(total, x.size)
    rows = _copied(broadcast_to(x, (whole, x.size)), (whole * x.size,))
    return reshape(concatenate([rows, x[:rest]]), shape) if rest else reshape(rows, shape)


# --- rolling ----------------------------------------------------------------------------------------------------


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Move elements along axes; those that leave at the end come in at the beginning.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    shift : int or tuple of int
        Shift in elements; negative numbers move towards the beginning.
    axis : int or tuple of int, optional
        Axis or axes along which to move. By default the input is flattened, moved and given its shape back.

    Returns
    -------
    Tensor
        A copy of the shape of `a`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.roll(tg.arange(5.0), 2)
    Tensor([3., 4., 0., 1., 2.])
    """
    x = as_numbers(a, "numpy.roll")
    shape = x.shape
    if axis is None and len(shape) != 1:
        return reshape(roll(ravel(x), shift, 0), shape)
    axis = 0 if axis is None else axis
    if type(shift) is int and type(axis) is int:
        return _rolled(x, shift, normalize_axis_index(axis, len(shape)))
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    shifts, along = np.broadcast_arrays(_numbers(shift, "numpy.roll", "shift"), axes)
    totals = dict.fromkeys(axes, 0)
    for count, each in zip(shifts.tolist(), along.tolist(), strict=True):
        totals[each] += count
    moved = x
    for each, count in totals.items():
        moved = _rolled(moved, count, each)
    return moved if totals else contiguous(x)


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    """Join the end of an axis and the part before it."""
    extent = x.shape[axis]
    count = shift % extent if extent else 0
    if count == 0:
        return contiguous(x)
    cut = extent - count
    made = joined_slices(x, axis, (cut, extent), (0, cut))
    if made is not None:
        return made
    before = (slice(None),) * axis
    parts = [getitem(x, (*before, slice(cut, None))), getitem(x, (*before, slice(0, cut)))]
    return concatenate(parts, axis)


# --- grids -------------------------------------------------------------------------------------------------------


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid, from the coordinates along each axis.

    Parameters
    ----------
    *xi : Tensor or array_like
        Vectors, or numbers, with the coordinates along each axis.
    copy : bool, default True
        If False, return views, whose elements are several times in the same memory.
    sparse : bool, default False
        If True, the extents of each result are 1 along the axes of the others, which broadcast to the grid.
    indexing : {'xy', 'ij'}, default 'xy'
        Whether the first two axes of the results are those of the second and the first vector, or the other way round.

    Returns
    -------
    tuple of Tensor
        For each vector its coordinates at all points of the grid.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x, y = tg.meshgrid(tg.arange(3.0), tg.arange(2.0))
    >>> y
    Tensor([[0., 0., 0.],
            [1., 1., 1.]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"numpy.meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    vectors = [as_numbers(x, "numpy.meshgrid") for x in xi]
    ndim, sizes = len(vectors), [x.size for x in vectors]
    dims = [1, 0, *range(2, ndim)] if indexing == "xy" and ndim > 1 else list(range(ndim))
    extents = tuple([sizes[dim] for dim in dims])  # an exchange of two dimensions is its own inverse
    results = []
    for dim, x, size in zip(dims, vectors, sizes, strict=True):
        line = (*(1,) * dim, size, *(1,) * (ndim - dim - 1))
        spread = line if sparse else extents
        made = (
            copied_view(x, spread, (views.view_shape, line), (views.view_broadcast, spread)) if copy else None
        )
        if made is None:
            seen = reshape(x, line) if sparse else broadcast_to(reshape(x, line), extents)
            made = contiguous(seen) if copy else seen
        results.append(made)
    return tuple(results)


def ix_(*args: Any) -> tuple[np.ndarray, ...]:
    """Make index arrays that select all combinations of rows and columns.

    Parameters
    ----------
    *args : array_like of int or bool
        The indices along each axis; constants.

    Returns
    -------
    tuple of numpy.ndarray
        Arrays of integers that broadcast to the grid of indices.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x[tg.ix_([0, 1], [0, 2])]
    Tensor([[1., 3.],
            [4., 6.]])
    """
    found: tuple[np.ndarray, ...] = call_guarded(np.ix_, *args)
    return found


FUNCTIONS = {function.__name__: function for function in (tile, repeat, resize, roll, meshgrid, ix_)}

bind_methods(repeat=repeat)
