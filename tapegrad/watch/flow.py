"""Which arrays a function may read other than as operands: where values go, told from its bytecode.

An array that is an operand of recorded instructions is read where it lies at each replay. What plain Python or NumPy
computes from it, an element, a sum, a length, is the same number in every replay. So the code is followed from each
place where an array comes from to where it goes: into a call or an operator that recorded it as an operand, into a
variable, a helper's parameter, a view. Wherever it goes to something else, or where the code cannot be followed, its
contents are taken as used, and a replay compares them.
"""

import builtins
import dis
import functools
import sys
import types
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad.recording import Sites, memory_of
from tapegrad.watch import places
from tapegrad.watch.leads import Asked, Bound, Box, Leads, Local, attribute, inside, joined, lead, part, parts

Stack = tuple[Leads, ...]

_ROUNDS = 12  # through all code, until nothing new is found
_MOST = 30_000  # instructions that are followed
_LOOK = {
    len,
    isinstance,
    issubclass,
    type,
    id,
    range,
    hasattr,
    callable,
    print,
    repr,
    np.shape,
    np.ndim,
    np.size,
}
_WRAP = {list, tuple, iter, reversed, set, frozenset}
_VIEW = {
    np.asarray, np.ascontiguousarray, np.array, np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims,
    np.broadcast_to, np.atleast_1d, np.atleast_2d, np.swapaxes, np.moveaxis, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
_ADD = frozenset({"append", "add", "insert", "extend", "appendleft", "update", "setdefault"})
_TAKE = frozenset({"get", "pop", "popleft", "values", "copy", "__getitem__"})


class Flow:
    """Where the values go that functions load.

    Parameters
    ----------
    root
        What is recorded: a function, or what calls one.
    functions
        All functions whose code is followed.
    given
        What the root may be called with beside what is traced.
    sites
        For each place in code that recorded operands, the memory that they were in.

    Attributes
    ----------
    used
        The arrays that may be read other than as operands, by their ids.
    """

    def __init__(
        self, root: Any, functions: Iterable[types.FunctionType], given: Iterable[Any], sites: Sites
    ) -> None:
        self.used: dict[int, np.ndarray] = {}
        self._sites = {_at(code, last): memory for (code, last), memory in sites.items()}
        self._variables: dict[tuple[types.CodeType, str], Leads] = {}
        self._results: dict[types.CodeType, Leads] = {}
        self._globals: dict[types.CodeType, dict[str, Any]] = {}
        self._outer: dict[types.CodeType, types.CodeType] = {}
        self._boxes: dict[Any, Box] = {}
        self._codes: list[types.CodeType] = []
        self._grown = True
        for function in functions:
            self._take_up(function)
        self._begin(root, [], lead(*given))
        self._follow()

    def _begin(self, root: Any, args: list[Leads], given: Leads) -> None:
        """The root is called: its function's parameters are what it is bound to, or what is given."""
        if isinstance(root, types.MethodType):
            self._begin(root.__func__, [lead(root.__self__), *args], given)
        elif isinstance(root, functools.partial):
            bound = joined([given, *map(lead, root.keywords.values())])
            self._begin(root.func, [*map(lead, root.args), *args], bound)
        elif isinstance(root, types.FunctionType):
            if root.__code__ in self._globals:
                self._bind(root.__code__, args, 0)
                for name in parameters(root.__code__)[len(args) :]:
                    self.put(root.__code__, name, given)
            inner = getattr(root, "__wrapped__", None)
            if inner is not None:
                self._begin(inner, args, given)
        elif type(root).__module__.startswith("tapegrad."):
            self._begin(getattr(root, "function", None), args, given)
        elif root is not None:
            call = getattr(type(root), "__call__", None)  # noqa: B004
            self._begin(call if isinstance(call, types.FunctionType) else None, [lead(root), *args], given)

    def _take_up(self, function: types.FunctionType) -> None:
        code = function.__code__
        self._add_code(code, function.__globals__, None)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.put(code, name, lead(places.content(cell)))
        defaults = function.__defaults__ or ()
        last = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
        for name, value in [*zip(last, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]:
            self.put(code, name, lead(value))

    def _add_code(
        self, code: types.CodeType, variables: dict[str, Any], outer: types.CodeType | None
    ) -> None:
        if code in self._globals:
            return
        self._codes.append(code)
        self._globals[code] = variables
        if outer is not None:
            self._outer[code] = outer
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, variables, code)

    def _follow(self) -> None:
        """Go through all code until nothing new is found; give up on code that is too long."""
        rounds = 0
        while self._grown:
            self._grown = False
            rounds += 1
            if rounds > _ROUNDS or sum(len(code.co_code) for code in self._codes) > 2 * _MOST:
                return self.use(value for held in self._variables.values() for value in held.values())
            for code in tuple(self._codes):
                Run(self, code).follow()
        return None

    # --- what is known ------------------------------------------------------------------------------------------

    def get(self, code: types.CodeType, name: str) -> Leads:
        """What a local variable, or one of an enclosing function, may lead to."""
        found = self._variables.get((code, name), {})
        outer = self._outer.get(code)
        if outer is not None and name in code.co_freevars:
            return joined([found, self.get(outer, name)])
        return found

    def put(self, code: types.CodeType, name: str, value: Leads) -> None:
        """A local variable may lead to a value."""
        if name in code.co_freevars and code in self._outer:
            return self.put(self._outer[code], name, value)
        return self._grow(self._variables.setdefault((code, name), {}), value)

    def variable(self, code: types.CodeType, name: str) -> Leads:
        """What a global variable leads to."""
        return lead(self._globals[code].get(name, getattr(builtins, name, None)))

    def returned(self, code: types.CodeType, value: Leads) -> None:
        """A function may return a value."""
        self._grow(self._results.setdefault(code, {}), value)

    def fill(self, box: Box, value: Leads) -> None:
        """A container of the code's own may hold a value."""
        self._grow(box.parts, value)

    def _grow(self, known: Leads, more: Leads) -> None:
        if not more.keys() <= known.keys():
            known.update(more)
            self._grown = True

    def box(self, key: Any, value: Leads) -> Leads:
        """The container that is made at a place in the code, with a value among its parts."""
        box = self._boxes.setdefault(key, Box())
        self.fill(box, value)
        return lead(box)

    def row(self, key: Any, values: Iterable[Leads]) -> Leads:
        """The tuple that is made at a place in the code."""
        fields = list(values)
        box = self._boxes.setdefault(key, Box(len(fields)))
        for known, value in zip(box.fields, fields, strict=True):
            self._grow(known, value)
            self.fill(box, value)
        return lead(box)

    # --- what is done with values -------------------------------------------------------------------------------

    def use(self, values: Iterable[Any], operands: Iterable[int] = ()) -> None:
        """Values go to something that is not followed: all arrays in them are read, but operands of this place."""
        waiting, seen = list(values), set()
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, np.ndarray) and memory_of(value) not in operands:
                self.used[id(value)] = value
            waiting.extend(lead(*inside(value)).values())

    def consume(self, code: types.CodeType, offset: int, *values: Leads) -> None:
        """Values go to an operator or a call, which may have recorded them as operands."""
        self.use(joined(values).values(), self._sites.get((code, offset), ()))

    def elements(self, value: Leads) -> Leads:
        """What iterating over a value, or taking an element by a key, gives."""
        found: Leads = {}
        for each in value.values():
            if isinstance(each, np.ndarray):
                if each.ndim > 1:
                    found[id(each)] = each
                else:
                    self.use([each])
            elif isinstance(each, Box | dict | types.MappingProxyType | list | tuple | set | frozenset):
                found.update(lead(*parts(each)))
            else:
                self.use([each])
        return found

    def attributes(self, code: types.CodeType, offset: int, value: Leads, name: str) -> Leads:
        """What an attribute of a value leads to."""
        found: Leads = {}
        for each in value.values():
            leads = attribute(each, name)
            if leads is None:
                self.use([each])
            else:
                for one in leads.values():
                    found.update(
                        self._call_one(code, offset, one.function, [lead(each)], 0)
                        if isinstance(one, Asked)
                        else lead(one)
                    )
        return found

    def call(self, code: types.CodeType, offset: int, callee: Leads, args: list[Leads], names: int) -> Leads:
        """A call; the last `names` arguments are given by name."""
        found: Leads = {}
        for function in callee.values():
            found.update(self._call_one(code, offset, function, args, names))
        if not callee:
            self.consume(code, offset, *args)
        return found

    def _call_one(
        self, code: types.CodeType, offset: int, function: Any, args: list[Leads], names: int
    ) -> Leads:
        if isinstance(function, Bound | types.MethodType):
            owner = function.owner if isinstance(function, Bound) else function.__self__
            inner = function.function if isinstance(function, Bound) else function.__func__
            if isinstance(inner, str):
                return self._call_method(code, offset, owner, inner, args)
            return self._call_one(code, offset, inner, [lead(owner), *args], names)
        own = getattr(function, "__code__", None) if isinstance(function, types.FunctionType) else None
        own = function.code if isinstance(function, Local) else own
        if own in self._globals:
            return self._bind(own, args, names)
        return self._call_known(code, offset, function, args)

    def _bind(self, code: types.CodeType, args: list[Leads], names: int) -> Leads:
        """Arguments become parameters: those given by name, and what is left over, may be any of them."""
        own = parameters(code)
        for k, value in enumerate(args):
            positional = k < len(args) - names and k < code.co_argcount
            for name in [own[k]] if positional else own:
                self.put(code, name, value)
        return self._results.get(code, {})

    def _call_known(self, code: types.CodeType, offset: int, function: Any, args: list[Leads]) -> Leads:
        """A call of what is no function of the user's."""
        try:
            if function in _LOOK:
                return {}
            if function in _VIEW:
                return joined(args)
            if function in _WRAP:
                return self.box((code, offset), self.elements(joined(args)))
            if function is zip or function is enumerate:
                fields: list[Leads] = [{}] if function is enumerate else []
                inner = self.row((code, offset, len(args)), fields + [self.elements(arg) for arg in args])
                return self.box((code, offset), inner)
        except TypeError:  # not hashable
            pass
        if isinstance(function, np.ndarray):  # a method that shows the array's memory
            self.consume(code, offset, *args)
            return lead(function)
        if _is_replayed(function):  # in a recording it runs the function itself
            return self._call_one(code, offset, function.function, args, 0)
        self.consume(code, offset, lead(function), *args)
        return {}

    def _call_method(
        self, code: types.CodeType, offset: int, owner: Any, name: str, args: list[Leads]
    ) -> Leads:
        """A method of a container."""
        if name == "items":
            return self.box((code, offset), self.row((code, offset, 1), [{}, lead(*parts(owner))]))
        if name in _TAKE:
            found = lead(*parts(owner))
            return self.box((code, offset), found) if name in ("values", "copy") else joined([found, *args])
        if name in _ADD and isinstance(owner, Box):
            self.fill(owner, joined(args))
            return {}
        self.consume(code, offset, lead(owner), *args)
        return {}


