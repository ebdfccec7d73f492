"""Answers of both libraries at the start of a problem, quantity by quantity."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

import tapegrad as tg
from perf.cutest.problem import Problem
from perf.peers import load

LIMIT = 15.0  # CPU seconds for one quantity
LARGEST = 1_000_000  # entries of a sparse matrix that is computed


class TooLong(Exception):
    """One quantity takes longer than the limit, or more memory."""


@dataclass(frozen=True)
class Directions:
    """What derivatives are multiplied by: a vector of the variables', and a multiplier for each constraint."""

    start: np.ndarray
    vector: np.ndarray
    multipliers: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "Directions":
        """Draw directions for a problem."""
        rng, start = np.random.default_rng(0), problem.start
        count = problem.constraints(problem.library.asarray(start)).size if problem.constrained else 0
        return cls(start, rng.standard_normal(start.size), rng.standard_normal(count))


class ByTapegrad:
    """Quantities of a problem by tapegrad, each a call."""

    def __init__(self, problem: Problem, at: Directions, fuse: bool) -> None:
        self._problem, self._at = problem, at
        self._jit = partial(tg.jit, fuse=fuse)

    @cached_property
    def objective(self) -> Any:
        return self._jit(self._problem.objective)

    @cached_property
    def constraints(self) -> Any:
        return self._jit(self._problem.constraints)

    @cached_property
    def lagrangian(self) -> Any:
        """The objective, or the Lagrangian with fixed multipliers."""
        problem, multipliers = self._problem, self._at.multipliers
        return self._jit(lambda y: problem.lagrangian(y, multipliers)) if multipliers.size else self.objective

    def calls(self) -> dict[str, Callable[[], Any]]:
        """Return calls by the names of quantities."""
        start, vector, multipliers = self._at.start, self._at.vector, self._at.multipliers
        objective = {
            "objective": lambda: self.objective(start),
            "gradient": lambda: tg.grad(self.objective)(start),
            "Hessian product": lambda: tg.hvp(self.lagrangian)(start, vector),
            "sparse Hessian": lambda: self._matrix(tg.hessian(self.lagrangian, sparse=True)) @ vector,
        }
        constraints = {
            "constraints": lambda: self.constraints(start),
            "Jacobian product": lambda: tg.jvp(self.constraints, (start,), (vector,))[1],
            "transposed product": lambda: tg.vjp(self.constraints, start)[1](multipliers)[0],
            "sparse Jacobian": lambda: self._jacobian @ vector,
            "transposed sparse Jacobian": lambda: multipliers @ self._jacobian,
        }
        return objective | (constraints if multipliers.size else {})

    @cached_property
    def _jacobian(self) -> Any:
        return self._matrix(tg.jacobian(self.constraints, sparse=True))

    def _matrix(self, function: Any) -> Any:
        entries = function.pattern(self._at.start).nnz
        if entries > LARGEST:
            raise TooLong(f"{entries:,} entries")
        return function(self._at.start)


def by_jax(problem: Problem, at: Directions) -> dict[str, np.ndarray]:
    """Return the quantities by JAX, all compiled together."""
    jax = load("jax")

    def all_of_them(start: Any, vector: Any, multipliers: Any) -> dict[str, Any]:
        value, gradient = jax.value_and_grad(problem.objective)(start)
        slope = jax.grad(lambda y: problem.lagrangian(y, multipliers))
        product = jax.jvp(slope, (start,), (vector,))[1]
        found = {"objective": value, "gradient": gradient}
        found |= dict.fromkeys(("Hessian product", "sparse Hessian"), product)
        if multipliers.size:
            found["constraints"], forward = jax.jvp(problem.constraints, (start,), (vector,))
            backward = jax.vjp(problem.constraints, start)[1](multipliers)[0]
            found |= dict.fromkeys(("Jacobian product", "sparse Jacobian"), forward)
            found |= dict.fromkeys(("transposed product", "transposed sparse Jacobian"), backward)
        return found

    found = jax.jit(all_of_them)(at.start, at.vector, at.multipliers)
    return {name: np.asarray(each) for name, each in found.items()}


def values_of(calls: dict[str, Callable[[], Any]]) -> dict[str, np.ndarray | str]:
    """Return what each call gives, or in words why it gives nothing."""
    found: dict[str, np.ndarray | str] = {}
    for name, call in calls.items():
        try:
            with limited(LIMIT):
                found[name] = np.asarray(call())
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def distance(got: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference of two arrays, in parts of the largest element; of NaN beside a number, NaN."""
    if got.shape != wanted.shape:
        raise ValueError(f"shape {got.shape} in place of {wanted.shape}")
    with np.errstate(invalid="ignore"):
        differ = ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))
        if not differ.any():
            return 0.0
        return float(np.max(np.abs(got - wanted)[differ]) / max(np.max(np.abs(wanted)), 1e-300))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in a block that takes longer."""

    def stop(*_: object) -> None:
        raise TooLong(f"more than {seconds:.0f} s of CPU")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
