"""Fused programs give the rows' results bit for bit, whatever the ops, sizes, views, values and derivatives."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.compositions.sample import Sample
from helpers.segments import BOTH, WAYS, assert_same, segments_alike
from tapegrad.engine.codegen.segments.segment import FORWARD, REVERSE
from tapegrad.engine.codegen.segments.segment_rows import is_emitted
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator.compiler import compiling
from tapegrad.engine.inspection.tape_view import read_tape
from tapegrad.engine.runtime import pace
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.ops import BY_NAME, ELEMENTWISE, Op
from tapegrad.program.fusion import policy, recipes
from tapegrad.program.fusion.background import worker
from tapegrad.program.fusion.grouping.rows import ADD, READ, WRITE, Access, Span, StreamRow
from tapegrad.program.fusion.grouping.segments import SegmentDraft
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.workspace import PooledProgram
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.spec import NEVER, NOW, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e300, -1e300, 1.0, -1.0, 0.5)
DTYPES = (np.float64, np.float32)


# --- every op ------------------------------------------------------------------------------------------------------


def _program(row: Op) -> Callable[..., Any]:
    """The op of views at offsets and of a scalar, and sums of it."""
    call = FUNCTIONS[row.name]

    def weighted(y: Any, weight: Any) -> Any:
        return tg.where(y, weight, 0.5) if row.predicate else y * weight

    def function(x: Any, s: Any) -> Any:
        later, earlier = x[1:], x[:-1]
        operands = [later, earlier, s][: len(row.domains)]
        if row.boolean_operands:
            operands[0] = later > s
        total = tg.sum(weighted(call(*operands), s))
        if len(row.domains) == 2:
            total = total + tg.sum(weighted(call(s, earlier), later))
        return total

    return function


def _inputs(row: Op, dtype: Any, size: int, is_special: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(size)
    lows, highs = zip(*row.domains, strict=True)
    low, high = max(-5.0, *lows), min(5.0, *highs)
    x = rng.uniform(min(low, high), max(low, high), size + 2)
    s = x[-1]
    if is_special:
        at = rng.random(size + 1) < 0.3
        x[:-1][at] = rng.choice(SPECIAL, at.sum())
    with np.errstate(all="ignore"):
        return x[:-1].astype(dtype), dtype(s)


def _cases(row: Op, dtype: Any, sizes: tuple[int, ...]) -> list[tuple[Any, ...]]:
    return [_inputs(row, dtype, size, special) for size in sizes for special in (False, True)]


FUSED = [row for row in ELEMENTWISE if "nan" not in row.partials and is_emitted(row, FORWARD)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(len(FUSED)), ids=[row.name for row in FUSED])
def test_every_op_in_a_loop(number: int) -> None:
    row, dtype = FUSED[number], DTYPES[number % 2]
    segments_alike(_program(row), _cases(row, dtype, (33, 256, 257, 600)), ("gradient",))


def _peaks(times: np.ndarray) -> Callable[..., Any]:
    def function(b: Any, s: Any) -> Any:
        first = b[0] * tg.exp(-b[1] * times) * s
        return first + b[2] * tg.exp(-(((times - b[3]) / b[4]) ** 2)) - tg.where(times > 1, b[3], s)

    return function


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [5, 40, 300])
def test_columns_of_a_jacobian(size: int, dtype: Any) -> None:
    """Each of several tangents of a row is a line; a second function finds how the first one was fused."""
    rng = np.random.default_rng(size)
    b = rng.uniform(0.5, 2, 5).astype(dtype)
    special = b.copy()
    special[rng.integers(5)] = np.inf
    for times in rng.uniform(0, 3, (2, size)).astype(dtype):
        inputs: list[tuple[Any, ...]] = [(b, dtype(2)), (special, dtype(0))]
        segments_alike(_peaks(times), inputs, ("jacobian",))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["multiply", "arctan2", "relu", "less"])
def test_few_elements_in_a_vector(name: str, dtype: Any) -> None:
    row = BY_NAME[name]
    assert isinstance(row, Op)
    segments_alike(_program(row), _cases(row, dtype, (1, 2, 7, 8, 9, 15, 16, 17)), ("gradient",))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["divide", "sin"])
def test_every_derivative(name: str) -> None:
    row = BY_NAME[name]
    assert isinstance(row, Op)
    segments_alike(_program(row), _cases(row, np.float64, (5, 33)), tuple(WAYS))


# --- views, writes, sums -------------------------------------------------------------------------------------------


def _three_contributions(x: Any, s: Any) -> Any:
    y = x[1:-1] * x[:-2]
    return tg.sum(x[2:] / y * s)


def _written(x: Any, s: Any) -> Any:
    y = x * s
    y[1:] = y[:-1] * x[1:]
    y[:2] = 0.5
    y *= x
    return tg.sum(y[3:] - tg.square(y[:-3]))


def _of_several_counts(x: Any, s: Any) -> Any:
    a, b = tg.sin(x), x[1:] * s
    return tg.sum(a) * tg.sum(b[2:] * a[1:-2]) + tg.sum(a[:-4] * x[4:]) / tg.sum(x * x)


def _zeros_with_a_sign(x: Any, s: Any) -> Any:
    return tg.sum(-x * (s * 0.0)) + tg.sum(-x[:1] * 0.0)


def _far_apart(x: Any, s: Any) -> Any:
    return tg.sum(x[9:] * x[:-9]) + tg.sum(x[x.size // 2 :] * s)


PROGRAMS = (_three_contributions, _written, _of_several_counts, _zeros_with_a_sign, _far_apart)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", PROGRAMS)
def test_views_writes_and_sums(function: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    sizes = (17, 18, 40, 300) if dtype is np.float64 else (18, 300)
    inputs = [(rng.uniform(0.5, 1.5, size).astype(dtype), dtype(0.7)) for size in sizes]
    segments_alike(function, inputs, ("value", "gradient"))
    eager, fused = WAYS["gradient"](function), WAYS["gradient"](tg.jit(function, fuse=True))
    for each in inputs:
        assert_same(eager(*each), fused(*each))


def test_random_programs() -> None:
    for seed in range(1200, 1206):
        sample = Sample(seed, 25)
        inputs = [tuple(np.asarray(x) * scale for x in sample.inputs) for scale in (1.0, -0.8)]
        segments_alike(sample.number, inputs, ("gradient",))


# --- several dimensions --------------------------------------------------------------------------------------------


def _rows_and_columns(x: Any, s: Any) -> Any:
    """Broadcast rows and columns, sums along both, and a scalar."""
    y = tg.sin(x) * s
    row, column = y[:1] * 2.0, y[:, :1]
    table = row * column - y / (1.0 + tg.square(row))
    return tg.sum(tg.sum(table, axis=0) ** 2) + tg.sum(tg.sum(table, axis=1, keepdims=True) * column)


def _parts_of_a_table(x: Any, s: Any) -> Any:
    """Lines further apart than they are long; a part is written to."""
    part = x[1:, 3:-2]
    y = tg.exp(part) * x[:-1, 5:]
    z = y * s
    z[0, :-1] = y[1, 1:]
    return tg.sum(tg.where(z > 0, z, part)) + tg.sum(z * part)


def _three_dimensions(x: Any, s: Any) -> Any:
    planes = x[:, None] * tg.cos(x[None, :, :])
    return tg.sum(tg.mean(planes, axis=(0, 2)) * tg.max(planes, axis=(1, 2))) + tg.sum(planes - x * s)


NESTED = (_rows_and_columns, _parts_of_a_table, _three_dimensions)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", NESTED)
def test_several_dimensions(function: Any, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    tables = [rng.normal(size=shape).astype(dtype) for shape in ((3, 300), (5, 70))]
    special = tables[1].copy()
    special[rng.random(special.shape) < 0.1] = rng.choice(SPECIAL)
    inputs = [(table, dtype(0.7)) for table in (*tables, special)]
    segments_alike(function, inputs, ("value", "gradient", "tangent"))


def test_several_dimensions_in_all_derivatives() -> None:
    table = np.random.default_rng(6).normal(size=(2, 66))
    segments_alike(_rows_and_columns, [(table, np.float64(0.3))], ("jacobian", "hessian", "product"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_over_many_tangents(dtype: Any) -> None:
    """Functions in partials are rows that stay beside them."""

    def function(x: Any, s: Any) -> Any:
        return tg.tanh(x[1:]) * x[:-1] * s - tg.where(x[1:] > 0, tg.square(x[:-1]), x[1:] / s)

    x = np.random.default_rng(7).normal(size=70).astype(dtype)
    special = x.copy()
    special[::9] = np.inf
    segments_alike(function, [(x, dtype(0.3)), (special, dtype(-0.0))], ("jacobian",))
    segments_alike(_three_contributions, [(x, dtype(0.3))], ("hessian",))


@pytest.mark.usefixtures("plain_memory")
def test_a_table_is_gone_through_once() -> None:
    """Rows that broadcast and rows of one loop meet in one segment: nothing between is stored."""

    def function(x: Any, m: Any) -> Any:
        return tg.sum(tg.sum(tg.exp(-tg.square((x - m[:, None]) / 3.0)) * m[:, None], axis=0))

    x, m = np.linspace(-1, 1, 5000), np.arange(1.0, 9.0)
    trace = Trace(function, flatten_args((x, m), {}))
    spec = ProgramSpec(VALUE_AND_GRAD, (0, 1))
    rows, fused = (
        make_program(trace.recording, read_tape(trace.recording), spec, fuse) for fuse in (NEVER, NOW)
    )
    assert rows.bytes > 8 * x.nbytes
    assert fused.bytes < 3 * x.nbytes


def _branches(x: Any, s: Any) -> Any:
    y = tg.sin(x) * s
    return tg.sum(y * x) if tg.sum(y) > 0 else tg.sum(y[1:] - x[:-1])


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_overwritten_in_place_is_not_computed_once_more(kept: bool) -> None:
    """A part of a segment begins with what the part before hands on, which it computes from what is in memory."""
    z, bar, target = 1 << 48, 1 << 49, 1 << 50

    def line(start: int) -> Span:
        return Span(start, start + 8 * 1000, "f64", length=1000)

    scaled = StreamRow(
        "square", "f64", FORWARD, 1000, (Access(0, READ, line(z)), Access(3, WRITE, line(z)))
    )  # fmt: skip
    first, second = (
        StreamRow(
            "square", "f64", REVERSE, 1000,
            (Access(0, READ, line(z)), Access(7, READ, line(bar)), Access(4, ADD, line(target + shift))),
        )
        for shift in (0, 8)
    )  # fmt: skip
    rows = [scaled, first, second]
    described = SegmentDraft(rows, False, lambda start, stop: kept or start >= target, [])
    assert described.bound().divisible is not kept


def test_long_segments_in_parts() -> None:
    def f(x: Any, y: Any) -> Any:
        z = tg.cumsum(x) * y
        z *= y
        return tg.sum(z[1:] * z[:-1]) + tg.sum(tg.cumsum(z) * 1e-6) + tg.sum(x[2:] * tg.sin(y[:-2]))

    rng = np.random.default_rng(3)
    inputs = rng.uniform(-1, 1, (2, 70_001))
    rows, segments = (tg.value_and_grad(tg.jit(f, fuse=fuse), BOTH)(*inputs) for fuse in (False, True))
    assert_same(segments, rows)


def test_loops_in_parts() -> None:
    """Threads take steps of the first loop where these write apart, and elements of the lines otherwise."""

    def by_steps(x: Any, y: Any) -> Any:
        return tg.sum(tg.sum(tg.exp(-tg.square(x[:, None] - y)), axis=1) * x)

    def by_elements(x: Any, y: Any) -> Any:
        return tg.sum(tg.tanh(tg.sum(tg.exp(-tg.square(x[:, None] - y)), axis=0)) * y)

    rng = np.random.default_rng(4)
    x, y = rng.uniform(-1, 1, 37), rng.uniform(-1, 1, 3001)
    for f in (by_steps, by_elements):
        rows, segments = (tg.value_and_grad(tg.jit(f, fuse=fuse), BOTH)(x, y) for fuse in (False, True))
        assert_same(segments, rows)


def test_both_sides_of_a_guard() -> None:
    x = np.linspace(0.1, 1.0, 40)
    segments_alike(_branches, [(x, 0.5), (x, -0.5), (x * 0.5, 0.5), (-x, 0.5)], ("value", "gradient"))


# --- threads, processes, copies ------------------------------------------------------------------------------------


def _wave(x: Any) -> Any:
    return tg.sum(tg.sin(x[1:]) * x[:-1] + x[1:])


X = np.linspace(-1.0, 1.0, 50)


def test_several_threads() -> None:
    f, rows = tg.value_and_grad(tg.jit(_wave, fuse=True)), tg.value_and_grad(tg.jit(_wave, fuse=False))
    points = [X * k for k in range(8)]
    expected = [rows(x) for x in points]
    with ThreadPoolExecutor(8) as pool:
        for results in pool.map(lambda _: [f(x) for x in points], range(40)):
            assert_same(results, expected)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_copies_are_fused_too(copied: Any) -> None:
    f = copied(tg.jit(_wave, fuse=True))
    assert f.fuse is True
    assert_same(tg.grad(f)(X), tg.grad(tg.jit(_wave, fuse=False))(X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_goes_on() -> None:
    f = tg.value_and_grad(tg.jit(_wave, fuse=True))
    expected = f(X)[1].tobytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if f(X)[1].tobytes() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


# --- when ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def eager_to_fuse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache folder, and the third replay pays for compiling."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(policy, "_COMPILE_NS", 1.0)
    monkeypatch.delenv("TAPEGRAD_FUSE", raising=False)


def _is_fused(f: Any, *args: Any) -> bool:
    trace, _ = f.run(f.arguments(args, {}), ProgramSpec())
    return trace.program(ProgramSpec()).fused


@pytest.mark.usefixtures("eager_to_fuse")
def test_a_function_is_fused_when_that_pays() -> None:
    f = tg.jit(_wave)
    before = f(X)
    assert not _is_fused(f, X)
    for _ in range(5):
        f(X)
    worker.wait()
    assert _is_fused(f, X)
    assert_same(f(X), before)
    again = tg.jit(_wave)
    again(X)
    assert _is_fused(again, X)


@pytest.mark.usefixtures("eager_to_fuse")
def test_the_background_gives_way_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "pace_beside", lambda period: pace.Pace(0.0, 0.0, 1.0, 0.0))
    paused: list[str] = []

    def note(seconds: float) -> None:
        assert not compiling._is_owned()  # others would have to wait for the pause to be over
        paused.append(threading.current_thread().name)

    monkeypatch.setattr(pace, "sleep", note)
    tg.jit(lambda x: tg.sum(tg.cos(x) * x), fuse=True)(X)
    assert not paused
    f = tg.jit(_wave)
    for _ in range(6):
        f(X)
    worker.wait()
    assert _is_fused(f, X)
    assert len(paused) > 10
    assert set(paused) == {"tapegrad"}


@pytest.mark.usefixtures("eager_to_fuse")
@pytest.mark.parametrize("transform", [tg.jit, tg.grad, tg.value_and_grad, tg.jacobian, tg.hessian, tg.hvp])
def test_somebody_is_asked_whatever_the_transform(transform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short way that is due goes all the way to who asks, also where one transform calls another one."""
    asked = []
    monkeypatch.setattr(policy.PendingFusion, "decide", lambda self: len(asked) if asked.append(self) else 0)
    monkeypatch.setattr(recipes, "may_know", lambda streams: False)
    f = transform(tg.jit(_wave))
    for _ in range(8):
        f(*(X, X)[: 2 if transform is tg.hvp else 1])
    assert asked


