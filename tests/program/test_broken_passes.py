"""What passes return is verified: a pass that breaks a recorded function is refused by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection import verify
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.inspection.verify.pass_rules import PASS_RULES, what_is_read_is_written
from tapegrad.engine.tape.fields.layout import DEAD_OP
from tapegrad.ops import CODES
from tapegrad.program import passes
from tapegrad.program.passes.dead_code import eliminate_dead_code


def function(x: Any) -> Any:
    s = tg.sin(x)
    if tg.sum(x) > 0:
        s = s * x.detach()
    picked = x[[0, 2, 1]]
    joined = tg.concatenate([s, picked])
    return tg.sum(joined), tg.cos(x) * 2.0


def find(t: TapeView, name: str) -> int:
    return next(i for i in t.live if t.instructions[i].op == CODES[name])


def changed(t: TapeView, name: str, **fields: Any) -> TapeView:
    """The tape with another instruction in the place of the first one of an op."""
    k = find(t, name)
    return replace(
        t,
        instructions=tuple(
            each._replace(**fields) if i == k else each for i, each in enumerate(t.instructions)
        ),
    )


def moved(t: TapeView, slot: int, buffer: int) -> TapeView:
    return replace(t, slots={**t.slots, slot: t.slots[slot]._replace(buffer=buffer)})


def result_of(t: TapeView, name: str) -> int:
    return t.instructions[find(t, name)].result


def operand_of(t: TapeView, name: str, j: int = 0) -> int:
    return t.instructions[find(t, name)].operands[j]


def shifted(t: TapeView, name: str) -> TapeView:
    slot = result_of(t, name)
    view = t.slots[slot].view
    return replace(t, slots={**t.slots, slot: t.slots[slot]._replace(view=view._replace(offset=8))})


def without_slot(t: TapeView) -> TapeView:
    return replace(t, slots={s: slot for s, slot in t.slots.items() if s != result_of(t, "sin")})


def with_flags(t: TapeView) -> TapeView:
    b = t.written[find(t, "sin")]
    return replace(t, buffers={**t.buffers, b: t.buffers[b]._replace(flags=0)})


# The rule that is broken, or what else is said, and how.
BROKEN: dict[str, tuple[str, Callable[[TapeView], Any]]] = {
    "returns nothing": ("must return a TapeView", lambda t: None),
    "removes what is read": ("what_is_read_is_written", lambda t: changed(t, "sin", op=DEAD_OP)),
    "removes what an output is": ("what_is_read_is_written", lambda t: changed(t, "sum", op=DEAD_OP)),
    "removes a piece": ("what_is_read_is_written", lambda t: changed(t, "positive", op=DEAD_OP)),
    "removes a guard": ("guards_stay", lambda t: changed(t, "truth_guard", op=DEAD_OP)),
    "changes an op": ("only_operands_change", lambda t: changed(t, "sin", op=CODES["cos"])),
    "changes a result": ("only_operands_change", lambda t: changed(t, "sin", result=result_of(t, "cos"))),
    "changes parameters": ("only_operands_change", lambda t: changed(t, "gather", params=(3, 8, 1, 0, 0))),
    "drops instructions": ("only_operands_change", lambda t: replace(t, instructions=t.instructions[:-1])),
    "takes an operand away": ("arity_matches_the_row", lambda t: changed(t, "sin", operands=())),
    "gives an operand too many": (
        "arity_matches_the_row",
        lambda t: changed(t, "sin", operands=t.instructions[find(t, "multiply")].operands),
    ),
    "names a slot that is not there": ("slots_are_live", lambda t: changed(t, "sin", operands=(10**6,))),
    "reads what comes later": (
        "operands_are_written_before",
        lambda t: changed(t, "sin", operands=(result_of(t, "multiply"),)),
    ),
    "reads another dtype": (
        "kernel_has_the_dtype",
        lambda t: changed(t, "sin", operands=(operand_of(t, "gather", 1),)),
    ),
    "reads another shape": (
        "shapes_fit",
        lambda t: changed(t, "cos", operands=(operand_of(t, "greater"),)),
    ),
    "moves a slot to another size": (
        "slots_move_to_buffers_alike",
        lambda t: moved(t, result_of(t, "sin"), t.slots[t.outputs[0]].buffer),
    ),
    "moves a slot to no buffer": ("slot_lies_on_a_buffer", lambda t: moved(t, result_of(t, "sin"), 10**6)),
    "moves a slot off its derivative": (
        "slots_move_to_buffers_alike",
        lambda t: moved(t, operand_of(t, "cos"), t.slots[operand_of(t, "multiply", 1)].buffer),
    ),
    "moves a slot within its buffer": ("slots_move_to_buffers_alike", lambda t: shifted(t, "sin")),
    "drops a slot": ("slots_move_to_buffers_alike", without_slot),
    "takes a derivative away": ("buffers_stay", with_flags),
    "drops an output": ("inputs_and_outputs_stay", lambda t: replace(t, outputs=t.outputs[:1])),
    "changes the inputs": ("inputs_and_outputs_stay", lambda t: replace(t, inputs=t.outputs)),
    "moves an output": (
        "inputs_and_outputs_stay",
        lambda t: moved(t, t.outputs[1], t.written[find(t, "cos")]),
    ),
}


@pytest.mark.parametrize(("said", "run"), BROKEN.values(), ids=BROKEN)
def test_a_broken_pass_is_refused_by_name(
    said: str, run: Callable[[TapeView], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_pass(tape: TapeView) -> TapeView:
        return run(tape)

    monkeypatch.setattr(passes, "PASSES", (eliminate_dead_code, broken_pass))
    with pytest.raises(tg.IllegalTapeError, match=rf"^the pass broken_pass returned .*{said}"):
        tg.jit(function)(np.array([0.1, 0.2, 0.3]))


def test_every_rule_for_passes_is_broken_by_some_pass() -> None:
    assert {rule.__name__ for rule in (*PASS_RULES, what_is_read_is_written)} <= {
        said for said, _ in BROKEN.values()
    }


@pytest.mark.parametrize("run", passes.PASSES, ids=lambda run: run.__name__)
def test_each_pass_is_legal_and_changes_no_number(
    run: Callable[[TapeView], TapeView], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.array([0.1, 0.2, 0.3])
    expected = [np.asarray(value) for value in function(tg.tensor(x, constant=True))]
    monkeypatch.setattr(passes, "PASSES", (run, run))
    for value, other in zip(tg.jit(function)(x), expected, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.usefixtures("uncertified")
def test_operands_that_a_pass_changes_are_those_that_are_computed_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program is bound from what passes return, not from the tape as it was recorded."""

    def read_input(tape: TapeView) -> TapeView:
        return changed(tape, "exp", operands=tape.inputs)

    monkeypatch.setattr(passes, "PASSES", (read_input, eliminate_dead_code))
    x = np.array([0.5, 1.0])
    f = tg.jit(lambda x: tg.sum(tg.exp(tg.sin(x))))
    value, gradient = tg.value_and_grad(f)(x)
    assert value == np.exp(x).sum()
    np.testing.assert_array_equal(gradient, np.exp(x))


def test_switched_off_nothing_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def undifferentiated(tape: TapeView) -> TapeView:
        return replace(tape, slot_count=0, inputs=(*tape.inputs,))

    monkeypatch.setattr(verify.switch, "on", False)
    monkeypatch.setattr(verify, "check_pass", lambda *_: pytest.fail("verified"))
    monkeypatch.setattr(passes, "PASSES", (undifferentiated,))
    assert tg.jit(tg.sin)(0.0) == 0.0
