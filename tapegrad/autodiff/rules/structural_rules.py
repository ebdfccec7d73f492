"""Derivatives of structural ops as expressions on Tensors.

Those of a linear op follow from its row. All others are defined here, by the op's name.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.custom import tensor_rules as custom
from tapegrad.autodiff.rules import decomposition_rules, eigenvalue_rules, linear_rules, matrix_rules
from tapegrad.autodiff.rules.step import Step
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.numerics.convolution import sums_of_products
from tapegrad.frontend.functions.products import linalg, vectors
from tapegrad.frontend.functions.reductions import reductions, scans
from tapegrad.frontend.functions.shapes import joining
from tapegrad.frontend.recording import elementwise
from tapegrad.frontend.recording.record import apply, unary
from tapegrad.frontend.recording.shape import reshape, swapaxes
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import CODES, COPY
from tapegrad.ops.params import CorrelateParams

_MASKED_MULTIPLY = CODES["masked_multiply"]
Weights = Callable[[Step], Tensor]


class Rules(NamedTuple):
    """Derivative rules of an op that is not linear.

    Attributes
    ----------
    reverse
        From a step and the cotangent of its result: for each operand that is asked for, the contribution to its
        cotangent, in the operand's shape or in one that it broadcasts to.
    forward
        From a step and the tangents of its operands: the tangent of the result.
    """

    reverse: Callable[..., dict[int, Value]]
    forward: Callable[..., Value]


# --- products and extremes along lines -------------------------------------------------------------------------


def products_of_others(x: Tensor) -> Tensor:
    """Return, for each element of a line, the product of all others, without a division.

    Neighbours are multiplied up a tree, and the product beside each branch is multiplied down again. The result and
    its derivatives of all orders are right where elements are zero.
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
    """Return the derivative of a product by each of its factors."""
    return products_of_others(step.x(0))


def _shares(step: Step) -> Tensor:
    """Return the share of each element in the extreme of its line. NaNs in the line share all of it."""
    x, y = step.x(0), step.y
    where, dtype = elementwise.where, x.dtype
    one, zero = np.ones((), dtype), np.zeros((), dtype)
    taken = where(x == y, one, where(elementwise.FUNCTIONS["isnan"](x), one, zero))
    return taken / reductions.sum(taken, -1, keepdims=True)


def _twice_the_deviations(step: Step) -> Tensor:
    """Return the derivative of a sum of squared deviations from the mean by each element.

    As in the kernel they are taken relative to the first element, so that those of a constant are exactly zero.
    """
    x = step.x(0)
    if x.shape[-1] == 0:
        return x
    with no_grad():
        first = unary(COPY, x[..., :1])
    relative = x - first
    return 2.0 * (relative - reductions.mean(relative, -1, keepdims=True))


def _shares_of_exponentials(step: Step) -> Tensor:
    """Return the share of each element in a sum of exponentials, given the logarithm of the sum."""
    x, y = step.x(0), step.y
    where, dtype = elementwise.where, x.dtype
    share = elementwise.FUNCTIONS["exp"](where(x == y, np.zeros((), dtype), x - y))
    return where(x == -np.inf, np.zeros((), dtype), share)


def _weighted(weights: Weights) -> Rules:
    """Make the rules of a reduction along lines from its derivative by each element."""
    return Rules(
        lambda step, y_bar: {0: apply(_MASKED_MULTIPLY, weights(step), step.dense(y_bar, -1))},
        lambda step, x_dot: reductions.sum(apply(_MASKED_MULTIPLY, weights(step), step.dense(x_dot, 0)), -1),
    )


# --- recurrences -----------------------------------------------------------------------------------------------


def _zeros_before(x: Tensor) -> Tensor:
    """Return lines shifted by one element: zero first, then each element's predecessor."""
    zero = from_array(np.zeros((*x.shape[:-1], 1), x.dtype), constant=True)
    return joining.concatenate([zero, x[..., :-1]], -1)


def _cotangents_from_the_end(step: Step, y_bar: Tensor) -> Tensor:
    """Return the cotangents of the terms: a recurrence with the same factors, from the end to the start."""
    factors = step.x(0)[..., ::-1]
    later = joining.concatenate([factors[..., :1], factors[..., :-1]], -1)  # the first one is not read
    return scans.linear_recurrence(later, y_bar[..., ::-1], masked=True)[..., ::-1]


def _recurrence_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y_bar = step.dense(y_bar, -1)
    if y_bar.shape[-1] == 0:
        return {j: y_bar for j in (0, 1) if step.asks(j)}
    term_bar = _cotangents_from_the_end(step, y_bar)
    bars: dict[int, Value] = {1: term_bar} if step.asks(1) else {}
    if step.asks(0):
        bars[0] = apply(_MASKED_MULTIPLY, _zeros_before(step.y), term_bar)
    return bars


