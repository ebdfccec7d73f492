"""Sorting, and the positions of extremes, computed by each replay.

Positions are plain integers in eager code, and Tensors of integers while a function is being recorded. All sorts are
stable, whatever `kind` is, so that a replay finds the same positions as eager code; a gradient goes to the element
that stood at the position.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.errors import UnsupportedError
from tapegrad.foreign import original
from tapegrad.frontend.conversions.guarded_results import call_guarded, is_computed, is_recording
from tapegrad.frontend.functions.reductions.lines import axes_of, constant, is_inexact, lines_along, operand
from tapegrad.frontend.functions.shapes.views import flip
from tapegrad.frontend.indexing.indexing import elements_now, gather
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_tensor, record_new
from tapegrad.frontend.recording.shape import contiguous, in_c_order, moveaxis, reshape
from tapegrad.frontend.tensor.array_checks import real_numbers
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.frontend.words.derived_docs import like, renamed
from tapegrad.ops import CODES
from tapegrad.ops.structural.lines import ArgextremeParams, ArgsortParams

_ARGSORT, _ARGEXTREME = CODES["argsort"], CODES["argextreme"]
_INDEX = np.dtype(np.int64)
_POSITIONS = (
    "While a function is being recorded, a Tensor of integers that each replay computes. No gradient flows through\n"
    "    positions; the elements that they pick have one."
)
_MAX_NUMPY_ELEMENTS = 512  # elements up to which NumPy sorts faster than a call of the engine takes


# --- instructions ----------------------------------------------------------------------------------------------


def order_of_lines(lines: Tensor, *, numbered_through: bool) -> Tensor:
    """Return the positions that sort each line along the last axis of contiguous floats, as int64."""
    shape = lines.shape
    params = ArgsortParams(math.prod(shape[:-1]), shape[-1], int(numbered_through))
    return record_new(_ARGSORT, [lines], shape, params, "argsort", _INDEX)


def sorted_lines(lines: Tensor) -> Tensor:
    """Return the lines along the last axis, sorted, in C order."""
    if not is_recording():
        if lines.size <= _MAX_NUMPY_ELEMENTS:
            return elements_now(lines, order_now(lines))
        if lines.constant or not thread.mode.differentiate:
            found = _sorted_now(lines.data_or_traced())
            if found is not None:
                return from_array(found, constant=True)
    lines = in_c_order(lines)
    return gather(lines, order_of_lines(lines, numbered_through=True), lines.shape, 1)


def _sorted_now(values: np.ndarray) -> np.ndarray | None:
    """Sort lines along the last axis by NumPy, in a third of the time; `None` if the bits may be others.

    That is so of zeros with different signs, some of which NumPy's vector code may even replace by others, and of nan.
    """
    found = np.sort(values, -1)
    if found.size == 0 or np.isnan(found[..., -1]).any():
        return None
    if np.count_nonzero(found) < found.size and np.signbit(values[values == 0]).any():
        return None
    return found


def order_now(lines: Tensor) -> np.ndarray:
    """Return the numbers, in C order of all elements, that sort each line along the last axis; eager code only."""
    values = lines.data_or_traced()
    if values.size > _MAX_NUMPY_ELEMENTS:
        return order_of_lines(in_c_order(lines), numbered_through=True).data_or_traced()
    order = values.argsort(-1, kind="stable")
    if values.ndim > 1 and values.size:
        order += np.arange(0, values.size, values.shape[-1]).reshape(*values.shape[:-1], 1)
    return order


def _extreme_of_lines(lines: Tensor, shape: tuple[int, ...], sign: int, name: str) -> Tensor:
    """Return the position of the extreme of each line along the last axis, in a shape."""
    params = ArgextremeParams(math.prod(lines.shape[:-1]), lines.shape[-1], sign)
    return record_new(_ARGEXTREME, [in_c_order(lines)], shape, params, name, _INDEX)


def is_recorded(a: Any) -> bool:
    """Return whether each replay computes the positions in `a`: of floats and booleans that it computes."""
    return is_recording() and is_computed(a) and a.dtype.kind in "fb"


def _are_recorded_integers(a: Any) -> bool:
    """Return whether each replay computes int64, such as the positions of `argsort`."""
    return is_recording() and is_computed(a) and a.dtype == _INDEX


def _as_floats(x: Tensor) -> Tensor:
    return x if is_inexact(x) else select(x, 1.0, 0.0)


# --- sorting ---------------------------------------------------------------------------------------------------


def sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """Return the elements along an axis in ascending order, or in descending order.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sort. Each nan comes last.
    axis : int or None, default -1
        Axis to sort along. If None, the elements are flattened first.
    kind : str, optional
        Sorting algorithm, as for ``numpy.sort``; the result is the same for all.
    order : None
        For arrays with fields, which a Tensor has not.
    stable : bool, optional
        Whether elements that are equal keep their order; they always do.
    descending : bool, default False
        If True, the largest element comes first, and each nan before it. The array API has it, NumPy has not.

    Returns
    -------
    Tensor
        A sorted copy. That of integers and booleans is a constant.

    See Also
    --------
    tapegrad.argsort : The positions that sort.

    Notes
    -----
    The cotangent of each element of the result goes to where it came from. A replay sorts anew.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([3.0, 1.0, 2.0])
    >>> tg.sort(x).backward([10.0, 20.0, 30.0])
    >>> x.grad
    array([30., 10., 20.])
    """
    x = operand(a, "sort")
    if descending:
        return flip(sort(flip(x, axis), axis, kind, order, stable=stable), axis)
    if not is_inexact(x):
        return constant(np.sort, x, axis, kind, order, stable=stable)
    _check_kind(kind, order, stable)
    return _sorted(x, axis)


def _sorted(x: Tensor, axis: int | None) -> Tensor:
    if axis is None:
        return sorted_lines(reshape(x, -1))
    axis = normalize_axis_index(axis, x.ndim)
    if axis == x.ndim - 1:
        return sorted_lines(x)
    return contiguous(moveaxis(sorted_lines(moveaxis(x, axis, -1)), -1, axis))


def _check_kind(kind: Any, order: Any, stable: Any) -> None:
    """Raise NumPy's errors for arguments that do not change the result."""
    if kind is not None or order is not None or stable is not None:
        np.sort(np.empty(0), kind=kind, order=order, stable=stable)


