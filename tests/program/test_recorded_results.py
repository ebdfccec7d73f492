"""A recording keeps of its results what Tensors show and derivatives read, and of arrays what may change."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape.fields.layout import E_SUPERSEDED
from tapegrad.frontend.tensor.modes import thread
from tapegrad.ops import CODES
from tapegrad.program.recording.recording import RecordedTape

STEPS = 50


def recorder() -> RecordedTape:
    found = thread.mode.recorder
    assert isinstance(found, RecordedTape)
    return found


def held() -> int:
    """The number of results that are in memory."""
    tape = recorder()
    return int(np.count_nonzero((tape.column("primal") != 0) & (tape.column("producer") >= 0)))


def counted(function: Callable[[Any], Any], x: Any) -> tuple[Any, int]:
    """The result of a recorded function, and how many results are in memory when it returns."""
    found = []

    def watched(x: Any) -> Any:
        y = function(x)
        found.append(held())
        return y

    return tg.jit(watched)(x), found[0]


def sums(x: Any) -> Any:
    for _ in range(STEPS):
        x = x + 1.0
    return x


def sines(x: Any) -> Any:
    for _ in range(STEPS):
        x = np.sin(x)
    return x


def test_results_that_nothing_reads_are_let_go() -> None:
    y, count = counted(sums, np.zeros(5))
    assert (y.tolist(), count) == ([STEPS] * 5, 1)


def test_results_that_reverse_rules_read_are_kept() -> None:
    def slope(x: Any) -> Any:
        y, pull = tg.vjp(sines, x)
        kept.append(held())
        return y, pull(1.0)[0]

    kept: list[int] = []
    found = tg.jit(slope)(np.float64(0.7))
    # The argument's copy, and each sine but the last for its cosine; that is the value
    assert kept[0] == STEPS + 1
    assert found == tg.value_and_grad(sines)(np.float64(0.7))


def test_a_section_over_lanes_keeps_all() -> None:
    def instance(x: Any) -> Any:
        counts.append((sums(tg.asarray(0.0) * table[0]), held()))
        return x * counts[-1][0]

    counts: list[tuple[Any, int]] = []
    table = np.ones(3)
    found = tg.jit(lambda x: tg.vmap(instance)(x))(np.arange(4.0))
    assert counts[0][1] > STEPS
    np.testing.assert_array_equal(found, STEPS * np.arange(4.0))


def test_a_result_that_was_let_go_is_no_operand() -> None:
    def f(x: Any) -> Any:
        tape, y = recorder(), x + 1.0
        slot = y._slot
        z = y + 1.0  # which holds the slot, and not what was in it
        del y
        arguments = (tape.header, CODES["add"], slot, slot, -1, False)
        assert eager.record_elementwise(*arguments) == E_SUPERSEDED
        return z

    assert tg.jit(f)(np.arange(3.0)).tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", "c16", "c8"])
def test_an_array_that_changes_after_its_use_is_what_it_was(dtype: str) -> None:
    """Compared to the bit: zeros have signs, and nan is nan."""
    has_signed_zeros = np.dtype(dtype).kind in "fc"

    def f(x: Any) -> Any:
        used = x / tg.asarray(array[:, 0]) if has_signed_zeros else x * array[:, 0]
        array[...] = after
        return used

    column = [0.0, 1.0, np.nan] if has_signed_zeros else [1.0, 1.0, 1.0]
    array = np.array(column).repeat(2).reshape(3, 2).astype(dtype)
    before, after = array.copy(), ~array if dtype == "?" else -array
    with np.errstate(all="ignore"):
        expected = np.ones(3) / before[:, 0] if has_signed_zeros else np.ones(3) * before[:, 0]
        replayed = tg.jit(f)
        for _ in range(3):
            np.testing.assert_array_equal(replayed(np.ones(3)), expected)


def test_a_read_only_array_is_not_copied() -> None:
    def f(x: Any) -> Any:
        entered.append(len(recorder()._entered))
        y = x + fixed
        entered.append(len(recorder()._entered))
        z = y + free
        entered.append(len(recorder()._entered))
        return z

    entered: list[int] = []
    fixed, free = np.arange(300.0), np.ones(300)
    fixed.flags.writeable = False
    np.testing.assert_array_equal(tg.jit(f)(np.zeros(300)), np.arange(300.0) + 1.0)
    assert [entered[1] - entered[0], entered[2] - entered[1]] == [0, 1]
