"""Numbers as unevaluated sums of two float64, which hold about 106 bits: Dekker 1971, Knuth, The Art 2, 4.2.2.

A rounding is compensated by what it lost, which is a float64 itself.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.operations import fma


class Pair(NamedTuple):
    """``high + low``, the low part at most about a rounding error of the high one."""

    high: Value
    low: Value

    @property
    def value(self) -> Value:
        """The sum, rounded."""
        return self.high + self.low


def two_sum(a: Value, b: Operand) -> Pair:
    """Compute ``a + b`` exactly."""
    s = a + b
    part = s - a
    return Pair(s, (a - (s - part)) + (b - part))


def fast_two_sum(a: Operand, b: Value) -> Pair:
    """Compute ``a + b`` exactly, where `a` is the larger one or 0."""
    s = a + b
    return Pair(s, (a - s) + b)


def two_product(a: Value, b: Value) -> Pair:
    """Compute ``a * b`` exactly."""
    p = a * b
    return Pair(p, fma(a, b, -p))


def product(a: Pair, b: Pair) -> Pair:
    """Compute ``a * b`` to about 102 bits, not normalised."""
    p = two_product(a.high, b.high)
    return Pair(p.high, p.low + fma(a.high, b.low, a.low * b.high))


def quotient(a: Pair, b: Pair) -> Pair:
    """Compute ``a / b`` by one division, to about 100 bits, not normalised."""
    inverse = 1.0 / b.high
    q = a.high * inverse
    rest = fma(-q, b.high, a.high) + fma(-q, b.low, a.low)
    return Pair(q, rest * inverse)
