"""sigmoid, softplus and logaddexp: nothing overflows, and nothing is lost where one of two terms is far smaller."""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, between, bits, from_bits, is_nan, scaled, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, quotient, two_sum
from tapegrad.engine.codegen.mathematics.exponential import Exponential, exp_pair
from tapegrad.engine.codegen.mathematics.logarithm import INFINITY, log_pair


def _decay(size: Value, low: Value | None = None) -> Exponential:
    """``exp(-(size + low))``."""
    return exp_pair(-between(size, 0.0, 800.0), None if low is None else -low)


def sigmoid(x: Value) -> Value:
    """``1/(1+e)`` with ``e = exp(-|x|)``, for negative `x` ``e/(1+e)``."""
    e = _decay(absolute(x))
    small = e.in_place()
    s = fast_two_sum(1.0, small.high)
    negative = x < 0.0
    above = Pair(select(negative, e.high, 1.0), select(negative, e.low, 0.0))
    value = quotient(above, Pair(s.high, s.low + small.low)).value
    return scaled(value, select(negative, e.k, 0.0))


def _log_of_one_and(e: Exponential) -> Pair:
    """``log(1 + e)`` for e up to 1."""
    small = e.in_place()
    s = fast_two_sum(1.0, small.high)
    return log_pair(s.high, s.low + small.low)


def softplus(x: Value) -> Value:
    """``max(x, 0) + log(1 + exp(-|x|))``."""
    rest = _log_of_one_and(_decay(absolute(x)))
    s = two_sum(select(x < 0.0, 0.0, x), rest.high)
    value = s.high + (s.low + rest.low)
    return select(x < INFINITY, value, x)


def logaddexp(x: Value, y: Value) -> Value:
    """``max(x, y) + log(1 + exp(-|x-y|))``. Where both terms cancel, to the last place of the larger one."""
    difference = two_sum(x, -y)
    size = absolute(difference.high)
    sign = bits(difference.high) & -(2**63)
    low = select(size < 800.0, from_bits(bits(difference.low) ^ sign), 0.0)
    rest = _log_of_one_and(_decay(size, low))
    larger = select(x < y, y, x)
    s = two_sum(larger, rest.high)
    limit = select(is_nan(x) | is_nan(y), x + y, larger + 0.0)  # the logarithm of 1 is 0, not -0
    return select(size < INFINITY, s.high + (s.low + rest.low), limit)
