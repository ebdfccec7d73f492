"""Inserted and deleted elements: NumPy rearranges element numbers, and one instruction gathers them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.functions.shapes.joining import concatenate, concatenated
from tapegrad.frontend.functions.shapes.views import with_one_dimension
from tapegrad.frontend.indexing.indexing import getitem, pick
from tapegrad.frontend.recording.copied_views import joined_slices
from tapegrad.frontend.recording.record import read_now, read_within
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import ravel
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import like


def _rearranged(x: Tensor, arrange: Callable[[np.ndarray], np.ndarray]) -> Tensor:
    """Return elements in the order of their numbers after `arrange`."""
    numbers = arrange(np.arange(x.size, dtype=np.int64).reshape(x.shape))
    return pick(x, numbers, numbers.shape)


def _index(obj: Any) -> Any:
    """Return an index as NumPy reads it now; a recording guards its contents."""
    if is_tensor(obj):
        return read_now(obj)
    read_within(obj)
    return obj


def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    """Return the elements without some slices along an axis.

    Parameters
    ----------
    arr : Tensor or array_like
        Input.
    obj : slice, int, or array_like of int or bool
        Which slices to leave out.
    axis : int, optional
        Axis along which they lie; by default the elements are flattened.

    Returns
    -------
    Tensor
        A copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.delete(tg.tensor([1.0, 2.0, 3.0]), 1)
    Tensor([1., 3.])
    """
    x = as_numbers(arr, "numpy.delete")
    made = _without_one(x, obj, axis) if type(obj) is int else None
    if made is not None:
        return made
    return _rearranged(x, lambda numbers: np.delete(numbers, _index(obj), axis))


def _without_one(x: Tensor, row: int, axis: int | None) -> Tensor | None:
    """Join the rows before and after a row of an eager Tensor; `None` for others, or if the row does not exist."""
    shape = x.shape
    dim = 0 if axis is None and len(shape) == 1 else axis
    if dim is None or not 0 <= dim < len(shape) or not -shape[dim] <= row < shape[dim]:
        return None
    row %= shape[dim]
    return joined_slices(x, dim, (0, row), (row + 1, shape[dim]))


@like(
    delete,
    (
        "Which slices to leave out.",
        """Before which slices.
values : Tensor or array_like
    Values to insert, in the dtype of `arr`; broadcasts to the slices.""",
    ),
    ("along which they lie", "along which to insert"),
    summary="Insert values before slices along an axis.",
    examples=""">>> tg.insert(tg.tensor([1.0, 2.0, 3.0]), 1, [7.0, 8.0])
Tensor([1., 7., 8., 2., 3.])""",
)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    name = "numpy.insert"
    x, given = as_numbers(arr, name), as_numbers(values, name)
    if (
        x.dtype.kind not in DIFFERENTIABLE_KINDS
        and given.dtype.kind in DIFFERENTIABLE_KINDS
        and not given.constant
    ):
        raise TypeError(
            f"{name}: values of {given.dtype} lose their gradient among elements of {x.dtype}; convert those with"
            " astype(float)"
        )
    if given.dtype != x.dtype:
        given = given.astype(x.dtype)
    if type(obj) is int and axis in (None, 0) and (made := _with_more(x, obj, given)) is not None:
        return made
    new = np.arange(x.size, x.size + given.size, dtype=np.int64).reshape(given.shape)
    numbers = np.insert(np.arange(x.size).reshape(x.shape), _index(obj), new, axis)
    return pick(concatenate([ravel(x), ravel(given)]), numbers, numbers.shape)


def _with_more(x: Tensor, index: int, given: Tensor) -> Tensor | None:
    """Join values between the two parts of an eager vector; `None` for other operands, or an index out of bounds."""
    shape = x.shape
    if len(shape) != 1 or given.ndim > 1 or not -shape[0] <= index <= shape[0]:
        return None
    index += shape[0] if index < 0 else 0
    parts = [getitem(x, slice(0, index)), with_one_dimension(given), getitem(x, slice(index, None))]
    return concatenated(parts, 0)


FUNCTIONS = {function.__name__: function for function in (delete, insert)}
