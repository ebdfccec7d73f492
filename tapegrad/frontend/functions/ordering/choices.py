"""Choices: arrays built from several others, by index or by condition for each element."""

import math
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.functions.ordering.selection import along, whole_numbers
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.indexing.indexing import pick
from tapegrad.frontend.indexing.locating import located
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record import promoted, read_now
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, reshape
from tapegrad.frontend.recording.ufuncs import kind_of
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array, is_tensor


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Build an array from several ones, of which an index array says for each element which to take.

    Parameters
    ----------
    a : array_like of int
        For each element the number of the choice.
    choices : sequence of Tensor or array_like
        They broadcast with `a`.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.
    mode : {'raise', 'wrap', 'clip'}, default 'raise'
        Treatment of a number out of range: an error, the remainder, or the nearest one.

    Returns
    -------
    Tensor
        Has the shape that `a` and the choices broadcast to.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.choose([0, 1, 1], [tg.zeros(3), tg.tensor([5.0, 6.0, 7.0])])
    Tensor([0., 6., 7.])
    """
    name = "numpy.choose"
    numbers = whole_numbers(a, name)
    choices = list(choices)
    if not choices:
        raise ValueError(f"{name}: there must be at least one choice")
    dtype = _common_dtype(choices, name)
    each = [as_numbers(choice, name).astype(dtype, copy=False) for choice in choices]
    shape = np.broadcast_shapes(numbers.shape, *[x.shape for x in each])
    now = numbers.data_or_traced() if is_tensor(numbers) else numbers
    try:
        now = along(now, len(each), mode, None, name)
    except IndexError as error:
        raise ValueError(f"{error}, the number of choices") from None
    if is_tensor(numbers):
        together = stack([broadcast_to(x, shape) for x in each])
        elements = np.arange(math.prod(shape)).reshape(shape)
        rows: Any = located(elements, broadcast_to(numbers, shape), len(each), elements.size, mode)
    else:
        together = concatenate([reshape(x, -1) for x in each])
        ends = np.cumsum([x.size for x in each])
        of_choices = [
            np.arange(end - x.size, end).reshape(x.shape) for x, end in zip(each, ends.tolist(), strict=True)
        ]
        rows = _chosen(np.broadcast_to(now, shape), of_choices)
    return deliver(pick(together, rows, shape), out, name=name)


def _common_dtype(choices: list[Any], name: str) -> np.dtype[Any]:
    """Return the dtype that choices promote to; Python numbers are weak."""
    return promoted(*(kind_of(as_numbers(each, name) if holds_tensors(each) else each) for each in choices))


def _chosen(numbers: np.ndarray, choices: list[np.ndarray]) -> np.ndarray:
    """Compute ``numpy.choose`` for any number of choices; NumPy's own takes a limited number."""
    rows = np.empty(numbers.shape, np.int64)
    for k, choice in enumerate(choices):
        np.copyto(rows, choice, where=numbers == k)
    return rows


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Build an array from several ones: each element from the first whose condition holds there.

    Parameters
    ----------
    condlist : sequence of array_like of bool
        The conditions.
    choicelist : sequence of Tensor or array_like
        As many arrays; conditions and arrays broadcast.
    default : Tensor or array_like, default 0
        Values where no condition holds.

    Returns
    -------
    Tensor
        Has the shape that all broadcast to, and the dtype that the choices and `default` promote to.

    Raises
    ------
    ValueError
        If there are no conditions, or not as many choices.
    TypeError
        If a condition is not of booleans.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([0.0, 1.0, 2.0])
    >>> tg.select([x < 0.5, x > 1.5], [x - 1, x**2], 7.0)
    Tensor([-1.,  7.,  4.])
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"numpy.select: {len(condlist)} conditions, but {len(choicelist)} choices")
    if len(condlist) == 0:
        raise ValueError("numpy.select: there must be at least one condition")
    conditions = [each if is_tensor(each) else np.asarray(each) for each in condlist]
    for k, each in enumerate(conditions):
        if each.dtype.kind != "b":
            raise TypeError(f"numpy.select: condition {k} is of {each.dtype}, not of booleans")
    *choices, result = [
        each if type(each) in (int, float) else as_numbers(each, "numpy.select")
        for each in (*choicelist, default)
    ]
    dtype = _common_dtype([*choices, result], "numpy.select")
    if dtype.kind not in DIFFERENTIABLE_KINDS:
        arrays = [read_now(each) if is_tensor(each) else each for each in (*choices, result)]
        plain = [read_now(each) for each in conditions]
        return from_array(np.select(plain, arrays[:-1], arrays[-1]), constant=True)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return result if result.dtype == dtype else result.astype(dtype)


FUNCTIONS = {"choose": choose, "select": select}


bind_methods(choose=choose)
