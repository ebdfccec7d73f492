"""Transfer functions of the instructions that make containers, and access their items."""

import dis
import sys

import numpy as np

from tapegrad.program.dataflow.points_to import LocalContainer, PointsTo, joined, lead, part
from tapegrad.program.dataflow.reader import Act, Reader, register_in

ACTS: dict[str, Act] = {}  # by the names of instructions
_act = register_in(ACTS)


_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT")
# From Python 3.15 on an index, or NULL, lies above each iterator.
_ITERATOR_SIZE = 2 if sys.version_info >= (3, 15) else 1


@_act("BINARY_SUBSCR")
def subscript(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    """Take an item. From Python 3.14 on the instruction is an operator, ``BINARY_OP`` with the argument ``[]``."""
    key, value = stack.pop(), stack.pop()
    at.flow.use(key.values())
    before = at.instruction_before(i)
    # In `a[k if c else 0]` the instruction before loads one of two keys.
    constant = before.opname in _CONSTANTS and not i.is_jump_target
    whole = (before.opname == "BUILD_SLICE" and not i.is_jump_target) or (
        constant and isinstance(before.argval, slice)
    )
    found: PointsTo = {}
    for each in value.values():
        known = part(each, before.argval) if constant else None
        if whole and isinstance(each, np.ndarray):
            known = lead(each)
        found.update(at.flow.elements(lead(each)) if known is None else known)
    stack.append(found)


@_act("BINARY_SLICE")
def _subscript_by_slice(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    start, stop = stack.pop(), stack.pop()
    at.flow.consume(at.code, i.offset, start, stop)
    found: PointsTo = {}
    for each in stack.pop().values():
        found.update(lead(each) if isinstance(each, np.ndarray) else at.flow.elements(lead(each)))
    stack.append(found)


@_act("STORE_SUBSCR")
def _store_part(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    key, held, value = stack.pop(), stack.pop(), stack.pop()
    at.flow.use(key.values())
    boxes = [each for each in held.values() if isinstance(each, LocalContainer)]
    for box in boxes:
        at.flow.fill(box, value)
    if not boxes:
        at.flow.consume(at.code, i.offset, value)


@_act("STORE_ATTR", "STORE_GLOBAL")
def _store_away(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    if i.opname == "STORE_ATTR":
        stack.pop()
    at.flow.use(stack.pop().values())


@_act("BUILD_SLICE")
def _slice(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    values = stack[-(i.arg or 2) :]
    del stack[-(i.arg or 2) :]
    at.flow.consume(at.code, i.offset, *values)
    stack.append({})


@_act("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_MAP")
def _build(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    count = (i.arg or 0) * (2 if i.opname == "BUILD_MAP" else 1)
    values = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    if i.opname == "BUILD_TUPLE":
        stack.append(at.flow.row((at.code, i.offset), values))
    else:
        stack.append(at.flow.box((at.code, i.offset), joined(values)))


@_act("BUILD_CONST_KEY_MAP")
def _build_map(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.pop()
    _build(at, i, stack)


@_act("LIST_APPEND", "SET_ADD")
def _append(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    value = stack.pop()
    for box in stack[-(i.arg or 1)].values():
        if isinstance(box, LocalContainer):
            at.flow.fill(box, value)


@_act("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _extend(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    value = at.flow.elements(stack.pop())
    for box in stack[-(i.arg or 1)].values():
        if isinstance(box, LocalContainer):
            at.flow.fill(box, value)


@_act("UNPACK_SEQUENCE")
def _unpack(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    count, value = i.arg or 0, stack.pop()
    fields: list[PointsTo] = [{} for _ in range(count)]
    for each in value.values():
        sized = (
            len(each.fields) == count if isinstance(each, LocalContainer) else isinstance(each, tuple | list)
        )
        rest = {} if sized else at.flow.elements(lead(each))
        for k, field in enumerate(fields):
            field.update((part(each, k) or {}) if sized else rest)
    stack.extend(reversed(fields))


@_act("GET_ITER", "GET_LEN")
def _iterate(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    if i.opname == "GET_LEN":
        stack.append({})
    else:
        stack.append(at.flow.box((at.code, i.offset), at.flow.elements(stack.pop())))
        stack.extend([{}] * (_ITERATOR_SIZE - 1))


@_act("FOR_ITER")
def _next(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> list[PointsTo]:
    without = [*stack, {}] if "END_FOR" in dis.opmap else stack[:-1]
    stack.append(at.flow.elements(stack[-_ITERATOR_SIZE]))
    return without
