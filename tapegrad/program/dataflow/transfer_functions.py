"""Transfer functions of the bytecode for variables, attributes, operators, calls and jumps."""

import dis
import sys
import types

from tapegrad.program.dataflow.container_functions import subscript
from tapegrad.program.dataflow.points_to import Local, PointsTo, joined, lead, parts
from tapegrad.program.dataflow.reader import Act, Reader, register_in

_NULL: PointsTo = {}  # the points-to set of a NULL on the stack
ACTS: dict[str, Act] = {}  # by the names of instructions
_act = register_in(ACTS)


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
    "NOT_TAKEN",
    "EXTENDED_ARG",
    "LIST_TO_TUPLE",
)
def _nothing(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    """Do nothing: the instruction has no effect on values."""


@_act(
    "POP_TOP",
    "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_NONE",
    "POP_JUMP_BACKWARD_IF_NOT_NONE",
    "POP_JUMP_IF_NONE",
    "POP_JUMP_IF_NOT_NONE",
)
def _pop(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.pop()


@_act("PUSH_NULL", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "LOAD_BUILD_CLASS")
def _constant(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    made = i.opname == "LOAD_CONST" and isinstance(i.argval, types.CodeType)
    null = _NULL if i.opname == "PUSH_NULL" else {}
    stack.append(lead(Local(i.argval)) if made else null)


@_act("COPY")
def _copy(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.append(stack[-(i.arg or 1)])


@_act("SWAP")
def _swap(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
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
def _load(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.append(at.flow.get(at.code, i.argval))


@_act("STORE_FAST", "STORE_DEREF")
def _store(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    at.flow.put(at.code, i.argval, stack.pop())


@_act("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.extend(at.flow.get(at.code, name) for name in i.argval)


@_act("STORE_FAST_STORE_FAST")
def _store_two(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    for name in i.argval:
        at.flow.put(at.code, name, stack.pop())


@_act("STORE_FAST_LOAD_FAST")
def _store_and_load(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stored, loaded = i.argval
    at.flow.put(at.code, stored, stack.pop())
    stack.append(at.flow.get(at.code, loaded))


@_act("LOAD_GLOBAL", "LOAD_NAME")
def _load_global(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    if i.opname == "LOAD_GLOBAL" and (i.arg or 0) & 1:
        stack.append(_NULL)
    stack.append(at.flow.variable(at.code, i.argval))


@_act("LOAD_ATTR", "LOAD_METHOD")
def _load_attribute(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    method = i.opname == "LOAD_METHOD" or (_ATTR_CALLS and bool((i.arg or 0) & 1))
    value = at.flow.attributes(at.code, i.offset, stack.pop(), i.argval)
    stack.extend([_NULL, value] if method else [value])


_ATTR_CALLS = sys.version_info >= (3, 12)  # a bit of LOAD_ATTR says that a call follows


@_act("KW_NAMES")
def _names_of_call(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    at.names = len(at.code.co_consts[i.arg or 0])


@_act("CALL")
def _call(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
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
def _call_with_names(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.pop()
    at.names = len(at.instruction_before(i).argval)
    _call(at, i, stack)


@_act("CALL_FUNCTION_EX")
def _call_with_containers(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    by_name = _FULL_CALLS or bool((i.arg or 0) & 1)
    given = [stack.pop() for _ in range(1 + by_name)]
    callee = joined([stack.pop(), stack.pop()])
    args = [
        joined([value, lead(*[part for each in value.values() for part in parts(each)])]) for value in given
    ]
    stack.append(at.flow.call(at.code, i.offset, callee, args, len(args)))


_FULL_CALLS = sys.version_info >= (3, 14)  # CALL_FUNCTION_EX has arguments by name, or NULL


@_act("BINARY_OP", "BINARY_ADD", "COMPARE_OP", "CONTAINS_OP")
def _operate(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    if i.opname == "BINARY_OP" and i.argrepr == "[]":
        subscript(at, i, stack)
        return
    right, left = stack.pop(), stack.pop()
    at.flow.consume(at.code, i.offset, left, right)
    stack.append({})


@_act("IS_OP")
def _is(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    del stack[-2:]
    stack.append({})


@_act(
    "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "UNARY_POSITIVE", "TO_BOOL", "FORMAT_VALUE", "FORMAT_SIMPLE",
)  # fmt: skip
def _look(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    if i.opname == "FORMAT_VALUE" and (i.arg or 0) & _WITH_SPEC:
        stack.pop()
    at.flow.consume(at.code, i.offset, stack.pop())
    stack.append({})


@_act("CALL_INTRINSIC_1")
def _call_intrinsic(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    if i.argrepr != "INTRINSIC_LIST_TO_TUPLE":  # the tuple holds what the list does
        _look(at, i, stack)


_WITH_SPEC = 4  # a bit of FORMAT_VALUE says that the format lies above the value


@_act(
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE",
)  # fmt: skip
def _branch(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    at.flow.consume(at.code, i.offset, stack.pop())


@_act("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _branch_with_value(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> list[PointsTo]:
    at.flow.consume(at.code, i.offset, stack[-1])
    kept = list(stack)
    stack.pop()
    return kept


@_act("MAKE_FUNCTION")
def _make_function(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    made = stack.pop()
    flags = i.arg or 0
    for bit in (8, 4, 2, 1):
        if flags & bit:
            value = stack.pop()
            if bit != 8:
                at.flow.use(value.values())
    stack.append(made)


@_act("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    made, value = stack.pop(), stack.pop()
    if i.arg != 8:  # 8: the closure, whose variables are known by their names
        at.flow.use(value.values())
    stack.append(made)


@_act("END_FOR", "POP_ITER")
def _end_loop(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    del stack[dis.stack_effect(i.opcode) :]


@_act("IMPORT_NAME")
def _import(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    del stack[-2:]
    stack.append(lead(sys.modules.get(i.argval.partition(".")[0])))


@_act("IMPORT_FROM")
def _import_from(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.append(at.flow.attributes(at.code, i.offset, stack[-1], i.argval))


@_act("RETURN_GENERATOR")
def _generator(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    stack.append({})


@_act("YIELD_VALUE")
def _yield(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> None:
    at.flow.returned(at.code, at.flow.box((at.code, "yield"), stack.pop()))
    stack.append({})
