"""The checker of legal tapes: what is legal passes, and whatever breaks a rule is named and not swept."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection import verify
from tapegrad.engine.inspection.tape_view import read_tape
from tapegrad.engine.inspection.verify.check import RULES
from tapegrad.engine.tape.fields import layout
from tapegrad.engine.tape.fields.columns import COLUMNS, SLOT
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, EXTERNAL, F32, I64
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import Tape, fields_at
from tapegrad.ops import CODES
from tapegrad.ops.params import Region


@pytest.fixture(autouse=True, scope="module")
def nothing_left() -> None:
    """Graphs that exceptions of other tests still hold are not those that are spoilt here."""
    gc.collect()


Place = tuple[np.ndarray, int]
_WIDTHS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


class Case:
    """A tape with one of everything, and the places in its columns where it can be spoilt.

    The first `others` instructions are what other tests have left on the eager tape.
    """

    def __init__(self, tape: Tape, others: int = 0) -> None:
        self.tape = tape
        self.t = read_tape(tape)
        self.live = list(self.t.live)[others:]

    def find(self, name: str) -> int:
        """The first instruction of an op."""
        return next(i for i in self.live if self.t.instructions[i].op == CODES[name])

    def column(self, name: str, k: int) -> Place:
        column = COLUMNS[name]
        return fields_at(int(self.tape.fields[column.field]), k + 1, _WIDTHS[column.bytes]), k

    def of_instruction(self, name: str, op: str) -> Place:
        return self.column(name, self.find(op))

    def of_operand(self, name: str, op: str, j: int = 0) -> Place:
        """A column of the slot of an operand, or of the buffer that it lies on."""
        s = self.t.instructions[self.find(op)].operands[j]
        return self.column(name, s if COLUMNS[name].kind == SLOT else self.t.slots[s].buffer)

    def of_result(self, name: str, op: str) -> Place:
        s = self.t.instructions[self.find(op)].result
        return self.column(name, s if COLUMNS[name].kind == SLOT else self.t.slots[s].buffer)

    def geometry(self, op: str, field: int) -> Place:
        """A field of the extents and strides of a result."""
        return fields_at(self.t.result(self.find(op)).address, field + 1), field

    def params(self, op: str, field: int) -> Place:
        """A field of an instruction's parameters; -1 is their number."""
        return fields_at(self.t.instructions[self.find(op)].address - 8, field + 2), field + 1


def everything(x: tg.Tensor) -> tg.Tensor:
    """A scalar that is computed with ops of all kinds."""
    s = tg.sin(x)
    product = (s * x) @ tg.ones((3, 2))
    picked = x[[0, 1, 1], [0, 2, 2]]
    joined = tg.concatenate([s.ravel(), picked, tg.max(x, axis=1)])
    joined[1:4] = picked
    joined[[0, 5]] = product[0]
    return tg.tanh(tg.sum(joined) + tg.sum(product, axis=0)[0] / 3.0)


@contextmanager
def spoilt(place: Place, value: int) -> Iterator[None]:
    """Write a number into a column, and put back what was there."""
    fields, k = place
    kept = fields[k]
    fields[k] = value
    try:
        yield
    finally:
        fields[k] = kept


