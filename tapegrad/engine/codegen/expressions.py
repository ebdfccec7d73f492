"""From the text of a row to the text of compiled code: expressions over elements, in one element type."""

import ast
import math

from tapegrad.ops import CONSTANTS

INLINE = frozenset(
    ("where", "sqrt", "absolute", "square", "sign", "masked_multiply", "maximum", "minimum", "fmax", "fmin")
)
_SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def is_library_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and function_of(node) not in INLINE


def calls_library(node: ast.AST) -> bool:
    return any(map(is_library_call, ast.walk(node)))


def function_of(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Name)
    return node.func.id


def literal(value: float, dtype: str) -> str:
    return repr(float(value)) if dtype == "f64" else f"float32({float(value)!r})"


def expression(node: ast.expr, dtype: str) -> str:
    """Text of an expression over elements ``x0_i``, ... and temporaries, in one element type throughout."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return literal(value, dtype)
        case ast.Name():
            return literal(CONSTANTS[node.id], dtype) if node.id in CONSTANTS else f"{node.id}_i"
        case ast.UnaryOp():
            return f"-{expression(node.operand, dtype)}"
        case ast.BinOp():
            left, right = (expression(side, dtype) for side in (node.left, node.right))
            return f"({left} {_SYMBOLS[type(node.op)]} {right})"
        case ast.Compare():
            left, right = (expression(side, dtype) for side in (node.left, node.comparators[0]))
            return f"({left} {_SYMBOLS[type(node.ops[0])]} {right})"
        case ast.Call():
            arguments = [unbracketed(expression(argument, dtype)) for argument in node.args]
            return f"{function_of(node)}({', '.join(arguments)})"
    raise TypeError(ast.dump(node))


def unbracketed(text: str) -> str:
    """`text` without brackets around the whole of it."""
    try:
        inner = text[1:-1]
        return inner if text[0] == "(" and spaced(inner) == spaced(text) else text
    except SyntaxError:  # as in (a + b) * (c + d)
        return text


def _is_constant(node: ast.expr) -> bool:
    return all(
        math.isfinite(CONSTANTS.get(n.id, math.nan)) for n in ast.walk(node) if isinstance(n, ast.Name)
    )


def times_bar(node: ast.expr, dtype: str) -> str:
    """Text of an expression times `bar`; zero times anything is zero."""
    match node:
        case ast.Constant(value=0):
            return literal(0, dtype)
        case ast.Constant(value=1):
            return "bar"
        case ast.UnaryOp():
            text = times_bar(node.operand, dtype)
            return literal(0, dtype) if text == literal(0, dtype) else f"-{text}"
        case ast.Call(args=[condition, first, second]) if function_of(node) == "where":
            sides = ", ".join(times_bar(side, dtype) for side in (first, second))
            return f"where({unbracketed(expression(condition, dtype))}, {sides})"
        case _ if _is_constant(node):
            return f"bar * {expression(node, dtype)}"
        case ast.BinOp(op=ast.Div()) if _is_constant(node.left):
            divisor = unbracketed(expression(node.right, dtype))
            return f"masked_divide({times_bar(node.left, dtype)}, {divisor})"
    return f"masked_multiply(bar, {unbracketed(expression(node, dtype))})"


def constant_of(node: ast.expr) -> float | None:
    """The value of an expression that is a finite number or constant, with or without a sign; else `None`."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name():
            constant = CONSTANTS.get(node.id, math.nan)
            return constant if math.isfinite(constant) else None
        case ast.UnaryOp():
            value = constant_of(node.operand)
            return None if value is None else -value
    return None


def times_tangent(node: ast.expr, tangent: str, dtype: str) -> str:
    """Text of an expression times the element `tangent`; zero times anything is zero."""
    scaled = _scaled(node, tangent, dtype)
    return f"masked_multiply({unbracketed(expression(node, dtype))}, {tangent})" if scaled is None else scaled


def _scaled(node: ast.expr, tangent: str, dtype: str) -> str | None:
    """The same for a constant or a selection from constants, which need no care with zeros; else `None`."""
    value = constant_of(node)
    if value is not None:
        signs = {0.0: literal(0, dtype), 1.0: tangent, -1.0: f"-{tangent}"}
        return signs.get(value, f"{literal(value, dtype)} * {tangent}")
    if isinstance(node, ast.Call) and function_of(node) == "where":
        condition, *sides = node.args
        first, second = (_scaled(side, tangent, dtype) for side in sides)
        if first is not None and second is not None:
            return f"where({unbracketed(expression(condition, dtype))}, {first}, {second})"
    return None


def spaced(text: str) -> str:
    return ast.unparse(parse(text))
