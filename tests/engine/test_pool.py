"""The pool of threads: what it computes, how many threads there are, and what must not happen to the process."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from tapegrad.engine import kernel_table, threads
from tapegrad.engine.runtime import operating_system
from tapegrad.engine.sweep.binding.control_fields import ALONE_UNTIL, BALANCE, POOL, THREAD_LIMIT, THREADS
from tapegrad.engine.sweep.threading import pool


@pytest.fixture
def control() -> Iterator[np.ndarray]:
    """The control block of the driver, put back afterwards."""
    kernel_table.load_driver()
    before = kernel_table._control.copy()
    kernel_table._control[[THREAD_LIMIT, ALONE_UNTIL, BALANCE]] = 0
    yield kernel_table._control
    kernel_table._control[:] = before


def launches(control: np.ndarray) -> int:
    """How many launches the pool has seen."""
    return threads.field(int(control[POOL]) + pool.GENERATION)


# --- results -------------------------------------------------------------------------------------------


def scalar_of_all(x):
    return tg.sum(tg.sin(x) * x[0] + x / 3)


def by_rows(x):
    y = x.reshape(-1, 500)
    return tg.sum(tg.cumsum(y * y[0], axis=1) * tg.max(y, axis=1, keepdims=True))


def overlapping(x):
    return tg.sum(x[1:] * x[:-1] + x[::2].sum() * x[1:] ** 2)


FUNCTIONS = [scalar_of_all, by_rows, overlapping]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_do_not_depend_on_the_number_of_threads(function, dtype, control, monkeypatch) -> None:
    """Bit for bit: of one thread, of two, and of more than there are processors."""
    monkeypatch.setattr(threads, "allowed", lambda: 5)
    count, block = threads.start(kernel_table._thread())
    assert count == 5
    control[POOL] = block
    x = np.random.default_rng(3).uniform(-1, 1, 100_500).astype(dtype)
    f = tg.value_and_grad(tg.jit(function))

    def compute(several: int):
        control[[THREADS, ALONE_UNTIL]] = several, 0
        t = tg.tensor(x)
        function(t).backward()
        return [*f(x), t.grad]

    expected = compute(1)
    for several in (2, 3, 5, 5):
        for ours, alone in zip(compute(several), expected, strict=True):
            np.testing.assert_array_equal(ours, alone)
    assert launches(control) > 0


def test_a_helper_that_is_never_let_run_is_not_waited_for(control, monkeypatch) -> None:
    """All that other programs on the machine can do to a thread is not to let it run."""
    monkeypatch.setattr(threads, "_new_thread", lambda function, place: 0)
    monkeypatch.setattr(threads, "allowed", lambda: 4)
    control[THREADS], control[POOL] = threads.start(0)
    x = np.linspace(0, 1, 60_000)
    np.testing.assert_allclose(tg.grad(tg.jit(lambda x: tg.sum(x * x)))(x), 2 * x)
    assert control[THREADS] == 4
    assert launches(control) > 0


def test_a_system_that_allows_no_more_threads(control, monkeypatch) -> None:
    monkeypatch.setattr(threads, "_new_thread", lambda function, place: threads.NO_THREAD)
    monkeypatch.setattr(threads, "allowed", lambda: 4)
    assert threads.start(0)[0] == 1


def test_who_lost_time_to_helpers_works_alone_for_a_while(control) -> None:
    x = np.linspace(0, 1, 60_000)
    f = tg.jit(lambda x: tg.sum(x * x))
    control[BALANCE] = -(10**9)  # a second lost
    control[THREADS] = max(2, control[THREADS])
    f(x)
    assert control[BALANCE] == 0
    assert control[ALONE_UNTIL] > 0
    before = launches(control)
    f(x)
    assert launches(control) == before
    control[ALONE_UNTIL] = 0
    f(x)
    assert launches(control) > before


# --- how many there are --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "3,2"}, 3),
        ({"OMP_NUM_THREADS": " 4 "}, 4),
        ({"OMP_NUM_THREADS": "100"}, 8),
        ({"OMP_NUM_THREADS": "0"}, 8),
        ({"OMP_NUM_THREADS": "many"}, 8),
        ({"OMP_NUM_THREADS": ""}, 8),
        ({"OMP_THREAD_LIMIT": "2", "OMP_NUM_THREADS": "4"}, 2),
        ({"NUMBA_NUM_THREADS": "5"}, 5),
        ({"NUMBA_NUM_THREADS": "5", "OMP_NUM_THREADS": "2"}, 2),
    ],
    ids=str,
)
def test_variables_that_limit_the_threads(variables, expected, monkeypatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 8)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 16)
    for name in threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert threads.allowed() == expected


GROUPS = {
    "no limit": ("0::/\n", {"cpu.max": "max 100000\n"}, None),
    "no files": ("0::/user.slice\n", {}, None),
    "one and a half": ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
    "of what it lies in": ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),
    "path of another namespace": ("0::/docker/1\n", {"cpu.max": "50000 100000\n"}, 0.5),
    "version 1": (
        "3:cpuset:/\n1:cpu,cpuacct:/a\n0::/\n",
        {"cpu/a/cpu.cfs_quota_us": "200000\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
        2,
    ),
    "version 1 without limit": (
        "1:cpu:/\n",
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
        None,
    ),
    "nonsense": ("0::/\n", {"cpu.max": "\n"}, None),
}


@pytest.mark.parametrize(("membership", "files", "expected"), GROUPS.values(), ids=GROUPS)
def test_limits_of_containers(membership, files, expected, monkeypatch, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "membership").write_text(membership)
    monkeypatch.setattr(operating_system, "_MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(operating_system, "_GROUPS", tmp_path)
    assert min([*operating_system.shares(), 1000]) == (expected or 1000)
    assert operating_system.processors() <= max(1, expected or 1000)


def run(*lines: str, **environment: str) -> str:
    """What a new process prints; it must end well."""
    script = "\n".join(map(textwrap.dedent, lines))
    inherited = {name: value for name, value in os.environ.items() if name not in threads.VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


# `shared()` tells whether a large computation goes through the pool.
LARGE = """
    import os
    before = dict(os.environ)
    import numba, numpy as np, tapegrad as tg
    from tapegrad.engine import kernel_table, threads
    from tapegrad.engine.sweep.binding import control_fields as control_fields
    from tapegrad.engine.sweep.threading import pool
    threads.processors = lambda: 4  # on any machine
    numba.config.NUMBA_NUM_THREADS = int(os.environ.get("NUMBA_NUM_THREADS", 4))
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * x * 0.5)))
    def large(k=1.0, n=100_000):
        value, gradient = f(np.full(n, k))
        assert value == 0.5 * n * k * k and (gradient == k).all()
        return True
    def launches():
        return threads.field(int(kernel_table._control[control_fields.POOL]) + pool.GENERATION)
    def shared():
        kernel_table._control[control_fields.ALONE_UNTIL] = 0
        before = launches()
        large()
        return launches() > before
