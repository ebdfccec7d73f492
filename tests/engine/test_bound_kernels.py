"""Kernels of bound rows: to the bit what the row's other kernel computes, and chosen only where the frame allows it."""

import itertools
import signal
import sys
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.bound_frames import SUMMED, Frame, all_facts, bits, run_before_fence
from helpers.daily import daily, drawn
from helpers.elementwise_kernels import DTYPES
from tapegrad.engine import bound_kernels, kernel_table
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.ir.target import of_level
from tapegrad.engine.codegen.rows.case import Case, FrameFacts
from tapegrad.engine.codegen.rows.rows import fields_read
from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_STRIDE
from tapegrad.ops import BY_NAME, CODES, Op

COUNTS = (1, 2, 13, 16, 37)
# An op of each kind: one instruction, texts with a division, a selection, mathematics, truth values in and out.
NAMES = ("multiply", "subtract", "divide", "maximum", "square", "tanh", "power", "where", "less")


def _frames(op: Op, dtype: str, direction: str) -> Any:
    """Frames of all facts, each with its facts."""
    targets = [0] if direction == "forward" else range(1, 1 << op.arity)
    for count, scalars, wanted in itertools.product(COUNTS, range(1 << op.arity), targets):
        wanted &= sum(1 << j for j in op.differentiable_operands)
        if scalars & wanted or (count == 1 and scalars) or (direction == "reverse" and not wanted):
            continue
        for stored in {0, wanted, wanted & 1} if direction == "reverse" else {0}:
            facts = FrameFacts(int(count == 1), scalars, wanted, stored)
            yield lambda case=(count, scalars, wanted): Frame(op, dtype, direction, *case), facts


# Of complex operands: sums, a product and a quotient, a real result, a real operand, partials by conjugates.
COMPLEX = ("multiply", "divide", "absolute", "exp", "where", "multiply_real", "complex_sign", "equal")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*itertools.product(NAMES, DTYPES), *itertools.product(COMPLEX, ["c128"]), ("multiply", "c64")],
)
def test_results_are_those_of_the_other_kernel(name: str, dtype: str) -> None:
    op = BY_NAME[name]
    for direction in ("forward", "reverse")[: 1 if op.predicate else 2]:
        for make, facts in _frames(op, dtype, direction):
            frame, other = make(), make()
            frame.fields[STORE] = other.fields[STORE] = facts.stored
            address = kernels.address(Case(op, dtype), direction, facts)
            assert frame.run(address) == other.run(kernels.address(Case(op, dtype), direction)), (
                direction,
                facts,
            )


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*itertools.product(SUMMED, ["f64", "c128"]), ("multiply", "f32"), ("multiply_real", "c128")],
)
def test_sums_are_those_of_the_other_kernel(name: str, dtype: str) -> None:
    """Cotangents of operands that are one element: whole vectors, what is left of one, and several blocks."""
    op = BY_NAME[name]
    others = kernels.address(Case(op, dtype), "reverse")
    for facts in all_facts(op, "reverse"):
        if not facts.sums or facts.stored not in (0, facts.wanted):
            continue
        address = kernels.address(Case(op, dtype), "reverse", facts)
        for count in (2, 13, 48, 300, 600):
            frame, other = (Frame(op, dtype, "reverse", count, facts.scalars, facts.wanted) for _ in range(2))
            frame.fields[STORE] = other.fields[STORE] = facts.stored
            assert frame.run(address) == other.run(others), (facts, count)


@drawn
@daily(among=lambda dtype: dtype == "f64")
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pages on Windows")
@pytest.mark.parametrize(("dtype", "names"), [("f64", ()), ("f32", NAMES)], ids=DTYPES)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_nothing_is_read_behind_the_fields_that_are_said_to_be(
    direction: str, dtype: str, names: tuple[str, ...]
) -> None:
    done = run_before_fence(direction, dtype, fields_read(direction), names)
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout[-300:]}{done.stderr}"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pages on Windows")
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_the_last_of_these_fields_is_read(direction: str) -> None:
    done = run_before_fence(direction, "f64", fields_read(direction) - 1, ("multiply",))
    assert done.returncode in (-signal.SIGSEGV, -signal.SIGBUS)
    assert done.stdout.startswith("multiply")


@pytest.mark.parametrize("facts", [FrameFacts(0, 1, 2, 2), FrameFacts(0, 1, 3, 2)])
def test_for_other_processors(facts: FrameFacts) -> None:
    op = BY_NAME["multiply"]
    frame, other = (Frame(op, "f64", "reverse", 13, 1, facts.wanted) for _ in range(2))
    frame.fields[STORE] = other.fields[STORE] = 2
    address = kernels.address(Case(op, "f64", of_level("x86-64-v3")), "reverse", facts)
    assert frame.run(address) == other.run(kernels.address(Case(op, "f64"), "reverse"))


