"""How often `check_grads` errs: tables of right and of wrong functions, each with several seeds.

No wrong function may pass, and no right one may be called wrong. Where the numbers cannot tell, it says so: that is no
error, but of the long tables they must tell. ``python tests/testing/test_check_grads_rates.py SEEDS`` prints the rates.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tapegrad as tg
from helpers.daily import daily, drawn, share

A = np.random.default_rng(5).normal(size=(4, 4))
B = A @ A.T + np.eye(4)
V = np.array([0.7, -1.3, 0.4, 2.1])
LONG = np.random.default_rng(6).normal(size=60)


class Unsteady(NamedTuple):
    """A function with noise that differs at each call, from a generator that each check seeds anew."""

    function: Callable[[Any, np.random.Generator], Any]

    def seeded(self, seed: int) -> Callable[[Any], Any]:
        rng = np.random.default_rng(seed)
        return lambda x: self.function(x, rng)


def verdict(function: Any, args: Any, seed: int, **options: Any) -> str:
    """What `check_grads` says."""
    if isinstance(function, Unsteady):
        function = function.seeded(seed)
    try:
        tg.check_grads(function, args, seed=seed, **options)
    except AssertionError:
        return "wrong"
    except tg.InconclusiveError:
        return "cannot tell"
    return "right"


# --- what functions are made of ---------------------------------------------------------------------------------


def op(
    forward: Callable[..., Any], jacobian: Callable[..., Any], reverse: Callable[..., Any] | None = None
) -> Any:
    """An op of one vector by its Jacobian, and by that which reverse mode takes for it."""
    reverse = reverse or jacobian
    return tg.custom_op(
        "op", forward, lambda y_bar, y, x: reverse(x).T @ y_bar, lambda x_dots, y, x: jacobian(x) @ x_dots[0]
    )


def diagonal(forward: Callable[..., Any], slope: Callable[..., Any]) -> Any:
    """An op that works by elements."""
    return tg.custom_op(
        "op", forward, lambda y_bar, y, x: slope(x) * y_bar, lambda x_dots, y, x: slope(x) * x_dots[0]
    )


def hashed(x: Any) -> Any:
    """Noise between -1 and 1: a function of the bits of x that jumps from each number to the next."""
    bits = np.ascontiguousarray(x, np.float64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (bits >> np.uint64(11)) / 2.0**52 - 1


def noisy(amplitude: float, factor: float = 1.0) -> Any:
    """The sine with noise, with a derivative that is off by a factor."""
    return diagonal(lambda x: np.sin(x) + amplitude * hashed(x), lambda x: factor * np.cos(x))


def rates_of(t: float, u: Any, p: Any) -> Any:
    return np.array([p[0] * u[0] - u[0] * u[1], u[0] * u[1] - p[1] * u[1]])


def with_sensitivities(t: float, both: Any, p: Any) -> Any:
    u, s = both[:2], both[2:].reshape(2, 2)
    by_u = np.array([[p[0] - u[1], -u[0]], [u[1], u[0] - p[1]]])
    by_p = np.array([[u[0], 0.0], [0.0, -u[1]]])
    return np.concatenate([rates_of(t, u, p), (by_u @ s + by_p).ravel()])


def solve(method: str, rtol: float, factor: float = 1.0, sign: float = 1.0) -> Any:
    """Lotka and Volterra's equations, solved to a tolerance; the derivative by sensitivities, to the same tolerance."""
    options = {"method": method, "rtol": rtol, "atol": rtol * 1e-2}

    def end(p: Any) -> Any:
        return solve_ivp(rates_of, (0.0, 3.0), [1.0, 0.6], args=(p,), **options).y[:, -1]

    def jacobian(p: Any) -> Any:
        start = np.array([1.0, 0.6, 0, 0, 0, 0])
        last = solve_ivp(with_sensitivities, (0.0, 3.0), start, args=(p,), **options).y[:, -1]
        return factor * last[2:].reshape(2, 2) * np.array([1.0, sign])

    return op(end, jacobian)