def _at(code: types.CodeType, last: int) -> tuple[types.CodeType, int]:
    """The instruction that a frame was in, whose last offset may lie in the cache behind it."""
    offsets = [i.offset for i in instructions(code)]
    return code, offsets[bisect_right(offsets, last) - 1]


def parameters(code: types.CodeType) -> tuple[str, ...]:
    """The names of all parameters of a function."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    return code.co_varnames[:count]


def _is_replayed(function: Any) -> bool:
    return type(function).__module__ == "tapegrad.transforms.jit"


@functools.lru_cache(1024)
def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of a code object."""
    return tuple(dis.get_instructions(code))


class Run:
    """One way through the instructions of a code object, along all of its branches.

    Parameters
    ----------
    flow
        What is known of all code, and grows.
    code
        The code that is followed.
    """

    def __init__(self, flow: Flow, code: types.CodeType) -> None:
        self.flow = flow
        self.code = code
        self._instructions = instructions(code)
        self._number = {i.offset: k for k, i in enumerate(self._instructions)}
        self._stacks: dict[int, Stack] = {}
        self._waiting: list[int] = []
        self._names = 0
        self._handlers = getattr(dis.Bytecode(code), "exception_entries", ())

    def follow(self) -> None:
        """Follow all branches until no stack grows."""
        self._reach(0, ())
        while self._waiting:
            number = self._waiting.pop()
            instruction = self._instructions[number]
            stack = self._stacks[number]
            for entry in self._handlers:
                if entry.start <= instruction.offset < entry.end:
                    self._reach(
                        self._number[entry.target], (*stack[: entry.depth], *[{}] * (1 + entry.lasti))
                    )
            self._step(number, instruction, list(stack))

    def _reach(self, number: int, stack: Stack) -> None:
        """Go on at an instruction with a stack, if it is not known to come there with all that is on it."""
        known = self._stacks.get(number)
        if known is None:
            merged = stack
        elif len(known) != len(stack):
            self.flow.use(value for each in (*known, *stack) for value in each.values())
            return
        else:
            merged = tuple(joined(pair) for pair in zip(known, stack, strict=True))
            if all(len(a) == len(b) for a, b in zip(known, merged, strict=True)):
                return
        self._stacks[number] = merged
        self._waiting.append(number)

    def _step(self, number: int, instruction: dis.Instruction, stack: list[Leads]) -> None:
        name = instruction.opname
        if name in _ENDS:
            if name == "RETURN_VALUE":
                self.flow.returned(self.code, stack.pop())
            else:
                self.flow.use(value for each in stack for value in each.values())
            return
        jumps = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
        there = _ACTS.get(name, _give_up)(self, instruction, stack)
        if jumps:
            self._reach(self._number[instruction.argval], tuple(stack if there is None else there))
        if name not in _AWAY and number + 1 < len(self._instructions):
            self._reach(number + 1, tuple(stack))


