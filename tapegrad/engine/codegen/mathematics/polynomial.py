"""Polynomials, by Estrin's scheme: pairs of terms at once, so that few instructions wait for one another."""

from collections.abc import Sequence

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.operations import fma


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate the polynomial with these coefficients, the constant one first."""
    terms: list[Operand] = list(coefficients)
    power = x
    while len(terms) > 1:
        pairs = [_pair(power, terms[i], terms[i + 1]) for i in range(0, len(terms) - 1, 2)]
        terms = [*pairs, *terms[len(pairs) * 2 :]]
        power = power * power
    (value,) = terms
    assert isinstance(value, Value)
    return value


def _pair(x: Value, low: Operand, high: Operand) -> Value:
    return fma(x, high, low)
