"""Evaluation of the table's texts as vectors: one element type throughout, and zero times anything is zero."""

import ast
import functools
import math
from collections.abc import Callable, Collection
from typing import Any

from tapegrad.engine.codegen.ir import operations
from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.operations import absolute, is_nan, select
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics import MATHEMATICS
from tapegrad.engine.codegen.rows.functions import call, call_sincos
from tapegrad.ops import CONSTANTS

_OPERATORS: dict[type, Callable[[Any, Any], Value]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b, ast.BitAnd: lambda a, b: a & b, ast.BitOr: lambda a, b: a | b,
    ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b, ast.Eq: Value.equal, ast.NotEq: Value.unequal,
}  # fmt: skip


def masked_multiply(x: Value, y: Value) -> Value:
    """Multiply; zero times anything, inf and nan included, is zero."""
    product = x * y
    return select(is_nan(product) & (x.equal(0.0) | y.equal(0.0)), 0.0, product)


def masked_divide(x: Value, y: Value) -> Value:
    """`x` times the partial ``1/y``: zero where that is zero, and where `x` is."""
    quotient = x / y
    return select(is_nan(quotient) & (x.equal(0.0) | absolute(y).equal(math.inf)), 0.0, quotient)


def _sign(x: Value) -> Value:
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, select(is_nan(x), x, 0.0)))


def _angle(x: Value) -> Value:
    return select(is_nan(x), x, select(operations.copysign(x.like(1.0), x) < 0.0, math.pi, x.like(0.0)))


INLINE: dict[str, Callable[..., Value]] = {
    "isinf": lambda x: absolute(x).equal(math.inf), "isfinite": lambda x: absolute(x) < math.inf,
    "real": lambda x: x, "imag": lambda x: x.like(0.0), "conjugate": lambda x: x, "angle": _angle,
    "where": select, "masked_multiply": masked_multiply, "sign": _sign,
    **{name: getattr(operations, name) for name in (
        "absolute", "sqrt", "square", "floor", "ceil", "rint", "trunc", "copysign",
    )},
    # maximum and minimum propagate NaN, fmax and fmin ignore it
    "maximum": lambda x, y: select((x >= y) | is_nan(x), x, y),
    "minimum": lambda x, y: select((x <= y) | is_nan(x), x, y),
    "fmax": lambda x, y: select((x >= y) | is_nan(y), x, y),
    "fmin": lambda x, y: select((x <= y) | is_nan(y), x, y),
}  # fmt: skip


@functools.cache
def parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def function_of(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Name)
    return node.func.id


FUNCTIONS = INLINE.keys() | MATHEMATICS.keys()


def is_library_call(node: ast.AST, functions: Collection[str] = FUNCTIONS) -> bool:
    """Return whether a node calls a loop of NumPy's or SciPy's, having no instruction or mathematics of ours."""
    return isinstance(node, ast.Call) and function_of(node) not in functions


def calls_mathematics(node: ast.expr) -> bool:
    """Return whether vector functions are called, which take whole vectors only."""
    return any(isinstance(n, ast.Call) and function_of(n) in MATHEMATICS for n in ast.walk(node))


def functions_in(node: ast.expr) -> set[str]:
    """Return the names of the functions that an expression calls."""
    return {function_of(n) for n in ast.walk(node) if isinstance(n, ast.Call)}


def is_constant(node: ast.expr) -> bool:
    """Return whether an expression is made of finite numbers and operators only."""
    names = (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    return all(math.isfinite(CONSTANTS.get(name, math.nan)) for name in names)


class Expressions:
    """Values of expressions over elements; `read` gives the element of a primal, or of a temporary, by its name.

    Sine and cosine come from one call where `nodes` have both of the same argument, or where `joined` says so.
    Where they are `unmasked`, zero times inf is NaN, and who uses them has to look.
    """

    def __init__(
        self,
        body: Body,
        type_: Type,
        read: Callable[[str], Value],
        nodes: Collection[ast.expr],
        joined: bool = False,
        unmasked: bool = False,
    ) -> None:
        self._unmasked = unmasked
        self._body, self._type, self._read = body, type_, read
        sines, cosines = _arguments("sin", nodes), _arguments("cos", nodes)
        self._both = sines | cosines if joined else sines & cosines

    def _constant(self, number: float) -> Value:
        return self._body.constant(self._type, number)

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                return self._constant(number)
            case ast.Name():
                return self._constant(CONSTANTS[node.id]) if node.id in CONSTANTS else self._read(node.id)
            case ast.UnaryOp():
                return -self.value(node.operand)
            case ast.BinOp():
                return _OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))
            case ast.Compare(ops=[operator], comparators=[right]):
                return _OPERATORS[type(operator)](self.value(node.left), self.value(right))
            case ast.Call():
                return self._call(function_of(node), node.args)
        raise TypeError(ast.dump(node))

    def _call(self, name: str, nodes: list[ast.expr]) -> Value:
        arguments = [self.value(node) for node in nodes]
        if name in INLINE:
            return INLINE[name](*arguments)
        if name in ("sin", "cos") and ast.dump(nodes[0]) in self._both:
            return call_sincos(*arguments)[name == "cos"]
        return call(name, *arguments)

    def times(self, node: ast.expr, factor: Value) -> Value:
        """Multiply an expression by an element; zero times anything is zero, which constants need no mask for."""
        match node:
            case ast.Constant(value=0):
                return self._constant(0.0)
            case ast.Constant(value=1):
                return factor
            case ast.UnaryOp():
                return -self.times(node.operand, factor)
            case ast.Call(args=[condition, first, second]) if function_of(node) == "where":
                return self._select(
                    self.value(condition), self.times(first, factor), self.times(second, factor)
                )
            case _ if is_constant(node):
                return factor * self.value(node)
            case ast.BinOp(op=ast.Mult(), left=first, right=rest) if is_constant(first):
                return self.times(rest, factor * self.value(first))  # of a single factor it is done once
            case ast.BinOp(op=ast.Div(), left=above, right=below) if is_constant(above):
                return self._divided(self.times(above, factor), self.value(below))
        return self._multiplied(factor, self.value(node))

    def _select(self, condition: Value, x: Value, y: Value) -> Value:
        return select(condition, x, y)

    def _multiplied(self, x: Value, y: Value) -> Value:
        return x * y if self._unmasked else masked_multiply(x, y)

    def _divided(self, x: Value, y: Value) -> Value:
        return x / y if self._unmasked else masked_divide(x, y)

    def along(self, node: ast.expr, tangent: Value) -> Value:
        """Multiply a partial by a tangent; partials that were computed before are applied to several tangents."""
        if isinstance(node, ast.Constant) and node.value == 1:
            return tangent
        return (
            self.value(node) * tangent if is_constant(node) else self._multiplied(self.value(node), tangent)
        )


def _arguments(name: str, nodes: Collection[ast.expr]) -> set[str]:
    calls = (
        n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Call) and function_of(n) == name
    )
    return {ast.dump(call.args[0]) for call in calls}
