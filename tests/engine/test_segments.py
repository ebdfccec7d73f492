"""Segments for other processors: those that this one can run give the same bits, and the others are compiled."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.ir.target import Target, aarch64, host, of_level
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.segments import segment_kernels
from tapegrad.engine.codegen.segments.segment import Segment
from tapegrad.program.fusion import recipes
from tapegrad.program.fusion.grouping import groups_to_segments


def _rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _waves(x: Any) -> Any:
    y = tg.sin(x[3:]) * tg.cos(x[:-3]) / (x[1:-2] * x[2:-1])
    return tg.sum(tg.where(y > 0.1, y, tg.exp(-y))) + tg.sum(tg.log1p(tg.square(x)))


def _written(x: Any) -> Any:
    y = x * 2.0
    y[1:] = y[:-1] * x[1:]
    return tg.sum(tg.tanh(y)) / tg.sum(x)


def _table(x: Any) -> Any:
    return tg.sum(tg.sum(tg.exp(-x) * x[:3, None], axis=0) * x)


def _extremes(x: Any) -> Any:
    table = tg.sin(x) * x[:3, None]
    best = tg.max(table, axis=0) - tg.min(table, axis=1, keepdims=True)
    return tg.sum(best * table) + tg.max(tg.square(x)) * tg.min(x)


PROGRAMS = (_rosenbrock, _waves, _written, _table, _extremes)
SIZES = (8, 9, 12, 40, 300)


def _symbol(segment: Segment, target: Target) -> str:
    return target.symbol("sample", abs(hash(segment)))


def _bodies(segment: Segment, target: Target) -> Any:
    return segment_kernels.define(segment, target, _symbol(segment, target))


def _fuse_for(target: Target, monkeypatch: pytest.MonkeyPatch) -> list[Segment]:
    """Let segments be made for a processor, none be remembered; and those that were made from now on."""
    made: list[Segment] = []

    def address(segment: Segment) -> int:
        made.append(segment)
        return kernels._load(
            kernels._unit(_symbol(segment, target), target, lambda: _bodies(segment, target)), target
        )

    monkeypatch.setattr(groups_to_segments, "host", lambda: target)
    monkeypatch.setattr(kernels, "address_of_segment", address)
    monkeypatch.setattr(recipes, "read", lambda *args: None)
    monkeypatch.setattr(recipes, "write", lambda *args: None)
    return made


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", PROGRAMS)
def test_other_processors_give_the_same_bits(
    function: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if host().lanes <= of_level("x86-64-v3").lanes:
        pytest.skip("this processor is of that kind, or cannot run its code")
    inputs = [np.linspace(0.2, 1.4, size).astype(dtype) for size in SIZES]
    rows = tg.value_and_grad(tg.jit(function, fuse=False))
    expected = [rows(x) for x in inputs]
    made = _fuse_for(of_level("x86-64-v3"), monkeypatch)
    fused = tg.value_and_grad(tg.jit(function, fuse=True))
    for x, (value, gradient) in zip(inputs, expected, strict=True):
        value_there, gradient_there = fused(x)
        assert value_there.tobytes() == value.tobytes()
        assert gradient_there.tobytes() == gradient.tobytes()
    assert made


@pytest.mark.parametrize("function", PROGRAMS)
def test_segments_are_compiled_for_arm(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _fuse_for(host(), monkeypatch)
    tg.value_and_grad(tg.jit(function, fuse=True))(np.linspace(0.2, 1.4, 40))
    assert made
    for segment in made:
        text = machine.module_text(segment_kernels.define(segment, aarch64(), "sample"))
        assert machine.compile_source(machine.ModuleSource(text), aarch64())[:4] == b"\x7fELF"
