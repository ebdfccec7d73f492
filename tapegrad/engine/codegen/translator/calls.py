"""Calls in a plain function: of others, of intrinsics of Numba's, of C functions, and of some of Python's own."""

import ast
import functools
import math
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from tapegrad.engine.codegen.translator import values
from tapegrad.engine.codegen.translator.expressions import ExpressionTranslator
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
from tapegrad.engine.kernels.language import numba_internals, types
from tapegrad.engine.kernels.language.inlining import ExternalFunction, Helper, Intrinsic
from tapegrad.engine.kernels.language.llvm_types import called, unpacked

_CONVERSIONS: dict[Any, str] = {
    int: "int64",
    float: "float64",
    np.int64: "int64",
    np.int32: "int32",
    np.float64: "float64",
    np.float32: "float32",
    np.complex128: "complex128",
    np.complex64: "complex64",
}
_OF_FLOATS: dict[Any, str] = {
    math.sqrt: "sqrt",
    math.exp: "exp",
    math.log: "log",
    np.sqrt: "sqrt",
    np.log: "log",
    np.log2: "log2",
    np.ceil: "ceil",
    np.rint: "rint",
}
_OF_C: dict[Any, str] = {  # of float64
    getattr(math, name): name
    for name in ("asinh", "atan", "expm1", "hypot", "lgamma", "log1p", "pow", "sinh", "tan")
}
_ARE_NAN, _ARE_FINITE = (math.isnan, np.isnan), (math.isfinite, np.isfinite)


