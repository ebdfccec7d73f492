"""Parts by the workers of executors and clusters: the same bits as by threads, and workers that are lost or slow."""

import functools
import importlib.util
import itertools
import multiprocessing
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.array
import loky
import numpy as np
import pytest
from distributed import Client

import tapegrad as tg
from helpers.worker_functions import (
    dies,
    logistic,
    missing_file,
    part_from,
    part_of_the_dead,
    slow_part,
)
from tapegrad.optimize.sharding.engines import dask as by_dask
from tapegrad.optimize.sharding.engines import executors, workers

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
multiprocessing.set_forkserver_preload(["tapegrad.optimize", "pytest", "distributed"])
W = np.array([0.3, -0.5, 0.8])
LAZY = [functools.partial(part_from, seed, 20 + seed % 2) for seed in range(9)]  # of two signatures


def pool(workers: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context(METHOD))


@contextmanager
def threads() -> Iterator[Any]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@contextmanager
def processes() -> Iterator[Any]:
    with pool() as executor:
        yield executor


@contextmanager
def process_each() -> Iterator[Any]:
    yield [functools.partial(pool, 1)] * 3


@contextmanager
def processes_of_loky() -> Iterator[Any]:
    yield functools.partial(loky.get_reusable_executor, 2)


@contextmanager
def cluster() -> Iterator[Any]:
    own = dask.config.set({"distributed.worker.multiprocessing-method": METHOD})
    with own, Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client


@contextmanager
def tasks_of_a_cluster() -> Iterator[Any]:
    """Give runs of parts to tasks in place of actors, and scatter all that is sent."""
    with pytest.MonkeyPatch.context() as patch, cluster() as client:
        patch.setattr(by_dask, "_MAX_ACTORS", 1)
        patch.setattr(by_dask, "_ARITY", 2)
        patch.setattr(by_dask, "_MAX_EMBEDDED_BYTES", 0)
        yield client.get_executor()


ENGINES = [threads, processes, process_each, processes_of_loky, cluster, tasks_of_a_cluster]


def assert_same_bits(found: Any, expected: Any) -> None:
    for w in (W, 2 * W, W):
        value, gradient = expected.value_and_grad(w)
        assert found(w) == value
        np.testing.assert_array_equal(found.grad(w), gradient)