def test_codes_of_facts() -> None:
    for single, scalars, wanted in itertools.product((0, 1), range(8), range(8)):
        facts = FrameFacts(single, scalars, wanted, wanted & 5)
        assert FrameFacts.of_code(facts.code) == facts


MULTIPLY = BY_NAME["multiply"]


def _chosen(direction: str, change: dict[int, int], name: str = "multiply", count: int = 5) -> int:
    """The kernel for a frame of adjacent lines, after some changes of its fields."""
    frame = Frame(BY_NAME[name], "f64", direction, count, 0, 3)
    for field, value in change.items():
        frame.fields[field] = value
    codes = kernel_table.DIRECTIONS.index(direction)
    keys = np.array([[CODES[name]], [0], [codes]])
    return int(bound_kernels.chosen(keys, frame.fields[None], np.zeros(1, np.int64))[0, 0])


def _expected(direction: str, *facts: int) -> int:
    return kernels.address(Case(MULTIPLY, "f64"), direction, FrameFacts(*facts))


def test_the_frame_chooses_by_the_bytes_of_each_operand() -> None:
    op = BY_NAME["multiply_real"]
    frame = Frame(op, "c128", "reverse", 5, 0, 3)
    keys = np.array([[CODES[op.name]], [kernel_table.DTYPE_NAMES.index("c128")], [1]])

    def chosen() -> int:
        return int(bound_kernels.chosen(keys, frame.fields[None], np.zeros(1, np.int64))[0, 0])

    case = Case(op, "c128")
    assert chosen() == kernels.address(case, "reverse", FrameFacts(0, 0, 3, 0))
    frame.fields[STRIDE + 1] = 16
    assert chosen() == kernels.address(case, "reverse")
    frame.fields[STRIDE + 1], frame.fields[X_BAR + 1] = 8, frame.fields[X_BAR] + 4 * 16 + 8
    assert chosen() == kernels.address(case, "reverse")  # the last of the one is the first of the other


def test_the_frame_chooses() -> None:
    assert _chosen("forward", {}) == _expected("forward", 0, 0, 0, 0)
    assert _chosen("forward", {STRIDE + 1: 0}) == _expected("forward", 0, 2, 0, 0)
    assert _chosen("forward", {STRIDE: 24, STRIDE + 1: 0}, count=1) == _expected("forward", 1, 0, 0, 0)
    assert _chosen("reverse", {STORE: 1 | 8 << 8}) == _expected("reverse", 0, 0, 3, 1)
    assert _chosen("reverse", {X_BAR: 0, STRIDE: 0, STORE: 2}) == _expected("reverse", 0, 1, 2, 2)
    assert _chosen("reverse", {STRIDE: 0, STORE: 2}) == _expected("reverse", 0, 1, 3, 2)


@pytest.mark.parametrize(
    ("direction", "change"),
    [
        ("forward", {STRIDE: 16}),
        ("forward", {STRIDE + 1: -8}),
        ("forward", {Y_STRIDE: 0}),
        ("forward", {COUNT: 0}),
        ("forward", {COUNT: -1}),
        ("reverse", {X_BAR: 0, X_BAR + 1: 0}),
        ("tangent", {}),
    ],
)
def test_other_frames_have_the_other_kernel(direction: str, change: dict[int, int]) -> None:
    assert _chosen(direction, change) == kernels.address(Case(MULTIPLY, "f64"), direction)


def test_loops_of_libraries_have_the_other_kernel() -> None:
    assert _chosen("forward", {}, "lgamma") == kernels.address(Case(BY_NAME["lgamma"], "f64"), "forward")


def test_sums_of_the_mathematics_have_the_other_kernel() -> None:
    other = kernels.address(Case(BY_NAME["power"], "f64"), "reverse")
    assert _chosen("reverse", {STRIDE: 0}, "power") == other


def test_replay_is_to_the_bit_what_is_computed_eagerly() -> None:
    def f(x: Any) -> Any:
        y = 3.0 * x / (x[0] + 2.0) - tg.tanh(x) * x
        return (tg.where(y > 0, y, -0.0 * y) * (1.0 - y)).sum()

    for count in (1, 7, 16, 33):
        x = np.linspace(-2.0, 2.0, count)
        (value, slope), (again, same) = tg.value_and_grad(f)(x), tg.value_and_grad(tg.jit(f))(x)
        assert bits(value) == bits(again)
        assert bits(slope) == bits(same)


def test_overlapping_cotangents_are_added_to_one_after_the_other() -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.uniform(0.5, 1.5, 60), rng.uniform(0.1, 2.0, 60)

    def f(x: Any) -> Any:
        return tg.sum(x[1:] * x[:-1]) + tg.sum(x * weight)

    expected = weight.copy()
    expected[1:] += x[:-1]
    expected[:-1] += x[1:]
    for function in (f, tg.jit(f, fuse=False), tg.jit(f, fuse=True)):
        assert bits(tg.grad(function)(x)) == bits(expected)