def _recurrence_forward(step: Step, factor_dot: Value | None, term_dot: Value | None) -> Value:
    terms = [] if term_dot is None else [step.dense(term_dot, 1)]
    if factor_dot is not None and step.y.shape[-1] > 0:
        terms.append(apply(_MASKED_MULTIPLY, _zeros_before(step.y), step.dense(factor_dot, 0)))
    if not terms:
        return 0.0
    return scans.linear_recurrence(
        step.x(0), terms[0] if len(terms) == 1 else terms[0] + terms[1], masked=True
    )


# --- products of vectors in space --------------------------------------------------------------------------------


def _cross_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y_bar = step.dense(y_bar, -1)
    bars: dict[int, Value] = {}
    if step.asks(0):
        bars[0] = vectors.product_in_space(step.x(1), y_bar, masked=True)
    if step.asks(1):
        bars[1] = vectors.product_in_space(y_bar, step.x(0), masked=True)
    return bars


def _cross_forward(step: Step, a_dot: Value | None, b_dot: Value | None) -> Value:
    terms = []
    if a_dot is not None:
        terms.append(vectors.product_in_space(step.dense(a_dot, 0), step.x(1), masked=True))
    if b_dot is not None:
        terms.append(vectors.product_in_space(step.x(0), step.dense(b_dot, 1), masked=True))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


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


# --- sums of products along a line ------------------------------------------------------------------------------


def _correlate_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    """Return both cotangents, sums of products again.

    The cotangent of the line takes the weights in reverse.
    """
    p, y_bar = step.params, step.dense(y_bar, -1)
    bars: dict[int, Value] = {}
    if step.asks(0):
        offset = 1 - p.taps - p.offset
        params = CorrelateParams(p.size, p.sums, p.taps, offset, 1 - p.flipped, 1)
        bars[0] = sums_of_products(y_bar, step.x(1), params)
    if step.asks(1):
        params = CorrelateParams(p.taps, p.size, p.sums, p.offset, 0, 1)
        sums = sums_of_products(step.x(0), y_bar, params)
        bars[1] = sums[::-1] if p.flipped else sums
    return bars


def _correlate_forward(step: Step, x_dot: Value | None, weights_dot: Value | None) -> Value:
    params, terms = step.params._replace(masked=1), []
    if x_dot is not None:
        terms.append(sums_of_products(step.dense(x_dot, 0), step.x(1), params))
    if weights_dot is not None:
        terms.append(sums_of_products(step.x(0), step.dense(weights_dot, 1), params))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


# --- users' ops ------------------------------------------------------------------------------------------------


def _custom_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    arguments = (step.params.descriptor, step.x(0), step.x(2), step.y, step.dense(y_bar, -1))
    x_bar = custom.reverse_rule(*arguments)
    return {} if x_bar is None else {0: x_bar}


def _custom_forward(step: Step, x_dot: Value, *_: None) -> Value:
    arguments = (step.params.descriptor, step.x(0), step.x(2), step.y, step.dense(x_dot, 0))
    return custom.forward_rule(*arguments)


RULES: dict[str, Rules] = {
    "prod_reduce": _weighted(_others),
    "max_reduce": _weighted(_shares),
    "min_reduce": _weighted(_shares),
    "deviations": _weighted(_twice_the_deviations),
    "logsumexp": _weighted(_shares_of_exponentials),
    "recurrence": Rules(_recurrence_reverse, _recurrence_forward),
    "cross": Rules(_cross_reverse, _cross_forward),
    "matmul": Rules(_matmul_reverse, _matmul_forward),
    "correlate": Rules(_correlate_reverse, _correlate_forward),
    "custom": Rules(_custom_reverse, _custom_forward),
    **{name: Rules(*rules) for name, rules in matrix_rules.RULES.items()},
    **{name: Rules(*rules) for name, rules in decomposition_rules.RULES.items()},
    **{name: Rules(*rules) for name, rules in eigenvalue_rules.RULES.items()},
}


def reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    """Return the contribution to the cotangent of each operand that needs one."""
    return linear_rules.reverse(step, y_bar) if step.row.linear else _stated(step).reverse(step, y_bar)


def forward(step: Step, dots: list[Value | None]) -> Value:
    """Return the tangent of the result, given those of the operands; `None` stands for zero."""
    return linear_rules.forward(step, dots) if step.row.linear else _stated(step).forward(step, *dots)


def _stated(step: Step) -> Rules:
    if step.row.name not in RULES:
        raise UnsupportedError(f"{step.row.name}: its second derivative has no rule")
    return RULES[step.row.name]
