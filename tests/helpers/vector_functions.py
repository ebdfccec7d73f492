"""Vector functions of the emitter, called on arrays."""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.memory import POINTER, element_at, load, store
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.rows import functions

ELEMENTS = {np.float64: "double", np.float32: "float"}


def loop(name: str, target: Target, element: str) -> Body:
    """``void loop(n, x0, ..., y)``: a function of mathematics along adjacent elements, whole vectors only."""
    arity = functions.arity(name)
    pointers = "".join(f", ptr %x{j}" for j in range(arity))
    body = Body(target, f'define void @"{symbol(name, target, element)}"(i64 %n{pointers}, ptr %y)')
    type_ = body.vector(element)
    scalar = type(type_)(element)
    with body.loop(body.constant(I64, 0), body.named(I64, "%n"), target.lanes) as i:
        places = [element_at(body.named(POINTER, f"%{name}"), scalar, i) for name in (*_names(arity), "y")]
        arguments = [load(place, type_) for place in places[:-1]]
        value = sum_of_both(*arguments) if name == "sincos" else functions.call(name, *arguments)
        store(value, places[-1])
    body.ret("void")
    return body


def sum_of_both(x: Any) -> Any:
    sine, cosine = functions.call_sincos(x)
    return sine + cosine


def _names(arity: int) -> list[str]:
    return [f"x{j}" for j in range(arity)]


def symbol(name: str, target: Target, element: str) -> str:
    return f"loop.{name}.{target.lanes}.{element}"


@functools.cache
def _function(name: str, target: Target) -> None:
    code = machine.compile_source(
        machine.ModuleSource(machine.module_text([functions.define(name, target)])), target
    )
    machine.load(code, target.symbol(name))


@functools.cache
def vectorised(name: str, target: Target, dtype: type) -> Callable[..., np.ndarray]:
    """A function of mathematics as a function of arrays."""
    element = ELEMENTS[dtype]
    _function(name, target)
    code = machine.compile_source(
        machine.ModuleSource(machine.module_text([loop(name, target, element)])), target
    )
    (address,) = machine.load(code, symbol(name, target, element))
    arity = functions.arity(name)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (arity + 1))(address)

    def function(*operands: np.ndarray) -> np.ndarray:
        room = -len(operands[0]) % target.lanes
        padded = [np.concatenate([x.astype(dtype), np.ones(room, dtype)]) for x in operands]
        result = np.empty(len(padded[0]), dtype)
        call(len(result), *(x.ctypes.data for x in padded), result.ctypes.data)
        return result[: len(operands[0])]

    return function