@pytest.mark.parametrize("period", [1e-6, 1e-4, 1.0])
def test_looks_whether_a_program_is_fused_take_little_time(
    period: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes through Python, and may take longer than the replay."""
    waiting = policy.PendingFusion([], lambda: None)
    waiting.replays = 10
    clock = iter((1.0, 1.0 + 10 * period))
    monkeypatch.setattr(policy.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(policy.worker, "add", lambda job: None)
    assert waiting.decide() == 10
    assert waiting.decide() == pytest.approx(max(policy._POLL_INTERVAL_S / period, 2), rel=1e-2)


@pytest.mark.usefixtures("eager_to_fuse")
@pytest.mark.parametrize(("fuse", "chosen"), [(False, ""), (False, "1"), (None, "0")])
def test_a_function_is_never_fused(fuse: Any, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_FUSE", chosen)
    f = tg.jit(_wave, fuse=fuse)
    for _ in range(6):
        f(X)
    worker.wait()
    assert not _is_fused(f, X)


@pytest.mark.usefixtures("eager_to_fuse")
@pytest.mark.parametrize(("fuse", "chosen"), [(True, ""), (True, "0"), (None, "1")])
def test_a_function_is_fused_at_once(fuse: Any, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_FUSE", chosen)
    f = tg.jit(_wave, fuse=fuse)
    f(X)
    assert _is_fused(f, X)


@pytest.mark.usefixtures("eager_to_fuse")
def test_where_fusion_fails_rows_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("no segment today")

    monkeypatch.setattr(PooledProgram, "_fuse", fail)
    f, said = tg.jit(_wave), []
    monkeypatch.setattr(warnings, "warn", lambda text, *args, **kwargs: said.append(text))
    for _ in range(20):
        f(X)
        worker.wait()
    assert len(said) == 1
    assert "no segment today" in said[0]
    assert_same(f(X), tg.jit(_wave, fuse=False)(X))


def test_where_nothing_can_be_kept_fusion_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: None)
    monkeypatch.setattr(cache.complaints, "make", lambda *args: None)
    f = tg.jit(_wave, fuse=True)
    assert_same(f(X), tg.jit(_wave, fuse=False)(X))
    assert _is_fused(f, X)


SECOND_PROCESS = """
import numpy as np, tapegrad as tg
from tapegrad.engine.codegen.segments import segment_kernels
made = []
define = segment_kernels.define
segment_kernels.define = lambda *args: made.append(args) or define(*args)
f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x[1:]) * x[:-1] + x[1:]){}))
f(np.linspace(-1.0, 1.0, 50))
program = f._fast.__self__[1].specialization.workspaces[0].program
print(len(made), program.fused)
"""
ENDING = """
import numpy as np, os, tapegrad as tg
from tapegrad.program.fusion import policy, recipes
policy._COMPILE_NS = 1.0
def f(x):
    for k in range(20):
        x = tg.sin(x) * x + np.float64(k)
    return tg.sum(x)