# The rule that is broken, where, and by which number.
BROKEN: list[tuple[str, Callable[[Case], Place], int]] = [
    ("lists_end", lambda c: (c.tape.fields, layout.FREE_SLOT), 10**6),
    ("lists_end", lambda c: (c.tape.fields, layout.FREE_BUFFER), 10**6),
    ("slot_is_held", lambda c: c.of_operand("refs", "sin"), 0),
    ("slot_lies_on_a_buffer", lambda c: c.of_operand("buffer", "sin"), 10**6),
    ("slot_has_a_geometry", lambda c: c.of_operand("dtype", "sin"), 9),
    ("slot_has_a_geometry", lambda c: c.of_operand("ndim", "sin"), 40),
    ("slot_has_a_geometry", lambda c: c.geometry("sin", 0), -1),
    ("slot_stays_inside_its_buffer", lambda c: c.geometry("sin", 0), 3),
    ("slot_stays_inside_its_buffer", lambda c: c.geometry("sin", 2), -24),
    ("slot_stays_inside_its_buffer", lambda c: c.of_result("offset", "sin"), 8),
    ("slot_stays_inside_its_buffer", lambda c: c.of_result("bytes", "sin"), 40),
    ("op_is_known", lambda c: c.of_instruction("op", "sin"), 9999),
    ("op_is_known", lambda c: c.of_instruction("op", "sin"), -2),
    ("arity_matches_the_row", lambda c: c.of_instruction("operand1", "sin"), 0),
    ("arity_matches_the_row", lambda c: c.of_instruction("operand1", "multiply"), -1),
    ("arity_matches_the_row", lambda c: c.of_instruction("op", "sin"), CODES["add"]),
    ("slots_are_live", lambda c: c.of_instruction("operand0", "sin"), 10**6),
    ("slots_are_live", lambda c: c.of_instruction("result", "sin"), 10**6),
    ("no_mark_is_left", lambda c: c.of_instruction("mark", "sin"), 1),
    ("in_place_ops_keep_the_place", lambda c: c.of_result("bytes", "write"), 800),
    ("in_place_ops_keep_the_place", lambda c: c.of_result("bytes", "scatter_write"), 800),
    ("kernel_has_the_dtype", lambda c: c.of_operand("dtype", "sin"), I64),
    ("operands_have_the_dtypes_of_the_row", lambda c: c.of_result("dtype", "sin"), F32),
    ("result_has_the_dtype_of_the_row", lambda c: c.of_result("dtype", "tanh"), F32),
    ("shapes_fit", lambda c: c.geometry("sin", 0), 1),
    ("shapes_fit", lambda c: c.geometry("sin", 2), 0),
    ("shapes_fit", lambda c: c.geometry("max_reduce", 2), 0),
    ("parameters_fit", lambda c: c.of_instruction("params", "sin"), 8),
    ("parameters_fit", lambda c: c.of_instruction("params", "gather"), 0),
    ("parameters_fit", lambda c: c.params("matmul", 0), 5),
    ("parameters_fit", lambda c: c.params("matmul", 3), 48),
    ("parameters_fit", lambda c: c.geometry("matmul", 2), 0),
    ("parameters_fit", lambda c: c.params("gather", 0), 7),
    ("parameters_fit", lambda c: c.params("gather", 1), -8),
    ("parameters_fit", lambda c: c.params("write", 0), 12),
    ("parameters_fit", lambda c: c.params("write", 1), 72),
    ("parameters_fit", lambda c: c.params("write", 1), -8),
    ("parameters_fit", lambda c: c.params("write", 2), 40),
    ("parameters_fit", lambda c: c.params("write", 2), -1),
    ("parameters_fit", lambda c: c.params("write", 3), 4),
    ("parameters_fit", lambda c: c.params("scatter_write", 0), 99),
    ("parameters_fit", lambda c: c.params("scatter_write", 1), -1),
    ("parameters_fit", lambda c: c.params("scatter_write", 2), 16),
    ("parameters_fit", lambda c: c.params("scatter_write", -1), 2),
    ("producer_writes_the_buffer", lambda c: c.of_result("producer", "sin"), -1),
    ("producer_writes_the_buffer", lambda c: c.of_operand("producer", "sin"), 0),
    ("derivatives_come_from_an_operand", lambda c: c.of_operand("flags", "sin"), 0),
    ("only_floats_have_derivatives", lambda c: c.of_operand("flags", "gather", 1), EXTERNAL | DIFFERENTIABLE),
    ("users_are_counted", lambda c: c.of_operand("users", "sin"), 99),
    ("users_are_counted", lambda c: c.of_operand("tensor_refs", "sin"), 99),
    ("users_are_counted", lambda c: c.of_operand("refs", "sin"), 99),
    ("saved_are_counted", lambda c: c.of_operand("saved_for_backward", "sin"), 99),
    ("kept_primal_is_there", lambda c: c.of_operand("primal", "sin"), 0),
]


