"""The derivatives of structural ops as expressions on Tensors, each beside its op's name.

A reverse rule returns, for each operand that is asked for, the contribution to its cotangent, in the operand's shape
or in one that it broadcasts to. A forward rule returns the tangent of the result.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.custom import tensor_rules as custom
from tapegrad.autodiff.regions import laid, region_of
from tapegrad.autodiff.step import Step
from tapegrad.frontend import elementwise, joining, linalg, reductions
from tapegrad.frontend.modes import current
from tapegrad.frontend.record import apply, unary
from tapegrad.frontend.record_structural import allocate, record_out
from tapegrad.frontend.shape import contiguous, reshape, swapaxes
from tapegrad.frontend.tensor import Tensor, from_array
from tapegrad.frontend.writes import setitem
from tapegrad.ops import CODES

_COPY, _CHAIN = CODES["positive"], CODES["chain"]
Weights = Callable[[Step], Tensor]
_SCATTER_ADD, _GATHER = CODES["scatter_add"], CODES["gather"]


# --- sums ------------------------------------------------------------------------------------------------------


def _sum_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    return {0: y_bar}


def _reduced_axes(step: Step) -> tuple[int, ...]:
    """The axes along which the result is seen with strides of 0."""
    return tuple(k for k, stride in enumerate(step.geometry(step.result).strides) if stride == 0)


def _sum_forward(step: Step, x_dot: Value) -> Value:
    return reductions.sum(step.dense(x_dot, 0), _reduced_axes(step))


def _cumsum_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y_bar = step.dense(y_bar, -1)
    return {0: reductions.cumsum(y_bar[..., ::-1], -1)[..., ::-1]}


def _cumsum_forward(step: Step, x_dot: Value) -> Value:
    return reductions.cumsum(step.dense(x_dot, 0), -1)


# --- products and extremes along lines -------------------------------------------------------------------------


def products_of_others(x: Tensor) -> Tensor:
    """For each element of a line, the product of all others, without a division.

    Neighbours are multiplied up a tree, and what lies beside each branch down again, so that it is right, and has
    the right derivatives of all orders, where elements are zero.
    """
    n = x.shape[-1]
    if n <= 1:
        return from_array(np.ones(x.shape, x.dtype), constant=True)
    if n % 2:
        one = from_array(np.ones((*x.shape[:-1], 1), x.dtype), constant=True)
        return products_of_others(joining.concatenate([x, one], -1))[..., :n]
    left, right = x[..., 0::2], x[..., 1::2]
    beside = products_of_others(left * right)
    return reshape(joining.stack([beside * right, beside * left], -1), x.shape)


def _others(step: Step) -> Tensor:
    """The derivative of a product by each of its factors."""
    return products_of_others(step.x(0))


def _shares(step: Step) -> Tensor:
    """The share of each element in the extreme of its line; a NaN in the line takes all of it."""
    x, y = step.x(0), step.y
    where, dtype = elementwise.where, x.dtype
    one, zero = np.ones((), dtype), np.zeros((), dtype)
    taken = where(x == y, one, where(elementwise.FUNCTIONS["isnan"](x), one, zero))
    return taken / reductions.sum(taken, -1, keepdims=True)


def _weighted_reverse(weights: Weights) -> Callable[..., dict[int, Value]]:
    """The reverse rule of a reduction along lines whose derivative by each element is a weight."""
    return lambda step, y_bar: {0: apply(_CHAIN, weights(step), step.dense(y_bar, -1))}


def _weighted_forward(weights: Weights) -> Callable[..., Value]:
    """The forward rule of such a reduction."""
    return lambda step, x_dot: reductions.sum(apply(_CHAIN, weights(step), step.dense(x_dot, 0)), -1)


# --- matrix products -------------------------------------------------------------------------------------------


def _matmul_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y_bar = step.dense(y_bar, -1)
    bars: dict[int, Value] = {}
    if step.asks(0):
        bars[0] = linalg.matmul(y_bar, swapaxes(step.x(1), -1, -2))
    if step.asks(1):
        bars[1] = linalg.matmul(swapaxes(step.x(0), -1, -2), y_bar)
    return bars


def _matmul_forward(step: Step, a_dot: Value | None, b_dot: Value | None) -> Value:
    terms = []
    if a_dot is not None:
        terms.append(linalg.matmul(step.dense(a_dot, 0), step.x(1)))
    if b_dot is not None:
        terms.append(linalg.matmul(step.x(0), step.dense(b_dot, 1)))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


# --- rows ------------------------------------------------------------------------------------------------------


def _record_rows(code: int, value: Tensor, rows: Tensor, params: Any, shape: tuple[int, ...]) -> Tensor:
    """Record `gather` or `scatter_add` with the parameters of the other."""
    tape, differentiate = current()
    value = value if value.data_or_traced().flags.c_contiguous else contiguous(value)
    result = allocate(tape, value.dtype, shape, "getitem")
    operands = [value._slot_on(tape), rows._slot_on(tape)]
    record_out(tape, code, result._slot, operands, np.array(params, np.int64), "getitem", differentiate)
    return result


def _gather_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    shape = step.geometry(step.operands[0]).shape
    params = [*step.params(5), int(np.prod(shape, dtype=np.int64))]
    return {0: _record_rows(_SCATTER_ADD, step.dense(y_bar, -1), step.x(1), params, shape)}


def _gather_forward(step: Step, x_dot: Value, _: None) -> Value:
    shape = step.geometry(step.result).shape
    return _record_rows(_GATHER, step.dense(x_dot, 0), step.x(1), step.params(5), shape)


def _scatter_add_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    shape = step.geometry(step.operands[0]).shape
    return {0: _record_rows(_GATHER, step.dense(y_bar, -1), step.x(1), step.params(5), shape)}


def _scatter_add_forward(step: Step, x_dot: Value, _: None) -> Value:
    shape = step.geometry(step.result).shape
    return _record_rows(_SCATTER_ADD, step.dense(x_dot, 0), step.x(1), step.params(6), shape)


# --- in-place writes -------------------------------------------------------------------------------------------


def _region(step: Step, buffer: Tensor) -> Tensor:
    """The region of a write, on a Tensor that stands for the whole buffer."""
    _, offset, ndim = step.params(3)
    words = tuple(step.params(2 * ndim, 3))
    return region_of(buffer, offset, words[:ndim], words[ndim:])


def _write_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    bars: dict[int, Value] = {}
    y_bar = step.dense(y_bar, -1)
    if step.asks(1):
        bars[1] = _region(step, y_bar)
    if step.asks(0):
        rest = unary(_COPY, y_bar)
        setitem(_region(step, rest), ..., 0.0)
        bars[0] = rest
    return bars


def _write_forward(step: Step, x_dot: Value | None, value_dot: Value | None) -> Value:
    y_dot = unary(_COPY, step.dense(0.0 if x_dot is None else x_dot, -1))
    setitem(_region(step, y_dot), ..., 0.0 if value_dot is None else value_dot)
    return y_dot


def _rows(step: Step) -> np.ndarray:
    """The elements that a scattered write names, which no argument of a recording decides."""
    return step.x(2).data_or_traced()


def _scatter_write_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    bars: dict[int, Value] = {}
    rows, y_bar = _rows(step), step.dense(y_bar, -1)
    if step.asks(1):
        shape = step.geometry(step.operands[1]).shape
        bars[1] = _values_cotangent(rows, y_bar, shape)
    if step.asks(0):
        rest = unary(_COPY, y_bar)
        setitem(rest, rows, 0.0)
        bars[0] = rest
    return bars


def _values_cotangent(rows: np.ndarray, y_bar: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The cotangent of the values written: of several writes to one element the last counts."""
    last = np.zeros(y_bar.size, np.int64)
    last[rows] = np.arange(len(rows))
    counts = (last[rows] == np.arange(len(rows))).astype(y_bar.dtype)
    taken = y_bar[rows] if counts.all() else apply(_CHAIN, y_bar[rows], counts)
    if int(np.prod(shape, dtype=np.int64)) == len(rows):
        return reshape(taken, shape)
    return reshape(reductions.sum(taken), shape)


