"""Transposed operands: the bits of rows that read operands where they lie, by copies in which elements are adjacent."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.segments import assert_same
from tapegrad.program.programs import program as programs

_transpose = programs.with_transposed_operands

OPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: tg.where(a > b, a, 2 * b),
)


class Program:
    """A function of two tables of short rows: an op of every pair of rows, and a sum over them."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.op, self._form, self._end = OPS[seed % len(OPS)], int(rng.integers(4)), int(rng.integers(3))
        self._same, self._part = bool(seed // 4 % 2), seed // 8 % 3
        self.rows = [int(n) for n in rng.integers(17, 40, 2)]
        self.columns = int(rng.integers(2, 6))

    def __call__(self, x: Any, y: Any) -> Any:
        p, q = x, x if self._same else y
        p, q = (p[::-1], q) if self._part == 1 else (p, q[1:-1]) if self._part == 2 else (p, q)
        return self._summed(self._table(p, q)) + tg.sum(x * x)

    def _table(self, p: Any, q: Any) -> Any:
        if self._form == 0:
            return tg.transpose(self.op(p[:, None], q), (2, 0, 1))
        if self._form == 1:
            return self.op(p.T[:, :, None], q.T[:, None])
        if self._form == 2:
            return self.op(p.T[:, None], q.T[:, :, None])
        return self.op(p.T[:, :, None], q.T[:, None]) * self.op(tg.sin(p.T)[:, :, None], q.T[:, None])

    def _summed(self, d: Any) -> Any:
        if self._end == 0:
            return tg.sum(d * d)
        return tg.sum(tg.sqrt(tg.sum(d * d, axis=0) + 1)) if self._end == 1 else tg.sum(tg.sin(d))


def drawn(program: Program, seed: int, dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    found = [rng.normal(size=(n, program.columns)).astype(dtype) for n in program.rows]
    if seed % 3 == 0:
        found[0][rng.random(found[0].shape) < 0.05] = rng.choice([0.0, -0.0, np.inf, np.nan])
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(24))
def test_bits_are_those_of_rows_that_read_where_operands_lie(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(seed)
    arguments = drawn(program, seed, (np.float64, np.float32)[seed // 2 % 2])
    found = []
    for fuse in (False, True):
        for transposes in (False, True):
            with monkeypatch.context() as context:
                if not transposes:
                    context.setattr(programs, "with_transposed_operands", lambda stream, _: stream)
                f = tg.jit(lambda x, y: program(x, y), fuse=fuse)
                found.append(tg.value_and_grad(f, argnums=(0, 1))(*arguments))
    for each in found[1:]:
        assert_same(each, found[0])


@pytest.mark.usefixtures("uncertified")
def test_differences_of_positions_are_of_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positions are copied for the forward stream; their cotangents there and back for the reverse stream."""
    added = []

    def counted(stream: Any, blocks: Any) -> Any:
        found = _transpose(stream, blocks)
        added.append(len(found) - len(stream))
        return found

    def potential(q: Any) -> Any:
        d = q[:, None] - q
        return tg.sum(1 / tg.sqrt(tg.sum(d * d, axis=-1) + 0.01))

    monkeypatch.setattr(programs, "with_transposed_operands", counted)
    q = np.random.default_rng(0).normal(size=(50, 3))
    tg.value_and_grad(tg.jit(potential))(q)
    assert added == [1, 2]


def test_operands_that_are_read_once_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "with_transposed_operands", _refusing)
    x, y = np.ones((40, 30)), np.ones((30, 40))
    tg.value_and_grad(tg.jit(lambda x, y: tg.sum(x.T * y)), argnums=(0, 1))(x, y)


def test_conditions_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "with_transposed_operands", _refusing)
    rng = np.random.default_rng(0)
    x, chosen = rng.normal(size=(3, 20, 1)), (rng.random((30, 24)) < 0.5)[:, ::8]
    tg.jit(lambda x: tg.where(chosen.T[:, None], x, 2 * x))(x)


def _refusing(stream: Any, blocks: Any) -> Any:
    assert _transpose(stream, blocks) is stream
    return stream