@pytest.mark.parametrize(("rule", "where", "value"), BROKEN)
def test_backward_refuses_a_malformed_tape(rule: str, where: Callable[[Case], Place], value: int) -> None:
    others = len(Case(tg.tape()).live)
    x = tg.tensor(np.arange(6.0).reshape(2, 3))
    root = everything(x)
    with spoilt(where(Case(tg.tape(), others)), value):
        with pytest.raises(tg.IllegalTapeError, match=rf"illegal tape.*\(rule {rule}\)"):
            tg.check_tape()
        with pytest.raises(tg.IllegalTapeError, match=rule):
            root.backward()
    assert x.grad is None
    root.backward()
    assert x.grad is not None


@pytest.mark.parametrize(("rule", "where", "value"), BROKEN)
def test_replay_refuses_a_malformed_recording(rule: str, where: Callable[[Case], Place], value: int) -> None:
    function, x = tg.jit(everything), np.arange(6.0).reshape(2, 3)
    tape = function.tape(x)
    with (
        spoilt(where(Case(tape)), value),
        pytest.raises(tg.IllegalTapeError, match=rf"illegal tape.*\(rule {rule}\)"),
    ):
        tg.grad(function)(x)
    assert tg.grad(function)(x).shape == (2, 3)


GUARDED: list[tuple[str, Callable[[Case], Place], int]] = [
    ("parameters_fit", lambda c: c.params("guard", 0), 99),
    ("parameters_fit", lambda c: c.params("guard", 1), 0),
    ("parameters_fit", lambda c: c.params("truth_guard", 0), 3),
    ("derivatives_come_from_an_operand", lambda c: c.of_operand("flags", "sin"), 0),
]


@pytest.mark.parametrize(("rule", "where", "value"), GUARDED)
def test_replay_refuses_malformed_guards(rule: str, where: Callable[[Case], Place], value: int) -> None:
    def branching(x: tg.Tensor) -> tg.Tensor:
        return tg.sin(x) * int(x) if x > 1 else x

    function = tg.jit(branching)
    tape = function.tape(2.5)
    with spoilt(where(Case(tape)), value), pytest.raises(tg.IllegalTapeError, match=rule):
        tg.grad(function)(2.5)
    assert tg.grad(function)(2.5) == 2 * np.cos(2.5)


def test_operand_must_be_written_before() -> None:
    x = tg.tensor([1.0, 2.0])
    y = tg.cos(tg.sin(x))
    case = Case(tg.tape())
    last = case.t.instructions[case.find("cos")].result
    with (
        spoilt(case.of_instruction("operand0", "sin"), last),
        pytest.raises(tg.IllegalTapeError, match=r"s\d+ = sin\(s\d+\).*operands_are_written_before"),
    ):
        y.backward()
    y.backward()


def test_row_exchanges_come_from_the_matrices() -> None:
    """Kernels trust them: other integers would lead beyond the rows."""

    def solved(a: Any, numbers: Any) -> Any:
        return tg.sum(tg.linalg.solve(a, np.ones(2))) * tg.sum(numbers)

    x, numbers = np.eye(2), np.arange(5)
    function = tg.jit(solved)
    case = Case(function.tape(x, numbers))
    with (
        spoilt(case.of_instruction("operand2", "lu_solve"), case.t.inputs[1]),
        pytest.raises(tg.IllegalTapeError, match=r"`lu` gives \(rule factors_come_from_their_matrices\)"),
    ):
        tg.grad(function)(x, numbers)
    assert tg.grad(function)(x, numbers).shape == (2, 2)


def test_free_slot_as_an_operand() -> None:
    x = tg.tensor([1.0, 2.0])
    gone = x * 2
    slot = gone._slot
    y = tg.sin(x)
    del gone
    case = Case(tg.tape())
    with (
        spoilt(case.of_instruction("operand0", "sin"), slot),
        pytest.raises(tg.IllegalTapeError, match=f"slot {slot} is free"),
    ):
        y.backward()


