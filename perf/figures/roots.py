"""Roots of equations: value and gradient by the implicit function theorem, beside optimistix's."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from perf.figures.base import Figure, Outcome, Settings, times_faster
from perf.peers import Unavailable, tapegrad
from perf.peers.base import jax, load
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, race

UNKNOWNS = 10
TOLERANCE = 1e-10  # of the answers
FASTER = 1 / 0.3  # times, than optimistix's
MIXING = np.random.default_rng(0).normal(size=(UNKNOWNS, UNKNOWNS)) / 10
PARAMETERS = np.random.default_rng(1).normal(size=UNKNOWNS)


def _equations(xp: Any, x: Any, p: Any) -> Any:
    return x + xp.tanh(MIXING @ x) - p


def _ours(tg: Any, p: Any) -> Any:
    found = tg.optimize.root(partial(_equations, tg), np.zeros(UNKNOWNS), (p,), method="newton")
    return tg.sum(found.x**2)


def _by_optimistix() -> Callable[[], Any]:
    """Return a call that computes value and gradient by optimistix, with its rule for implicit derivatives."""
    rival, xp, optimistix = jax(), load("jax.numpy"), load("optimistix")
    solver = optimistix.Newton(rtol=1e-8, atol=1e-8)

    def total(p: Any) -> Any:
        found = optimistix.root_find(partial(_equations, xp), solver, xp.zeros(UNKNOWNS), p)
        return xp.sum(found.value**2)

    run = rival.jit(rival.value_and_grad(total))
    return lambda: tuple(map(np.asarray, run(PARAMETERS)))


def _reference() -> Answer:
    """Return value and gradient by SciPy and a linear system."""
    x = optimize.root(partial(_equations, np), np.zeros(UNKNOWNS), (PARAMETERS,), tol=1e-14).x
    jacobian = np.eye(UNKNOWNS) + (1 - np.tanh(MIXING @ x) ** 2)[:, None] * MIXING
    return float(np.sum(x**2)), np.linalg.solve(jacobian.T, 2 * x)


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, whole = tapegrad(), _reference()
    gradient = tg.value_and_grad(tg.jit(partial(_ours, tg)))
    contenders = [Contender("tapegrad, Newton, value and gradient", partial(gradient, PARAMETERS))]
    notes = []
    try:
        if {"jax", "optimistix"} & settings.without:
            raise Unavailable("left out on request")
        contenders.append(Contender("optimistix, Newton, value and gradient", _by_optimistix()))
    except Unavailable as reason:
        notes.append(f"optimistix: {reason}")
    timings = race(contenders, [whole] * len(contenders), settings.budget, TOLERANCE)
    return Outcome(times_faster(contenders[0].name, [("optimistix", FASTER)], timings), timings, notes)


ROOTS = (Figure("root", "Root of 10 equations by Newton's method, gradient by 10 parameters", _measure),)
