"""Rate constants of a reaction, from concentrations over time: the parameters of a differential equation.

A catalyst C binds A and turns it into B, which decays (Michaelis and Menten's mechanism). The early times tell how
fast it binds, the late ones the rest. The equation is solved together with the derivatives of the concentrations by
the logarithms of the rates, the *sensitivities*, which obey a linear equation of their own (Hairer, Nørsett and Wanner,
*Solving Ordinary Differential Equations I*, 1993, section I.14). The right-hand side of both and its Jacobian are
compiled, and the whole solve is one op of a recorded function, which `tg.optimize.least_squares` then fits.
"""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad.examples.likelihood import Array, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH = {
    "log binding": np.log(30.0),
    "log release": np.log(5.0),
    "log turnover": np.log(4.0),
    "log decay": np.log(0.3),
}
SPECIES = ("A", "C", "AC", "B")
START = np.array([1.0, 0.3, 0.0, 0.0])
NOISE = 0.01
_SEEN = [0, 3]  # of A and B the concentrations are measured
_SIZE, _RATES = len(SPECIES), len(TRUTH)


def rates(t: Any, y: Any, p: Any) -> Any:
    """Compute the derivatives of the concentrations `y` by the time."""
    k = tg.exp(p)
    bound, released, turned, decayed = k[0] * y[0] * y[1], k[1] * y[2], k[2] * y[2], k[3] * y[3]
    net = bound - released
    return tg.stack([-net, turned - net, net - turned, turned - decayed])


def with_sensitivities(t: Any, u: Any, p: Any) -> Any:
    """Compute the derivatives by the time of concentrations and sensitivities, one after the other in `u`."""
    y, sensitivities = u[:_SIZE], tg.reshape(u[_SIZE:], (_SIZE, _RATES))
    by_y, by_p = tg.jacobian(rates, 1)(t, y, p), tg.jacobian(rates, 2)(t, y, p)
    return tg.concatenate([rates(t, y, p), tg.ravel(by_y @ sensitivities + by_p)])


compiled = tg.interop.ode(with_sensitivities, 0.0, np.ones(_SIZE * (1 + _RATES)), np.ones(_RATES))


@functools.lru_cache(maxsize=4)
def _solved(p: bytes, times: bytes) -> Array:
    """Concentrations and sensitivities at the times: an evaluation and its derivative need one solve."""
    from scipy.integrate import solve_ivp

    at, start = np.frombuffer(times), np.concatenate([START, np.zeros(_SIZE * _RATES)])
    found = solve_ivp(
        compiled,
        (0.0, at[-1]),
        start,
        "LSODA",
        at,
        args=(np.frombuffer(p),),
        jac=compiled.jac,
        rtol=1e-8,
        atol=1e-10,
    )
    if not found.success:
        raise ArithmeticError(f"the differential equation could not be solved: {found.message}")
    solution: Array = found.y.T
    return solution


def solution(p: Array, times: Array) -> Array:
    """Compute all concentrations at `times`: a row for each."""
    return _solved(p.tobytes(), times.tobytes())[:, :_SIZE].copy()


def sensitivities(p: Array, times: Array) -> Array:
    """Compute the derivatives of all concentrations at `times` by the parameters `p`."""
    return _solved(p.tobytes(), times.tobytes())[:, _SIZE:].reshape(len(times), _SIZE, _RATES)


concentrations = tg.custom_op("concentrations", solution)


@concentrations.define_vjp
def _cotangents(bar: Array, y: Array, p: Array, times: Array) -> tuple[Array, Array]:
    return np.tensordot(bar, sensitivities(p, times), 2), np.sum(bar * _by_time(y, p), axis=1)


@concentrations.define_jvp
def _tangent(dots: tuple[Array, Array], y: Array, p: Array, times: Array) -> Array:
    tangent: Array = sensitivities(p, times) @ dots[0] + _by_time(y, p) * dots[1][:, np.newaxis]
    return tangent


def _by_time(y: Array, p: Array) -> Array:
    slopes: Array = rates(0.0, y.T, p).data.T
    return slopes


def observe() -> tuple[Array, Array]:
    """Draw concentrations of A and B at 60 times, with noise."""
    times = np.geomspace(0.01, 8.0, 60)
    exact = solution(np.array(list(TRUTH.values())), times)[:, _SEEN]
    return times, exact + np.random.default_rng(1).normal(0.0, NOISE, exact.shape)


@tg.jit
def residuals(p: Any, times: Array, seen: Array) -> Any:
    """Compute how far the concentrations are from those that were seen, in units of the noise."""
    return (concentrations(p, times)[:, _SEEN] - seen) / NOISE


def fit(times: Array, seen: Array) -> Estimate:
    """Estimate the logarithms of the rates.

    Raises
    ------
    ArithmeticError
        If no minimum is found.
    """
    found = tg.optimize.least_squares(residuals, np.log([50.0, 10.0, 3.0, 1.0]), (times, seen), x_scale="jac")
    if not found.success:
        raise ArithmeticError(f"no minimum was found: {found.message}")
    return Estimate(found.x, np.linalg.inv(found.jac.T @ found.jac))


def draw(axes: "Axes", estimate: Estimate, times: Array, seen: Array) -> None:
    """Draw the measured concentrations and those that were fitted, with the ones that were not seen."""
    at = np.geomspace(0.005, times[-1], 400)
    fitted = solution(estimate.parameters, at)
    for k, name in enumerate(SPECIES):
        axes.plot(at, fitted[:, k], color=f"C{k}", label=name if k in _SEEN else f"{name}, not measured")
    for k, values in zip(_SEEN, seen.T, strict=True):
        axes.plot(times, values, "o", ms=3, color=f"C{k}")
    axes.set(
        xscale="log", xlabel="time", ylabel="concentration", title="Rates of a reaction, by sensitivities"
    )
    axes.legend()
