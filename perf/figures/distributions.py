"""Likelihoods made of distributions, with gradients, beside the peers: a Gaussian process, a mixture, a regression.

The data are arguments of the function, the same for every library. On several cores the peers take several threads;
``taskset -c 0 python -m perf mixture`` compares one with one.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target, times_faster
from perf.peers import Unavailable, load, tapegrad
from perf.peers.base import jax
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, Timing, race

Function = Callable[..., Any]
TAPEGRAD, JAX, TORCH, AUTOGRAD, LAPACK = (
    "tapegrad",
    "JAX jit",
    "torch",
    "HIPS autograd",
    "LAPACK and BLAS alone",
)


class Model(NamedTuple):
    """A log-likelihood: ``function(kit, p, *data)``, and the right answer at some parameters."""

    function: Function
    parameters: Array
    data: tuple[Array, ...]
    answer: Answer


class Kit(NamedTuple):
    """Kit of a model: a namespace, and functions that libraries keep in different modules."""

    xp: Any
    normal: Function  # normal(x, loc, scale), the logarithm of a density
    logsumexp: Function  # logsumexp(x, axis)
    weibull: Function  # weibull(x, shape, scale)
    solve_triangular: Function  # solve_triangular(lower, y)


# --- libraries -------------------------------------------------------------------------------------------------


def _weibull_in(xp: Any) -> Function:
    """Return the logarithm of Weibull's density, as users write it where there is none."""

    def density(x: Any, shape: Any, scale: Any) -> Any:
        z = x / scale
        return xp.log(shape) - xp.log(scale) + (shape - 1.0) * xp.log(z) - z**shape

    return density


def _tapegrad(model: Model) -> Function:
    """Compile the model before it is timed, as the others do."""
    library = tapegrad()
    kit = Kit(
        library, library.stats.norm.logpdf, library.logsumexp,
        lambda x, shape, scale: library.stats.weibull_min.logpdf(x, shape, scale=scale),
        partial(library.linalg.solve_triangular, lower=True),
    )  # fmt: skip
    function = library.value_and_grad(library.jit(partial(model.function, kit), fuse=True))
    return partial(function, model.parameters, *model.data)


def _jax(model: Model) -> Function:
    library, xp = jax(), load("jax.numpy")
    kit = Kit(
        xp, load("jax.scipy.stats").norm.logpdf, load("jax.scipy.special").logsumexp, _weibull_in(xp),
        partial(load("jax.scipy.linalg").solve_triangular, lower=True),
    )  # fmt: skip
    function = library.jit(library.value_and_grad(partial(model.function, kit)))
    placed = [xp.asarray(each) for each in model.data]

    def call() -> Answer:
        value, gradient = function(model.parameters, *placed)
        return float(value), np.asarray(gradient)

    return call


def _torch(model: Model) -> Function:
    torch = load("torch")
    torch.set_num_threads(1)
    of = torch.distributions
    kit = Kit(
        torch,
        lambda x, loc, scale: of.Normal(loc, scale, validate_args=False).log_prob(x),
        torch.logsumexp,
        lambda x, shape, scale: of.Weibull(scale, shape, validate_args=False).log_prob(x),
        lambda a, y: torch.linalg.solve_triangular(a, y[:, None], upper=False)[:, 0],
    )
    p, data = torch.tensor(model.parameters, requires_grad=True), [torch.tensor(each) for each in model.data]

    def call() -> Answer:
        p.grad = None
        value = model.function(kit, p, *data)
        value.backward()
        return value.item(), p.grad.numpy()

    return call


def _autograd(model: Model) -> Function:
    xp = load("autograd.numpy")
    normal, logsumexp = load("autograd.scipy.stats.norm").logpdf, load("autograd.scipy.special").logsumexp
    kit = Kit(xp, normal, logsumexp, _weibull_in(xp), xp.linalg.solve)
    return partial(
        load("autograd").value_and_grad(partial(model.function, kit)), model.parameters, *model.data
    )


LIBRARIES = {
    TAPEGRAD: ("tapegrad", _tapegrad), JAX: ("jax", _jax), TORCH: ("torch", _torch), AUTOGRAD: ("autograd", _autograd)
}  # fmt: skip


def race_model(
    model: Model, names: tuple[str, ...], settings: Settings, *more: Contender
) -> tuple[list[Timing], list[str]]:
    """Race some libraries, and further contenders; with notes on those that are left out."""
    contenders, notes = [], []
    for name in names:
        package, prepare = LIBRARIES[name]
        try:
            if package in settings.without:
                raise Unavailable("left out on request")
            contenders.append(Contender(name, prepare(model)))
        except Unavailable as reason:
            notes.append(f"{name}: {reason}")
    return race([*contenders, *more], model.answer, settings.budget), notes


# --- mixture of normals ----------------------------------------------------------------------------------------

COMPONENTS = 5


def mixture(kit: Kit, p: Any, x: Any) -> Any:
    """Weights, means and logarithms of deviations."""
    weights, loc, log_scale = p[:COMPONENTS], p[COMPONENTS : 2 * COMPONENTS], p[2 * COMPONENTS :]
    weights = weights - kit.logsumexp(weights, 0)
    parts = kit.normal(x, loc[:, None], kit.xp.exp(log_scale)[:, None]) + weights[:, None]
    return kit.xp.sum(kit.logsumexp(parts, 0))


