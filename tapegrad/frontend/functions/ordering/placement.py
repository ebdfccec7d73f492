"""In-place writes: by index, by condition, and of all elements. The target takes the gradient with the values."""

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad.frontend.functions.ordering.selection import along, lines_key, whole_numbers
from tapegrad.frontend.functions.reductions.predicates import FUNCTIONS as PREDICATES
from tapegrad.frontend.indexing.indexing import pick
from tapegrad.frontend.indexing.writes import setitem
from tapegrad.frontend.recording.elementwise import where as choose_where
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, ravel, reshape
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, is_tensor, view_of
from tapegrad.frontend.words.derived_docs import like

_nonzero = PREDICATES["nonzero"]


def _target(a: Any, name: str) -> Tensor:
    """Return the target of a write; raise for an array, which cannot hold a gradient."""
    if is_tensor(a):
        return a
    raise TypeError(
        f"{name}: writes into a Tensor, not into {type(a).__name__}, which cannot hold a gradient; make the target with"
        " tapegrad.array"
    )


def _repeated(values: Tensor, count: int) -> Tensor:
    """Return `count` elements: cycle through them, or take the first ones."""
    if values.size in (1, count):
        return ravel(values)
    return pick(values, np.arange(count, dtype=np.int64) % values.size, (count,))


