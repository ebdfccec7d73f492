"""Instructions with complex operands on the eager tape: dtypes, gradients, sums on several threads."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.complex_kernels import (
    DIFFERENTIABLE,
    DTYPES,
    RESULT,
    cotangent,
    draw,
    draw_all,
    dtype_of,
    forward,
    partials,
)
from helpers.table_loops import grouped
from tapegrad.engine.tape.fields.layout import E_DTYPES
from tapegrad.frontend.recording.record import run
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_slot
from tapegrad.ops import BY_NAME, CODES, Op, choose_row

every_row = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)


def record(op: Op, *operands: Any) -> Any:
    """The result of an instruction, or the error of recording it."""
    tape = thread.mode.tape
    slot = run(tape, CODES[op.name], [x._slot_on(tape) for x in operands], True)
    return slot if slot < 0 else from_slot(tape, slot)


def leaves(op: Op, dtype: str, count: int) -> list[Any]:
    return [tg.tensor(x) for x in draw_all(op, dtype, count)]


@grouped("op")
@every_row
@pytest.mark.parametrize("dtype", DTYPES)
def test_eager_instruction_is_its_kernel(op: Op, dtype: str) -> None:
    operands = leaves(op, dtype, 5)
    y = record(op, *operands)
    assert y.dtype == dtype_of(op, RESULT, dtype)
    expected, _ = forward(op, dtype, [x.data for x in operands], ["adjacent"] * 4)
    np.testing.assert_array_equal(y.data, expected)
    bar = draw(op, RESULT, dtype, 5, seed=1)
    y.backward(tg.tensor(bar))
    for j, pair in enumerate(partials(op, [x.data for x in operands])):
        if j in op.differentiable_operands:
            assert operands[j].grad.dtype == operands[j].dtype
            found = cotangent(op, j, dtype, pair, bar)
            np.testing.assert_allclose(operands[j].grad, found, rtol=1e-4, atol=1e-4)


@every_row
def test_operands_of_other_dtypes_are_refused(op: Op) -> None:
    operands = leaves(op, "c128", 3)
    for j in op.differentiable_operands:
        single = tg.tensor(draw(op, j, "c64", 3))
        wrong = [single if k == j else x for k, x in enumerate(operands)]
        found = record(op, *wrong)
        assert isinstance(found, int) == (op.arity - len(op.boolean_operands) > 1)
        assert not isinstance(found, int) or found == E_DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_cotangents_of_one_number_are_summed_on_threads(dtype: str) -> None:
    count, mixed = 100_000, BY_NAME["multiply_real"]
    z, factor, real = (draw(mixed, j, dtype, n, seed) for j, n, seed in ((0, count, 0), (0, 1, 1), (1, 1, 2)))
    operands = [tg.tensor(x) for x in (z, factor[0], real[0])]
    y = record(mixed, record(BY_NAME["multiply"], *operands[:2]), operands[2])
    bar = np.full(count, 1 - 2j, DTYPES[dtype])
    y.backward(tg.tensor(bar))
    wide = z.astype(complex)
    sums = (np.conj(wide * real) * (1 - 2j)).sum(), (np.conj(wide * factor) * (1 - 2j)).real.sum()
    scale = 2e-6 if dtype == "c64" else 1e-14
    for found, expected in zip((operands[1].grad, operands[2].grad), sums, strict=True):
        assert abs(found - expected) <= scale * np.abs(wide).sum() / 30


def test_rows_for_operands_of_some_kinds() -> None:
    for name, op in BY_NAME.items():
        kinds = [tuple(bool(bits >> j & 1) for j in range(op.arity)) for bits in range(1 << op.arity)]
        for are_complex in kinds:
            chosen = choose_row(op, are_complex)
            if chosen is None:
                assert not op.takes_complex or any(are_complex[j] for j in op.real_operands)
                continue
            row = BY_NAME[chosen.name]
            assert row.takes_complex or not any(are_complex), name
            turned = are_complex[::-1] if chosen.swapped else are_complex
            assert not any(turned[j] for j in row.real_operands)