@like(
    sort,
    (
        "the elements along an axis in ascending order, or in descending order.",
        "the positions that would sort the elements along an axis.",
    ),
    (
        "numpy.sort``; the result is the same for all.",
        "numpy.argsort``; elements that are equal keep their order in all.",
    ),
    returns=f"numpy.ndarray of int\n    {_POSITIONS}",
    see_also="",
    notes="",
    examples=">>> x = tg.tensor([3.0, 1.0, 2.0])\n>>> tg.argsort(x)\narray([1, 2, 0])",
)
def argsort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Any:
    _check_kind(kind, order, stable)
    if descending:
        x = operand(a, "argsort")
        backwards = argsort(flip(x, axis), axis)
        return np.flip((x.size if axis is None else x.shape[axis]) - 1 - backwards, axis)
    if not (is_recorded(a) or _are_recorded_integers(a)) or a.ndim == 0:
        return call_guarded(np.argsort, real_numbers(a, "argsort"), axis, stable=True)
    return _order(_as_floats(a) if a.dtype.kind == "b" else a, axis)


def _order(x: Tensor, axis: int | None) -> Tensor:
    if axis is None:
        x, axis = reshape(x, -1), 0
    axis = normalize_axis_index(axis, x.ndim)
    lines = x if axis == x.ndim - 1 else moveaxis(x, axis, -1)
    found = order_of_lines(in_c_order(lines), numbered_through=False)
    return found if lines is x else contiguous(moveaxis(found, -1, axis))


