"""Methods of binary ufuncs: reduce, accumulate, reduceat, outer and at.

Sums, products and extremes are instructions of their own. Any other function is applied to halves of the axis, or to
all earlier partial results at once, if it is associative, and element by element if not. Each comparison of a maximum
computed so splits the derivative of a tie equally, as ``maximum(x, y)`` does.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.functions.reductions import extremes, predicates, reductions, scans
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.indexing.indexing import scatter_add
from tapegrad.frontend.indexing.keys import element_numbers, parts_of
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver, mask_of
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, expand_dims, moveaxis, reshape
from tapegrad.frontend.recording.ufuncs import in_dtype
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor

_ABSENT: Any = np._NoValue
_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: reductions.sum,
    np.multiply: reductions.prod,
    np.maximum: extremes.max,
    np.minimum: extremes.min,
    np.logical_and: predicates.all,
    np.logical_or: predicates.any,
}
_TESTS = {np.logical_and, np.logical_or}
_SCANS: dict[Any, Callable[..., Any]] = {np.add: scans.cumsum, np.multiply: scans.cumprod}
_ASSOCIATIVE = {
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot,
}  # fmt: skip


class Method(NamedTuple):
    """Method of a ufunc.

    Attributes
    ----------
    ufunc
        NumPy's.
    function
        The same of Tensors.
    name
        In full, for messages.
    """

    ufunc: np.ufunc
    function: Callable[..., Any]
    name: str


def call(ufunc: np.ufunc, function: Callable[..., Any], method: str, *inputs: Any, **arguments: Any) -> Any:
    """Call a method of the ufunc that corresponds to `function`."""
    own = Method(ufunc, function, f"numpy.{ufunc.__name__}.{method}")
    if method != "at" and ufunc.nin != 2:
        raise ValueError(f"{own.name}: only functions of two operands have this method")
    return _METHODS[method](own, *inputs, **arguments)


def with_methods(ufunc: np.ufunc, function: Callable[..., Any]) -> None:
    """Give a function the methods of its ufunc, and NumPy's facts about its operands."""
    vars(function).update({name: getattr(ufunc, name) for name in ("nin", "nout", "nargs", "identity")})
    for method in _METHODS:
        vars(function)[method] = functools.partial(call, ufunc, function, method)


def _operand(own: Method, array: Any, dtype: Any) -> Tensor:
    x = as_numbers(array, own.name)
    return x if dtype is None else in_dtype(x, np.dtype(dtype), own.name)


def _is_constant(own: Method, x: Tensor) -> bool:
    """Return whether the result has no gradient for any values: for integers, and for predicates."""
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        return True
    return own.ufunc.resolve_dtypes((x.dtype, x.dtype, None))[-1].kind not in DIFFERENTIABLE_KINDS


def _by_numpy(own: Method, x: Tensor, *inputs: Any, **arguments: Any) -> Any:
    """Compute a result without gradient; a recording guards it."""
    return call_guarded(getattr(own.ufunc, own.name.rpartition(".")[2]), x, *inputs, **arguments)


# --- reduce ------------------------------------------------------------------------------------------------------


def _reduce(
    own: Method,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **rest: Any,
) -> Any:
    x = _operand(own, array, dtype)
    given = {k: v for k, v in rest.items() if not (v is _ABSENT or v is (True if k == "where" else None))}
    reduction = _REDUCTIONS.get(own.ufunc)
    if _is_constant(own, x) and own.ufunc not in _TESTS:
        return deliver(_by_numpy(own, x, axis, dtype, None, keepdims, **given), out, name=own.name)
    if reduction is not None:
        result = reduction(x, axis=axis, keepdims=keepdims, **given)
    else:
        result = _folded(own, x, axis, **given)
        if keepdims:
            result = expand_dims(result, _axes(x, axis))
    return deliver(result, out, name=own.name)


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)


def _folded(own: Method, x: Tensor, axis: Any, initial: Any = _ABSENT, where: Any = True) -> Any:
    """Fold the elements along axes with the function."""
    axes = _axes(x, axis)
    own.ufunc.reduce(np.ones((1,) * x.ndim), axes, initial=1.0)  # NumPy's error for several axes
    start = own.ufunc.identity if initial is _ABSENT else initial
    if 0 in [x.shape[k] for k in axes]:
        return from_array(own.ufunc.reduce(np.empty(x.shape, x.dtype), axes, initial=initial), constant=True)
    rows = moveaxis(x, axes, range(len(axes)))
    rows = reshape(rows, (math.prod(rows.shape[: len(axes)]), *rows.shape[len(axes) :]))
    if where is not True:
        mask = moveaxis(broadcast_to(mask_of(where, own.name), x.shape), axes, range(len(axes)))
        return _masked_fold(own, rows, reshape(mask, rows.shape), start)
    if len(rows) == 1 and initial is _ABSENT:
        return rows[0].copy()  # NumPy's result has memory of its own
    if own.ufunc not in _ASSOCIATIVE:
        parts = [rows[k] for k in range(len(rows))]
        return functools.reduce(own.function, parts if initial is _ABSENT else [initial, *parts])
    result = _by_halves(own, rows)
    return result if initial is _ABSENT else own.function(initial, result)


def _by_halves(own: Method, rows: Tensor) -> Any:
    rest = []
    while len(rows) > 1:
        half = len(rows) // 2
        if len(rows) % 2:
            rest.append(rows[-1])
        rows = own.function(rows[:half], rows[half : 2 * half])
    return functools.reduce(own.function, [rows[0], *rest])