def mixture_model(points: int) -> Model:
    rng = np.random.default_rng(0)
    x, weights, log_scale = 2 * rng.standard_normal(points), *(0.2 * rng.standard_normal((2, COMPONENTS)))
    loc, shares = np.linspace(-3.0, 3.0, COMPONENTS), np.exp(weights) / np.exp(weights).sum()
    z = (x - loc[:, None]) / np.exp(log_scale)[:, None]
    densities = shares[:, None] * np.exp(-0.5 * z * z - log_scale[:, None]) / np.sqrt(2 * np.pi)
    owned = densities / densities.sum(0)
    gradient = [
        owned.sum(1) - points * shares,
        (owned * z).sum(1) / np.exp(log_scale),
        (owned * (z * z - 1)).sum(1),
    ]
    answer = float(np.log(densities.sum(0)).sum()), np.concatenate(gradient)
    return Model(mixture, np.concatenate([weights, loc, log_scale]), (x,), answer)


def _measure_mixture(settings: Settings) -> Outcome:
    model = mixture_model(settings.fewer(100_000, 1_000))
    timings, notes = race_model(model, (TAPEGRAD, JAX, TORCH, AUTOGRAD), settings)
    return Outcome(times_faster(TAPEGRAD, [(JAX, 1), (TORCH, 3)], timings), timings, notes)


# --- survival regression ---------------------------------------------------------------------------------------


def regression(kit: Kit, p: Any, x: Any, times: Any) -> Any:
    """Weibull's distribution: the logarithm of its shape; of its scale intercept and slope."""
    return kit.xp.sum(kit.weibull(times, kit.xp.exp(p[0]), kit.xp.exp(p[1] + p[2] * x)))


def regression_model(points: int) -> Model:
    rng, p = np.random.default_rng(1), np.array([0.3, 0.2, -0.5])
    x = rng.standard_normal(points)
    shape, log_scale = np.exp(p[0]), p[1] + p[2] * x
    times = np.exp(log_scale) * rng.weibull(1.2, points)
    e = np.log(times) - log_scale
    power = np.exp(shape * e)
    value = float(np.sum(p[0] - log_scale + (shape - 1) * e - power))
    by_scale = shape * (power - 1)
    gradient = np.array([np.sum(1 + shape * e * (1 - power)), by_scale.sum(), by_scale @ x])
    return Model(regression, p, (x, times), (value, gradient))


def _measure_regression(settings: Settings) -> Outcome:
    timings, notes = race_model(regression_model(1_000), (TAPEGRAD, JAX, TORCH, AUTOGRAD), settings)
    return Outcome(times_faster(TAPEGRAD, [(AUTOGRAD, 20)], timings), timings, notes)


# --- Gaussian process ------------------------------------------------------------------------------------------


def process(kit: Kit, p: Any, distances: Any, eye: Any, y: Any) -> Any:
    """Return the log-likelihood without its constant: logarithms of variance, length and noise."""
    xp = kit.xp
    kernel = xp.exp(p[0] - 0.5 * distances * xp.exp(-2.0 * p[1])) + xp.exp(p[2]) * eye
    factor = xp.linalg.cholesky(kernel)
    whitened = kit.solve_triangular(factor, y)
    return -0.5 * xp.sum(whitened * whitened) - xp.sum(xp.log(xp.diagonal(factor)))


def process_model(points: int) -> tuple[Model, Contender]:
    """Return the model, and LAPACK's part of it: a factor, a solution, an inverse."""
    from scipy.linalg import lapack  # noqa: PLC0415  slow to import

    x, p = np.linspace(0.0, 3.0, points), np.array([0.0, 0.0, -2.0])
    distances, eye, y = (x[:, None] - x) ** 2, np.eye(points), np.sin(x)
    smooth = np.exp(p[0] - 0.5 * distances * np.exp(-2 * p[1]))
    parts = [smooth, smooth * distances * np.exp(-2 * p[1]), np.exp(p[2]) * eye]
    kernel = np.asfortranarray(smooth + parts[2])

    def call() -> Any:
        factor = lapack.dpotrf(kernel, lower=1)[0]
        return factor, lapack.dpotrs(factor, y, lower=1)[0], lapack.dpotri(factor, lower=1)[0]

    def read(found: Any) -> Answer:
        factor, solution, lower = found
        inverse = np.tril(lower) + np.tril(lower, -1).T
        value = -0.5 * y @ solution - np.log(np.diag(factor)).sum()
        return value, np.array(
            [0.5 * (solution @ part @ solution - np.sum(inverse * part)) for part in parts]
        )

    return Model(process, p, (distances, eye, y), read(call())), Contender(LAPACK, call, read)


def _named(timings: list[Timing], points: int) -> list[Timing]:
    return [replace(each, name=f"{points} points: {each.name}") for each in timings]


def _measure_process(settings: Settings) -> Outcome:
    timings: list[Timing] = []
    for points in (40, 500)[: settings.fewer(2, 1)]:
        model, alone = process_model(points)
        found, notes = race_model(model, (TAPEGRAD, JAX, TORCH), settings, alone)
        timings += _named(found, points)
    medians = {each.name: each.median for each in timings}
    own, least = (medians.get(f"500 points: {name}") for name in (TAPEGRAD, LAPACK))
    ratio = own / least if own and least else None
    targets = [
        Target("40 points", medians.get(f"40 points: {TAPEGRAD}"), 60e-6, "s"),
        Target("500 points: times LAPACK and BLAS alone", ratio, 1.3, "x"),
    ]
    return Outcome(targets, timings, notes)


DISTRIBUTIONS = (
    Figure("gaussian-process", "Log-likelihood of a Gaussian process, 40 and 500 points", _measure_process),
    Figure(
        "mixture", "Mixture of 5 normals by logsumexp(norm.logpdf(...)), 100,000 points", _measure_mixture
    ),
    Figure("weibull-regression", "Regression by weibull_min.logpdf, 1,000 points", _measure_regression),
)
