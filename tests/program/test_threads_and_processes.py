"""Recordings and replays in several threads and processes at once."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import tapegrad as tg

THREADS = 8
LARGE = 60_000  # above what one thread computes alone


def sine_product(x):
    return tg.sum(tg.sin(x) * x)


def expected(x):
    return np.sin(x) + x * np.cos(x)


def in_threads(work, count=THREADS):
    """Run work(0), ..., work(count - 1) in threads that start together."""
    barrier = threading.Barrier(count)

    def wait_and_work(k):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(wait_and_work, k) for k in range(count)]]


@pytest.mark.parametrize("size", [3, 1000, LARGE])
def test_one_gradient_in_many_threads(size):
    f = tg.value_and_grad(tg.jit(sine_product))

    def work(k):
        rng = np.random.default_rng(k)
        for _ in range(200 if size < LARGE else 5):
            x = rng.normal(size=size)
            value, gradient = f(x)
            np.testing.assert_allclose(gradient, expected(x), rtol=1e-11, atol=1e-12)
            assert value == pytest.approx(np.sum(np.sin(x) * x), rel=1e-10, abs=1e-9)

    in_threads(work)


def test_one_recording_however_many_threads_ask_for_it():
    recordings = []

    def function(x):
        recordings.append(threading.get_ident())
        return tg.sum(x**2) if tg.sum(x) > 0 else tg.sum(x**3)

    f = tg.value_and_grad(tg.jit(function))

    def work(k):
        for j in range(20):
            x = np.full(4, 1.0 if (j + k) % 2 else -1.0)
            _, gradient = f(x)
            np.testing.assert_allclose(gradient, 2 * x if x[0] > 0 else 3 * x**2)

    in_threads(work)
    assert len(recordings) == 2


def test_guards_that_fail_in_many_threads():
    def function(x):
        total = x[0] * 0.0
        for k in range(4):
            total = total + (x[k] ** 2 if x[k] > 0 else 3 * x[k])
        return total

    f, jac = tg.grad(tg.jit(function)), tg.jacobian(tg.jit(lambda x: x * x if x[0] > x[1] else x * 2))

    def work(k):
        rng = np.random.default_rng(k)
        for _ in range(100):
            x = rng.normal(size=4)
            np.testing.assert_allclose(f(x), np.where(x > 0, 2 * x, 3))
            np.testing.assert_allclose(jac(x), np.diag(2 * x if x[0] > x[1] else np.full(4, 2.0)))

    in_threads(work)


def test_recording_in_many_threads():
    def work(k):
        for n in range(1, 12):
            f = tg.value_and_grad(tg.jit(lambda x, n=n: tg.sum(x**n) * (k + 1)))
            x = np.linspace(0.5, 1.5, n + k)
            _, gradient = f(x)
            np.testing.assert_allclose(gradient, n * x ** (n - 1) * (k + 1), rtol=1e-12)
            tg.jacobian(lambda x: tg.sin(x))(x)

    in_threads(work)


def test_eager_work_while_another_thread_records():
    stop = threading.Event()

    def record(k):
        try:
            for n in range(60):
                f = tg.jit(lambda x, n=n: tg.sum(x[: n % 5 + 1] * x[0]))
                assert f(np.ones(6)) == n % 5 + 1
        finally:
            stop.set()

    def compute(k):
        rounds = 0
        while not stop.is_set() or rounds == 0:
            x = tg.tensor(np.linspace(0, 1, 5) + k)
            y = x * 2
            y[1:3] = y[0]
            tg.sum(y * x).backward()
            a = x.data
            gradient = 4 * a
            gradient[1:3] = 2 * a[0]
            gradient[0] += 2 * (a[1] + a[2])
            np.testing.assert_allclose(x.grad, gradient)
            np.testing.assert_allclose(tg.grad(sine_product)(a), expected(a))
            rounds += 1

    in_threads(lambda k: record(k) if k == 0 else compute(k), 3)


def test_modes_belong_to_their_thread():
    inside, checked = threading.Event(), threading.Event()

    def work(k):
        x = tg.tensor([1.0, 2.0])
        if k == 0:
            with tg.no_grad():
                inside.set()
                checked.wait(300)
                return (x * 2).constant
        inside.wait(300)
        try:
            y = x * 2
            y.backward()
            assert x.grad.tolist() == [2, 2]
            assert tg.grad(tg.jit(sine_product))(np.ones(2)).tolist() == pytest.approx(
                [1.3817732906760363] * 2
            )
            return y.constant
        finally:
            checked.set()

    assert in_threads(work, 2) == [True, False]


def test_a_name_bound_anew_is_seen_by_all_threads():
    scale = 0.0
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x) * scale))
    for scale in (1.0, 2.0, 3.0):
        assert in_threads(lambda k: f(np.ones(k + 1))[0]) == [scale * (k + 1) for k in range(THREADS)]


def test_interpreters_that_start_and_end_threads():
    f = tg.grad(tg.jit(sine_product))
    results = []
    for k in range(40):
        thread = threading.Thread(target=lambda k=k: results.append(f(np.full(2, float(k)))))
        thread.start()
        thread.join()
    np.testing.assert_allclose([r[0] for r in results], expected(np.arange(40.0)), atol=1e-12)


# --- processes --------------------------------------------------------------------------------------------------

REPLAYED = tg.value_and_grad(tg.jit(sine_product))


def gradient_error(seed):
    """Replayed and eager gradients of small and large arrays against the formula."""
    worst = 0.0
    for size in (5, LARGE):
        x = np.random.default_rng(seed).normal(size=size)
        t = tg.tensor(x)
        sine_product(t).backward()
        for gradient in (REPLAYED(x)[1], t.grad):
            worst = max(worst, np.abs(gradient - expected(x)).max())
    return os.getpid(), worst


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_process_pools(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    assert gradient_error(0)[1] < 1e-10  # the parent has used its threads before it forks
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        results = list(pool.map(gradient_error, range(6), timeout=300))
    assert max(error for _, error in results) < 1e-10
    assert os.getpid() not in {pid for pid, _ in results}
    assert gradient_error(1)[1] < 1e-10


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork_from_a_process_with_busy_threads():
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork on this system")
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            gradient_error(3)

    threads = [threading.Thread(target=compute) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for seed in range(3):
            child = context.Process(target=gradient_error, args=(seed,))
            child.start()
            child.join(300)
            assert child.exitcode == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_process_ends_in_silence_whatever_lives():
    script = """
import threading, numpy as np, tapegrad as tg
f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x) * x)))
kept = [f(np.ones(3)), f(np.ones(60_000))]
x = tg.tensor(np.ones(4)); y = x * 2; z = y[1:]; z[0] = 3.0
leaked = []
g = tg.jit(lambda x: (leaked.append(x * 2), x)[1]); g(np.ones(2))
threading.Thread(target=f, args=(np.ones(60_000),)).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr
