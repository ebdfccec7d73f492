"""What several segments read is computed by each of them, where arithmetic leads to it: the same bits, less memory."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.segments import segments_alike
from helpers.table_loops import grouped
from tapegrad.engine.codegen.ir.target import host
from tapegrad.program.streams.spec import VALUE_AND_GRAD, ProgramSpec
from tapegrad.special import logsumexp


def _centred(x: Any, w: Any) -> Any:
    """A table that is gone through for its means, and once more."""
    table = x[:, None] * w - tg.square(w)
    return tg.sum(tg.square(table - tg.mean(table, axis=0)) * table)


def _of_extremes(x: Any, w: Any) -> Any:
    table = -tg.square(x[:, None] - w) * w
    return tg.sum(tg.max(table, axis=1) * tg.min(table, axis=1)) + tg.max(tg.abs(table))


def _in_three_steps(x: Any, w: Any) -> Any:
    """What is computed once more is read together with what is not."""
    table = tg.maximum(x[:, None], w) * 2.0
    curved = tg.sin(table)
    best = tg.max(curved, axis=1, keepdims=True)
    shifted = (curved - best) * table
    return tg.sum(shifted * tg.mean(shifted, axis=0)) + tg.sum(best)


def _written_in_between(x: Any, w: Any) -> Any:
    """Operands that are others later, or parts of what is written, are read when they are what they were."""
    source = x[:, None] * w
    table = source * 2.0 - w
    best = tg.max(table, axis=0)
    source[1:] = source[:-1] * best
    source *= 0.5
    return tg.sum(tg.square(table - best) * source) + tg.sum(table[1:, 2:] * source[:-1, :-2])


def _beside_rows(x: Any, w: Any) -> Any:
    """A row of its own reads the table too, and another one writes what it is computed from."""
    sums = tg.cumsum(x)[:, None] * w
    table = sums - w
    return tg.sum(tg.cumsum(table, axis=1) * tg.max(table, axis=1, keepdims=True)) + tg.sum(
        logsumexp(sums, axis=0)
    )


def _of_conditions(x: Any, w: Any) -> Any:
    table = tg.where(x[:, None] > w, x[:, None] * w, w - 1.0)
    return tg.sum(tg.where(table > tg.mean(table), table, tg.min(table, axis=0)) * table)


def _of_lines(x: Any, w: Any) -> Any:
    """Multiples of a line, which another segment reads beside the line itself."""
    line = tg.reshape(x[:, None] * w, -1)
    for _ in range(3):
        line = tg.roll(line, 1) - (4.0 * line - tg.roll(line, -1)) * 0.25
    return tg.sum(tg.square(line))


def _of_lines_written_in_between(x: Any, w: Any) -> Any:
    """Multiples of lines that are others when a later segment reads them."""
    line = tg.reshape(x[:, None] * w, -1)
    multiple, before = 4.0 * line, tg.roll(line, 3)
    line[2:] = before[:-2] * 0.5
    other = line - multiple
    line *= tg.sum(before)
    return tg.sum(tg.roll(line, 1) * multiple) + tg.sum(tg.square(other) * line)


FUNCTIONS = (
    _centred,
    _of_extremes,
    _in_three_steps,
    _written_in_between,
    _beside_rows,
    _of_conditions,
    _of_lines,
    _of_lines_written_in_between,
)


@grouped("function")
@daily("shape", "dtype")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5, 66), (90, 20), (4200, 6)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_same_bits(function: Any, shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(shape[0])
    x, w = (rng.normal(size=n).astype(dtype) for n in shape)
    special = x.copy()
    special[::3] = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], len(x[::3]))
    inputs = [(x, w), (np.round(x), np.round(w)), (special, w), (x, w * 0.0)]
    segments_alike(function, inputs, ("value", "gradient", "tangent"))


@pytest.mark.parametrize("function", [_centred, _of_extremes, _written_in_between])
def test_same_bits_in_all_derivatives(function: Any) -> None:
    rng = np.random.default_rng(1)
    segments_alike(function, [(rng.normal(size=4), rng.normal(size=66))], ("jacobian", "hessian", "product"))


def _workspace(function: Any, *inputs: np.ndarray) -> int:
    f, spec = tg.jit(function, fuse=True), ProgramSpec(VALUE_AND_GRAD, (0, 1))
    trace, _ = f.run(f.arguments(inputs, {}), ProgramSpec())
    return int(trace.program(spec).bytes)


@pytest.mark.usefixtures("plain_memory")
@pytest.mark.usefixtures("uncertified")
def test_what_is_computed_again_is_not_stored() -> None:
    x, w = np.linspace(-1.0, 1.0, 3000), np.linspace(0.5, 2.0, 24)
    table = x.nbytes * len(w)
    assert _workspace(lambda x, w: tg.sum(tg.max(-tg.square(x[:, None] - w) * w, axis=1)), x, w) < table
    assert _workspace(_centred, x, w) < 3 * table


@pytest.mark.usefixtures("plain_memory")
@pytest.mark.skipif(host().lanes < 8, reason="rolled arrays are stored")
def test_a_multiple_of_a_line_is_not_stored() -> None:
    """Each step reads the line of the one before, and writes its own."""
    x, w = np.linspace(-1.0, 1.0, 3000), np.linspace(0.5, 2.0, 24)
    f, lines = tg.jit(_of_lines, fuse=True), x.nbytes * len(w)
    trace, _ = f.run(f.arguments((x, w), {}), ProgramSpec())
    assert trace.program(ProgramSpec()).bytes < 2.5 * lines


def test_functions_are_called_once() -> None:
    """What a function gives is stored: calling it again would take longer."""
    x, w = np.linspace(-1.0, 1.0, 3000), np.linspace(0.5, 2.0, 24)
    f = tg.jit(lambda x, w: tg.sum(tg.max(tg.exp(x[:, None] * w), axis=1)), fuse=True)
    tg.value_and_grad(f, (0, 1))(x, w)
    own = [each for each in f.tape(x, w).segments if each.computes == "value_and_grad"]
    assert "\n".join(map(str, own)).count("= exp(") == 1