"""


@daily(every=3)
@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, "4 True"), ({"OMP_NUM_THREADS": "1"}, "1 False"), ({"NUMBA_NUM_THREADS": "3"}, "3 True")],
    ids=str,
)
def test_variables_are_heeded_and_left_as_they_are(variables: dict[str, str], expected: str) -> None:
    body = """
        large()
        print(kernel_table._control[control_fields.THREADS], shared())
        assert dict(os.environ) == before
    """
    assert run(LARGE, body, **variables) == expected


@daily(every=2)
@pytest.mark.parametrize("when", ["before", "after"])
def test_numbas_own_setting_is_heeded(when: str) -> None:
    first, then = ("numba.set_num_threads(1)", "") if when == "before" else ("", "numba.set_num_threads(1)")
    body = f"""
        {first}
        large()
        {then}
        tg.jit(lambda x: tg.sum(x + x))(np.ones(100_000))  # a setting is seen when something large is recorded
        assert not shared()
        numba.set_num_threads(2)
        print(shared())
    """
    assert run(LARGE, body) == "True"


# --- what must not happen to the process ---------------------------------------------------------------

PRANGE = """
    import threading
    @numba.njit(parallel=True, nogil=True)
    def total(x):
        s = 0.0
        for i in numba.prange(x.size):
            s += x[i]
        return s
    total(np.ones(1000))
"""


@daily(every=2)
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_large_replays_beside_somebody_elses_parallel_loop(layer: str) -> None:
    """Numba's `workqueue` ends a process in which two parallel loops run at once; ours is none."""
    body = """
        stop = threading.Event()
        def loop():
            while not stop.is_set():
                total(np.ones(1000))
        other = threading.Thread(target=loop)
        other.start()
        ours = [threading.Thread(target=lambda: [large() for _ in range(100)]) for _ in range(2)]
        [t.start() for t in ours]
        [t.join() for t in ours]
        stop.set()
        other.join()
        print("right")
    """
    assert run(LARGE, PRANGE, body, NUMBA_THREADING_LAYER=layer) == "right"


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")


@daily(every=2)
@needs_fork
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_numbas_threads_are_not_started_for_us(layer: str) -> None:
    """A child forked after GNU OpenMP was started could not run parallel loops of the user's any more."""
    body = """
        large()
        child = os.fork()
        if child == 0:
            exec(prange)
            os._exit(0 if large() and total(np.ones(1000)) == 1000 else 1)
        print(os.waitpid(child, 0)[1])
    """
    environment = {"NUMBA_THREADING_LAYER": layer, "PYTHONWARNINGS": "ignore"}
    assert run(LARGE, f"prange = {textwrap.dedent(PRANGE)!r}", body, **environment) == "0"


def test_a_process_ends_while_threads_compute() -> None:
    body = """
        import threading
        def forever():
            while True:
                large()
        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        large()
        print("right")
    """
    assert run(LARGE, body) == "right"


def test_python_does_not_see_the_threads() -> None:
    body = """
        import threading
        large()
        print(threading.active_count())
    """
    assert run(LARGE, body) == "1"