g = tg.value_and_grad(tg.jit(f))
x = np.linspace(0.1, 1, 50)
for _ in range(4):
    g(x)
"""
FORKING = (
    ENDING
    + """
value = g(x)[0]
child = os.fork()
if child == 0:
    for _ in range(10):
        assert g(x)[0] == value
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
)


def run(script: str, folder: Path, **environment: str) -> str:
    """What a process prints that has to end well, and without a word of complaint."""
    kept = {**os.environ, "TAPEGRAD_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        capture_output=True, text=True, timeout=300, env=kept, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr, done.stderr
    return done.stdout


# LLVM at work in the background while the process ends.
COMPILING = """
import threading, time
from tapegrad.engine.codegen.machine.lock import calling_llvm
from tapegrad.program.fusion.background import worker

begun = threading.Event()

def job():
    with calling_llvm():
        begun.set()
        time.sleep(0.3)
        print("compiled", flush=True)

worker.add(job)
begun.wait()
"""


def test_a_process_ends_after_llvm(tmp_path: Path) -> None:
    assert run(COMPILING, tmp_path) == "compiled\n"


def test_another_process_compiles_nothing() -> None:
    """The kernels of the engine itself are those of all tests; the segments are known after the first process."""
    folder = cache.folder()
    assert folder is not None
    run(SECOND_PROCESS.format(", fuse=True"), folder)
    assert run(SECOND_PROCESS.format(""), folder) == "0 True\n"


def test_a_process_ends_while_it_compiles() -> None:
    folder = cache.folder()
    assert folder is not None
    assert run(ENDING, folder) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_forks_while_it_compiles() -> None:
    folder = cache.folder()
    assert folder is not None
    assert run(FORKING, folder) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pages on Windows")
def test_no_segment_goes_past_an_array() -> None:
    folder = cache.folder()
    assert folder is not None
    script = """
import numpy as np, tapegrad as tg
f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x[2:]) * x[:-2] + x[1:-1] * x[2:]), fuse=True))
for size in (3, 5, 10, 18, 19, 37, 300):
    for dtype in (np.float64, np.float32):
        f(np.linspace(0, 1, size).astype(dtype))
"""
    run(script, folder, TAPEGRAD_GUARD_PAGES="1")
