"""Bytecode of the running Python: each instruction is known, or the analysis gives up on it; stacks are CPython's."""

import contextlib
import dis
import importlib
import sys

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.dataflow import follow, reader
from tapegrad.program.dataflow.dataflow import Dataflow

# The analysis gives up on functions with these, and a replay compares all arrays that they reach: bodies of classes,
# coroutines and `yield from`, patterns, templates, type parameters, `super()`, and what is rare.
GIVEN_UP = frozenset({
    "ANNOTATIONS_PLACEHOLDER", "ASYNC_GEN_WRAP", "BEFORE_ASYNC_WITH", "BUILD_INTERPOLATION", "BUILD_TEMPLATE",
    "CALL_INTRINSIC_2", "CHECK_EG_MATCH", "CLEANUP_THROW", "DELETE_DEREF", "DELETE_GLOBAL", "DELETE_NAME",
    "END_ASYNC_FOR", "END_SEND", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE", "GET_YIELD_FROM_ITER", "IMPORT_STAR",
    "JUMP_BACKWARD_NO_INTERRUPT", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_LOCALS",
    "LOAD_SUPER_ATTR", "MAP_ADD", "MATCH_CLASS", "MATCH_KEYS", "MATCH_MAPPING", "MATCH_SEQUENCE", "PREP_RERAISE_STAR",
    "PRINT_EXPR", "SEND", "SETUP_ANNOTATIONS", "STORE_NAME", "STORE_SLICE", "UNPACK_EX",
})  # fmt: skip
# No code object shows these: the interpreter puts them in place of others, or around a frame.
INTERNAL = frozenset({"ENTER_EXECUTOR", "EXIT_INIT_CHECK", "INTERPRETER_EXIT", "RESERVED", "TRACE_RECORD"})
_MAX_OPCODE = 255  # larger numbers are the compiler's own, and in no code object
# Where `dis.stack_effect` says something else than the interpreter does: in 3.11 a call takes its arguments at `CALL`,
# and a generator finds what it was sent on its stack.
OTHER_EFFECTS = frozenset(
    ({"PRECALL", "CALL"} if sys.version_info < (3, 12) else set())
    | ({"RETURN_GENERATOR"} if sys.version_info < (3, 13) else set())
)
# Modules with all kinds of statements.
MODULES = (
    "argparse", "asyncio.base_events", "contextlib", "dataclasses", "enum", "functools", "inspect", "statistics",
    "tarfile", "typing",
)  # fmt: skip


def test_each_instruction_is_known_or_given_up_on():
    shown = {
        name
        for name, number in dis.opmap.items()
        if number <= _MAX_OPCODE and not name.startswith("INSTRUMENTED_")
    }
    known = follow._ACTS.keys() | follow._ENDS | reader._HARMLESS
    assert shown - INTERNAL - known == shown & GIVEN_UP
    assert not GIVEN_UP & known


class Checked(follow._Path):
    """A path along which each instruction's effect on the stack is held against CPython's."""

    def _go_on(self, step, stack):
        i, before = step.instruction, len(stack)
        flow = self._flow
        super()._go_on(step, stack)
        if i.opname not in OTHER_EFFECTS and not flow.lost:
            argument = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
            for number, jump in ((step.next, False), (step.jump, True)):
                if number is not None:
                    effect = dis.stack_effect(i.opcode, argument, jump=jump)
                    assert len(self._stacks[number]) == before + effect, (self._reader.code, i)


@pytest.mark.parametrize("name", MODULES)
def test_instructions_move_the_stack_as_the_interpreter_says(name):
    """No two branches meet with stacks of other depths, either: the analysis would give up."""
    file = importlib.import_module(name).__file__
    with open(file, encoding="utf-8") as source:
        flow = Dataflow(None, (), (), {})
        flow._add_code(compile(source.read(), file, "exec"), {}, None)
    followed = 0
    for code in flow.codes:
        flow.lost = False
        Checked(flow, code).follow()
        names = {i.opname for i in dis.get_instructions(code)}
        assert flow.lost == (not names.isdisjoint(GIVEN_UP)), code
        followed += not flow.lost
    assert followed > 20


