"""Evaluation of the table's texts over complex values; real ones may stand beside them.

A real operand has the signs of zeros that NumPy gives it, which makes it complex first, with an imaginary part of +0:
``1 - z`` of a `z` below the real axis is above it. A zero times an infinite part stays out of the other part.
Zero times anything is zero, of complex numbers as a whole: a product with NaN is 0 where one of the factors is 0+0j.
"""

import ast
import functools
import math
from collections.abc import Callable, Collection
from typing import Any

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.complex_values import (
    ComplexValue,
    Number,
    as_complex,
    choose,
    conjugate,
    differs,
    equals,
    has_infinity,
    has_nan,
    imaginary_part,
    is_zero,
    parts_of,
    real_part,
)
from tapegrad.engine.codegen.ir.operations import absolute, copysign, narrowed, select, total_of, widened
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics import COMPLEX_MATHEMATICS
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.codegen.rows.expressions import INLINE, Expressions, function_of
from tapegrad.engine.codegen.rows.functions import call_complex


def _inlined(name: str, *arguments: Number) -> ComplexValue:
    """Compute a short function of the mathematics without a call, which takes vectors of any length."""
    parts = [part for each in arguments for part in parts_of(as_complex(each))]
    narrow = parts[0].type.element == "float"
    found = COMPLEX_MATHEMATICS[name](*(map(widened, parts) if narrow else parts))
    return ComplexValue(*(map(narrowed, found) if narrow else found))


def divide(x: Number, y: Number) -> Number:
    """Divide; by a real number part by part."""
    if isinstance(y, ComplexValue):
        return _inlined("divide", x, y)
    return x.over(y) if isinstance(x, ComplexValue) else x / y


def _signed_zeros(x: ComplexValue) -> ComplexValue:
    """Return the products of 0 and the parts, were these finite."""
    return ComplexValue(*(copysign(part.like(0.0), part) for part in parts_of(x)))


def _multiply_as_numpy(x: Number, y: Number) -> Number:
    product = x * y
    if isinstance(x, ComplexValue) is not isinstance(y, ComplexValue):
        zeros = _signed_zeros(x if isinstance(x, ComplexValue) else y)  # type: ignore[arg-type]
        return ComplexValue(product.re - zeros.im, product.im + zeros.re)  # type: ignore[union-attr]
    return product


def _divide_as_numpy(x: Number, y: Number) -> Number:
    """Divide; of a real divisor that is 0 the sign is lost."""
    if isinstance(x, Value) or isinstance(y, ComplexValue):
        return divide(x, y)
    zeros = _signed_zeros(x) * copysign(y.like(1.0), y)
    numerator = ComplexValue(x.re + zeros.im, x.im - zeros.re)
    return numerator.over(select(y.equal(0.0), y.like(0.0), y))


def _add_as_numpy(x: Number, y: Number) -> Number:
    return as_complex(x) + as_complex(y) if ComplexValue in (type(x), type(y)) else x + y


def _subtract_as_numpy(x: Number, y: Number) -> Number:
    return as_complex(x) - as_complex(y) if ComplexValue in (type(x), type(y)) else x - y


_ARITHMETIC = {
    ast.Add: _add_as_numpy, ast.Sub: _subtract_as_numpy, ast.Mult: _multiply_as_numpy, ast.Div: _divide_as_numpy,
}  # fmt: skip


def _masked_multiply(x: Number, y: Number) -> Number:
    """Multiply; zero times anything, inf and nan included, is zero."""
    product: Number = x * y
    return choose(
        has_nan(product) & (is_zero(x) | is_zero(y)), product.body.constant(product.type, 0.0), product
    )


def _masked_divide(x: Number, y: Number) -> Number:
    """`x` times the partial ``1/y``: zero where that is zero, and where `x` is."""
    quotient = divide(x, y)
    zero = quotient.body.constant(quotient.type, 0.0)
    return choose(has_nan(quotient) & (is_zero(x) | has_infinity(y)), zero, quotient)