class CallTranslator(ExpressionTranslator):
    """The expressions of one function, calls among them.

    Parameters
    ----------
    function
        The Python function whose names they use.
    part
        Gives the name, LLVM's type and the kind of the result for a helper and kinds of arguments.
    """

    def __init__(self, function: Any, part: Callable[[Any, tuple[Any, ...]], tuple[str, Any, Any]]) -> None:
        super().__init__(function)
        self._part = part

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

    def _call(self, function: Any, given: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, Helper):
            return self._call_part(function, given, named)
        if isinstance(function, type) and hasattr(function, "_fields"):
            items = [*given, *(named[name] for name in function._fields[len(given) :])]
            return Record(function, tuple(items))
        if named:
            raise NotPlainError("arguments by name")
        if isinstance(function, Intrinsic):
            return self._call_intrinsic(function, given)
        if isinstance(function, ExternalFunction):
            return self._call_external(function, given)
        return self._call_builtin(function, given)

    def _call_part(self, function: Any, given: list[Any], named: dict[str, Any]) -> Any:
        python = function.py_func
        names = python.__code__.co_varnames[: python.__code__.co_argcount]
        defaults = dict(zip(reversed(names), reversed(python.__defaults__ or ()), strict=False))
        for name in names[len(given) :]:
            given.append(named[name] if name in named else Constant(defaults[name]))
        arguments, (name, type_, kind) = self._part_for(function, given)
        passed = [
            field for each in arguments if not isinstance(each, Constant) for field in values.fields_of(each)
        ]
        returned = called(self.builder, name, passed, type_.return_type)
        if not isinstance(kind, values.RecordType):
            return None if kind is None else returned
        return values.of_fields(kind, iter(unpacked(self.builder, returned)))

    def _part_for(self, function: Any, given: list[Any]) -> tuple[list[Any], tuple[str, Any, Any]]:
        """Return the part for some arguments, and those it takes; known numbers stay known only if it needs them."""
        arguments = [self._widened(value) for value in given]
        try:
            return arguments, self._part(function, self._kinds_of(arguments))
        except NotPlainError:
            known = [
                value if isinstance(value, Constant) else each
                for value, each in zip(given, arguments, strict=True)
            ]
            if known == arguments:  # there is nothing else to know
                raise
            return known, self._part(function, self._kinds_of(known))

    def _kinds_of(self, arguments: list[Any]) -> tuple[Any, ...]:
        return tuple(each if isinstance(each, Constant) else kind_of(each) for each in arguments)

    def _widened(self, value: Any) -> Any:
        """Widen a bit to an integer, so that a function is translated once for both.

        Tables and functions stay known.
        """
        if isinstance(value, Constant) and (isinstance(value.object, tuple | Helper)):
            return value
        value = materialized(value)
        return cast(self.builder, value, I64) if kind_of(value) == I1 else value

    def _call_intrinsic(self, function: Any, given: list[Any]) -> Any:
        made = function.py_func(None, *map(values.numba_type, given))
        if made is None:
            made = function.py_func(None, *(values.numba_type(value, literal=True) for value in given))
        if made is None:
            raise NotPlainError("an intrinsic of other types")
        signature, codegen = made
        wanted = signature.args
        arguments = [values.as_numba_has_it(self.builder, *pair) for pair in zip(given, wanted, strict=True)]
        found = codegen(numba_internals.cpu_target.target_context, self.builder, signature, arguments)
        return values.from_numba(self.builder, found, signature.return_type)

    def _call_external(self, function: Any, given: list[Any]) -> Any:
        signature = function._numba_type_.sig
        pairs = zip(given, signature.args, strict=True)
        arguments = [values.as_numba_has_it(self.builder, *pair) for pair in pairs]
        returned = signature.return_type
        kind = ir.VoidType() if returned in (types.void, types.none) else values.kinds()[returned]
        found = called(self.builder, function.symbol, arguments, kind)
        return values.from_numba(self.builder, found, returned)

    def _call_builtin(self, function: Any, given: list[Any]) -> Any:
        if function in (min, max) and len(given) > 1:
            return functools.reduce(functools.partial(self._extreme, function), map(self._as_number, given))
        if function in _OF_C:
            return self._of_c(_OF_C[function], [self._as_number(value) for value in given])
        if function is math.ldexp:
            return self._ldexp(*map(self._as_number, given))
        if len(given) != 1:
            raise NotPlainError(f"a call of {function}")
        if function is math.frexp:
            return self._frexp(self._as_number(given[0]))
        if function in _OF_FLOATS:
            return self._of_float(_OF_FLOATS[function], self._as_number(given[0]))
        if function in _ARE_NAN:
            size = self._of_float("fabs", self._as_number(given[0]))
            return self.builder.fcmp_unordered("uno", size, size)
        if function in _ARE_FINITE:
            size = self._of_float("fabs", self._as_number(given[0]))
            return self.builder.fcmp_ordered("<", size, size.type(math.inf))
        if function is abs:
            return self._absolute(self._as_number(given[0]))
        if function is np.conj:
            return self._conjugate(self._as_number(given[0]))
        if function is bool:
            return self._is_true(self._as_number(given[0]))
        return self._convert(function, given[0])

    def _extreme(self, function: Any, one: Any, other: Any) -> Any:
        """Emit the smaller or larger of two numbers."""
        kind = common(one.type, other.type)
        if kind in (I1, U8, I32):
            raise NotPlainError("the smaller one of bits")
        one, other = cast(self.builder, one, kind), cast(self.builder, other, kind)
        sign: ast.cmpop = ast.Lt() if function is min else ast.Gt()
        return self.builder.select(self.compare(sign, other, one), other, one)

    def _conjugate(self, number: Any) -> Any:
        if not values.is_complex(number):
            return number
        real, imag = values.parts_of(self.builder, number)
        return values.of_parts(self.builder, real, self.builder.fneg(imag))

    def _absolute(self, number: Any) -> Any:
        if values.is_complex(number):
            parts = values.parts_of(self.builder, number)
            size = self._of_c("hypot", [cast(self.builder, part, F64) for part in parts])
            return size if parts[0].type == F64 else self.builder.fptrunc(size, F32)
        if number.type in (F64, F32):
            return self._of_float("fabs", number)
        if number.type != I64:
            raise NotPlainError("the absolute value of bits")
        negative = self.builder.icmp_signed("<", number, I64(0))
        return self.builder.select(negative, self.builder.neg(number), number)

    def _of_c(self, name: str, numbers: list[Any]) -> Any:
        """Call one of the C library's functions."""
        if any(number.type != F64 for number in numbers):
            raise NotPlainError(f"{name} of what is no float64")
        return called(self.builder, name, numbers, F64)

    def _ldexp(self, mantissa: Any, exponent: Any) -> Any:
        if (mantissa.type, exponent.type) != (F64, I64):
            raise NotPlainError("ldexp of other numbers")
        return called(self.builder, "ldexp", [mantissa, self.builder.trunc(exponent, I32)], F64)

    def _frexp(self, number: Any) -> Any:
        if number.type != F64:
            raise NotPlainError("frexp of what is no float64")
        with self.builder.goto_entry_block():  # in a loop, each iteration would take more of the stack
            exponent = self.builder.alloca(I32)
        mantissa = called(self.builder, "frexp", [number, exponent], F64)
        return Record(None, (mantissa, self.builder.sext(self.builder.load(exponent), I64)))

    def _of_float(self, name: str, number: Any) -> Any:
        """Call one of LLVM's own functions."""
        if number.type not in (F64, F32):
            raise NotPlainError(f"{name} of an integer")
        return self.builder.call(
            self.builder.module.declare_intrinsic(f"llvm.{name}", [number.type]), [number]
        )

    def _convert(self, function: Any, value: Any) -> Any:
        """Convert a number to another type, given the type's name."""
        if isinstance(function, python_types.FunctionType):
            raise NotPlainError(f"a call of {function}")
        if isinstance(value, Constant) and isinstance(function, type) and issubclass(function, np.number):
            return Constant(function(value.object))
        is_type = isinstance(function, types.Number)
        wanted = function if is_type else getattr(types, _CONVERSIONS.get(function, "none"))
        if str(wanted) not in _CONVERSIONS.values():
            raise NotPlainError(f"a call of {function}")
        number = self._as_number(value)
        if number.type in (F64, F32) and isinstance(wanted, types.Integer):
            return self.builder.fptosi(number, ir.IntType(wanted.bitwidth))
        return values.as_numba_has_it(self.builder, number, wanted)