def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Tensor:
    """Return the elements along an axis so that the `kth` is where sorting would put it.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to arrange.
    kth : int or sequence of int
        Which element in ascending order: smaller ones come before it, the others after.
    axis : int or None, default -1
        Axis to arrange along. If None, the elements are flattened first.
    kind : str, default 'introselect'
        Selection algorithm, as for ``numpy.partition``.
    order : None
        For arrays with fields, which a Tensor has not.

    Returns
    -------
    Tensor
        The elements of floats in ascending order, which is more than is asked for. Those of integers and booleans are
        constants, as ``numpy.partition`` arranges them.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.partition(tg.tensor([3.0, 1.0, 2.0]), 0)[0]
    Tensor(1.)
    """
    x = operand(a, "partition")
    if not is_inexact(x):
        return constant(np.partition, x, kth, axis, kind, order)
    _check_kth(x, kth, axis, kind, order)
    return _sorted(x, axis)


def _check_kth(x: Tensor, kth: Any, axis: int | None, kind: Any, order: Any) -> None:
    """Raise NumPy's errors for a `kth` in lines of this length."""
    count = x.size if axis is None else x.shape[normalize_axis_index(axis, x.ndim)]
    np.partition(np.zeros(count, bool), kth, kind=kind, order=order)


@like(
    partition,
    (
        "the elements along an axis so that the `kth` is where",
        "positions that put the `kth` element along an axis where",
    ),
    ("numpy.partition", "numpy.argpartition"),
    returns="""numpy.ndarray of int
    The positions that sort, which is more than is asked for. While a function is being recorded, a Tensor of
    integers that each replay computes.""",
    examples=">>> tg.argpartition(tg.tensor([3.0, 1.0, 2.0]), 0)[0]\nnp.int64(1)",
)
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    x = operand(a, "argpartition")
    if x.ndim == 0:
        return call_guarded(np.argpartition, x, kth, axis, kind, order)
    _check_kth(x, kth, axis, kind, order)
    return argsort(x, axis)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the positions that sort by several keys, the last of which counts most.

    Parameters
    ----------
    keys : sequence of Tensor or array_like
        Keys of one shape: what comes later counts more.
    axis : int, default -1
        Axis to sort along.

    Returns
    -------
    numpy.ndarray of int
        While a function is being recorded, a Tensor of integers that each replay computes, if the keys are
        one-dimensional floats; of others the result is guarded.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.lexsort((tg.tensor([2.0, 1.0]), tg.tensor([0.0, 0.0])))
    array([1, 0])
    """
    columns = [real_numbers(key, "lexsort") for key in keys]
    if not any(map(is_recorded, columns)):
        return call_guarded(np.lexsort, columns, axis)
    tensors = [as_tensor(key, "lexsort") for key in columns]
    if any(key.ndim != 1 or not is_inexact(key) for key in tensors) or len({key.size for key in tensors}) > 1:
        return call_guarded(np.lexsort, columns, axis)
    found = _order(tensors[0], normalize_axis_index(axis, 1))
    for key in tensors[1:]:
        taken = gather(in_c_order(key), found, key.shape, 1)
        found = gather(found, _order(taken, 0), key.shape, 1)
    return found


def sort_complex(a: Any) -> None:
    """Raise an error, because the result of ``numpy.sort_complex`` is complex.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sort.

    Raises
    ------
    UnsupportedError
        Always; `sort` sorts real numbers.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sort_complex(tg.zeros(2))
    Traceback (most recent call last):
    ...
    tapegrad.errors.UnsupportedError: numpy.sort_complex: complex Tensors are not supported; write sort(a)
    """
    raise UnsupportedError("numpy.sort_complex: complex Tensors are not supported; write sort(a)")


# --- extremes --------------------------------------------------------------------------------------------------


def _make_argextreme(plain: Any) -> Callable[..., Any]:
    """Make `argmax` or `argmin`."""

    def argextreme(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return the position of the maximum along an axis, the first of several.

        Parameters
        ----------
        a : Tensor or array_like
            Elements to compare. A nan among them is the maximum.
        axis : int, optional
            Axis to compare along; by default the position is that in the flattened elements.
        out : Tensor or numpy.ndarray, optional
            Destination of the result.
        keepdims : bool, default False
            Keep the reduced axis with extent 1.

        Returns
        -------
        numpy.ndarray of int or numpy.int64
            While a function is being recorded, a Tensor of integers that each replay computes. No gradient flows
            through positions; the elements that they pick have one.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([1.0, 3.0, 2.0])
        >>> tg.argmax(x)
        np.int64(1)
        """
        if is_recorded(a):
            result = recorded_argextreme(plain, _as_floats(a), axis, keepdims)
        else:
            result = call_guarded(plain, real_numbers(a, plain.__name__), axis, keepdims=keepdims)
        return result if out is None else deliver(result, out, name=f"numpy.{plain.__name__}")

    return renamed(argextreme, plain.__name__)