def _is_finite(x: ComplexValue) -> Value:
    return (absolute(x.re) < math.inf) & (absolute(x.im) < math.inf)


_INLINE: dict[str, Callable[..., Any]] = {
    "where": choose, "masked_multiply": _masked_multiply, "square": lambda x: x * x,
    "sign": functools.partial(_inlined, "sign"), "real": real_part, "imag": imaginary_part, "conjugate": conjugate,
    "isinf": has_infinity, "isfinite": _is_finite,
}  # fmt: skip
FUNCTIONS = _INLINE.keys() | INLINE.keys() | COMPLEX_MATHEMATICS.keys()


def calls_complex_mathematics(node: ast.expr) -> bool:
    """Return whether vector functions may be called, which take whole vectors only."""
    calls = (function_of(n) for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(name not in _INLINE for name in calls)


class ComplexExpressions(Expressions):
    """Values of expressions over complex elements; see `Expressions`."""

    def __init__(
        self,
        body: Body,
        type_: Type,
        read: Callable[[str], Any],
        nodes: Collection[ast.expr],
        **options: bool,
    ) -> None:
        known: dict[str, Any] = {}

        def read_once(name: str) -> Any:
            if name not in known:
                known[name] = read(name)
            return known[name]

        super().__init__(body, type_, read_once, nodes, **options)

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=complex() as number):
                return ComplexValue(self._constant(number.real), self._constant(number.imag))
            case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=complex() as number)) if number.real == 0:
                return as_complex(self.value(node.right)).times_i(number.imag)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                return _ARITHMETIC[type(node.op)](self.value(node.left), self.value(node.right))
            case ast.Compare(ops=[ast.Eq()], comparators=[right]):
                return equals(self.value(node.left), self.value(right))
            case ast.Compare(ops=[ast.NotEq()], comparators=[right]):
                return differs(self.value(node.left), self.value(right))
        return super().value(node)

    def _call(self, name: str, nodes: list[ast.expr]) -> Any:
        arguments: list[Any] = [self.value(node) for node in nodes]
        if not any(isinstance(each, ComplexValue) for each in arguments):
            return super()._call(name, nodes)
        if name in _INLINE:
            return _INLINE[name](*arguments)
        return call_complex(name, *map(as_complex, arguments))

    def _select(self, condition: Value, x: Any, y: Any) -> Any:
        return choose(condition, x, y)

    def _multiplied(self, x: Any, y: Any) -> Any:
        return x * y if self._unmasked else _masked_multiply(x, y)

    def _divided(self, x: Any, y: Any) -> Any:
        return divide(x, y) if self._unmasked else _masked_divide(x, y)

    def contribution(self, case: Case, j: int, partials: tuple[ast.expr, ast.expr], bar: Any) -> Any:
        """Return what an operand's cotangent gets, by its partial and the one by its conjugate.

        It is ``conj(p)*y_bar + q*conj(y_bar)``; of a real operand the real part.
        """
        first, second = partials
        if case.op.real_result:
            return self.times(first, bar)
        turned: Any = conjugate(bar)
        terms = [conjugate(self.times(first, turned))] if not _is_zero_text(first) else []
        terms += [] if _is_zero_text(second) else [self.times(second, turned)]
        total = total_of(terms) if terms else self._constant(0.0)  # type: ignore[arg-type]
        return total if case.is_pair(j) else real_part(total)

    def change(self, case: Case, partials: tuple[ast.expr, ast.expr], dot: Any) -> Any:
        """Return the result's tangent by that of an operand: ``p*x_dot + q*conj(x_dot)``."""
        first, second = partials
        turned: Any = conjugate(dot)
        if case.op.real_result:
            return real_part(self.along(first, turned))
        terms = [self.along(first, dot)] if not _is_zero_text(first) else []
        terms += [] if _is_zero_text(second) else [self.along(second, turned)]
        return total_of(terms) if terms else self._constant(0.0)


def _is_zero_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def expressions_for(case: Case, *given: Any) -> Expressions:
    """Make the expressions over elements of a case."""
    return (ComplexExpressions if case.is_complex else Expressions)(*given)