@pytest.mark.parametrize("change", [-1, 1])
def test_an_instruction_that_does_something_else_is_never_followed(change, monkeypatch):
    """As if a version of Python had changed what an iteration leaves on the stack."""

    def other(at, i, stack):
        without = act(at, i, stack)
        stack[:] = stack[:change] if change < 0 else [*stack, {}]
        return without

    act = follow._ACTS["FOR_ITER"]
    monkeypatch.setitem(follow._ACTS, "FOR_ITER", other)
    follow._steps.cache_clear()
    flow = Dataflow(None, [test_each_instruction_is_known_or_given_up_on], (), {})
    for code in flow.codes:
        follow._Path(flow, code).follow()
    monkeypatch.undo()
    follow._steps.cache_clear()
    assert flow.lost


# A jump over more than 255 instructions has a prefix for its length.
LONG = {"tg": tg}
LONG_SOURCE = f"""
def a_long_loop(p, arrays):
    total = 0.0
    for a in arrays:
        total = total + tg.sum(p[0] * a)
        if total is None:
            {"total = total + p; " * 100}
    return total
"""
exec(LONG_SOURCE, LONG)
a_long_loop = LONG["a_long_loop"]
OPERANDS = {
    "list comprehension": lambda p, v: sum([tg.sum(p[0] * a) for a in [v, v]]),
    "nested comprehension": lambda p, v: sum([tg.sum(b * p[0]) for a in [[v], [v]] for b in a]),
    "set comprehension": lambda p, v: sum(sorted({int(k) for k in range(2)})) * tg.sum(p[0] * v),
    "generator": lambda p, v: sum(tg.sum(p[0] * a) for a in [v, v]),
    "tuple of a generator": lambda p, v: tg.sum(p[0] * tuple(a for a in [v])[0]),  # noqa: RUF015
    "loop in a loop": lambda p, v: looped(p, [[v, v], [v]]),
    "long loop": lambda p, v: a_long_loop(p, [v, v]),
    "last item": lambda p, v: tg.sum(p[0] * (p, v)[-1]),
    "generator function": lambda p, v: sum(tg.sum(p[0] * a) for a in given(v)),
}
PLAIN = {
    "any": lambda p, v: tg.sum(p) * (3.0 if any(a > 1.5 for a in v) else 1.0),
    "all": lambda p, v: tg.sum(p) * (3.0 if all(a > 1.5 for a in v) else 1.0),
    "list comprehension": lambda p, v: tg.sum(p) * [a for a in [v]][0][0],  # noqa: C416, RUF015
    "set comprehension": lambda p, v: tg.sum(p) * max({float(a) for a in v}),
    "dict comprehension": lambda p, v: tg.sum(p) * {k: a for k, a in enumerate([v])}[0][0],  # noqa: C416
    "generator": lambda p, v: tg.sum(p) * max(np.sum(a) for a in (b for b in [v])),
    "list of a generator": lambda p, v: tg.sum(p) * list(a for a in [v])[0][0],  # noqa: C400, RUF015
    "generator function": lambda p, v: tg.sum(p) * [a for a in given(v)][0][0],  # noqa: C416, RUF015
    "yield from": lambda p, v: tg.sum(p) * next(iter(given_on(v)))[0],
    "last item": lambda p, v: tg.sum(p) * np.sum((1.0, v)[-1]),
    "format": lambda p, v: formatted(p, v),
    "unpacked into a list": lambda p, v: tg.sum(p) * [*[v], 1][0][0],
    "unpacked into a dict": lambda p, v: tg.sum(p) * {**{"k": v}}["k"][0],  # noqa: PIE800
    "pattern": lambda p, v: matched(p, v),
    "error of a group": lambda p, v: caught(p, v),
    "block": lambda p, v: in_a_block(p, v),
    "slice that is written to": lambda p, v: written(p, v),
}
if sys.version_info >= (3, 14):
    PLAIN["template"] = eval('lambda p, v: tg.sum(p) * t"{v}".values[0][0]')
