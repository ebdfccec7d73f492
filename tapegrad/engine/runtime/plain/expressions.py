"""Expressions of a plain function as LLVM's instructions, with the meaning that Numba gives them.

Integers have 64 bits and wrap, a division by zero gives 0, and numbers of fewer bits are widened when they are loaded.
"""

import ast
import builtins
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.registry import cpu_target

from tapegrad.engine.runtime.plain import values
from tapegrad.engine.runtime.plain.values import (
    F32,
    F64,
    I1,
    I64,
    Constant,
    NotPlainError,
    Record,
    cast,
    common,
    kind_of,
    settled,
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
_CONVERSIONS: dict[Any, Any] = {
    int: types.int64,
    float: types.float64,
    np.int64: types.int64,
    np.float64: types.float64,
    np.float32: types.float32,
}


_EXTERNAL: dict[Any, Any] = {types.int64: I64, types.int32: ir.IntType(32), types.float64: F64}


class Expressions:
    """The expressions of one function.

    Parameters
    ----------
    function
        The Python function whose names they use.
    part
        Gives the name, LLVM's type and the kind of the result for a dispatcher of Numba's and kinds of arguments.
    """

    builder: ir.IRBuilder

    def __init__(self, function: Any, part: Callable[[Any, tuple[Any, ...]], tuple[str, Any, Any]]) -> None:
        self._part = part
        self._outside = {**vars(builtins), **function.__globals__}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._outside |= {name: cell.cell_contents for name, cell in cells}

    def read(self, name: str) -> Any:
        """The value of a variable; `Constant` where it is one of the module's."""
        if name not in self._outside:
            raise NotPlainError(f"the name {name}")
        return Constant(self._outside[name])

    def value(self, node: ast.AST) -> Any:
        """The value of an expression."""
        method = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotPlainError(type(node).__name__)
        return method(node)

    def number(self, node: ast.AST) -> Any:
        """The value of an expression that is one number."""
        return self._as_number(self.value(node))

    def truth(self, node: ast.AST) -> Any:
        """Whether an expression is true, as a bit."""
        if isinstance(node, ast.BoolOp):
            return self._short_circuit(node, self.truth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.builder.not_(self.truth(node.operand))
        return self._is_true(self.number(node))

    def _as_number(self, value: Any) -> Any:
        if not values.is_number(value):
            raise NotPlainError("no number")
        return settled(value)

    def _is_true(self, number: Any) -> Any:
        if number.type == I1:
            return number
        zero = number.type(0)
        if number.type == I64:
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
        fields = getattr(value.make, "_fields", ()) if isinstance(value, Record) else ()
        if node.attr not in fields:
            raise NotPlainError(f"the attribute {node.attr}")
        return value.items[fields.index(node.attr)]

    def _on_subscript(self, node: ast.Subscript) -> Any:
        value, index = self.value(node.value), self.value(node.slice)
        if not (isinstance(value, Record) and isinstance(index, Constant) and isinstance(index.object, int)):
            raise NotPlainError("an index that is not known")
        return value.items[index.object]

    # --- arithmetic --------------------------------------------------------------------------------------------

    def _on_binop(self, node: ast.BinOp) -> Any:
        one, other = self.value(node.left), self.value(node.right)
        if isinstance(one, Constant) and isinstance(other, Constant) and isinstance(one.object, tuple):
            return Constant(one.object + other.object)
        return self.operate(type(node.op), self._as_number(one), self._as_number(other))

    def operate(self, op: Any, one: Any, other: Any) -> Any:
        """An operation on two numbers."""
        kind = I64 if one.type == other.type == I1 and op not in _BITS else common(one.type, other.type)
        if op is ast.Div and kind in (I1, I64):
            kind = F64
        one, other = cast(self.builder, one, kind), cast(self.builder, other, kind)
        if kind in (F64, F32):
            if op not in _FLOATS:
                raise NotPlainError(f"{op.__name__} of floats")
            return getattr(self.builder, _FLOATS[op])(one, other)
        if op in (ast.FloorDiv, ast.Mod):
            return self._divide(one, other)[op is ast.Mod]
        if op not in _INTEGERS:
            raise NotPlainError(op.__name__)
        return getattr(self.builder, _INTEGERS[op])(one, other)

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
        number = cast(self.builder, number, I64)
        if isinstance(node.op, ast.USub):
            return self.builder.neg(number)
        return self.builder.not_(number) if isinstance(node.op, ast.Invert) else number

    def _on_compare(self, node: ast.Compare) -> Any:
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

    def compare(self, op: ast.cmpop, one: Any, other: Any) -> Any:
        """Compare two numbers."""
        if type(op) not in _COMPARED:
            raise NotPlainError(type(op).__name__)
        kind = common(one.type, other.type)
        kind = I64 if kind == I1 else kind
        one, other = cast(self.builder, one, kind), cast(self.builder, other, kind)
        sign = _COMPARED[type(op)]
        if kind == I64:
            return self.builder.icmp_signed(sign, one, other)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, one, other)

    # --- choices -----------------------------------------------------------------------------------------------

    def _on_boolop(self, node: ast.BoolOp) -> Any:
        return self._short_circuit(node, self.number)

    def _short_circuit(self, node: ast.BoolOp, evaluate: Callable[[ast.AST], Any]) -> Any:
        """The first value that decides: it is read where nothing before it has decided."""
        is_and = isinstance(node.op, ast.And)
        ways: list[tuple[Any, Any, Any]] = []
        for k, operand in enumerate(node.values):
            found = evaluate(operand)
            if k == len(node.values) - 1:
                ways.append((found, self.builder.block, None))
                break
            true, onwards = self._is_true(found), self.builder.append_basic_block()
            ways.append((found, self.builder.block, (true, onwards)))
            self.builder.position_at_end(onwards)
        return self._join(ways, is_and)

    def _join(self, ways: list[tuple[Any, Any, Any]], is_and: bool = True) -> Any:
        """The value of the way that was gone: where each ends, and what it goes on to if it is not the last."""
        kind = kind_of(ways[0][0])
        for found, _, _ in ways[1:]:
            kind = common(kind, kind_of(found))
        after = self.builder.append_basic_block()
        incoming = []
        for found, block, onwards in ways:
            self.builder.position_at_end(block)
            incoming.append((tuple(values.words_of(cast(self.builder, found, kind))), block))
            if onwards is None:
                self.builder.branch(after)
            else:
                true, other = onwards
                self.builder.cbranch(true, *((other, after) if is_and else (after, other)))
        self.builder.position_at_end(after)
        return values.of_words(kind, self._phis(kind, incoming))

    def _phis(self, kind: Any, incoming: list[tuple[tuple[Any, ...], Any]]) -> Iterator[Any]:
        phis = []
        for k, type_ in enumerate(values.types_of(kind)):
            phi = self.builder.phi(type_)
            for words, block in incoming:
                phi.add_incoming(words[k], block)
            phis.append(phi)
        return iter(phis)

    def _on_ifexp(self, node: ast.IfExp) -> Any:
        condition = self.truth(node.test)
        blocks = [self.builder.append_basic_block() for _ in range(2)]
        self.builder.cbranch(condition, *blocks)
        ways = []
        for block, branch in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            ways.append((settled(self.value(branch)), self.builder.block, None))
        return self._join(ways)

    # --- calls -------------------------------------------------------------------------------------------------

    def _on_call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if not isinstance(function, Constant):
            raise NotPlainError("a call of what is not known")
        given: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                given.extend(self._items(argument.value))
            else:
                given.append(self.value(argument))
        named = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        return self._call(function.object, given, named)

    def _items(self, node: ast.AST) -> tuple[Any, ...]:
        value = settled(self.value(node))
        if not isinstance(value, Record):
            raise NotPlainError("items of what is no tuple")
        return value.items

    def _call(self, function: Any, given: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, Dispatcher):
            return self._call_part(function, given, named)
        if isinstance(function, type) and hasattr(function, "_fields"):
            items = [*given, *(named[name] for name in function._fields[len(given) :])]
            return Record(function, tuple(items))
        if named:
            raise NotPlainError("arguments by name")
        if isinstance(function, _Intrinsic):
            return self._call_intrinsic(function, given)
        if isinstance(function, types.ExternalFunction):
            return self._call_external(function, given)
        return self._call_builtin(function, given)

    def _call_part(self, function: Any, given: list[Any], named: dict[str, Any]) -> Any:
        python = function.py_func
        names = python.__code__.co_varnames[: python.__code__.co_argcount]
        defaults = dict(zip(reversed(names), reversed(python.__defaults__ or ()), strict=False))
        for name in names[len(given) :]:
            given.append(named[name] if name in named else Constant(defaults[name]))
        arguments = [self._widened(value) for value in given]
        kinds = tuple(each if isinstance(each, Constant) else kind_of(each) for each in arguments)
        name, type_, kind = self._part(function, kinds)
        passed = [
            word for each in arguments if not isinstance(each, Constant) for word in values.words_of(each)
        ]
        returned = self.builder.call(self._declared(name, type_), passed)
        if not isinstance(kind, values.Shape):
            return None if kind is None else returned
        count = len(list(values.types_of(kind)))
        return values.of_words(kind, (self.builder.extract_value(returned, k) for k in range(count)))

    def _widened(self, value: Any) -> Any:
        """An argument: bits are words in it, so that a function is translated once for both; tables stay known."""
        if isinstance(value, Constant) and isinstance(value.object, tuple):
            return value
        value = settled(value)
        return cast(self.builder, value, I64) if kind_of(value) == I1 else value

    def _declared(self, name: str, kind: ir.FunctionType) -> ir.Function:
        module = self.builder.module
        return module.globals.get(name) or ir.Function(module, kind, name)

    def _call_intrinsic(self, function: Any, given: list[Any]) -> Any:
        made = function._defn(None, *map(values.numba_type, given))
        if made is None:
            made = function._defn(None, *(values.numba_type(value, literal=True) for value in given))
        if made is None:
            raise NotPlainError("an intrinsic of other types")
        signature, codegen = made
        wanted = signature.args
        arguments = [values.as_numba_has_it(self.builder, *pair) for pair in zip(given, wanted, strict=True)]
        found = codegen(cpu_target.target_context, self.builder, signature, arguments)
        return values.from_numba(self.builder, found, signature.return_type)

    def _call_external(self, function: Any, given: list[Any]) -> Any:
        signature = function.sig
        pairs = zip(given, signature.args, strict=True)
        arguments = [values.as_numba_has_it(self.builder, *pair) for pair in pairs]
        returned = signature.return_type
        kind = ir.VoidType() if returned in (types.void, types.none) else _EXTERNAL[returned]
        declared = self._declared(function.symbol, ir.FunctionType(kind, [value.type for value in arguments]))
        return values.from_numba(self.builder, self.builder.call(declared, arguments), returned)

    def _call_builtin(self, function: Any, given: list[Any]) -> Any:
        if function in (min, max) and len(given) == 2:
            one, other = map(self._as_number, given)
            kind = common(one.type, other.type)
            if kind != I64:
                raise NotPlainError("the smaller one of floats")
            one, other = cast(self.builder, one, kind), cast(self.builder, other, kind)
            sign = "<" if function is min else ">"
            return self.builder.select(self.builder.icmp_signed(sign, other, one), other, one)
        if len(given) == 1 and function is abs:
            number = self._as_number(given[0])
            if number.type != I64:
                raise NotPlainError("the absolute value of a float")
            negative = self.builder.icmp_signed("<", number, I64(0))
            return self.builder.select(negative, self.builder.neg(number), number)
        if len(given) == 1 and function is bool:
            return self._is_true(self._as_number(given[0]))
        return self._convert(function, given)

    def _convert(self, function: Any, given: list[Any]) -> Any:
        """A number as another type, by the type's name."""
        if len(given) != 1 or isinstance(function, python_types.FunctionType):
            raise NotPlainError(f"a call of {function}")
        if isinstance(given[0], Constant) and isinstance(function, type) and issubclass(function, np.number):
            return Constant(function(given[0].object))
        wanted = function if isinstance(function, types.Number) else _CONVERSIONS.get(function)
        if wanted not in (types.int64, types.float64, types.float32):
            raise NotPlainError(f"a call of {function}")
        number = self._as_number(given[0])
        return values.as_numba_has_it(self.builder, number, wanted)
