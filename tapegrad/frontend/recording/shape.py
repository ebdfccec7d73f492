"""Views: reshape, transpose and their like. They share memory, and cost nothing in either sweep."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad.engine.sweep.derivatives import bind_recording
from tapegrad.engine.tape import slots, views
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record import cast, unary
from tapegrad.frontend.recording.record_structural import as_numbers, in_shape
from tapegrad.frontend.tensor.array_checks import plain
from tapegrad.frontend.tensor.memory_order import axes_as_they_lie, check_order_is_known, is_by_columns
from tapegrad.frontend.tensor.modes import current, thread
from tapegrad.frontend.tensor.tensor import (
    Tensor,
    bind_methods,
    from_array,
    is_tensor,
    slot_to_view,
    view_from_slot,
    view_of,
)
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import COPY


def _by_engine(x: Tensor, view: Callable[..., int], *arguments: Any) -> Tensor | None:
    """Return a view that the engine makes from integers; `None` if it refuses, and NumPy has to be called."""
    tape, own = x._tape, slot_to_view(x)
    if tape is None or own < 0:
        return None
    try:
        slot = view(tape.header, own, *arguments)
    except (TypeError, OverflowError):  # not integers, or not a tuple
        return None
    return view_from_slot(x, slot) if slot >= 0 else None


def packed_part(x: Tensor, first: int, rows: int, columns: int = -1) -> Tensor | None:
    """Return a part of each packed line: vectors, or matrices by columns; `None` if the engine refuses."""
    return _by_engine(x, views.view_part, first, rows, columns)


def _tensor(a: Any, name: str) -> Tensor:
    """Return an operand of any dtype as a Tensor."""
    if is_tensor(a) or holds_tensors(a):
        return as_numbers(a, name)
    array = plain(a, name)
    return (
        as_numbers(array, name)
        if array.dtype.kind in DIFFERENTIABLE_KINDS
        else from_array(array, constant=True)
    )


def contiguous(x: Tensor) -> Tensor:
    """Return a recorded copy in C order."""
    return unary(COPY, x) if x.dtype.kind in DIFFERENTIABLE_KINDS else cast(x, x.dtype, current()[0])


def in_c_order(x: Tensor) -> Tensor:
    """Return `x` if its elements are contiguous in C order, otherwise a recorded copy."""
    return x if is_in_c_order(x) else contiguous(x)


def in_own_buffer(x: Tensor) -> Tensor:
    """Return `x` if it is the whole of its buffer in C order, otherwise a recorded copy.

    An in-place op takes over the buffer of its first operand, and gives it the cotangent of its result.
    """
    tape = current()[0]
    return x if bind_recording.covers(tape.header, x._slot_on(tape)) else contiguous(x)


def is_in_c_order(x: Tensor) -> bool:
    if x._array is not None:
        return bool(x._array.flags.c_contiguous)
    own, tape = slot_to_view(x), x._tape
    if own >= 0 and tape is not None:
        flat = views.view_shape(tape.header, own, (-1,))  # NumPy raises where a copy would be needed
        if flat >= 0:
            slots.drop(tape.header, flat)
            return True
    return bool(x.data_or_traced().flags.c_contiguous)


def view_region(buffer: Tensor, view: View) -> Tensor:
    """Return a view of the value of a buffer; of a value of floats it may be a view as complex numbers.

    A value that is not in C order is copied first: a cotangent may be any view of a computed Tensor.
    """
    buffer = in_c_order(buffer)
    array = buffer.data_or_traced().reshape(-1)
    if view.dtype != array.dtype and not view.size:
        return view_of(buffer, array[:0].view(view.dtype).reshape(view.shape))
    if view.dtype != array.dtype:
        return view_of(buffer, np.ndarray(view.shape, view.dtype, array, view.offset, view.strides))
    return view_of(buffer, as_strided(array[view.offset // array.itemsize :], view.shape, view.strides))


def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Tensor:
    """Give a new shape to a Tensor without changing its elements.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to see in another shape.
    shape : int or tuple of int
        The new shape. One extent may be -1: it follows from the others.
    order : {'C', 'F', 'A'}, default 'C'
        Which elements are neighbours, as for ``numpy.reshape``; 'A' is refused where `ravel` refuses it.
    copy : bool, optional
        If True, always copy; if False, raise instead of copying. By default a copy is made only where the memory
        does not allow a view.

    Returns
    -------
    Tensor
        A view that shares the memory of `a`, or a recorded copy.

    Raises
    ------
    ValueError
        If the number of elements differs, and for ``copy=False`` where a copy is needed.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.reshape(tg.arange(4.0), (2, -1))
    Tensor([[0., 1.],
            [2., 3.]])
    """
    x = a if isinstance(a, Tensor) else _tensor(a, "reshape")
    if order == "C" and not copy:
        made = _by_engine(x, views.view_shape, (shape,) if type(shape) is int else shape)
        if made is not None:
            return made
    check_order_is_known(x, order, "reshape")
    array = x.data_or_traced()
    view = array.reshape(shape, order=order)
    if order != "C" and is_by_columns(array, order):
        operand = transpose(x) if array.ndim > 1 else x
        return transpose(reshape(operand, view.shape[::-1], copy=copy))
    needed = array.size > 0 and view.base is not array and view.base is not array.base
    if needed and copy is False:
        raise ValueError("reshape: this shape needs a copy, which copy=False forbids")
    if needed or copy:
        x = x.copy()
        view = x.data_or_traced().reshape(view.shape)
    return view_of(x, view)


def _set_shape(x: Tensor, shape: Any) -> None:
    """Set the shape of a Tensor in place: it takes the slot of a view of itself. The buffer keeps the gradient."""
    recorder = thread.mode.recorder
    if recorder is not None and not recorder.has_made(x if x._base is None else x._base):
        raise RuntimeError(
            "a Tensor from outside is reshaped in place while a function is being recorded, which no replay repeats"
            "; write t = t.reshape(shape)"
        )
    x.data_or_traced().reshape(shape)  # NumPy's error for another number of elements
    try:
        view = reshape(x, shape, copy=False)
    except ValueError:
        raise AttributeError("this shape needs a copy: write t = t.reshape(shape)") from None
    _take_over(x, view)


def _take_over(x: Tensor, view: Tensor) -> None:
    """Move a Tensor to the slot of a view of itself, of the same buffer."""
    x._tape, x._array, view._array = view._tape, view._array, x._array
    x._slot, view._slot = view._slot, x._slot


def setflags(
    x: Tensor, write: bool | None = None, align: bool | None = None, uic: bool | None = None
) -> None:
    """Set NumPy's flags of the memory, as ``numpy.ndarray.setflags`` does.

    Parameters
    ----------
    write : bool, optional
        Whether the elements may be written to.
    align, uic : bool, optional
        As for NumPy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> x.setflags(write=False)
    >>> x[0] = 5.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """
    array = x.data_or_traced()
    array.setflags(write=write, align=align, uic=uic)
    if x._slot >= 0:
        _take_over(x, view_of(x, array))  # a read-only slot, whose views are read-only too


def ravel(a: Any, order: str = "C") -> Tensor:
    """Return all elements in one dimension.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to flatten.
    order : {'C', 'F', 'A', 'K'}, default 'C'
        In which order to read them, as for ``numpy.ravel``. 'A' and 'K' are refused where the order of NumPy's result
        may be another one: for what is computed from operands that are not in C order, or other than elementwise, and
        in recordings for arguments that are not in C order.

    Returns
    -------
    Tensor
        Shape ``(a.size,)``: a view of `a` if its elements are contiguous in that order, otherwise a recorded copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.ravel(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([1., 2., 3., 4.])
    """
    x = a if type(a) is Tensor else _tensor(a, "ravel")
    check_order_is_known(x, order, "ravel")
    made = _by_engine(x, views.view_shape, (-1,)) if order in ("C", "K") else None
    if made is not None:
        return made
    if order == "K":
        x, order = transpose(x, axes_as_they_lie(x.data_or_traced())), "C"
    if order != "C":
        return reshape(x, -1, order)
    return reshape(in_c_order(x), -1)


def transpose(a: Any, axes: Any = None) -> Tensor:
    """Permute the dimensions; reverse them by default.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    axes : tuple or list of int, optional
        A permutation of the dimensions: dimension ``k`` of the result is dimension ``axes[k]`` of `a`.

    Returns
    -------
    Tensor
        A view of `a`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.transpose(tg.zeros((2, 3, 4)), (0, 2, 1)).shape
    (2, 4, 3)
    """
    x = _tensor(a, "transpose")
    if axes is None:
        made = _by_engine(x, views.view_reversed)
    else:
        made = _by_engine(x, views.view_permuted, tuple(axes) if type(axes) is list else axes)
    return view_of(x, np.transpose(x.data_or_traced(), axes)) if made is None else made


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Interchange two dimensions.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    axis1, axis2 : int
        The two dimensions; negative ones count from the last.

    Returns
    -------
    Tensor
        A view of `a`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.swapaxes(tg.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = _tensor(a, "swapaxes")
    made = _by_engine(x, views.view_swapped, axis1, axis2)
    return view_of(x, np.swapaxes(x.data_or_traced(), axis1, axis2)) if made is None else made


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Move dimensions to new positions; the others keep their order.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    source : int or sequence of int
        Dimensions to move.
    destination : int or sequence of int
        Their positions in the result.

    Returns
    -------
    Tensor
        A view of `a`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.moveaxis(tg.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = _tensor(a, "moveaxis")
    made = _by_engine(x, views.view_moved, source, destination)
    return view_of(x, np.moveaxis(x.data_or_traced(), source, destination)) if made is None else made


def squeeze(a: Any, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Remove dimensions of extent 1.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    axis : int or tuple of int, optional
        Which of them to remove; all by default.

    Returns
    -------
    Tensor
        A view of `a`.

    Raises
    ------
    ValueError
        If a dimension named by `axis` has another extent.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.squeeze(tg.zeros((1, 3, 1))).shape
    (3,)
    """
    x = _tensor(a, "squeeze")
    axes = () if axis is None else (axis,) if type(axis) is int else axis
    made = _by_engine(x, views.view_squeezed, axes, axis is None)
    return view_of(x, np.squeeze(x.data_or_traced(), axis)) if made is None else made


def expand_dims(a: Any, axis: int | tuple[int, ...]) -> Tensor:
    """Insert dimensions of extent 1.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    axis : int or tuple of int
        Their positions in the result.

    Returns
    -------
    Tensor
        A view of `a`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.expand_dims(tg.zeros(3), 0).shape
    (1, 3)
    """
    x = _tensor(a, "expand_dims")
    made = _by_engine(x, views.view_expanded, (axis,) if type(axis) is int else axis)
    return view_of(x, np.expand_dims(x.data_or_traced(), axis)) if made is None else made


def broadcast_to(array: Any, shape: int | tuple[int, ...], subok: bool = False) -> Tensor:
    """Broadcast to a shape without copying the elements.

    Parameters
    ----------
    array : Tensor or array_like
        Input.
    shape : int or tuple of int
        The shape of the result.
    subok : bool, default False
        Accepted because ``numpy.broadcast_to`` has it; ignored.

    Returns
    -------
    Tensor
        A view of `array`. Its cotangent is summed over the dimensions that were broadcast.

    Raises
    ------
    ValueError
        If `array` does not broadcast to `shape`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> tg.broadcast_to(x, (3, 2)).backward()
    >>> x.grad
    array([3., 3.])
    """
    x = _tensor(array, "broadcast_to")
    made = _by_engine(x, views.view_broadcast, (shape,) if type(shape) is int else shape)
    return view_of(x, np.broadcast_to(x.data_or_traced(), shape)) if made is None else made


FUNCTIONS = {
    function.__name__: function
    for function in (reshape, ravel, transpose, swapaxes, moveaxis, squeeze, expand_dims, broadcast_to)
} | {"permute_dims": transpose}


@like(
    reshape,
    summary="Give a new shape to the Tensor without changing its elements.",
    parameters="""*shape : int or tuple of int
    The new shape, as a tuple or as separate numbers. One extent may be -1.
order : {'C', 'F', 'A'}, default 'C'
    Which elements are neighbours, as for ``numpy.reshape``.
copy : bool, optional
    If True, always copy; if False, raise instead of copying.""",
    returns="""Tensor
    A view that shares the memory, or a recorded copy where the memory does not allow a view.""",
    raises="",
    see_also="tapegrad.reshape : The same as a function.",
    examples=">>> tg.arange(4.0).reshape(2, -1)\nTensor([[0., 1.],\n        [2., 3.]])",
)
def _reshape_method(a: Tensor, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    if not shape:
        raise TypeError("reshape() takes the new shape; write reshape(()) for a 0-dimensional Tensor")
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@like(
    transpose,
    ("view of `a`.", "view."),
    parameters="""*axes : int, tuple of int or None
    A permutation of the dimensions, as a tuple or as separate numbers.""",
    see_also="tapegrad.transpose : The same as a function.",
    examples=">>> tg.zeros((2, 3, 4)).transpose(0, 2, 1).shape\n(2, 4, 3)",
)
def _transpose_method(a: Tensor, *axes: Any) -> Tensor:
    if len(axes) > 1:
        return transpose(a, axes)
    return transpose(a, axes[0] if axes else None)


def _flatten(a: Tensor, order: str = "C") -> Tensor:
    """Return a copy with all elements in one dimension.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}, default 'C'
        In which order to read the elements, as for ``numpy.ndarray.flatten``.

    Returns
    -------
    Tensor
        Shape ``(size,)``, always a recorded copy; `ravel` returns a view where that is possible.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([[1.0, 2.0], [3.0, 4.0]]).flatten("F")
    Tensor([1., 3., 2., 4.])
    """
    if order == "C" and a.dtype.kind in DIFFERENTIABLE_KINDS:
        return in_shape(contiguous(a), (a.size,))
    flat = ravel(a, order)
    return contiguous(flat) if np.may_share_memory(flat.data_or_traced(), a.data_or_traced()) else flat


bind_methods(
    T=property(transpose, doc="Dimensions in reverse order."),
    shape=Tensor.shape.setter(_set_shape),  # type: ignore[attr-defined]  # a property, to mypy a tuple
    setflags=setflags,
    reshape=_reshape_method,
    ravel=ravel,
    flatten=_flatten,
    transpose=_transpose_method,
    swapaxes=swapaxes,
    squeeze=squeeze,
)
