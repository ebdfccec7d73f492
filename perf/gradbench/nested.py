"""The evals of derivatives inside of what is differentiated: `saddle` and `particle`.

Pearlmutter and Siskind (2008), "Using programming language theory to make automatic differentiation sound and
efficient". Both minimise by gradient descent, whose loop is differentiated like any other code; the outer derivative
and the inner one are taken forwards or backwards, which makes four functions of each.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import tapegrad as tg
from perf.gradbench.served import Served, array

MODES = {"f": tg.jacfwd, "r": tg.grad}
SMALL = 1e-5

Function = Callable[[Any], Any]


def _norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x))


def minimum(derive: Callable[[Function], Function], f: Function, start: Any) -> Any:
    """Descend until gradient or step is small.

    After ten steps with one rate it is doubled; it is halved where `f` does not become less.
    """
    slope = derive(f)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, value, gradient, rate, steps, _ = state
        doubles, moved = steps == 10, x - rate * gradient
        ends = (_norm(gradient) <= SMALL) | (~doubles & (_norm(x - moved) <= SMALL))
        next_value = f(moved)
        better = ~ends & ~doubles & (next_value < value)
        rate = np.where(doubles, 2 * rate, np.where(better, rate, rate / 2))
        return (
            np.where(better, moved, x),
            np.where(better, next_value, value),
            np.where(better, slope(moved), gradient),
            rate,
            np.where(better, steps + 1, 0.0),
            np.where(ends, 0.0, 1.0),
        )

    begin = (start, f(start), slope(start), SMALL, 0.0, 1.0)
    return tg.while_loop(lambda state: state[-1] > 0, step, begin)[0]


def maximum(derive: Callable[[Function], Function], f: Function, start: Any) -> Any:
    return minimum(derive, lambda x: -f(x), start)


def saddle(outer: Any, inner: Any, start: Any) -> Any:
    """Minimise by x what is largest in y; both points."""

    def f(x: Any, y: Any) -> Any:
        return np.sum(x**2) - np.sum(y**2)

    def largest(x: Any) -> Any:
        return f(x, maximum(inner, lambda y: f(x, y), start))

    x = minimum(outer, largest, start)
    return np.concatenate([x, maximum(outer, lambda y: f(x, y), start)])


def landing(derive: Any, w: Any) -> Any:
    """Square of the place where a charged particle comes to the axis; Euler's steps, then a straight line."""

    def potential(x: Any) -> Any:
        far = np.stack([10.0 + 0.0 * w, 10.0 - w])
        return 1 / _norm(x - far) + 1 / _norm(x - np.array([10.0, 0.0]))

    force, h = derive(potential), 0.1
    x, v = tg.while_loop(
        lambda state: state[0][1] + h * state[1][1] > 0,
        lambda state: (state[0] + h * state[1], state[1] - h * force(state[0])),
        (np.array([0.0, 8.0]), np.array([0.75, 0.0])),
    )
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def particle(outer: Any, inner: Any, w: Any) -> Any:
    """Find the control with which a particle lands at the origin."""
    return minimum(outer, lambda w: landing(inner, w[0]), w)[0]


def _four(solve: Callable[..., Any], prepare: Callable[..., tuple[Any, ...]]) -> dict[str, Served]:
    return {
        outer + inner: Served(tg.jit(lambda x, o=MODES[outer], i=MODES[inner]: solve(o, i, x)), prepare)
        for outer, inner in product(MODES, MODES)
    }


SADDLE = _four(saddle, lambda given: (array(given["start"]),))
PARTICLE = _four(particle, lambda given: (array([given["w"]]),))