def test_every_rule_is_broken_by_some_test() -> None:
    tested = {rule for rule, _, _ in BROKEN}
    tested |= {"operands_are_written_before", "factors_come_from_their_matrices"}
    assert {rule.__name__ for rule in RULES} == tested


def test_error_names_instruction_and_buffer() -> None:
    x = tg.tensor([1.0, 2.0])
    y = tg.sin(x)
    case = Case(tg.tape())
    buffer = case.t.written[case.find("sin")]
    with (
        spoilt(case.of_result("bytes", "sin"), 8),
        pytest.raises(tg.IllegalTapeError, match=f"buffer {buffer}, which"),
    ):
        tg.check_tape()
    assert y.shape == (2,)


LEGAL: list[Callable[[tg.Tensor], tg.Tensor]] = [
    everything,
    lambda x: tg.sum(x, axis=(0,), keepdims=True) * x,
    lambda x: tg.prod(x.T[::-1], axis=1),
    lambda x: tg.cumsum(x, axis=0)[:, 1:],
    lambda x: tg.matmul(tg.ones((4, 1, 3, 2)), x[:, :2]),
    lambda x: tg.stack([x, x[::-1]])[1] @ x[0],
    lambda x: tg.where(x > 2, x, 1.0),
    lambda x: x.astype(np.float32).astype(np.float64),
    lambda x: tg.reshape(x, (2, 3, 1))[:, :0] * 2 + tg.sum(x),
    lambda x: tg.sum(x[:0], axis=0) + tg.concatenate([x[:0], x], axis=0),
    lambda x: tg.broadcast_to(x, (5, 2, 3)).sum(axis=1),
    lambda x: x[[True, False]].sum() + x.sum(),
    lambda x: _written(x[:, :0] * 1.0, (slice(None), slice(0, 0))) + x.sum(),
    lambda x: _written(x[:0] * 1.0, (slice(None), 2)) + x.sum(),
    lambda x: _written((x[:0] * 1.0).T, 2) + x.sum(),
]


def _written(y: tg.Tensor, key: Any) -> tg.Tensor:
    """The sum of what has no elements, after a write and a view of it."""
    y[key] = 5.0
    return y[key].sum() + tg.concatenate([y, y], axis=1).sum()


def test_a_region_of_no_elements_lies_inside() -> None:
    inside, outside = (Region(offset, (0,), (8,), (8,)) for offset in (48, 56))
    buffer, other = View.in_c_order((6,), np.dtype(float)), View.in_c_order((0,), np.dtype(float))
    assert not inside.broken(buffer, other)
    assert "from byte 56" in outside.broken(buffer, other)
    assert "from byte -8" in Region(-8, (2, 0), (8, 8), (0, 8)).broken(buffer, other)


@pytest.mark.parametrize("function", LEGAL)
def test_legal_tapes_pass(function: Callable[[tg.Tensor], tg.Tensor]) -> None:
    x = tg.tensor(np.arange(6.0).reshape(2, 3))
    y = function(x)
    tg.check_tape()
    y.backward(retain_graph=True)
    tg.check_tape()
    x += 1.0
    (y.sum() + x.sum()).backward()
    tg.check_tape()
    verify.check(tg.jit(function).tape(np.arange(6.0).reshape(2, 3)))


def test_environment_switches_the_checks_on() -> None:
    program = "from tapegrad.engine.inspection import verify; print(verify.switch.on)"
    for value, expected in (("1", "True"), ("0", "False")):
        environment = {**os.environ, "TAPEGRAD_CHECK": value}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == expected


def test_switched_off_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify.switch, "on", False)
    x = tg.tensor([1.0, 2.0])
    y = tg.sin(x)
    case = Case(tg.tape())
    with spoilt(case.of_operand("saved_for_backward", "sin"), 99):
        y.backward(retain_graph=True)
    assert x.grad is not None
