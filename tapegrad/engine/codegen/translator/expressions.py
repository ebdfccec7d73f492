"""Expressions of a plain function as LLVM's instructions, with the meaning that Numba gives them.

Integers have 64 bits and wrap, a division by zero gives 0, and integers of fewer bits are widened in arithmetic.
"""

import ast
import builtins
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from tapegrad.engine.codegen.translator import values
from tapegrad.engine.codegen.translator.complex_numbers import compare_complex, operate_on_complex
from tapegrad.engine.codegen.translator.values import (
    F32,
    F64,
    I1,
    I32,
    I64,
    U8,
    Constant,
    NotPlainError,
    Record,
    cast,
    common,
    kind_of,
    materialized,
)

_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_INTEGERS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}


class ExpressionTranslator:
    """The expressions of one function.

    Parameters
    ----------
    function
        The Python function whose names they use.
    """

    builder: ir.IRBuilder
    flags: tuple[str, ...] = ()  # what may be done with arithmetic of floats

    def __init__(self, function: Any) -> None:
        self._outside = {**vars(builtins), **function.__globals__}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._outside |= {name: cell.cell_contents for name, cell in cells}

    def read(self, name: str) -> Any:
        """Read a variable; `Constant` if it is one of the module's."""
        if name not in self._outside:
            raise NotPlainError(f"the name {name}")
        return Constant(self._outside[name])

    def value(self, node: ast.AST) -> Any:
        """Emit an expression; `calls` adds calls."""
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotPlainError(type(node).__name__)
        return method(node)

    def number(self, node: ast.AST) -> Any:
        """Emit an expression that is one number."""
        return self._as_number(self.value(node))

    def truth(self, node: ast.AST) -> Any:
        """Emit the truth of an expression, as a bit."""
        if isinstance(node, ast.BoolOp):
            return self._short_circuit(node, self.truth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.builder.not_(self.truth(node.operand))
        return self._is_true(self.number(node))

    def _as_number(self, value: Any) -> Any:
        if not values.is_number(value):
            raise NotPlainError("no number")
        return materialized(value)

    def _is_true(self, number: Any) -> Any:
        if number.type == I1:
            return number
        if isinstance(number.type, ir.VectorType):
            raise NotPlainError("the truth of a vector")
        zero = number.type(0)
        if number.type in (I64, I32, U8):
            return self.builder.icmp_signed("!=", number, zero)
        return self.builder.fcmp_unordered("!=", number, zero)

    # --- names and tuples --------------------------------------------------------------------------------------

    def _on_name(self, node: ast.Name) -> Any:
        return self.read(node.id)

    def _on_constant(self, node: ast.Constant) -> Any:
        return Constant(node.value)

    def _on_tuple(self, node: ast.Tuple) -> Any:
        return Record(None, tuple(map(self.value, node.elts)))

    def _on_attribute(self, node: ast.Attribute) -> Any:
        value = self.value(node.value)
        if isinstance(value, Constant):
            return Constant(getattr(value.object, node.attr))
        if node.attr == "real" and isinstance(value, ir.Value) and value.type in (F64, F32):
            return value
        if values.is_complex(value) and node.attr in ("real", "imag"):
            return values.parts_of(self.builder, value)[node.attr == "imag"]
        fields = getattr(value.make, "_fields", ()) if isinstance(value, Record) else ()
        if node.attr not in fields:
            raise NotPlainError(f"the attribute {node.attr}")
        return value.items[fields.index(node.attr)]

    def _on_subscript(self, node: ast.Subscript) -> Any:
        value, index = self.value(node.value), self.value(node.slice)
        if isinstance(value, Constant) and isinstance(value.object, tuple):
            value = materialized(value)
        if not isinstance(value, Record):
            raise NotPlainError("an item of what is no tuple")
        if isinstance(index, Constant) and isinstance(index.object, int):
            return value.items[index.object]
        return self._chosen([materialized(item) for item in value.items], self._as_number(index))

    def _chosen(self, items: list[Any], index: Any) -> Any:
        """Select the item with a number that is known at run time only; all items are of one kind."""
        if len({str(kind_of(item)) for item in items}) != 1 or not isinstance(items[0], ir.Value):
            raise NotPlainError("an item of a kind that depends on its number")
        found = items[0]
        for k, item in enumerate(items[1:], 1):
            is_it = self.builder.icmp_signed("==", cast(self.builder, index, I64), I64(k))
            found = self.builder.select(is_it, item, found)
        return found

    def _items(self, node: ast.AST) -> tuple[Any, ...]:
        value = materialized(self.value(node))
        if not isinstance(value, Record):
            raise NotPlainError("items of what is no tuple")
        return value.items

    # --- arithmetic --------------------------------------------------------------------------------------------

    def _on_binop(self, node: ast.BinOp) -> Any:
        one, other = self.value(node.left), self.value(node.right)
        if isinstance(one, Constant) and isinstance(other, Constant) and isinstance(one.object, tuple):
            return Constant(one.object + other.object)
        if isinstance(node.op, ast.Pow):
            return self._power(one, other)
        return self.operate(type(node.op), self._as_number(one), self._as_number(other))

    def _power(self, base: Any, exponent: Any) -> Any:
        if isinstance(base, Constant) and isinstance(exponent, Constant):
            return Constant(base.object**exponent.object)
        if exponent != Constant(2):
            raise NotPlainError("a power that is no square")
        number = self._as_number(base)
        return self.operate(ast.Mult, number, number)

    def operate(self, op: Any, one: Any, other: Any) -> Any:
        """Emit an operation on two numbers."""
        if isinstance(one.type, ir.VectorType):
            return self._operate_on_vectors(op, one, other)
        kind = common(one.type, other.type)
        kind = I64 if kind in (I32, U8) or (kind == I1 and op not in _BITS) else kind
        if op is ast.Div and kind in (I1, I64):
            kind = F64
        one, other = cast(self.builder, one, kind), cast(self.builder, other, kind)
        if values.is_complex(one):
            return operate_on_complex(self.builder, op, one, other)
        if kind in (F64, F32):
            if op not in _FLOATS:
                raise NotPlainError(f"{op.__name__} of floats")
            return getattr(self.builder, _FLOATS[op])(one, other, flags=self.flags)
        if op in (ast.FloorDiv, ast.Mod):
            return self._divide(one, other)[op is ast.Mod]
        if op not in _INTEGERS:
            raise NotPlainError(op.__name__)
        return getattr(self.builder, _INTEGERS[op])(one, other)

    def _operate_on_vectors(self, op: Any, one: Any, other: Any) -> Any:
        """Emit an operation in each lane: arithmetic of numbers, choices of masks."""
        is_float = one.type.element in (F64, F32)
        known = _FLOATS if is_float else {op: _INTEGERS[op] for op in _BITS}
        if one.type != other.type or op not in known:
            raise NotPlainError(f"{op.__name__} of vectors")
        flags = {"flags": self.flags} if is_float else {}
        return getattr(self.builder, known[op])(one, other, **flags)

    def _divide(self, one: Any, other: Any) -> tuple[Any, Any]:
        """Quotient, rounded down, and remainder; both 0 where the divisor is."""
        builder, zero = self.builder, I64(0)
        is_zero = builder.icmp_signed("==", other, zero)
        divisor = builder.select(is_zero, I64(1), other)
        quotient, rest = builder.sdiv(one, divisor), builder.srem(one, divisor)
        differ = builder.icmp_signed("<", builder.xor(rest, divisor), zero)
        below = builder.and_(builder.icmp_signed("!=", rest, zero), differ)
        quotient = builder.sub(quotient, builder.zext(below, I64))
        rest = builder.add(rest, builder.select(below, divisor, zero))
        return builder.select(is_zero, zero, quotient), builder.select(is_zero, zero, rest)

    def _on_unaryop(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return Constant(-node.operand.value)  # type: ignore[operator]  # numbers are all that compiles
        number = self.number(node.operand)
        if number.type in (F64, F32) and isinstance(node.op, ast.USub):
            return self.builder.fneg(number)
        if values.is_complex(number) and isinstance(node.op, ast.USub):
            return values.of_parts(
                self.builder, *map(self.builder.fneg, values.parts_of(self.builder, number))
            )
        number = cast(self.builder, number, I64)
        if isinstance(node.op, ast.USub):
            return self.builder.neg(number)
        return self.builder.not_(number) if isinstance(node.op, ast.Invert) else number

    def _on_compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
            return self._is_among(self.number(node.left), self._items(node.comparators[0]))
        if len(node.ops) == 1:
            return self.compare(node.ops[0], self.number(node.left), self.number(node.comparators[0]))
        left, right = node.left, node.comparators[0]
        if not all(
            isinstance(each, ast.Name | ast.Constant | ast.Attribute) for each in node.comparators[:-1]
        ):
            raise NotPlainError("a chain of comparisons of what is computed")
        first = ast.Compare(left, node.ops[:1], [right])
        rest = ast.Compare(right, node.ops[1:], node.comparators[1:])
        return self.value(ast.BoolOp(ast.And(), [first, rest]))

    def _is_among(self, number: Any, items: tuple[Any, ...]) -> Any:
        found: Any = I1(0)
        for item in items:
            found = self.builder.or_(found, self.compare(ast.Eq(), number, item))
        return found

    def compare(self, op: ast.cmpop, one: Any, other: Any) -> Any:
        """Compare two numbers."""
        if type(op) not in _COMPARED:
            raise NotPlainError(type(op).__name__)
        kind = common(one.type, other.type)
        kind = I64 if kind in (I1, U8, I32) else kind
        one, other = cast(self.builder, one, kind), cast(self.builder, other, kind)
        sign = _COMPARED[type(op)]
        if values.is_complex(one):
            return compare_complex(self.builder, sign, one, other)
        if kind == I64:
            return self.builder.icmp_signed(sign, one, other)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, one, other)

    # --- choices -----------------------------------------------------------------------------------------------

    def _on_boolop(self, node: ast.BoolOp) -> Any:
        return self._short_circuit(node, self.number)

    def _short_circuit(self, node: ast.BoolOp, evaluate: Callable[[ast.AST], Any]) -> Any:
        """Emit the first value that decides; it is computed only if no value before it has decided."""
        is_and = isinstance(node.op, ast.And)
        incoming: list[tuple[Any, Any, Any]] = []
        for k, operand in enumerate(node.values):
            found = evaluate(operand)
            if k == len(node.values) - 1:
                incoming.append((found, self.builder.block, None))
                break
            true, onwards = self._is_true(found), self.builder.append_basic_block()
            incoming.append((found, self.builder.block, (true, onwards)))
            self.builder.position_at_end(onwards)
        return self._join(incoming, is_and)

    def _join(self, branches: list[tuple[Any, Any, Any]], is_and: bool = True) -> Any:
        """Emit the phi of the values of all branches, given where each ends and where all but the last continue."""
        kind = kind_of(branches[0][0])
        for found, _, _ in branches[1:]:
            kind = common(kind, kind_of(found))
        after = self.builder.append_basic_block()
        incoming = []
        for found, block, onwards in branches:
            self.builder.position_at_end(block)
            incoming.append((tuple(values.fields_of(cast(self.builder, found, kind))), block))
            if onwards is None:
                self.builder.branch(after)
            else:
                true, other = onwards
                self.builder.cbranch(true, *((other, after) if is_and else (after, other)))
        self.builder.position_at_end(after)
        return values.of_fields(kind, self._phis(kind, incoming))

    def _phis(self, kind: Any, incoming: list[tuple[tuple[Any, ...], Any]]) -> Iterator[Any]:
        phis = []
        for k, type_ in enumerate(values.fields_of(kind)):
            phi = self.builder.phi(type_)
            for fields, block in incoming:
                phi.add_incoming(fields[k], block)
            phis.append(phi)
        return iter(phis)

    def _on_ifexp(self, node: ast.IfExp) -> Any:
        condition = self.truth(node.test)
        blocks = [self.builder.append_basic_block() for _ in range(2)]
        self.builder.cbranch(condition, *blocks)
        incoming = []
        for block, branch in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            incoming.append((materialized(self.value(branch)), self.builder.block, None))
        return self._join(incoming)
