"""Fits and minimisations by the workers of executors: the same results from any number, and lost workers."""

import functools
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import loky
import numpy as np
import pytest
from distributed import Client

import tapegrad as tg
from helpers.worker_functions import decay, dies, dies_once, rosenbrock

# Where it can be, processes are forked from one that has imported all they need.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
multiprocessing.set_forkserver_preload(["tapegrad.optimize", "pytest", "distributed"])
T = np.linspace(0.0, 2.0, 12)
TRUTH = np.random.default_rng(0).uniform([1.0, 0.5], [3.0, 2.0], (150, 2))
NOISE = 0.01 * np.random.default_rng(1).standard_normal((150, 12))
DATA = TRUTH[:, :1] * np.exp(-TRUTH[:, 1:] * T) + NOISE
STARTS = np.random.default_rng(2).uniform(-2, 2, (100, 3))


def pool(workers: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context(METHOD))


# One worker: an executor, and that or what makes another one when the worker is lost.
Workers = Iterator[tuple[Executor, Any]]


@contextmanager
def process() -> Workers:
    with pool(1) as one:
        yield one, functools.partial(pool, 1)


@contextmanager
def process_of_loky() -> Workers:
    yield loky.get_reusable_executor(1), functools.partial(loky.get_reusable_executor, 1)


@contextmanager
def worker_of_dask() -> Workers:
    own = dask.config.set({"distributed.worker.multiprocessing-method": METHOD})
    with own, Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        one = client.get_executor()
        yield one, one


def fits(executor: Any, **options: Any) -> Any:
    sigma = np.full_like(DATA, 0.01)
    return tg.optimize.curve_fit(decay, T, DATA, [2.0, 1.0], sigma, executor=executor, **options)


def minima(function: Any, executor: Any) -> Any:
    return tg.optimize.minimize(function, np.zeros(3), method="native", starts=STARTS, executor=executor)


def test_results_do_not_depend_on_the_workers() -> None:
    seen: list[tuple[int, int]] = []
    here = fits(None)
    with pool() as workers, ThreadPoolExecutor(1) as thread:
        one, two = fits(thread), fits(workers, progress=lambda *done: seen.append(done))
        lowest, other = minima(rosenbrock, thread), minima(rosenbrock, workers)
    for name in ("x", "cov", "cost", "status", "nfev"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        np.testing.assert_allclose(getattr(here, name), getattr(two, name), rtol=1e-6)
    assert seen[-1] == (150, 150)
    for name in ("x", "all_x", "all_fun", "all_jac", "all_status", "all_nfev", "all_nit"):
        np.testing.assert_array_equal(lowest[name], other[name])
    np.testing.assert_allclose(other.all_fun, minima(rosenbrock, None).all_fun, atol=1e-9)


@pytest.mark.parametrize("workers", [process, process_of_loky, worker_of_dask])
def test_blocks_of_a_worker_that_was_killed_are_solved_again(workers: Any, tmp_path: Path) -> None:
    function = functools.partial(dies_once, tmp_path / "mark")
    with workers() as (one, others), ThreadPoolExecutor(1) as thread:
        np.testing.assert_array_equal(fits(one).x, fits(thread).x)
        found = minima(function, others)
        assert (tmp_path / "mark").exists()
        np.testing.assert_array_equal(found.all_x, minima(rosenbrock, thread).all_x)


def test_an_executor_that_dies_is_named() -> None:
    with pool(1) as workers, pytest.raises(RuntimeError, match="lost its workers"):
        minima(dies, workers)
    with pytest.raises(RuntimeError, match="lost 3 times, with 0 of 50 blocks done"):
        minima(rosenbrock, Losing)


class ShutDown(Executor):
    """An executor that is shut down after a number of blocks, and cancels the others."""

    def __init__(self, blocks: int) -> None:
        self._left = blocks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self._left:
            self._left -= 1
            future.set_result(fn(*args, **kwargs))
        else:
            future.cancel()
        return future


@pytest.mark.parametrize("blocks", [0, 2])
def test_an_executor_that_is_shut_down_in_the_middle_is_named(blocks: int) -> None:
    with pytest.raises(RuntimeError, match=rf"\(CancelledError\), with {blocks} of 50 blocks done"):
        fits(ShutDown(blocks))


class Losing(Executor):
    """An executor whose workers are lost with each block."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenExecutor("the worker was lost"))
        return future


def rooted(t: Any, a: Any) -> Any:
    return tg.linalg.cholesky(tg.reshape(a, (1, 1)))[0, 0] * t


def test_blocks_in_which_nothing_can_be_computed_are_lost_alone() -> None:
    starts = np.full((5, 1), 2.0)
    starts[[1, 4]] = -1.0
    rows = np.tile(2 * T, (5, 1))
    with ThreadPoolExecutor(1) as thread:
        found = tg.optimize.curve_fit(rooted, T, rows, starts, executor=thread)
        lowest = tg.optimize.minimize(
            lambda x: rooted(1.0, x[0]) ** 3, None, method="native", starts=starts, executor=thread
        )
    assert found.success.tolist() == (lowest.all_status != 2).tolist() == [True, False, True, True, False]


def constant(t: Any, value: Any) -> Any:
    return value


def raises(x: Any) -> Any:
    raise ArithmeticError("the function's own")


def test_errors_of_functions_and_of_arguments_are_told() -> None:
    with ThreadPoolExecutor(1) as thread:
        with pytest.raises(ArithmeticError, match="own"):
            minima(raises, thread)
        with pytest.raises(ValueError, match="returned shape"):
            tg.optimize.curve_fit(constant, T, DATA, [1.0], executor=thread)
    for wrong in (3, lambda: 3):
        with pytest.raises(TypeError, match="must be an Executor, or a function that makes one"):
            fits(wrong)
    assert len(tg.optimize.curve_fit(decay, T, DATA[:0], [2.0, 1.0], executor=thread)) == 0
