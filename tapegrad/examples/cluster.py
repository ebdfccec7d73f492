"""A fit with many local minima, begun from many starts, on the workers of a cluster.

Two damped oscillations are seen as their sum. The misfit has a local minimum for nearly each pair of frequencies, so
that the fit begins from hundreds of starts, and the best minimum counts. Each worker takes blocks of starts. With Dask
(``pip install 'tapegrad[dask]'``) the workers are those of a cluster: ``Client("scheduler:8786")``, in place of the
local one, reaches one that is running. Without it, they are processes of this machine.
"""

import functools
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad.examples.likelihood import Array, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH = {
    "first amplitude": 1.0,
    "first frequency": 2.3,
    "first decay": 0.25,
    "second amplitude": 0.6,
    "second frequency": 3.1,
    "second decay": 0.1,
}
NOISE = 0.15
STARTS = 400
_LOWER = np.array([0.0, 0.5, 0.01] * 2)
_UPPER = np.array([3.0, 8.0, 2.0] * 2)


def signal(p: Any, times: Array) -> Any:
    """Compute the sum of both oscillations."""
    first, second = (p[k] * tg.exp(-p[k + 2] * times) * tg.sin(2 * np.pi * p[k + 1] * times) for k in (0, 3))
    return first + second


def misfit(p: Any, times: Array, seen: Array) -> Any:
    """Compute the negative log-likelihood of the parameters `p`, up to a constant."""
    return 0.5 * tg.sum(((signal(p, times) - seen) / NOISE) ** 2)


def observe() -> tuple[Array, Array]:
    """Draw the signal at 120 times, with noise."""
    times = np.linspace(0.0, 6.0, 120)
    exact = signal(np.array(list(TRUTH.values())), times).data
    return times, exact + np.random.default_rng(2).normal(0.0, NOISE, exact.shape)


@contextmanager
def workers() -> Iterator[Any]:
    """Start workers for as long as they are needed, and give what `tg.optimize` takes as ``executor=``."""
    if find_spec("distributed") is None:
        # a function that makes executors: a pool that has lost a process takes no more work, and is made anew
        yield functools.partial(ProcessPoolExecutor, 2, multiprocessing.get_context("spawn"))
        return
    from distributed import Client  # noqa: PLC0415  an extra

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client.get_executor()  # Dask gives the blocks of a lost worker to others


def minimise(executor: Executor | Any, times: Array, seen: Array, count: int = STARTS) -> Any:
    """Minimise the misfit from so many starts; return the best result, with those of all starts."""
    starts = np.random.default_rng(0).uniform(_LOWER, _UPPER, (count, len(TRUTH)))
    bounds = list(zip(_LOWER, _UPPER, strict=True))
    options = {"bounds": bounds, "starts": starts, "executor": executor}
    return tg.optimize.minimize(misfit, None, (times, seen), "native", **options)


def fit(times: Array, seen: Array) -> Estimate:
    """Estimate the parameters, on a cluster."""
    with workers() as executor:
        best = minimise(executor, times, seen)
    return estimate_of(best.x, times, seen)


def estimate_of(p: Array, times: Array, seen: Array) -> Estimate:
    """Return the parameters, the louder oscillation first, with the covariance of their errors."""
    p = p if p[0] > p[3] else np.roll(p, 3)
    return Estimate(p, np.linalg.inv(tg.hessian(tg.jit(misfit))(p, times, seen)))


def draw(axes: "Axes", estimate: Estimate, times: Array, seen: Array) -> None:
    """Draw the signal that was seen, its fit, and the two oscillations."""
    at, p = np.linspace(times[0], times[-1], 800), estimate.parameters
    axes.plot(times, seen, "o", ms=3, color="black", label="observations")
    axes.plot(at, signal(p, at).data, label="best of the fits")
    for name, only, shift in (("first", [1, 1, 1, 0, 1, 1], -2.5), ("second", [0, 1, 1, 1, 1, 1], -4.0)):
        axes.plot(
            at, signal(p * np.array(only), at).data + shift, lw=0.8, label=f"{name} oscillation, shifted"
        )
    axes.set(xlabel="time", ylabel="signal", title=f"Two oscillations, from {STARTS} starts on a cluster")
    axes.legend(ncols=2, fontsize="small")
