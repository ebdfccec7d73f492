"""Times of gradient and Hessian-vector product by both libraries, in turns, every answer checked."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import tapegrad as tg
from perf.cutest.answers import ByTapegrad, Directions
from perf.cutest.problem import Problem
from perf.peers import load
from perf.peers.base import one
from tapegrad.testing.timer import Budget, Contender, race

BUDGET = Budget(batch=0.002, contender=0.08, rounds=(5, 25))
QUANTITIES = ("gradient", "Hessian product")
FIRST = "first gradient"  # CPU seconds to it
COMPILED, REPLAYED, JAX, ON_DEVICE = "tapegrad compiled", "tapegrad replayed", "JAX", "JAX on its device"


def times(ours: Problem, theirs: Problem, at: Directions, answers: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return seconds of a call by quantity and contender, and CPU seconds to each library's first gradient."""
    first = {
        REPLAYED: _first(lambda: tg.grad(tg.jit(ours.objective))(at.start)),
        JAX: _first(lambda: np.asarray(load("jax").jit(load("jax").grad(theirs.objective))(at.start))),
    }
    medians = {}
    for quantity in QUANTITIES:
        contenders = [*_by_tapegrad(quantity, ours, at), *_by_jax(quantity, theirs, at)]
        timings = race(contenders, (answers[quantity],), BUDGET)
        medians[quantity] = {timing.name: timing.median for timing in timings}
    return {FIRST: first, **medians}


def _first(call: Callable[[], Any]) -> float:
    began = process_time()
    call()
    return process_time() - began


def _by_tapegrad(quantity: str, problem: Problem, at: Directions) -> list[Contender]:
    """Return one that is compiled, and as JAX's looks at nothing but its arguments, and one that is replayed."""
    found = ByTapegrad(problem, at, fuse=True)
    function: Any = tg.grad(found.objective)
    given: tuple[np.ndarray, ...] = (at.start,)
    if quantity != "gradient":
        function, given = tg.hvp(found.lagrangian), (at.start, at.vector)
    compiled = tg.compile(function, given)
    return [
        Contender(COMPILED, lambda: compiled(*given), one),
        Contender(REPLAYED, lambda: function(*given), one),
    ]


def _by_jax(quantity: str, problem: Problem, at: Directions) -> list[Contender]:
    """Return one that is called with NumPy's arrays and makes them of its results, and one on its own arrays."""
    jax = load("jax")
    given: tuple[np.ndarray, ...] = (at.start,)
    if quantity == "gradient":
        compiled = jax.jit(jax.grad(problem.objective))
    else:
        slope, given = jax.grad(lambda y: problem.lagrangian(y, at.multipliers)), (at.start, at.vector)
        compiled = jax.jit(lambda y, vector: jax.jvp(slope, (y,), (vector,))[1])
    placed = [jax.device_put(each) for each in given]
    return [
        Contender(JAX, lambda: np.asarray(compiled(*given)), one),
        Contender(ON_DEVICE, lambda: jax.block_until_ready(compiled(*placed)), one),
    ]