if sys.version_info >= (3, 15):
    PLAIN["unpacked in a comprehension"] = eval("lambda p, v: tg.sum(p) * [*a for a in [[v]]][0][0]")
    PLAIN["unpacked in a dict's"] = eval('lambda p, v: tg.sum(p) * {**a for a in [{"k": v}]}["k"][0]')
    PLAIN["unpacked in a generator"] = eval("lambda p, v: tg.sum(p) * list(*a for a in [[v]])[0][0]")
    PLAIN["item of a frozen dict"] = eval('lambda p, v: tg.sum(p) * np.sum(frozendict(k=v)["k"])')


def looped(p, rows):
    total = 0.0
    for row in rows:
        for a in row:
            total = total + tg.sum(p[0] * a)
    return total


def given(v):
    for a in [v, v]:  # noqa: UP028
        yield a


def given_on(v):
    yield from [v]


def formatted(p, v):
    text = f"{v[0]:.3f}, {Shown(v):.3f}"
    first, second = text.split(",")
    return tg.sum(p) * float(second) + float(first)


class Shown:
    def __init__(self, v):
        self.v = v

    def __format__(self, how):
        return format(self.v[0], how)


def matched(p, v):
    match [v, 1]:
        case [a, *_]:
            return tg.sum(p) * a[0]


def caught(p, v):
    number = 0.0
    try:
        raise ValueError(f"{v[0]}")
    except* ValueError as group:
        number = float(group.exceptions[0].args[0])
    return tg.sum(p) * number


def in_a_block(p, v):
    with contextlib.nullcontext([v]) as held:
        return tg.sum(p) * held[0][0]


def written(p, v):
    numbers = [0.0, 0.0]
    numbers[0:2] = v
    return tg.sum(p) * numbers[0]


def recorded(function):
    """A replayed function, the array that it has closed over, and the function as it stands."""
    held, x = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    replayed = tg.jit(lambda p: function(p, held))
    return held, replayed, lambda: (replayed(x), float(function(tg.tensor(x), held).data))


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_are_not_compared(name):
    held, replayed, both = recorded(OPERANDS[name])
    for number in (1.0, 2.0, 1.0):
        held[0] = number
        found, expected = both()
        assert found == pytest.approx(expected, rel=1e-14)
    assert len(list(replayed.traces)) == 1


@pytest.mark.parametrize("name", PLAIN)
def test_contents_that_plain_code_reads_are_compared(name):
    held, _, both = recorded(PLAIN[name])
    for number in (1.0, 2.0, 1.0, 3.0):
        held[0] = number
        found, expected = both()
        assert found == pytest.approx(expected, rel=1e-14)


def test_objects_with_a_format_are_read_by_it():
    """In 3.11 and 3.12 the format of an f-string lies above the value, which was taken for unread."""
    held = np.array(2.0)

    def function(p):
        text = f"{held:.3f}"
        number = float(text)
        return tg.sum(p) * number

    replayed = tg.jit(function)
    for number in (2.0, 3.0, 2.0):
        held[...] = number
        assert replayed(np.ones(2)) == 2 * number


@pytest.mark.skipif(sys.version_info < (3, 15), reason="lazy imports are of Python 3.15")
def test_lazy_imports_are_followed(tmp_path, monkeypatch):
    (tmp_path / "held_lazily.py").write_text(
        "import numpy as np\nV = np.ones(2)\ndef f(x): return x * K\nK = 2.0\n"
    )
    (tmp_path / "lazily.py").write_text(
        "lazy import held_lazily\nlazy from held_lazily import V, f\nimport tapegrad as tg\n"
        "def g(x): return tg.sum(f(x)) * V[0] if x.shape[0] > 1 else tg.sum(x) * held_lazily.K\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("lazily")
    replayed = tg.jit(module.g)
    assert replayed(np.ones(2)) == 4.0
    held = importlib.import_module("held_lazily")
    held.V[0], held.K = 3.0, 5.0
    assert replayed(np.ones(2)) == replayed(np.ones(2)) == 30.0
    assert replayed(np.ones(1)) == 5.0
    held.K = 7.0
    assert replayed(np.ones(1)) == 7.0
    for name in ("held_lazily", "lazily"):
        sys.modules.pop(name)