def _write(a: Tensor, numbers: np.ndarray, values: Tensor) -> None:
    """Write to elements by their numbers in C order; of several writes to one the last counts."""
    if numbers.size == 0:
        return
    given = _repeated(values, numbers.size)
    if a.ndim == 0:
        setitem(a, ..., given[-1])
    else:
        setitem(a, np.unravel_index(numbers, a.shape), given)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values to elements that are given by their numbers in C order: ``a.flat[ind] = v``.

    Parameters
    ----------
    a : Tensor
        Array to write to.
    ind : array_like of int
        Numbers of the elements.
    v : Tensor or array_like
        The values, repeated if there are fewer than numbers.
    mode : {'raise', 'wrap', 'clip'}, default 'raise'
        Treatment of a number out of range: an error, the remainder, or the nearest one.

    Raises
    ------
    IndexError
        If a number is out of range.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.zeros(4)
    >>> tg.put(x, [0, 2], [5.0, 6.0])
    >>> x
    Tensor([5., 0., 6., 0.])
    """
    x, values = _target(a, "numpy.put"), as_numbers(v, "numpy.put")
    numbers = np.asarray(whole_numbers(ind, "numpy.put")).reshape(-1)
    if values.size:
        _write(x, along(numbers, x.size, mode, None, "numpy.put"), values)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, one after another, to the elements where a mask holds.

    Parameters
    ----------
    arr : Tensor
        Array to write to.
    mask : array_like of bool
        As many as `arr` has elements.
    vals : Tensor or array_like
        The values, repeated if there are too few.

    Raises
    ------
    ValueError
        If there is something to write, but no value, and if the mask has another size.

    Notes
    -----
    Which value goes where depends on the mask: while a function is being recorded it becomes a guard. `putmask` and
    `copyto` are instructions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0, 4.0])
    >>> tg.place(x, x > 2, [7.0, 8.0])
    >>> x
    Tensor([1., 2., 7., 8.])
    """
    x, values = _target(arr, "numpy.place"), as_numbers(vals, "numpy.place")
    if np.size(mask) != x.size:
        raise ValueError(f"numpy.place: a mask of shape {np.shape(mask)} for a Tensor of shape {x.shape}")
    (numbers,) = _nonzero(ravel(mask) if is_tensor(mask) else np.ravel(mask))
    if numbers.size and not values.size:
        raise ValueError("numpy.place: there is no value to write")
    _write(x, numbers, values)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Write values to the elements where a mask holds, each to the place that it has itself.

    Parameters
    ----------
    a : Tensor
        Array to write to.
    mask : array_like of bool
        As many as `a` has elements.
    values : Tensor or array_like
        The values, repeated if there are fewer elements than `a` has.

    Raises
    ------
    ValueError
        If the mask has another size.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.putmask(x, x > 1, [7.0, 8.0, 9.0])
    >>> x
    Tensor([1., 8., 9.])
    """
    x, given = _target(a, "numpy.putmask"), as_numbers(values, "numpy.putmask")
    if np.size(mask) != x.size:
        raise ValueError(f"numpy.putmask: a mask of shape {np.shape(mask)} for a Tensor of shape {x.shape}")
    if not np.can_cast(given.dtype, x.dtype, "same_kind"):
        raise TypeError(f"numpy.putmask: cannot write values of {given.dtype} into a Tensor of {x.dtype}")
    if given.size == 0 or x.size == 0:
        return
    holds = reshape(mask, x.shape) if is_tensor(mask) else np.reshape(np.asarray(mask, bool), x.shape)
    full = _repeated(given, x.size)
    full = reshape(full, x.shape) if full.size == x.size else reshape(full, ())
    setitem(x, ..., choose_where(holds, full, x))


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write values into a Tensor, with broadcasting.

    Parameters
    ----------
    dst : Tensor or numpy.ndarray
        Array to write to. An array takes constants only.
    src : Tensor or array_like
        The values; they broadcast to `dst`.
    casting : str, default 'same_kind'
        Which conversions to the dtype of `dst` are allowed.
    where : array_like of bool, default True
        Which elements to write; broadcasts to `dst`.

    Raises
    ------
    ValueError
        If `src` or `where` does not broadcast to the shape of `dst`.
    TypeError
        If `casting` does not allow the conversion.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.copyto(x, 0.0, where=[True, False, True])
    >>> x
    Tensor([0., 2., 0.])
    """
    if type(src) in (int, float):
        src = np.asarray(src, dst.dtype) if np.can_cast(type(src), dst.dtype, casting) else src
    values = as_numbers(src, "numpy.copyto")
    if values.ndim > dst.ndim and math.prod(values.shape[: values.ndim - dst.ndim]) == 1:
        values = reshape(values, values.shape[values.ndim - dst.ndim :])
    deliver(broadcast_to(values, dst.shape), dst, where, casting, name="numpy.copyto")


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write values along an axis, for each line by its own indices.

    Parameters
    ----------
    arr : Tensor
        Array to write to.
    indices : array_like of int
        For each line the elements to write to, as `argsort` returns them.
    values : Tensor or array_like
        They broadcast with `indices`.
    axis : int or None
        Axis along which to write. If None, `arr` is taken as flattened.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.zeros((2, 2))
    >>> tg.put_along_axis(x, [[1], [0]], 5.0, axis=1)
    >>> x
    Tensor([[0., 5.],
            [5., 0.]])
    """
    name = "numpy.put_along_axis"
    x, given = _target(arr, name), as_numbers(values, name)
    if axis is not None:
        setitem(x, lines_key(x.shape, indices, axis, name), given)
        return
    (key,) = lines_key((x.size,), indices, 0, name)
    numbers = along(np.asarray(key), x.size, "raise", 0, name)
    setitem(x, np.unravel_index(numbers, x.shape), given)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write to the main diagonal.

    Parameters
    ----------
    a : Tensor
        What is written to: a matrix, or of more dimensions that are all of one extent.
    val : Tensor or array_like
        Values along the diagonal, repeated if there are too few.
    wrap : bool, default False
        Whether the diagonal begins again below a matrix that is higher than wide.

    Raises
    ------
    ValueError
        If `a` has fewer than two dimensions, or more than two that differ.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.zeros((2, 2))
    >>> tg.fill_diagonal(x, [1.0, 2.0])
    >>> x
    Tensor([[1., 0.],
            [0., 2.]])
    """
    x, values = _target(a, "numpy.fill_diagonal"), as_numbers(val, "numpy.fill_diagonal")
    shape = x.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ValueError(
            f"numpy.fill_diagonal: a Tensor of shape {shape} has no diagonal: two dimensions, or several of one extent"
        )
    if values.size == 0 or 0 in shape:
        return
    if wrap and len(shape) == 2:
        _write(x, np.arange(0, x.size, shape[1] + 1), values)
        return
    array, count = x.data_or_traced(), min(shape)
    diagonal = view_of(x, as_strided(array, (count,), (sum(array.strides),)))
    setitem(diagonal, ..., _repeated(values, count))


FUNCTIONS = {
    function.__name__: function for function in (put, place, putmask, copyto, put_along_axis, fill_diagonal)
}


@like(
    put,
    ("a : Tensor\n    Array to write to.\nind", "indices"),
    ("v :", "values :"),
    ("range: an error, the remainder, or the nearest one.", "range."),
    summary="Write values to elements that are given by their numbers in C order.",
    raises="",
    see_also="tapegrad.put : The same as a function.",
    examples=">>> x = tg.zeros(3)\n>>> x.put([0, 2], 1.0)\n>>> x\nTensor([1., 0., 1.])",
)
def _put_method(x: Tensor, indices: Any, values: Any, mode: str = "raise") -> None:
    put(x, indices, values, mode)


bind_methods(put=_put_method)