def _give_up(run: Run, i: dis.Instruction, stack: list[Leads]) -> list[Leads]:
    """An instruction that is not known: all that is on the stack may be read by it."""
    run.flow.use(value for each in stack for value in each.values())
    argument = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
    here, there = (len(stack) + dis.stack_effect(i.opcode, argument, jump=jump) for jump in (False, True))
    stack[:] = [{}] * max(here, 0)
    return [{}] * max(there, 0)


Act = Callable[[Run, dis.Instruction, list[Leads]], list[Leads] | None]
_ENDS = frozenset({"RETURN_VALUE", "RERAISE", "RAISE_VARARGS"})
_AWAY = frozenset(
    {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP", "JUMP_NO_INTERRUPT"}
)
_NULL: Leads = {}  # what is pushed where no object is
_ACTS: dict[str, Act] = {}


def _act(*names: str) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        _ACTS.update(dict.fromkeys(names, act))
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
def _nothing(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    """Nothing happens to values."""


@_act(
    "POP_TOP",
    "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_IF_NONE",
    "POP_JUMP_IF_NOT_NONE",
)
def _pop(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.pop()


@_act("PUSH_NULL", "LOAD_CONST", "LOAD_BUILD_CLASS")
def _constant(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    made = i.opname == "LOAD_CONST" and isinstance(i.argval, types.CodeType)
    null = _NULL if i.opname == "PUSH_NULL" else {}
    stack.append(lead(Local(i.argval)) if made else null)


@_act("COPY")
def _copy(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append(stack[-(i.arg or 1)])


@_act("SWAP")
def _swap(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    k = i.arg or 1
    stack[-1], stack[-k] = stack[-k], stack[-1]


@_act("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
def _load(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append(run.flow.get(run.code, i.argval))


@_act("STORE_FAST", "STORE_DEREF")
def _store(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    run.flow.put(run.code, i.argval, stack.pop())


@_act("LOAD_GLOBAL", "LOAD_NAME")
def _load_global(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    if i.opname == "LOAD_GLOBAL" and (i.arg or 0) & 1:
        stack.append(_NULL)
    stack.append(run.flow.variable(run.code, i.argval))


@_act("LOAD_ATTR", "LOAD_METHOD")
def _load_attribute(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    method = i.opname == "LOAD_METHOD" or (_ATTR_CALLS and bool((i.arg or 0) & 1))
    value = run.flow.attributes(run.code, i.offset, stack.pop(), i.argval)
    stack.extend([_NULL, value] if method else [value])


_ATTR_CALLS = "LOAD_METHOD" not in dis.opmap  # since 3.12 a bit of LOAD_ATTR says that a call follows


@_act("KW_NAMES")
def _names_of_call(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    run._names = len(run.code.co_consts[i.arg or 0])


@_act("CALL")
def _call(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    count, names = i.arg or 0, run._names
    run._names = 0
    args = stack[len(stack) - count :]
    first, second = stack[len(stack) - count - 2 : len(stack) - count]
    del stack[len(stack) - count - 2 :]
    # [NULL, function] or [function, NULL], by the version of Python, or [function, first argument].
    if second is not _NULL and not first:
        first = second
    elif second is not _NULL:
        args.insert(0, second)
    stack.append(run.flow.call(run.code, i.offset, first, args, names))


@_act("CALL_FUNCTION_EX")
def _call_with_containers(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    given = [stack.pop() for _ in range(1 + bool((i.arg or 0) & 1))]
    callee = joined([stack.pop(), stack.pop()])
    args = [
        joined([value, lead(*[part for each in value.values() for part in parts(each)])]) for value in given
    ]
    stack.append(run.flow.call(run.code, i.offset, callee, args, len(args)))


@_act("BINARY_OP", "BINARY_ADD", "COMPARE_OP", "CONTAINS_OP")
def _operate(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    right, left = stack.pop(), stack.pop()
    run.flow.consume(run.code, i.offset, left, right)
    stack.append({})


@_act("IS_OP")
def _is(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    del stack[-2:]
    stack.append({})


@_act(
    "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "UNARY_POSITIVE", "TO_BOOL", "FORMAT_VALUE", "FORMAT_SIMPLE",
)  # fmt: skip
def _look(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    run.flow.consume(run.code, i.offset, stack.pop())
    stack.append({})


@_act(
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE",
)  # fmt: skip
def _branch(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    run.flow.consume(run.code, i.offset, stack.pop())


@_act("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _branch_with_value(run: Run, i: dis.Instruction, stack: list[Leads]) -> list[Leads]:
    run.flow.consume(run.code, i.offset, stack[-1])
    kept = list(stack)
    stack.pop()
    return kept


@_act("BINARY_SUBSCR")
def _subscript(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    key, value = stack.pop(), stack.pop()
    run.flow.use(key.values())
    before = run._instructions[run._number[i.offset] - 1]
    whole = before.opname == "BUILD_SLICE" or (
        before.opname == "LOAD_CONST" and isinstance(before.argval, slice)
    )
    found: Leads = {}
    for each in value.values():
        known = part(each, before.argval) if before.opname == "LOAD_CONST" else None
        if whole and isinstance(each, np.ndarray):
            known = lead(each)
        found.update(run.flow.elements(lead(each)) if known is None else known)
    stack.append(found)


@_act("STORE_SUBSCR")
def _store_part(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    key, held, value = stack.pop(), stack.pop(), stack.pop()
    run.flow.use(key.values())
    boxes = [each for each in held.values() if isinstance(each, Box)]
    for box in boxes:
        run.flow.fill(box, value)
    if not boxes:
        run.flow.consume(run.code, i.offset, value)


@_act("STORE_ATTR", "STORE_GLOBAL")
def _store_away(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    if i.opname == "STORE_ATTR":
        stack.pop()
    run.flow.use(stack.pop().values())


@_act("BUILD_SLICE")
def _slice(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    values = stack[-(i.arg or 2) :]
    del stack[-(i.arg or 2) :]
    run.flow.consume(run.code, i.offset, *values)
    stack.append({})


@_act("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_MAP")
def _build(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    count = (i.arg or 0) * (2 if i.opname == "BUILD_MAP" else 1)
    values = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    if i.opname == "BUILD_TUPLE":
        stack.append(run.flow.row((run.code, i.offset), values))
    else:
        stack.append(run.flow.box((run.code, i.offset), joined(values)))


@_act("BUILD_CONST_KEY_MAP")
def _build_map(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.pop()
    _build(run, i, stack)


@_act("LIST_APPEND", "SET_ADD")
def _append(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    value = stack.pop()
    for box in stack[-(i.arg or 1)].values():
        if isinstance(box, Box):
            run.flow.fill(box, value)


@_act("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _extend(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    value = run.flow.elements(stack.pop())
    for box in stack[-(i.arg or 1)].values():
        if isinstance(box, Box):
            run.flow.fill(box, value)


@_act("UNPACK_SEQUENCE")
def _unpack(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    count, value = i.arg or 0, stack.pop()
    fields: list[Leads] = [{} for _ in range(count)]
    for each in value.values():
        sized = len(each.fields) == count if isinstance(each, Box) else isinstance(each, tuple | list)
        rest = {} if sized else run.flow.elements(lead(each))
        for k, field in enumerate(fields):
            field.update((part(each, k) or {}) if sized else rest)
    stack.extend(reversed(fields))


@_act("GET_ITER", "GET_LEN")
def _iterate(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    if i.opname == "GET_LEN":
        stack.append({})
    else:
        stack.append(run.flow.box((run.code, i.offset), run.flow.elements(stack.pop())))


@_act("FOR_ITER")
def _next(run: Run, i: dis.Instruction, stack: list[Leads]) -> list[Leads]:
    without = [*stack, {}] if "END_FOR" in dis.opmap else stack[:-1]
    stack.append(run.flow.elements(stack[-1]))
    return without


@_act("MAKE_FUNCTION")
def _make_function(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    made = stack.pop()
    flags = i.arg or 0
    for bit in (8, 4, 2, 1):
        if flags & bit:
            value = stack.pop()
            if bit != 8:
                run.flow.use(value.values())
    stack.append(made)


@_act("IMPORT_NAME")
def _import(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    del stack[-2:]
    stack.append(lead(sys.modules.get(i.argval.partition(".")[0])))


@_act("IMPORT_FROM")
def _import_from(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append(run.flow.attributes(run.code, i.offset, stack[-1], i.argval))


@_act("RETURN_GENERATOR")
def _generator(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    stack.append({})


@_act("YIELD_VALUE")
def _yield(run: Run, i: dis.Instruction, stack: list[Leads]) -> None:
    run.flow.returned(run.code, run.flow.box((run.code, "yield"), stack.pop()))
    stack.append({})