def _scatter_write_forward(step: Step, x_dot: Value | None, value_dot: Value | None, _: None) -> Value:
    y_dot = unary(_COPY, step.dense(0.0 if x_dot is None else x_dot, -1))
    if value_dot is None:
        setitem(y_dot, _rows(step), 0.0)
    else:
        value = step.dense(value_dot, 1)
        setitem(y_dot, _rows(step), reshape(value, -1) if value.ndim > 1 else value)
    return y_dot


# --- the rest --------------------------------------------------------------------------------------------------


def _cast_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    if isinstance(y_bar, float):
        return {0: y_bar}
    return {0: y_bar.astype(step.geometry(step.operands[0]).dtype)}


def _cast_forward(step: Step, x_dot: Value) -> Value:
    return x_dot if isinstance(x_dot, float) else x_dot.astype(step.geometry(step.result).dtype)


def _embed_regions(step: Step) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Offset, shape and strides of each operand's region."""
    regions, at = [], 2
    for _ in range(step.params(2)[1]):
        offset, ndim = step.params(2, at)
        words = tuple(step.params(2 * ndim, at + 2))
        regions.append((offset, words[:ndim], words[ndim:]))
        at += 2 + 3 * ndim
    return regions


def _embed_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    if isinstance(y_bar, float):
        return {j: step.dense(y_bar, j) for j in range(len(step.operands)) if step.asks(j)}
    return {j: region_of(y_bar, *region) for j, region in enumerate(_embed_regions(step)) if step.asks(j)}