def _masked_fold(own: Method, rows: Tensor, mask: Any, start: Any) -> Any:
    if start is None:
        raise ValueError(f"{own.name}: there is no identity; with 'where' give an 'initial'")
    result: Any = broadcast_to(as_numbers(np.asarray(start, rows.dtype), own.name), rows.shape[1:])
    for k in range(len(rows)):
        result = select(mask[k], own.function(result, rows[k]), result)
    return result


# --- accumulate ----------------------------------------------------------------------------------------------------


def _accumulate(own: Method, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    x = _operand(own, array, dtype)
    (along,) = normalize_axis_tuple(axis, x.ndim)
    if _is_constant(own, x):
        return deliver(_by_numpy(own, x, along, dtype), out, name=own.name)
    if own.ufunc in _SCANS:
        return deliver(_SCANS[own.ufunc](x, axis=along), out, name=own.name)
    rows = moveaxis(x, along, 0)
    scan = _scan_by_doubling if own.ufunc in _ASSOCIATIVE else _scan_in_order
    return deliver(moveaxis(scan(own, rows), 0, along), out, name=own.name)


def _scan_by_doubling(own: Method, rows: Tensor) -> Tensor:
    """Compute the partial results of 1, 2, 4, ... rows that end in each row (Hillis and Steele 1986)."""
    if len(rows) < 2:
        return rows.copy()  # NumPy's result has memory of its own
    step = 1
    while step < len(rows):
        rows = concatenate([rows[:step], own.function(rows[:-step], rows[step:])])
        step *= 2
    return rows


def _scan_in_order(own: Method, rows: Tensor) -> Tensor:
    results: list[Any] = []
    for k in range(len(rows)):
        results.append(own.function(results[-1], rows[k]) if results else rows[k])
    return stack(results) if results else rows


# --- reduceat ------------------------------------------------------------------------------------------------------


def _reduceat(
    own: Method, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    x = _operand(own, array, dtype)
    along, starts = normalize_axis_index(axis, x.ndim), read_now(indices)
    own.ufunc.reduceat(np.ones(x.shape[along]), starts)  # NumPy's error for indices out of bounds
    if _is_constant(own, x):
        return deliver(_by_numpy(own, x, starts, along, dtype), out, name=own.name)
    rows = moveaxis(x, along, 0)
    ends = np.append(starts[1:], len(rows))
    pairs = [(int(a), int(max(a + 1, b))) for a, b in zip(starts, ends, strict=True)]
    combine = _sums_of_parts if own.ufunc is np.add else _each_part
    return deliver(moveaxis(combine(own, rows, pairs), 0, along), out, name=own.name)


def _each_part(own: Method, rows: Tensor, pairs: list[tuple[int, int]]) -> Any:
    if not pairs:
        return rows[:0]
    return stack([_reduce(own, rows[first:last]) for first, last in pairs])


def _sums_of_parts(own: Method, rows: Tensor, pairs: list[tuple[int, int]]) -> Any:
    taken = np.concatenate([np.arange(first, last) for first, last in pairs] or [np.zeros(0, np.int64)])
    parts = np.repeat(np.arange(len(pairs)), [last - first for first, last in pairs])
    return scatter_add(rows[taken], parts, (len(pairs), *rows.shape[1:]))


# --- outer and at --------------------------------------------------------------------------------------------------


def _outer(own: Method, first: Any, second: Any, **arguments: Any) -> Any:
    first, second = as_numbers(first, own.name), as_numbers(second, own.name)
    first = reshape(first, (*first.shape, *[1] * second.ndim))
    return own.function(first, second, **arguments)


def _apply_at(own: Method, target: Any, indices: Any, *operands: Any) -> None:
    """Apply the function in place at listed elements, repeatedly for repeated ones."""
    parts, _ = parts_of(indices)
    if not is_tensor(target) or target.dtype.kind not in DIFFERENTIABLE_KINDS:
        _at_constants(own, target, parts, operands)
        return
    numbers = element_numbers(target.shape, parts)
    given = [
        broadcast_to(in_dtype(as_numbers(b, own.name), target.dtype, own.name), numbers.shape)
        for b in operands
    ]
    flat = [reshape(b, -1) for b in given]
    if own.ufunc in (np.add, np.subtract):
        sums = scatter_add(flat[0], numbers.reshape(-1), (target.size,))
        target[...] = own.function(target, reshape(sums, target.shape))
        return
    for rank in _group_distinct(numbers.reshape(-1)):
        key = np.unravel_index(numbers.reshape(-1)[rank], target.shape)
        target[key] = own.function(target[key], *[b[rank] for b in flat])


def _at_constants(own: Method, target: Any, parts: tuple[Any, ...], operands: tuple[Any, ...]) -> None:
    """Apply the function at elements of integers, or of a plain array."""
    array = target.data_or_traced().copy() if is_tensor(target) else target
    for operand in operands:
        if is_tensor(operand) and not operand.constant:
            raise TypeError(
                f"{own.name}: a plain array or integers cannot hold a gradient; write to a Tensor of floats"
            )
    own.ufunc.at(array, parts, *[read_now(operand) for operand in operands])
    if is_tensor(target):
        target[...] = array


def _group_distinct(numbers: np.ndarray) -> list[np.ndarray]:
    """Return positions in a list of numbers, in groups without repeated numbers."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    first = np.searchsorted(ranked, ranked)
    rank = np.empty(len(numbers), np.int64)
    rank[order] = np.arange(len(numbers)) - first
    return [np.flatnonzero(rank == k) for k in range(int(rank.max(initial=-1)) + 1)]


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat, "outer": _outer, "at": _apply_at,
}  # fmt: skip
