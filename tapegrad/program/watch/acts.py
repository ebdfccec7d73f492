"""What each instruction of Python's bytecode does to the values on the stack of code that is followed."""

import dis
import sys
import types
from collections.abc import Callable

import numpy as np

from tapegrad.program.watch.flow import Flow, instructions
from tapegrad.program.watch.leads import Box, Leads, Local, joined, lead, part, parts


class Reader:
    """Code that is read, instruction by instruction.

    Parameters
    ----------
    flow
        What is known of all code, and grows.
    code
        The code.

    Attributes
    ----------
    instructions
        Its instructions.
    number
        The number of the instruction at an offset.
    names
        How many arguments of the next call are given by name.
    """

    def __init__(self, flow: Flow, code: types.CodeType) -> None:
        self.flow = flow
        self.code = code
        self.instructions = instructions(code)
        self.number = {i.offset: k for k, i in enumerate(self.instructions)}
        self.names = 0

    def instruction_before(self, i: dis.Instruction) -> dis.Instruction:
        """The instruction before another one."""
        return self.instructions[self.number[i.offset] - 1]


Act = Callable[[Reader, dis.Instruction, list[Leads]], list[Leads] | None]


# What takes values from the stack, or pushes what no array comes from; all else that is not known may load anything.
_HARMLESS = frozenset({
    "BEFORE_WITH", "BUILD_STRING", "CALL_INTRINSIC_1", "CHECK_EXC_MATCH", "CONVERT_VALUE", "DELETE_ATTR",
    "DELETE_SUBSCR", "FORMAT_WITH_SPEC", "LIST_TO_TUPLE", "LOAD_ASSERTION_ERROR", "POP_EXCEPT",
    "PUSH_EXC_INFO", "WITH_EXCEPT_START",
})  # fmt: skip


def give_up(at: Reader, i: dis.Instruction, stack: list[Leads]) -> list[Leads]:
    """An instruction that is not followed: it may read all that is on the stack."""
    at.flow.lost |= i.opname not in _HARMLESS
    at.flow.use(value for each in stack for value in each.values())
    argument = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
    here, there = (len(stack) + dis.stack_effect(i.opcode, argument, jump=jump) for jump in (False, True))
    stack[:] = [{}] * max(here, 0)
    return [{}] * max(there, 0)


_NULL: Leads = {}  # what is pushed where no object is
ACTS: dict[str, Act] = {}  # by the names of instructions


def _act(*names: str) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        ACTS.update(dict.fromkeys(names, act))
        return act

    return register


