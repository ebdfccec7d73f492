"""Ipopt on a problem of Luksan and Vlcek's, by ipyopt, beside CasADi with its own Ipopt: preparation, and whole solves.

Both have the same options and take the same iterations; linear algebra is that of either package.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load, tapegrad
from perf.timer import Contender, race

_N = 1000
_OPTIMUM = 6.232458632438  # of problem 1 of Luksan and Vlcek, Technical Report 767 (Prague, 1999)


def _objective(x: Any, square: Callable[[Any], Any]) -> Any:
    return square(10 * (x[:-1] ** 2 - x[1:])) + square(x[:-1] - 1)


def _constraints(x: Any, names: Any) -> Any:
    a, b, c = x[:-2], x[1:-1], x[2:]
    return 3 * b**3 + 2 * c - 5 + names.sin(b - c) * names.sin(b + c) + 4 * b - a * names.exp(a - b) - 3


def _start() -> Any:
    return np.where(np.arange(_N) % 2 == 0, -1.2, 1.0)


def _own() -> Any:
    """Prepare the problem: new functions, so that no recordings are shared."""
    found = tapegrad().optimize.problem(
        lambda x: _objective(x, lambda y: np.sum(y**2)), _start(), lambda x: _constraints(x, np)
    )
    found.objective(_start()), found.gradient(_start()), found.constraints(_start())
    found.jacobianstructure(), found.hessianstructure()
    return found


def _peer(casadi: Any) -> Any:
    x = casadi.SX.sym("x", _N)
    functions = {"x": x, "f": _objective(x, casadi.sumsqr), "g": _constraints(x, casadi)}
    return casadi.nlpsol(
        "solver", "ipopt", functions, {"ipopt": {"print_level": 0, "sb": "yes"}, "print_time": False}
    )


def _measure(settings: Settings) -> Outcome:
    if settings.without & {"tapegrad", "casadi", "ipyopt"}:
        raise Unavailable("tapegrad, CasADi or ipyopt is left out")
    casadi, _ = load("casadi"), load("ipyopt")
    own, peer, start = _own(), _peer(casadi), _start()
    solves = [
        Contender("solve", partial(own.solve, progress=False), lambda found: (found.fun,)),
        Contender("solve, CasADi", lambda: peer(x0=start, lbg=0, ubg=0), lambda found: (float(found["f"]),)),
    ]
    preparations = [
        Contender("prepare", _own, lambda _: (_OPTIMUM,)),
        Contender("prepare, CasADi", partial(_peer, casadi), lambda _: (_OPTIMUM,)),
    ]
    timings = race(solves, (np.float64(_OPTIMUM),), settings.budget)
    timings += race(preparations, (np.float64(_OPTIMUM),), settings.budget)
    medians = {timing.name: timing.median for timing in timings}
    targets = [
        Target(f"{name}, of CasADi", medians[name] / medians[f"{name}, CasADi"], limit, "x")
        for name, limit in (("solve", 0.8), ("prepare", 0.1))
    ]
    return Outcome(targets, timings)


INTERIOR_POINTS = (
    Figure("sparse-ipopt", f"Ipopt on Luksan and Vlcek's problem 1, {_N:,} variables", _measure),
)