argmax = _make_argextreme(np.argmax)
argmin = like(
    argmax,
    ("maximum", "minimum"),
    examples=">>> x = tg.tensor([1.0, 3.0, 2.0])\n>>> tg.argmin(x)\nnp.int64(0)",
)(_make_argextreme(np.argmin))


def recorded_argextreme(function: Any, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    """Return the positions of ``numpy.argmax`` or ``numpy.argmin``, in a Tensor that each replay computes."""
    shape = x.shape
    found = np.shape(
        function(np.empty(shape, np.bool_), axis, keepdims=keepdims)
    )  # raises NumPy's errors too
    lines = lines_along(x, axes_of(axis, len(shape)), shape)
    # A stand-in may be in NumPy's place now
    return _extreme_of_lines(lines, found, 1 if function is original(np.argmax) else -1, function.__name__)


FUNCTIONS = {
    function.__name__: function
    for function in (sort, argsort, partition, argpartition, lexsort, sort_complex, argmax, argmin)
}


# --- methods ---------------------------------------------------------------------------------------------------


def _sort_in_place(
    x: Tensor, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
) -> None:
    """Sort the elements along an axis in place.

    Parameters
    ----------
    axis : int, default -1
        Axis to sort along.
    kind : str, optional
        Sorting algorithm, as for ``numpy.ndarray.sort``; the result is the same for all.
    order : None
        For arrays with fields, which a Tensor has not.
    stable : bool, optional
        Whether elements that are equal keep their order; they always do.

    See Also
    --------
    tapegrad.sort : Returns a sorted copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([3.0, 1.0, 2.0]) * 1.0
    >>> x.sort()
    >>> x
    Tensor([1., 2., 3.])
    """
    x[...] = sort(x, axis, kind, order, stable=stable)


def _partition_in_place(
    x: Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
) -> None:
    """Arrange the elements along an axis in place so that the `kth` is where sorting would put it.

    Parameters
    ----------
    kth : int or sequence of int
        Which element in ascending order: smaller ones come before it, the others after.
    axis : int, default -1
        Axis to arrange along.
    kind : str, default 'introselect'
        Selection algorithm, as for ``numpy.ndarray.partition``.
    order : None
        For arrays with fields, which a Tensor has not.

    See Also
    --------
    tapegrad.partition : Returns a copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([3.0, 1.0, 2.0]) * 1.0
    >>> x.partition(1)
    >>> x
    Tensor([1., 2., 3.])
    """
    x[...] = partition(x, kth, axis, kind, order)


bind_methods(
    sort=_sort_in_place,
    argsort=argsort,
    partition=_partition_in_place,
    argpartition=argpartition,
    argmax=argmax,
    argmin=argmin,
)