@_act(
    "NOP",
    "RESUME",
    "PRECALL",
    "CACHE",
    "MAKE_CELL",
    "COPY_FREE_VARS",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "DELETE_FAST",
)
def _nothing(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    """Nothing happens to values."""


@_act(
    "POP_TOP",
    "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_IF_NONE",
    "POP_JUMP_IF_NOT_NONE",
)
def _pop(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.pop()


@_act("PUSH_NULL", "LOAD_CONST", "LOAD_BUILD_CLASS")
def _constant(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    made = i.opname == "LOAD_CONST" and isinstance(i.argval, types.CodeType)
    null = _NULL if i.opname == "PUSH_NULL" else {}
    stack.append(lead(Local(i.argval)) if made else null)


@_act("COPY")
def _copy(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append(stack[-(i.arg or 1)])


@_act("SWAP")
def _swap(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    k = i.arg or 1
    stack[-1], stack[-k] = stack[-k], stack[-1]


@_act(
    "LOAD_FAST",
    "LOAD_FAST_AND_CLEAR",
    "LOAD_FAST_CHECK",
    "LOAD_FAST_BORROW",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_CLOSURE",
)
def _load(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append(at.flow.get(at.code, i.argval))


@_act("STORE_FAST", "STORE_DEREF")
def _store(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    at.flow.put(at.code, i.argval, stack.pop())


@_act("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.extend(at.flow.get(at.code, name) for name in i.argval)


@_act("STORE_FAST_STORE_FAST")
def _store_two(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    for name in i.argval:
        at.flow.put(at.code, name, stack.pop())


@_act("STORE_FAST_LOAD_FAST")
def _store_and_load(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stored, loaded = i.argval
    at.flow.put(at.code, stored, stack.pop())
    stack.append(at.flow.get(at.code, loaded))


@_act("LOAD_GLOBAL", "LOAD_NAME")
def _load_global(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    if i.opname == "LOAD_GLOBAL" and (i.arg or 0) & 1:
        stack.append(_NULL)
    stack.append(at.flow.variable(at.code, i.argval))


@_act("LOAD_ATTR", "LOAD_METHOD")
def _load_attribute(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    method = i.opname == "LOAD_METHOD" or (_ATTR_CALLS and bool((i.arg or 0) & 1))
    value = at.flow.attributes(at.code, i.offset, stack.pop(), i.argval)
    stack.extend([_NULL, value] if method else [value])


_ATTR_CALLS = sys.version_info >= (3, 12)  # a bit of LOAD_ATTR says that a call follows


@_act("KW_NAMES")
def _names_of_call(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    at.names = len(at.code.co_consts[i.arg or 0])


@_act("CALL")
def _call(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    count, names = i.arg or 0, at.names
    at.names = 0
    args = stack[len(stack) - count :]
    first, second = stack[len(stack) - count - 2 : len(stack) - count]
    del stack[len(stack) - count - 2 :]
    # [NULL, function] or [function, NULL], by the version of Python, or [function, first argument].
    if second is not _NULL and not first:
        first = second
    elif second is not _NULL:
        args.insert(0, second)
    stack.append(at.flow.call(at.code, i.offset, first, args, names))


@_act("CALL_KW")
def _call_with_names(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.pop()
    at.names = len(at.instruction_before(i).argval)
    _call(at, i, stack)


@_act("CALL_FUNCTION_EX")
def _call_with_containers(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    given = [stack.pop() for _ in range(1 + bool((i.arg or 0) & 1))]
    callee = joined([stack.pop(), stack.pop()])
    args = [
        joined([value, lead(*[part for each in value.values() for part in parts(each)])]) for value in given
    ]
    stack.append(at.flow.call(at.code, i.offset, callee, args, len(args)))


@_act("BINARY_OP", "BINARY_ADD", "COMPARE_OP", "CONTAINS_OP")
def _operate(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    right, left = stack.pop(), stack.pop()
    at.flow.consume(at.code, i.offset, left, right)
    stack.append({})


@_act("IS_OP")
def _is(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    del stack[-2:]
    stack.append({})


@_act(
    "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "UNARY_POSITIVE", "TO_BOOL", "FORMAT_VALUE", "FORMAT_SIMPLE",
)  # fmt: skip
def _look(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    at.flow.consume(at.code, i.offset, stack.pop())
    stack.append({})


@_act(
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE",
)  # fmt: skip
def _branch(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    at.flow.consume(at.code, i.offset, stack.pop())


@_act("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _branch_with_value(at: Reader, i: dis.Instruction, stack: list[Leads]) -> list[Leads]:
    at.flow.consume(at.code, i.offset, stack[-1])
    kept = list(stack)
    stack.pop()
    return kept


@_act("BINARY_SUBSCR")
def _subscript(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    key, value = stack.pop(), stack.pop()
    at.flow.use(key.values())
    before = at.instruction_before(i)
    whole = before.opname == "BUILD_SLICE" or (
        before.opname == "LOAD_CONST" and isinstance(before.argval, slice)
    )
    found: Leads = {}
    for each in value.values():
        known = part(each, before.argval) if before.opname == "LOAD_CONST" else None
        if whole and isinstance(each, np.ndarray):
            known = lead(each)
        found.update(at.flow.elements(lead(each)) if known is None else known)
    stack.append(found)


@_act("BINARY_SLICE")
def _subscript_by_slice(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    start, stop = stack.pop(), stack.pop()
    at.flow.consume(at.code, i.offset, start, stop)
    found: Leads = {}
    for each in stack.pop().values():
        found.update(lead(each) if isinstance(each, np.ndarray) else at.flow.elements(lead(each)))
    stack.append(found)


@_act("STORE_SUBSCR")
def _store_part(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    key, held, value = stack.pop(), stack.pop(), stack.pop()
    at.flow.use(key.values())
    boxes = [each for each in held.values() if isinstance(each, Box)]
    for box in boxes:
        at.flow.fill(box, value)
    if not boxes:
        at.flow.consume(at.code, i.offset, value)


@_act("STORE_ATTR", "STORE_GLOBAL")
def _store_away(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    if i.opname == "STORE_ATTR":
        stack.pop()
    at.flow.use(stack.pop().values())


@_act("BUILD_SLICE")
def _slice(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    values = stack[-(i.arg or 2) :]
    del stack[-(i.arg or 2) :]
    at.flow.consume(at.code, i.offset, *values)
    stack.append({})


@_act("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_MAP")
def _build(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    count = (i.arg or 0) * (2 if i.opname == "BUILD_MAP" else 1)
    values = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    if i.opname == "BUILD_TUPLE":
        stack.append(at.flow.row((at.code, i.offset), values))
    else:
        stack.append(at.flow.box((at.code, i.offset), joined(values)))


@_act("BUILD_CONST_KEY_MAP")
def _build_map(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.pop()
    _build(at, i, stack)


@_act("LIST_APPEND", "SET_ADD")
def _append(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    value = stack.pop()
    for box in stack[-(i.arg or 1)].values():
        if isinstance(box, Box):
            at.flow.fill(box, value)


@_act("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _extend(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    value = at.flow.elements(stack.pop())
    for box in stack[-(i.arg or 1)].values():
        if isinstance(box, Box):
            at.flow.fill(box, value)


@_act("UNPACK_SEQUENCE")
def _unpack(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    count, value = i.arg or 0, stack.pop()
    fields: list[Leads] = [{} for _ in range(count)]
    for each in value.values():
        sized = len(each.fields) == count if isinstance(each, Box) else isinstance(each, tuple | list)
        rest = {} if sized else at.flow.elements(lead(each))
        for k, field in enumerate(fields):
            field.update((part(each, k) or {}) if sized else rest)
    stack.extend(reversed(fields))


@_act("GET_ITER", "GET_LEN")
def _iterate(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    if i.opname == "GET_LEN":
        stack.append({})
    else:
        stack.append(at.flow.box((at.code, i.offset), at.flow.elements(stack.pop())))


@_act("FOR_ITER")
def _next(at: Reader, i: dis.Instruction, stack: list[Leads]) -> list[Leads]:
    without = [*stack, {}] if "END_FOR" in dis.opmap else stack[:-1]
    stack.append(at.flow.elements(stack[-1]))
    return without


@_act("MAKE_FUNCTION")
def _make_function(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    made = stack.pop()
    flags = i.arg or 0
    for bit in (8, 4, 2, 1):
        if flags & bit:
            value = stack.pop()
            if bit != 8:
                at.flow.use(value.values())
    stack.append(made)


@_act("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    made, value = stack.pop(), stack.pop()
    if i.arg != 8:  # 8: the closure, whose variables are known by their names
        at.flow.use(value.values())
    stack.append(made)


@_act("END_FOR")
def _end_loop(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    del stack[dis.stack_effect(i.opcode) :]


@_act("IMPORT_NAME")
def _import(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    del stack[-2:]
    stack.append(lead(sys.modules.get(i.argval.partition(".")[0])))


@_act("IMPORT_FROM")
def _import_from(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append(at.flow.attributes(at.code, i.offset, stack[-1], i.argval))


@_act("RETURN_GENERATOR")
def _generator(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append({})


@_act("YIELD_VALUE")
def _yield(at: Reader, i: dis.Instruction, stack: list[Leads]) -> None:
    at.flow.returned(at.code, at.flow.box((at.code, "yield"), stack.pop()))
    stack.append({})
