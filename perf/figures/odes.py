"""Differential equations: value and gradient by adaptive solvers, beside diffrax's, and SciPy's for the value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate, sparse

from perf.figures.base import Figure, Outcome, Settings, times_faster
from perf.peers import Unavailable, tapegrad
from perf.peers.base import jax, load
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, race

TOLERANCE = 1e-4  # of the answers, which are as exact as the solvers were asked to be


def _lotka(t: Any, u: Any, p: Any) -> list[Any]:
    return [p[0] * u[0] - p[1] * u[0] * u[1], p[3] * u[0] * u[1] - p[2] * u[1]]


def _lotka_by(u: Any, p: Any) -> tuple[Any, Any]:
    by_state = [[p[0] - p[1] * u[1], -p[1] * u[0]], [p[3] * u[1], p[3] * u[0] - p[2]]]
    return by_state, [[u[0], -u[0] * u[1], 0, 0], [0, 0, -u[1], u[0] * u[1]]]


def _robertson(t: Any, u: Any, p: Any) -> list[Any]:
    made, lost, last = 0.04 * p[0] * u[0], 1e4 * p[2] * u[1] * u[2], 3e7 * p[1] * u[1] ** 2
    return [lost - made, made - lost - last, last]


def _robertson_by(u: Any, p: Any) -> tuple[Any, Any]:
    k, q, r = 0.04 * p[0], 3e7 * p[1], 1e4 * p[2]
    by_state = [[-k, r * u[2], r * u[1]], [k, -r * u[2] - 2 * q * u[1], -r * u[1]], [0, 2 * q * u[1], 0]]
    made, lost, last = 0.04 * u[0], 1e4 * u[1] * u[2], 3e7 * u[1] ** 2
    return by_state, [[-made, 0, lost], [made, -last, -lost], [0, last, 0]]


def _ladder(t: Any, u: Any, p: Any) -> list[Any]:
    return [-1j * p[0] * u[1], -1j * (p[0] * u[0] + p[2] * u[1] + p[1] * u[2]), -1j * p[1] * u[1]]


def _ladder_by(u: Any, p: Any) -> tuple[Any, Any]:
    energies = [[0, p[0], 0], [p[0], p[2], p[1]], [0, p[1], 0]]
    return -1j * np.array(energies), -1j * np.array([[u[1], 0, 0], [u[0], u[2], u[1]], [0, u[1], 0]])


@dataclass(frozen=True)
class Problem:
    """Initial value problem, and the sum of two states' real parts over the outputs as a function of parameters.

    Attributes
    ----------
    slope, by
        Right side, and its derivatives by state and parameters.
    start, parameters, times
        First state, parameters and times of the outputs, from 0.
    rtol, atol
        Tolerances.
    methods, rival, solver
        Methods of ours, SciPy's and diffrax's.
    faster
        How many times faster than diffrax and SciPy the first of ours is to be.
    """

    slope: Callable[..., list[Any]]
    by: Callable[..., tuple[Any, Any]]
    start: Sequence[complex]
    parameters: np.ndarray
    times: np.ndarray
    rtol: float
    atol: float
    methods: Sequence[str]
    rival: str
    solver: str
    faster: Mapping[str, float]

    def ours(self, tg: Any, method: str, p: Any) -> Any:
        """Return that sum by a method of ours."""
        span = (0.0, float(self.times[-1]))
        start = np.array(self.start)
        found = tg.integrate.solve_ivp(
            self.slope, span, start, method, self.times, args=(p,), rtol=self.rtol, atol=self.atol
        )
        return tg.sum(found.y[:2].real)

    def by_scipy(self) -> float:
        """Return that sum by SciPy."""
        found = integrate.solve_ivp(
            self.slope, (0.0, self.times[-1]), self.start, self.rival, self.times, args=(self.parameters,),
            rtol=self.rtol, atol=self.atol,
        )  # fmt: skip
        return float(np.sum(found.y[:2].real))

    def by_diffrax(self) -> Callable[[], Any]:
        """Return a call that computes value and gradient by diffrax, with its adjoint by default."""
        rival, xp, diffrax = jax(), load("jax.numpy"), load("diffrax")
        controller = diffrax.PIDController(rtol=self.rtol, atol=self.atol)
        term = diffrax.ODETerm(lambda t, u, p: xp.stack(self.slope(t, u, p)))
        saved, start = diffrax.SaveAt(ts=xp.array(self.times)), xp.array(self.start)

        def total(p: Any) -> Any:
            found = diffrax.diffeqsolve(
                term, getattr(diffrax, self.solver)(), 0.0, float(self.times[-1]), None, start, p,
                saveat=saved, stepsize_controller=controller, max_steps=16384,
            )  # fmt: skip
            return xp.sum(found.ys[:, :2].real)

        run = rival.jit(rival.value_and_grad(total))
        return lambda: tuple(map(np.asarray, run(self.parameters)))

    def reference(self) -> Answer:
        """Return value and gradient by the equation with sensitivities, at a thousandth of the tolerance."""
        n, count = len(self.start), len(self.parameters)

        def with_sensitivities(t: float, z: np.ndarray) -> np.ndarray:
            by_state, direct = self.by(z[:n], self.parameters)
            slopes = np.array(by_state) @ z[n:].reshape(n, count) + np.array(direct)
            return np.concatenate([self.slope(t, z[:n], self.parameters), slopes.ravel()])

        begin = np.concatenate([self.start, np.zeros(n * count)])
        method = "Radau" if self.rival == "Radau" else "DOP853"
        found = integrate.solve_ivp(
            with_sensitivities, (0.0, self.times[-1]), begin, method, self.times, rtol=1e-9, atol=1e-13
        )
        sensitivities = found.y[n:].reshape(n, count, -1)
        return float(np.sum(found.y[:2].real)), np.sum(sensitivities[:2].real, axis=(0, 2))


LOTKA = Problem(
    _lotka, _lotka_by, (1.0, 1.0), np.array([1.5, 1.0, 3.0, 1.0]), np.linspace(0.0, 10.0, 11), 1e-6, 1e-6,
    ("RK45",), "RK45", "Tsit5", {"diffrax": 50, "SciPy": 10},
)  # fmt: skip
ROBERTSON = Problem(
    _robertson, _robertson_by, (1.0, 0.0, 0.0), np.ones(3), np.array([0.4, 4.0, 40.0, 400.0, 4e3, 4e4]), 1e-6, 1e-9,
    ("Rodas5P", "Radau"), "Radau", "Kvaerno5", {"diffrax": 100, "SciPy": 10},
)  # fmt: skip
LADDER = Problem(
    _ladder, _ladder_by, (1.0 + 0j, 0j, 0j), np.array([1.5, 1.0, 0.5]), np.linspace(0.0, 10.0, 11), 1e-6, 1e-6,
    ("RK45",), "RK45", "Tsit5", {},
)  # fmt: skip


def _measure(problem: Problem, settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, p, contenders, answers = tapegrad(), problem.parameters, [], []
    whole = problem.reference()
    for method in problem.methods:
        value = tg.jit(partial(problem.ours, tg, method))
        gradient = tg.value_and_grad(value)
        contenders += [
            Contender(f"tapegrad, {method}, value and gradient", partial(gradient, p)),
            Contender(f"tapegrad, {method}, value", partial(value, p), lambda found: (found,)),
        ]
        answers += [whole, whole[:1]]
    contenders.append(Contender("SciPy, value", problem.by_scipy, lambda found: (found,)))
    answers.append(whole[:1])
    notes = []
    try:
        if {"jax", "diffrax"} & settings.without:
            raise Unavailable("left out on request")
        contenders.append(Contender(f"diffrax, {problem.solver}, value and gradient", problem.by_diffrax()))
        answers.append(whole)
    except Unavailable as reason:
        notes.append(f"diffrax: {reason}")
    timings = race(contenders, answers, settings.budget, TOLERANCE)
    own = contenders[0].name
    targets = times_faster(own, problem.faster.items(), timings)
    return Outcome(targets, timings, notes)


_POINTS, _END = 1000, 0.1
_START = np.sin(np.pi * np.arange(1, _POINTS + 1) / (_POINTS + 1))


def _diffusion(t: Any, u: Any, rate: Any) -> Any:
    whole = np.concatenate([[0.0], u, [0.0]])
    return rate * (whole[2:] - 2 * whole[1:-1] + whole[:-2]) * (_POINTS + 1) ** 2


def _measure_diffusion(settings: Settings) -> Outcome:
    """Race the solvers of a line of points, whose states decay by a known factor."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, options = tapegrad(), {"rtol": 1e-6, "atol": 1e-9}
    slope = -4 * np.sin(np.pi / (2 * (_POINTS + 1))) ** 2 * (_POINTS + 1) ** 2 * _END
    value = np.sum(_START) * np.exp(slope)
    sparsity = sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(_POINTS, _POINTS))

    def total(solve: Any, method: str, rate: Any, **others: Any) -> Any:
        found = solve(_diffusion, (0, _END), _START, method, [_END], args=(rate,), **options, **others)
        return np.sum(found.y)

    contenders, answers = [], []
    for method in ("Radau", "Rodas5P"):
        f = tg.jit(partial(total, tg.integrate.solve_ivp, method))
        contenders.append(Contender(f"tapegrad, {method}, value", partial(f, 1.0), lambda found: (found,)))
        contenders.append(
            Contender(f"tapegrad, {method}, value and gradient", partial(tg.value_and_grad(f), 1.0))
        )
        answers += [(value,), (value, slope * value)]
    by_scipy = partial(total, integrate.solve_ivp, "Radau", 1.0, jac_sparsity=sparsity)
    contenders.append(Contender("SciPy, Radau with jac_sparsity, value", by_scipy, lambda found: (found,)))
    answers.append((value,))
    timings = race(contenders, answers, settings.budget, TOLERANCE)
    return Outcome(times_faster(contenders[0].name, [("SciPy", 1.5)], timings), timings)


ODES = (
    Figure("ode", "Lotka-Volterra by solve_ivp, RK45, rtol 1e-6, 11 outputs", partial(_measure, LOTKA)),
    Figure("stiff", "Robertson by solve_ivp, stiff, rtol 1e-6, 6 outputs", partial(_measure, ROBERTSON)),
    Figure(
        "ode-complex",
        "A ladder of three levels by solve_ivp, RK45, rtol 1e-6, 11 outputs of complex numbers",
        partial(_measure, LADDER),
    ),
    Figure(
        "ode-diffusion", f"Diffusion along {_POINTS:,} points by solve_ivp, rtol 1e-6", _measure_diffusion
    ),
)
