"""Where the emitter writes instructions: before the loops of which they take nothing, each once, and in order."""

import ctypes
import struct

import numpy as np
import pytest

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, element_at, load, store
from tapegrad.engine.codegen.ir.target import Target, aarch64, host, of_level
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.machine import machine


def _function(symbol: str, arguments: str, target: Target | None = None) -> Body:
    return Body(target or host(), f'define i64 @"{symbol}"({arguments})')


def _compiled(body: Body, symbol: str, *types: type) -> "ctypes._FuncPointer":
    text = machine.module_text([body])
    (address,) = machine.load(machine.compile_source(machine.ModuleSource(text), body.target), symbol)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *types)(address)


def _turns(body: Body) -> tuple[Value, Value]:
    return body.constant(I64, 0), body.named(I64, "%n")


def test_what_stays_the_same_in_a_loop_stands_before_it():
    body = _function("tested.outside", "i64 %n, i64 %a")
    start, n = _turns(body)
    a = body.named(I64, "%a")
    with body.carrying(start, n, 1, [start]) as turn:
        turn.following = [turn.values[0] + a * a * turn.index]
    body.ret(turn.values[0])
    before, _, inside = body.text.partition("phi")
    assert "mul i64 %a, %a" in before
    assert "mul" in inside
    function = _compiled(body, "tested.outside", ctypes.c_int64, ctypes.c_int64)
    assert function(5, 3) == 9 * (0 + 1 + 2 + 3 + 4)
    assert function(0, 3) == 0


def test_an_instruction_leaves_as_many_loops_as_it_takes_nothing_of():
    body = _function("tested.nested", "i64 %n, i64 %a")
    start, n = _turns(body)
    a = body.named(I64, "%a")
    with body.carrying(start, n, 1, [start]) as outer:
        with body.carrying(start, n, 1, [outer.values[0]]) as inner:
            once, each = a * a, outer.index * a
            assert outer.index * a is each
            inner.following = [inner.values[0] + (once + each) * inner.index]
        outer.following = [inner.values[0]]
    assert a * a is once  # stands before both, and was executed whatever came
    body.ret(outer.values[0])
    function = _compiled(body, "tested.nested", ctypes.c_int64, ctypes.c_int64)
    assert function(4, 3) == sum((9 + 3 * i) * j for i in range(4) for j in range(4))
    lines = [line.strip() for line in body.text.splitlines()]
    names = (once.text, outer.index.text, each.text, inner.index.text)
    places = [next(k for k, line in enumerate(lines) if line.startswith(f"{name} =")) for name in names]
    assert places == sorted(places)


def test_what_comes_of_a_loop_that_has_ended_is_used_in_the_next_one():
    body = _function("tested.after", "i64 %n, i64 %a")
    start, n = _turns(body)
    with body.carrying(start, n, 1, [start]) as first:
        first.following = [first.values[0] + first.index]
    with body.carrying(start, n, 1, [start]) as second:
        second.following = [second.values[0] + first.values[0] * first.values[0]]
    body.ret(second.values[0])
    function = _compiled(body, "tested.after", ctypes.c_int64, ctypes.c_int64)
    assert function(4, 0) == 4 * 36


def test_what_stands_before_a_loop_that_may_be_skipped_is_forgotten():
    body = _function("tested.skipped", "i64 %n, i64 %a")
    start, n = _turns(body)
    a, room = body.named(I64, "%a"), body.on_stack("i64")
    store(start, room)
    with body.when(n > 2), body.loop(start, n, 1):
        store(a * a, room)
    again = a * a
    body.ret(load(room, I64) + again)
    function = _compiled(body, "tested.skipped", ctypes.c_int64, ctypes.c_int64)
    assert [function(n, 3) for n in (0, 2, 3)] == [9, 9, 18]


# --- the first lanes of a vector ----------------------------------------------------------------------------------

_ELEMENTS = {"double": ctypes.c_double, "float": ctypes.c_float, "i8": ctypes.c_int8}


def _copy(element: str, constant: int | None, target: Target) -> Body:
    """A function that copies the first `n` elements of a vector, or a number of them that is known."""
    type_ = Type(element, target.lanes)
    body = _function(f"tested.first.{element}.{constant}", "ptr %x, ptr %y, i64 %n", target)
    lanes = target.lanes
    mask = body.lane_numbers() < body.splat(body.named(I64, "%n"))
    if constant is not None:
        bits = ", ".join(f"i1 {str(lane < constant).lower()}" for lane in range(lanes))
        mask = body.named(Type("i1", lanes), f"<{bits}>")
    value = load(body.named(POINTER, "%x"), type_)
    store(value, element_at(body.named(POINTER, "%y"), Type(element), body.constant(I64, 0)), mask)
    body.ret("i64 0")
    return body


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("element", _ELEMENTS)
def test_the_first_lanes_are_stored_and_nothing_behind_them(element: str, known: bool) -> None:
    target = of_level("x86-64-v3") if host().has_masks else host()
    assert not target.has_masks
    array = _ELEMENTS[element] * target.lanes
    for n in range(target.lanes + 1):
        body = _copy(element, n if known else None, target)
        symbol = f"tested.first.{element}.{n if known else None}"
        function = _compiled(body, symbol, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        x, y = array(*range(1, target.lanes + 1)), array(*[-1] * target.lanes)
        function(ctypes.byref(x), ctypes.byref(y), n)
        assert list(y) == [*range(1, n + 1), *[-1] * (target.lanes - n)]
        assert "masked.store" not in body.text


def test_masked_stores_are_those_of_processors_that_have_masks():
    wide = Target(host().triple, "x86-64-v4", "", 16)
    assert wide.has_masks
    assert "masked.store" in _copy("double", None, wide).text
    assert not aarch64().has_masks


def test_constants_of_float32_are_rounded() -> None:
    """Beyond its range to inf, as a conversion does it: `struct.pack` raises there from Python 3.14 on."""
    body = Body(host(), "define void @f()")
    for number, rounded in ((0.1, float(np.float32(0.1))), (1e150, np.inf), (-1e150, -np.inf)):
        bits = struct.pack(">d", rounded).hex().upper()
        assert body.constant(Type("float"), number).text.endswith(f"0x{bits}")