@pytest.mark.parametrize("engine", ENGINES)
def test_bits_do_not_depend_on_workers(engine: Callable[[], Any], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", part_from(1, 200)["x"])
    mapped = {"x": np.load(tmp_path / "x.npy", mmap_mode="r"), "y": np.ones(200)}
    with engine() as executor:
        for parts, options in ((LAZY, {}), ([part() for part in LAZY], {}), (mapped, {"rows": 31})):
            here = tg.optimize.sharded(logistic, parts, **options)
            with tg.optimize.sharded(logistic, parts, executor, **options) as there:
                assert_same_bits(there, here)
                np.testing.assert_array_equal(there.hessian(W), here.hessian(W))
                np.testing.assert_array_equal(there.hvp(W, W), here.hvp(W, W))
                sparse = [f.hessian(W, sparse=True).toarray() for f in (there, here)]
                np.testing.assert_array_equal(*sparse)
        found, straight = (
            tg.optimize.minimize(tg.optimize.sharded(logistic, LAZY, each), np.zeros(3))
            for each in (executor, None)
        )
        np.testing.assert_array_equal(found.x, straight.x)
        assert found.nfev == straight.nfev


@pytest.mark.parametrize("engine", [processes, process_each, cluster, tasks_of_a_cluster])
def test_what_changes_is_sent_again(engine: Callable[[], Any]) -> None:
    weights = np.ones(3)
    settings = {"power": 2}

    def f(w: Any, part: Any) -> Any:
        loss = tg.sum(weights * tg.abs(w - part) ** settings["power"])
        return loss if tg.sum(w) > part[0] else 2 * loss

    parts = [np.full(3, float(k)) for k in range(6)]
    with engine() as executor, tg.optimize.sharded(f, parts, executor) as there:
        here = tg.optimize.sharded(f, parts)
        assert_same_bits(there, here)  # of which some parts take the other branch at 2 * W
        weights[1] = 3.0
        assert_same_bits(there, here)
        settings["power"] = 3
        assert_same_bits(there, here)


def by_a_custom_op(w: Any, part: Any) -> Any:
    cube = tg.custom_op("cube", lambda x: x**3, lambda y_bar, y, x: 3 * x**2 * y_bar)
    return tg.sum(cube(w) * part)


@pytest.mark.parametrize("engine", [processes, cluster])
def test_what_cannot_be_saved_is_pickled(engine: Callable[[], Any]) -> None:
    with (
        engine() as executor,
        tg.optimize.sharded(by_a_custom_op, [np.ones(3), np.arange(3.0)], executor) as there,
    ):
        np.testing.assert_allclose(there.grad(W), 3 * W**2 * [1.0, 2.0, 3.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_that_raises_is_named(engine: Callable[[], Any]) -> None:
    parts = [functools.partial(missing_file, number) for number in range(5)]
    with engine() as executor, tg.optimize.sharded(logistic, parts, executor) as there:
        for _ in range(2):
            with pytest.raises(FileNotFoundError, match=r"in part 3 of 5 \(missing_file\(3\)\)"):
                there(W)


@pytest.mark.parametrize(
    "engine", [lambda: threads_that_make(pool), processes_of_loky, process_each, cluster]
)
def test_parts_of_a_worker_that_was_killed_are_evaluated_again(
    engine: Callable[[], Any], tmp_path: Path
) -> None:
    parts = [functools.partial(part_of_the_dead, tmp_path / "mark", number) for number in range(6)]
    expected = [functools.partial(part_from, number) for number in range(6)]
    (tmp_path / "mark").touch()
    with engine() as executor, tg.optimize.sharded(logistic, parts, executor, keep=0) as there:
        here = tg.optimize.sharded(logistic, expected)
        assert_same_bits(there, here)
        (tmp_path / "mark").unlink()  # the next one that reads part 2 is killed
        assert_same_bits(there, here)
        assert (tmp_path / "mark").exists()


@contextmanager
def threads_that_make(make: Callable[..., Any]) -> Iterator[Any]:
    yield functools.partial(make, 2)


def deadly(seed: int, origin: int) -> Any:
    """Kill each process but the first."""
    if multiprocessing.current_process().pid != origin:
        dies(None)
    return part_from(seed)


def test_workers_that_are_lost_for_good_are_told() -> None:
    origin = multiprocessing.current_process().pid
    parts = [functools.partial(deadly, seed, origin) for seed in range(4)]
    with pool(1) as executor, pytest.raises(RuntimeError, match=r"lost its workers .*; given a function"):
        tg.optimize.sharded(logistic, parts, executor)(W)
    with (
        tg.optimize.sharded(logistic, parts, functools.partial(pool, 1)) as f,
        pytest.raises(RuntimeError, match="lost 4 times, with 0 of"),
    ):
        f(W)


def test_of_several_executors_one_may_end() -> None:
    with pool(1) as one, pool(1) as other:
        there = tg.optimize.sharded(logistic, LAZY, [one, other])
        here = tg.optimize.sharded(logistic, LAZY)
        assert_same_bits(there, here)
        one.shutdown()
        assert_same_bits(there, here)
        other.shutdown()
        with pytest.raises(RuntimeError, match="lost its workers"):
            there(W)


@pytest.mark.parametrize("engine", [processes, process_each])
def test_a_slow_worker_does_not_hold_the_others(
    engine: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_SLOW_S", 0.2)
    parts = [functools.partial(slow_part, tmp_path / "mark", number) for number in range(8)]
    (tmp_path / "mark").touch()
    with engine() as executor:
        there = tg.optimize.sharded(logistic, parts, executor, keep=0)
        here = tg.optimize.sharded(logistic, [functools.partial(part_from, number) for number in range(8)])
        assert_same_bits(there, here)
        (tmp_path / "mark").unlink()
        np.testing.assert_array_equal(there.grad(W), here.grad(W))
        assert (tmp_path / "mark").exists()
        (tmp_path / "mark.done").touch()
        there.close()


class Forgetful(Executor):
    """An executor whose workers have forgotten what they were sent before each task."""

    _max_workers = 2

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if next(self._turns) % 2:
            workers._tables.clear()
            workers._collections.clear()
        future.set_result(fn(*args, **kwargs))
        return future

    def __init__(self) -> None:
        self._turns = itertools.count()


def test_workers_ask_for_what_they_do_not_have() -> None:
    assert_same_bits(tg.optimize.sharded(logistic, LAZY, Forgetful()), tg.optimize.sharded(logistic, LAZY))


class ReadOnly(Executor):
    """An executor whose results lie in memory that others share."""

    _max_workers = 1

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        answer = fn(*args, **kwargs)
        for node in answer if isinstance(answer, list) else ():
            for value in node.value:
                if isinstance(value, np.ndarray):
                    value.flags.writeable = False
        future: Future[Any] = Future()
        future.set_result(answer)
        return future


@pytest.mark.parametrize("count", [1, 5])
def test_results_are_the_callers_own(count: int) -> None:
    gradient = tg.optimize.sharded(logistic, LAZY[:count], ReadOnly()).grad(W)
    expected = gradient.copy()
    gradient *= 2.0
    np.testing.assert_array_equal(gradient, 2 * expected)


class Broken(Executor):
    """An executor that takes some tasks, and then no more."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if not self._tasks:
            raise BrokenExecutor("the pool is broken")
        self._tasks -= 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_executors_that_break_between_tasks_are_made_anew() -> None:
    made: list[Broken] = []

    def make() -> Broken:
        made.append(Broken(5))
        return made[-1]

    assert_same_bits(tg.optimize.sharded(logistic, LAZY[:3], make), tg.optimize.sharded(logistic, LAZY[:3]))
    assert len(made) > 2


def test_an_interrupt_returns_the_best_point(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluations = itertools.count()

    def interrupting(waiting: Any) -> Any:
        if next(evaluations) == 12:
            raise KeyboardInterrupt
        return own(waiting)

    own = executors.done_of
    with ThreadPoolExecutor(2) as executor:
        there = tg.optimize.sharded(logistic, LAZY, executor)
        monkeypatch.setattr(executors, "done_of", interrupting)
        found = tg.optimize.minimize(there, np.ones(3))
        assert not found.success
        assert found.status == 99
        assert there(found.x) < there(np.ones(3))


def test_an_executor_that_is_none_is_refused() -> None:
    for wrong in (3, "processes", [3]):
        with pytest.raises(TypeError, match="must be an Executor, or a function that makes one"):
            tg.optimize.sharded(logistic, LAZY, wrong)


def test_parts_are_partitions_of_dasks_arrays() -> None:
    array = dask.array.from_array(np.arange(24.0).reshape(8, 3), chunks=(3, 3))
    expected = np.arange(24.0).reshape(8, 3).sum(0)
    f = tg.optimize.sharded(product, array)
    assert f.parts == 3
    np.testing.assert_array_equal(f.grad(W), expected)
    with cluster() as client:
        np.testing.assert_array_equal(tg.optimize.sharded(product, array, client).grad(W), expected)
    uneven = dask.array.ones((8, 3), chunks=(4, 3))
    with pytest.raises(ValueError, match="of 3, 2 partitions; partition them alike"):
        tg.optimize.sharded(product, {"x": array, "y": uneven})


def test_parts_are_partitions_of_dasks_tables() -> None:
    dataframe = pytest.importorskip("dask.dataframe")  # needs PyArrow
    frame = dataframe.from_dict({"x": np.arange(8.0), "y": np.ones(8)}, npartitions=3)
    assert tg.optimize.sharded(columns, frame).grad(2.0) == 28.0 - 8
    with cluster() as client:
        assert tg.optimize.sharded(columns, frame, client).grad(2.0) == 28.0 - 8


def product(w: Any, part: Any) -> Any:
    return tg.sum(part @ w)


def columns(w: Any, part: Any) -> Any:
    return tg.sum(w * part["x"] - w * part["y"])


PROGRAM = Path(__file__).parents[1] / "helpers" / "sharded_by_mpi.py"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_processes_of_an_mpi_program_have_the_same_bits(size: int, tmp_path: Path) -> None:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("there is no mpiexec")
    done = subprocess.run(
        [launcher, "-n", str(size), sys.executable, str(PROGRAM), str(tmp_path)],
        capture_output=True, text=True, timeout=240, cwd=PROGRAM.parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as by threads") == size