def _embed_forward(step: Step, *dots: Value | None) -> Value:
    like = step.geometry(step.result)
    parts = [
        (like._replace(offset=offset, shape=shape, strides=strides), x_dot)
        for (offset, shape, strides), x_dot in zip(_embed_regions(step), dots, strict=True)
        if x_dot is not None
    ]
    return laid(step.tape, None, parts)


def _custom_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    arguments = (step.params(1)[0], step.x(0), step.x(2), step.y, step.dense(y_bar, -1))
    x_bar = custom.reverse_rule(*arguments)
    return {} if x_bar is None else {0: x_bar}


def _custom_forward(step: Step, x_dot: Value, *_: None) -> Value:
    arguments = (step.params(1)[0], step.x(0), step.x(2), step.y, step.dense(x_dot, 0))
    return custom.forward_rule(*arguments)


_REDUCTIONS = ("sum", "prod_reduce", "max_reduce", "min_reduce")
REVERSE: dict[str, Callable[..., dict[int, Value]]] = {
    "sum": _sum_reverse,
    "prod_reduce": _weighted_reverse(_others),
    "max_reduce": _weighted_reverse(_shares),
    "min_reduce": _weighted_reverse(_shares),
    "cumsum": _cumsum_reverse,
    "matmul": _matmul_reverse,
    "gather": _gather_reverse,
    "scatter_add": _scatter_add_reverse,
    "write": _write_reverse,
    "scatter_write": _scatter_write_reverse,
    "cast_f64": _cast_reverse,
    "cast_f32": _cast_reverse,
    "embed": _embed_reverse,
    "custom": _custom_reverse,
}
FORWARD: dict[str, Callable[..., Value]] = {
    "sum": _sum_forward,
    "prod_reduce": _weighted_forward(_others),
    "max_reduce": _weighted_forward(_shares),
    "min_reduce": _weighted_forward(_shares),
    "cumsum": _cumsum_forward,
    "matmul": _matmul_forward,
    "gather": _gather_forward,
    "scatter_add": _scatter_add_forward,
    "write": _write_forward,
    "scatter_write": _scatter_write_forward,
    "cast_f64": _cast_forward,
    "cast_f32": _cast_forward,
    "embed": _embed_forward,
    "custom": _custom_forward,
}
# Results of these are seen through strides of 0 along what is reduced; their tangents are those of whole buffers.
REDUCING = frozenset(CODES[name] for name in _REDUCTIONS)