def wrong(value: Callable[..., Any], slopes: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first derivatives are those that `slopes` gives: one for each argument, by elements."""

    def function(*xs: Any) -> Any:
        still = [x.detach() for x in xs]
        y = value(*still).detach()
        for slope, x, x0 in zip(slopes(*still), xs, still, strict=True):
            y = y + slope * (x - x0)
        return y

    return function


FIRST = {"order": 1}
ONE = {"order": 1, "modes": ["rev"]}
ODE = np.array([1.1, 0.8])

# --- functions whose derivatives are right ------------------------------------------------------------------------

RIGHT: dict[str, Any] = {
    "polynomial": (lambda x: x**3 - 2 * x, 1.3),
    "sines": (lambda x: tg.sin(x) * tg.cos(2 * x), V),
    "numpy's names": (lambda x: np.exp(np.sin(x)), V),
    "matrix product": (lambda a, x: tg.tanh(a @ x), (A, V), FIRST),
    "log-sum-exp": (lambda x: tg.logaddexp(x[:2], x[2:]), V),
    "softmax": (lambda x: tg.exp(x) / tg.sum(tg.exp(x)), V),
    "determinant-like": (lambda x: tg.prod(B @ x), V),
    "norm": (lambda x: tg.sqrt(tg.sum(x * x)), V),
    "constant": (lambda x: tg.sum(x * 0) + 3.0, V),
    "linear": (lambda x: A @ x, V),
    "identity": (lambda x: x * 1.0, V),
    "many arguments": (lambda x: tg.sum(tg.sin(x) * LONG), LONG, FIRST),
    "a dict": (lambda p: p["a"] * tg.exp(-p["k"] * V), {"a": 2.0, "k": 0.3}),
    "long and short": (lambda a, b: a + b, (1e6, 0.01)),
    "longer and shorter": (lambda a, b: a + b, (1e9, 1e-4)),
    "orders of magnitude": (lambda x: tg.sum(tg.log(x)), np.array([1e-9, 1e-3, 1.0, 1e6])),
    "inverse of the small": (lambda x: 1 / x, 1e-12),
    "root of the small": (lambda x: tg.sqrt(x), 1e-13),
    "exponential at the small": (tg.exp, 1e-13),
    "exponential of small values": (tg.exp, -30.0),
    "values of all sizes": (lambda x: tg.exp(x), np.array([-40.0, 0.0, 30.0])),
    "large values": (lambda x: 1e200 * tg.sin(x), 0.7),
    "large arguments": (lambda x: tg.sin(x), 1e5),
    "tiny values": (lambda x: 1e-200 * tg.sin(x), 0.7),
    "physical units": (lambda c, v: 0.5 * c * v**2, (4.7e-12, 230.0)),
    "expanded polynomial": (lambda x: x**4 - 4 * x**3 + 6 * x**2 - 4 * x + 1, 1.001, FIRST),
    "huge": (lambda x: x**2, 1e150),
    "nothing in an argument": (lambda x, y: x * 2 + tg.sum(y), (1.0, np.zeros(0))),
    "at a minimum": (lambda x: tg.sum((x - V) ** 2), V),
    "at zero": (lambda x: tg.cos(x) + x**2, 0.0),
    "some zero": (lambda x: tg.sum(tg.sin(x)), np.array([0.0, 1.0, 0.0])),
    "parts do not matter": (lambda x: x[1:] ** 2, V),
    "cancels": (lambda x: tg.sin(x) ** 2 + tg.cos(x) ** 2, V),
    "steep": (lambda x: tg.tanh(300 * x), 0.003),
    "a narrow peak": (lambda x: tg.exp(-((x - 1) ** 2) / 1e-6), 1.0007),
    "oscillates": (lambda x: tg.sin(1e4 * x), 0.1, FIRST),
    "oscillates more": (lambda x: tg.sin(1e6 * x), 1.0, FIRST),
    "ripples": (lambda x: x + 1e-3 * tg.sin(1e4 * x), 1.0, FIRST),
    "near a pole": (lambda x: 1 / (x - 1), 1.0001),
    "beside a kink": (lambda x: tg.abs(x - 1), np.array([1.001, 0.99, 1.00001]), FIRST),
    "beside a jump": (lambda x: tg.where(x > 1, x**2, x), np.array([1.001, 0.999]), FIRST),
    "steps": (lambda x: tg.floor(x) + x, np.array([0.3, 2.2]), FIRST),
    "at a kink": (lambda x: abs(x) + tg.maximum(x, 0.0), 0.0, FIRST),
    "single": (lambda x: tg.sin(x) * x, V.astype(np.float32)),
    "single matrices": (lambda a, x: a @ x, (A.astype(np.float32), V.astype(np.float32)), FIRST),
    "single sizes": (
        lambda a, b: a * a + b,
        (np.array([300.0], np.float32), np.array([0.01], np.float32)),
        FIRST,
    ),
    "single and double": (lambda a, b: a * tg.exp(b), (np.float32(1.7), 0.3)),
    "single inside": (lambda x: tg.sin(x.astype(np.float32)), V, FIRST),
    "single only": (
        diagonal(lambda x: np.sin(x.astype(np.float32)).astype(x.dtype), np.cos),
        V.astype(np.float32),
        FIRST,
    ),
    "single cancels": (lambda x: tg.sum(x) - tg.sum(x * x), np.float32([0.5, 0.50001, 0.7]), FIRST),
    "noise 1e-12": (noisy(1e-12), V, FIRST),
    "noise 1e-9": (noisy(1e-9), V, FIRST),
    "noise 1e-7": (noisy(1e-7), V, FIRST),
    "noise 1e-6": (noisy(1e-6), V, FIRST),
    "noise 1e-6 in reverse": (noisy(1e-6), V, ONE),
    "noise that differs at each call": (
        Unsteady(lambda x, rng: tg.sin(x) + 1e-9 * rng.normal(size=x.shape)),
        V,
        FIRST,
    ),
    "noise and no dependence": (Unsteady(lambda x, rng: x[1:] * 2 + 1e-6 * rng.normal(size=3)), V, FIRST),
    "rounded to 8 digits": (diagonal(lambda x: np.round(np.sin(x), 8), np.cos), V, FIRST),
    "adaptive, 1e-9": (solve("RK45", 1e-9), ODE, FIRST),
    "adaptive, 1e-6": (solve("RK45", 1e-6), ODE, FIRST),
    "adaptive, 1e-6, in reverse": (solve("RK45", 1e-6), ODE, ONE),
    "adaptive, 1e-6, multistep": (solve("LSODA", 1e-6), ODE, FIRST),
    "adaptive, 1e-6, high order": (solve("DOP853", 1e-6), ODE, FIRST),
}
# The numbers say so little of these that some seeds cannot tell, but none calls them wrong.
HARD: dict[str, Any] = {
    "adaptive, 1e-4": (solve("RK45", 1e-4), ODE, FIRST),
    "adaptive, 1e-3": (solve("RK45", 1e-3), ODE, FIRST),
    "adaptive, 1e-4, multistep": (solve("LSODA", 1e-4), ODE, FIRST),
    "noise 1e-4": (noisy(1e-4), V, FIRST),
    "noise 1e-2": (noisy(1e-2), V, FIRST),
    "fine steps": (lambda x: tg.floor(1e4 * x), 0.30001, FIRST),
    "a jump": (lambda x: tg.where(x > 1.0, x, x + 1), 1.0, FIRST),
    "small in the noise": (lambda x: tg.sum(noisy(1e-6)(x)) + 1e-9 * x[0], np.array([1e-3]), FIRST),
}

# --- functions whose derivatives are wrong ------------------------------------------------------------------------


def scaled(factor: float) -> Any:
    """The exponential with a derivative that is off by a factor."""
    return wrong(tg.exp, lambda x: [factor * tg.exp(x)])


def cube(x: Any) -> Any:
    return x**3


def one_slope(change: Callable[[Any], Any]) -> Any:
    """Cubes with changed derivatives."""
    return diagonal(cube, lambda x: change(3 * x * x))


def only(k: int, value: float) -> Callable[[Any], Any]:
    def change(slope: Any) -> Any:
        slope = slope.copy()
        slope.flat[k] = value * slope.flat[k]
        return slope

    return change


def linear(matrix: Any, reverse: Any = None, dtype: Any = np.float64) -> Any:
    """The product with A, whose derivative is said to be another one."""
    return op(
        lambda x: A.astype(x.dtype) @ x,
        lambda x: matrix.astype(x.dtype),
        lambda x: (matrix if reverse is None else reverse).astype(x.dtype),
    )


def changed(i: int, j: int, factor: float) -> Any:
    matrix = A.copy()
    matrix[i, j] *= factor
    return matrix


def second_is(curvature: Callable[[Any], Any]) -> Any:
    """Half the sum of squares, with its gradient, and a Hessian that says something else."""

    def gradient(x: Any) -> Any:
        return tg.stop_gradient(x) + curvature(x) - tg.stop_gradient(curvature(x))

    return tg.custom_op(
        "op",
        lambda x: np.sum(x * x) / 2,
        lambda y_bar, y, x: y_bar * gradient(x),
        lambda x_dots, y, x: tg.sum(gradient(x) * x_dots[0]),
        differentiable=True,
    )


def rotates() -> Any:
    """A field that is a gradient at one point only: around it the curl is not zero."""
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    return tg.custom_op(
        "op",
        lambda x: np.sum(x * x) / 2,
        lambda y_bar, y, x: y_bar * (x + turn @ (x - np.array([0.4, 0.9]))),
        lambda x_dots, y, x: tg.sum((x + turn @ (x - np.array([0.4, 0.9]))) * x_dots[0]),
        differentiable=True,
    )


def cached() -> Any:
    """An op that keeps the derivative of its first call."""
    kept: list[Any] = []

    def slope(x: Any) -> Any:
        kept.append(x.copy())
        return np.cos(kept[0] + 0.5)

    return diagonal(np.sin, slope)


SINGLE = V.astype(np.float32)
WRONG: dict[str, Any] = {
    "sign": (scaled(-1.0), 0.7, FIRST),
    "factor 2": (scaled(2.0), 0.7, FIRST),
    "factor 1.1": (scaled(1.1), 0.7, FIRST),
    "factor 1.03": (scaled(1.03), 0.7, FIRST),
    "factor 1.001": (scaled(1.001), 0.7, FIRST),
    "factor 1.00001": (scaled(1.00001), 0.7, FIRST),
    "zero": (lambda x: tg.exp(x).detach() + 0 * x, 0.7, FIRST),
    "not a number": (diagonal(np.exp, lambda x: x * np.nan), V[:1], FIRST),
    "infinite": (diagonal(np.exp, lambda x: np.full_like(x, np.inf)), V[:1], FIRST),
    "not zero": (wrong(lambda x: tg.floor(x), lambda x: [1.0]), 0.7, FIRST),
    "kept": (cached(), V, FIRST),
    "missing term": (lambda x: x * x.detach(), V, FIRST),
    "missing small term": (lambda x: 1e6 * x + tg.sin(x).detach(), 0.7, FIRST),
    "one element's sign": (one_slope(only(2, -1.0)), V, FIRST),
    "one element of 60": (one_slope(only(17, 0.0)), LONG, FIRST),
    "one element of 60 by 3 %": (one_slope(only(17, 1.03)), LONG, FIRST),
    "one element of 60 in reverse": (one_slope(only(17, 1.03)), LONG, ONE),
    "one small element of 60": (
        lambda x: tg.sum(x * x) + tg.sin(1e-7 * x[3]).detach() * 3 - 1e-7 * x[3] * 0,
        np.where(np.arange(60) == 3, 1e-3, LONG),
        FIRST,
    ),
    "transposed": (linear(A.T), V, FIRST),
    "transposed in reverse": (linear(A, A.T), V, FIRST),
    "one entry of a Jacobian": (linear(changed(1, 2, 1.03)), V, FIRST),
    "one entry of a Jacobian in reverse": (linear(A, changed(1, 2, 1.03)), V, ONE),
    "a row": (linear(A * np.array([[1.0], [1], [0], [1]])), V, FIRST),
    "small argument": (wrong(lambda a, b: a + b, lambda a, b: [1.0, -1.0]), (1e6, 0.01), FIRST),
    "small argument in reverse": (wrong(lambda a, b: a + b, lambda a, b: [1.0, -1.0]), (1e6, 0.01), ONE),
    "smaller argument": (wrong(lambda a, b: a + b, lambda a, b: [1.0, -1.0]), (1e9, 1e-4), FIRST),
    "small argument by 10 %": (wrong(lambda a, b: a + b, lambda a, b: [1.0, 1.1]), (1e6, 0.01), FIRST),
    "small element": (lambda x: tg.sum(x) - 2 * x[1] + 2 * x[1].detach(), np.array([1e6, 0.01]), FIRST),
    "small share": (lambda x: x[0] + 1e-6 * (2 * x[1].detach() - x[1]), np.array([1.0, 1.0]), FIRST),
    "small share of many": (
        lambda x: tg.sum(x[:-1]) + 1e-6 * (2 * x[-1].detach() - x[-1]),
        np.append(LONG, 1.0),
        FIRST,
    ),
    "small argument's sign": (scaled(-1.0), 1e-13, FIRST),
    "small argument's 3 %": (scaled(1.03), 1e-13, FIRST),
    "smallest argument's sign": (scaled(-1.0), 1e-18, FIRST),
    "small values' sign": (scaled(-1.0), -30.0, FIRST),
    "small among large values": (
        wrong(tg.exp, lambda x: [tg.exp(x) * np.array([-1.0, 1, 1])]),
        np.array([-30.0, 0, 9]),
    ),
    "small among large values in reverse": (
        wrong(tg.exp, lambda x: [tg.exp(x) * np.array([-1.0, 1, 1])]),
        np.array([-30.0, 0, 9]),
        ONE,
    ),
    "inverse of the small": (wrong(lambda x: 1 / x, lambda x: [1 / x**2]), 1e-12, FIRST),
    "oscillates": (wrong(lambda x: tg.sin(1e4 * x), lambda x: [1.03e4 * tg.cos(1e4 * x)]), 0.1, FIRST),
    "steep": (wrong(lambda x: tg.tanh(300 * x), lambda x: [310 / tg.cosh(300 * x) ** 2]), 0.003, FIRST),
    "beside a kink": (wrong(lambda x: tg.abs(x - 1), lambda x: [-1.0]), 1.001, FIRST),
    "single": (scaled(1.03), np.float32(0.7), FIRST),
    "single in reverse": (scaled(1.03), np.float32(0.7), ONE),
    "single by 10 %": (linear(1.1 * A), SINGLE, FIRST),
    "one entry in single": (linear(A, changed(0, 1, 1.05)), SINGLE, FIRST),
    "one entry in single in reverse": (linear(A, changed(0, 1, 1.05)), SINGLE, ONE),
    "single only": (
        diagonal(lambda x: np.sin(x.astype(np.float32)).astype(x.dtype), lambda x: 1.05 * np.cos(x)),
        SINGLE,
        FIRST,
    ),
    "single inside": (lambda x: tg.sin(x.astype(np.float32)) + 0.05 * (x - x.detach()), V, FIRST),
    "noise 1e-12": (noisy(1e-12, 1.03), V, FIRST),
    "noise 1e-9": (noisy(1e-9, 1.03), V, FIRST),
    "noise 1e-9, sign": (noisy(1e-9, -1.0), V, FIRST),
    "noise 1e-6": (noisy(1e-6, 1.03), V, FIRST),
    "noise 1e-6 in reverse": (noisy(1e-6, 1.1), V, ONE),
    "adaptive, 1e-6": (solve("RK45", 1e-6, 1.03), ODE, FIRST),
    "adaptive, 1e-6, in reverse": (solve("RK45", 1e-6, 1.03), ODE, ONE),
    "adaptive, 1e-6, sign": (solve("LSODA", 1e-6, 1.0, -1.0), ODE, FIRST),
    "adaptive, 1e-4": (solve("RK45", 1e-4, 1.1), ODE, FIRST),
    "second derivative": (lambda x: x.detach() ** 3 + 3 * x.detach() ** 2 * (x - x.detach()), 1.5),
    "second derivative's sign": (second_is(lambda x: -x), V),
    "second derivative by 3 %": (second_is(lambda x: 1.03 * x), V),
    "asymmetric Hessian": (second_is(lambda x: x + A @ x), V),
    "asymmetric Hessian in reverse": (second_is(lambda x: x + A @ x), V, {"modes": ["rev"]}),
    "curl": (rotates(), np.array([0.4, 0.9])),
    "curl in reverse": (rotates(), np.array([0.4, 0.9]), {"modes": ["rev"]}),
}
# Wrong, but by so little beside the noise that no numbers can tell: these must not pass.
HIDDEN: dict[str, Any] = {
    "noise 1e-2, 3 %": (noisy(1e-2, 1.03), V, FIRST),
    "noise 1e-4, 1 %": (noisy(1e-4, 1.01), V, FIRST),
    "adaptive, 1e-3": (solve("RK45", 1e-3, 1.03), ODE, FIRST),
    "zero in fine steps": (lambda x: tg.floor(1e7 * x) * 1e-7, 0.3, FIRST),
    "jumps": (lambda x: tg.where(x > 1.0, 2 * x, x + 1), 1.0, FIRST),
    "ripples are missing": (lambda x: x + 1e-3 * tg.sin(1e4 * x).detach(), 1.0, FIRST),
    "zero though single inside": (lambda x: tg.sin(x.astype(np.float32)).detach() + 0 * x, V, FIRST),
    "infinite at the point": (lambda x: 1 / (x - 1), 1.0, FIRST),
    "noise alone": (lambda x: x + 1e3 * tg.sin(1e12 * x), 1.0, FIRST),
    "a share below rounding": (lambda a, b: a + tg.sqrt(b).detach() - tg.sqrt(b) * 0, (1e6, 1e-24), FIRST),
}


# The verdicts that are allowed: rates of error are zero if there are no others.
ALLOWED = {
    "right": (RIGHT, {"right"}),
    "right, but hard to tell": (HARD, {"right", "cannot tell"}),
    "wrong": (WRONG, {"wrong"}),
    "wrong, but hidden": (HIDDEN, {"wrong", "cannot tell"}),
}
CASES = [(title, name) for title, (table, _) in ALLOWED.items() for name in table]


def verdicts(title: str, name: str, seeds: Iterable[int]) -> Counter[str]:
    """How often what is said of a function."""
    function, args, *options = ALLOWED[title][0][name]
    return Counter(verdict(function, args, seed, **(options[0] if options else {})) for seed in seeds)


@drawn
@daily(every=4)
@pytest.mark.parametrize(("title", "name"), CASES)
def test_no_wrong_function_passes_and_no_right_one_is_called_wrong(title: str, name: str) -> None:
    assert set(verdicts(title, name, range(share(2)))) <= ALLOWED[title][1]


def test_the_tables_are_long_enough_for_rates() -> None:
    assert len(RIGHT) >= 40
    assert len(WRONG) >= 40


def report(seeds: int) -> None:
    """Print how often which verdict is reached, and each function whose verdict is not an allowed one."""
    for title, (table, allowed) in ALLOWED.items():
        found = {name: verdicts(title, name, range(seeds)) for name in table}
        print(f"{title}: {len(table)} functions, {seeds} seeds: {dict(sum(found.values(), Counter()))}")
        for name, counts in found.items():
            if not set(counts) <= allowed:
                print(f"    {name}: {dict(counts)}")


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
