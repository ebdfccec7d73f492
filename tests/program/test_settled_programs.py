"""Long programs, of which replays leave little in memory, are what they were to all who read them."""

import gc
import os
import re
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.segments import assert_same
from tapegrad.engine.inspection.narrow_columns import MIN_ENTRIES
from tapegrad.program.programs.program import Program

pytestmark = pytest.mark.skipif(
    os.environ.get("TAPEGRAD_GUARD_PAGES") == "1",
    reason="a process has too few mappings for each of thousands of blocks to lie between guard pages",
)

X = np.array([0.7, 0.4, 0.3])
STEPS = MIN_ENTRIES


def _chain(x: Any, steps: int = STEPS) -> Any:
    y = tg.sum(x)
    for _ in range(steps):
        y = tg.sin(y) * x[1]
    return y + tg.sum(x * x)


def _with_array_operations(x: Any) -> Any:
    y = tg.stack([x, x * 2])
    for k in range(STEPS // 4):
        y = tg.tanh(y.T @ y)[:2] * 0.5 + y[::-1] * (0.1 + 1e-4 * k) if k % 50 == 0 else y * 0.999 + 0.001
    return tg.sum(y)


def _unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "settle", lambda *args: None)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("function", [_chain, _with_array_operations])
def test_all_programs_of_a_long_recording(function: Any, fuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def results() -> list[Any]:
        recorded = tg.jit(function, fuse=fuse)
        gradient = tg.value_and_grad(recorded)
        return [
            gradient(X),
            gradient(2 * X),
            recorded(X),
            tg.jvp(recorded, (X,), (X,)),
            tg.vjp(recorded, X)[1](1.0),
            tg.vmap(recorded)(np.stack([X, 2 * X])),
            tg.compile(recorded, X)(X),
        ]

    found = results()
    _unsettled(monkeypatch)
    for own, expected in zip(found, results(), strict=True):
        assert_same(own, expected)


def test_what_is_shown_of_a_long_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> list[str]:
        recorded = tg.jit(_chain, fuse=False)
        tg.value_and_grad(recorded)(X)
        explained = re.sub(r"[\d.,]+ (ns|us|ms|s)\b", "some time", str(recorded.explain(X)))
        return [
            str(recorded.tape(X))[:20_000],
            *sorted(explained.splitlines()),
        ]  # what takes longest comes first

    found = shown()
    _unsettled(monkeypatch)
    assert found == shown()


def test_workspaces_of_several_threads() -> None:
    gradient = tg.value_and_grad(tg.jit(_chain, fuse=False))
    expected, found, ready = gradient(X), [], threading.Barrier(4)

    def work() -> None:
        ready.wait()
        found.extend(gradient(X) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    for each in found:
        assert_same(each, expected)


@pytest.mark.usefixtures("uncertified")
def test_bytes_of_an_instruction() -> None:
    """What Python's allocator and NumPy's have given; the tape itself is allocated by compiled code."""
    gradient = tg.value_and_grad(tg.jit(lambda x: _chain(x, 20_000), fuse=False))
    tg.value_and_grad(tg.jit(_chain, fuse=False))(X)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        gradient(X)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 450 * 40_000
    finally:
        tracemalloc.stop()
