"""Time series: loops, hidden states, and differential equations."""

from typing import Any

import numpy as np

from perf.posteriors.densities import cauchy, log_normal, normal
from perf.posteriors.model import Model
from perf.posteriors.transforms import Positive, PositiveOrdered, Real, Simplex, UnitInterval

# Of solutions; Stan's are 1e-5 and 1e-3, with 500 steps at most, for one of them, and its own for the other.
OPTIONS = {"rtol": 1e-6, "atol": 1e-6, "max_steps": 500}


def garch(data: dict[str, Any]) -> Model:
    """GARCH(1, 1) (Bollerslev 1986); `beta1` is a share of what `alpha1` leaves of 1."""
    y, first = data["y"], data["sigma1"] ** 2

    def derived(xp: Any, p: Any) -> Any:
        return {"beta1": (1 - p["alpha1"]) * p["share"]}

    def density(xp: Any, p: Any) -> Any:
        beta, centred = derived(xp, p)["beta1"], y - p["mu"]

        def step(variance: Any, square: Any) -> Any:
            variance = p["alpha0"] + p["alpha1"] * square + beta * variance
            return variance, variance

        squares = centred**2
        _, later = xp.scan(step, first, squares[:-1])
        variances = xp.concatenate([[first], later])
        return -0.5 * xp.sum(squares / variances + xp.log(variances))

    transforms = {"mu": Real(), "alpha0": Positive(), "alpha1": UnitInterval(), "share": UnitInterval()}
    return Model(transforms, density, derived, lambda xp, p: xp.log(1 - p["alpha1"]))


# --- two hidden states -----------------------------------------------------------------------------------------------


def _forward(xp: Any, first: Any, second: Any, rows: Any) -> Any:
    """Return the log probability of a series over its paths of two states.

    `first` and `second` are the log densities of each value in the two states, `rows` the transition probabilities.
    The recursion has the share of the second state in place of logarithms; each step gives the factor that it is
    divided by.
    """
    likelier = xp.sigmoid(second - first)  # share of the second state by one value alone
    to_first, to_second = ([row[k] for row in rows] for k in range(2))

    def step(share: Any, weight: Any) -> Any:
        at_first = ((1 - share) * to_first[0] + share * to_first[1]) * (1 - weight)
        at_second = ((1 - share) * to_second[0] + share * to_second[1]) * weight
        return at_second / (at_first + at_second), at_first + at_second

    _, factors = xp.scan(step, likelier[0], likelier[1:])
    return xp.sum(xp.logaddexp(first, second)) + xp.sum(xp.log(factors))


def hmm_example(data: dict[str, Any]) -> Model:
    """Hidden Markov model of two states with normal values."""
    y = data["y"]

    def density(xp: Any, p: Any) -> Any:
        values = [-0.5 * (y - p["mu"][k]) ** 2 for k in range(2)]
        rows = p["theta1"], p["theta2"]
        return normal(xp, p["mu"], np.array([3.0, 10.0])) + _forward(xp, values[0], values[1], rows)

    return Model({"mu": PositiveOrdered((2,)), "theta1": Simplex((1,)), "theta2": Simplex((1,))}, density)


def hmm_drive(data: dict[str, Any]) -> Model:
    """Drives to a basket: a hidden Markov model of two states with two exponential values."""
    u, v, prior = data["u"], data["v"], data["alpha"] - 1

    def density(xp: Any, p: Any) -> Any:
        phi, rate, rows = p["phi"], p["lambda"], (p["theta1"], p["theta2"])
        values = [xp.log(phi[k]) + xp.log(rate[k]) - phi[k] * u - rate[k] * v for k in range(2)]
        priors = normal(xp, phi, np.array([0.0, 3.0])) + normal(xp, rate, np.array([0.0, 3.0]))
        priors = priors + sum(xp.sum(a * xp.log(row)) for a, row in zip(prior, rows, strict=True))
        return priors + _forward(xp, values[0], values[1], rows)

    pairs = dict.fromkeys(("phi", "lambda"), PositiveOrdered((2,)))
    return Model(pairs | dict.fromkeys(("theta1", "theta2"), Simplex((1,))), density)


# --- differential equations ------------------------------------------------------------------------------------------


def lotka_volterra(data: dict[str, Any]) -> Model:
    """Pelts of hares and lynxes (Hewitt 1921) by the equations of Lotka and Volterra."""
    times, seen = np.concatenate([[0.0], data["ts"]]), np.log(np.vstack([data["y_init"], data["y"]]).T)
    means, sds = np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])

    def rates(t: Any, z: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return [(a - b * z[1]) * z[0], (d * z[0] - c) * z[1]]

    def density(xp: Any, p: Any) -> Any:
        theta, first, sigma = p["theta"], p["z_init"], p["sigma"]
        constants = tuple(theta[k] for k in range(4))
        found = xp.integrate.solve_ivp(
            rates, (0.0, times[-1]), first, "DOP853", times, args=constants, **OPTIONS
        )
        prior = normal(xp, theta, means, sds) + log_normal(xp, xp.log(sigma), -1.0, 1.0)
        prior = prior + log_normal(xp, xp.log(first), np.log(10), 1.0)
        fits = [normal(xp, seen[k], xp.log(found.y[k]), sigma[k]) for k in range(2)]
        return prior + fits[0] + fits[1]

    transforms = {"theta": Positive((4,)), "z_init": Positive((2,)), "sigma": Positive((2,))}
    about = {"theta": np.log(means), "z_init": np.log([10.0, 10.0])}
    return Model(transforms, density, error=1e-3, about=about)


def one_compartment(data: dict[str, Any]) -> Model:
    """Concentration of a drug that is absorbed, and eliminated by the law of Michaelis and Menten."""
    times, seen, volume = data["times"], np.log(data["C_hat"]), data["V"]

    def rates(t: Any, y: Any, xp: Any, absorbed: Any, half: Any, fastest: Any) -> Any:
        dose = xp.exp(-absorbed * t) * data["D"] * absorbed
        return [(dose - fastest * y[0] / (half + y[0])) / volume]

    def density(xp: Any, p: Any) -> Any:
        constants = p["k_a"], p["K_m"], p["V_m"]
        found = xp.integrate.solve_ivp(
            lambda t, y, *args: rates(t, y, xp, *args), (data["t0"], times[-1]), np.zeros(1), "DOP853", times,
            args=constants, **OPTIONS,
        )  # fmt: skip
        prior = sum(cauchy(xp, each, 1.0) for each in (*constants, p["sigma"]))
        return prior + normal(xp, seen, xp.log(found.y[0]), p["sigma"])

    return Model(dict.fromkeys(("k_a", "K_m", "V_m", "sigma"), Positive()), density, error=1e-3)
