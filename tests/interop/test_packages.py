"""`tapegrad.interop`: other packages do their work with compiled functions. What is not installed is skipped."""

import ctypes
import importlib.metadata
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import emcee
import iminuit
import numpy as np
import pytest
import scipy.integrate

import tapegrad as tg
from tapegrad import interop
from tapegrad.interop import samplers
from tapegrad.interop.minimizers.block_residuals import replays
from tapegrad.optimize.flat import layout_of


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def normal(p: Any) -> Any:
    return -0.5 * tg.sum((p["x"] - p["m"]) ** 2) - 0.5 * (p["m"] - 1) ** 2


START = {"x": np.zeros(3), "m": 0.0}


def test_scipy_integrates() -> None:
    h = tg.compile(lambda x: tg.exp(-(x**2)), 0.5)
    found = scipy.integrate.quad(interop.scipy(h), 0, 2)[0]
    np.testing.assert_allclose(found, scipy.integrate.quad(lambda x: np.exp(-(x**2)), 0, 2)[0], rtol=1e-12)
    plane = tg.compile(lambda x: x[0] * x[1] ** 2, np.ones(2))
    np.testing.assert_allclose(scipy.integrate.nquad(interop.scipy(plane), [(0, 2), (0, 3)])[0], 18)
    with pytest.raises(ValueError, match="cannot be called as"):
        interop.scipy(tg.compile(tg.grad(rosenbrock), np.ones(2)))


def oscillator(t: Any, y: Any, mu: Any) -> Any:
    return tg.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.parametrize("method", ["LSODA", "Radau"])
def test_scipy_solves_stiff_equations(method: str) -> None:
    rhs = interop.ode(oscillator, 0.0, np.array([2.0, 0.0]), 30.0)
    options = {"method": method, "args": (30.0,), "rtol": 1e-8, "atol": 1e-8}
    found = scipy.integrate.solve_ivp(rhs, (0, 20), [2.0, 0.0], jac=rhs.jac, **options)

    def plain(t: Any, y: Any, mu: Any) -> Any:
        return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]

    expected = scipy.integrate.solve_ivp(plain, (0, 20), [2.0, 0.0], **options)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-4)
    np.testing.assert_allclose(rhs.jac(0.0, np.array([2.0, 0.5]), 30.0), [[0, 1], [-61, -90]])


def test_iminuit_fits() -> None:
    minuit = interop.iminuit(lambda p: -2 * normal(p), START)
    minuit.errordef = iminuit.Minuit.LEAST_SQUARES
    minuit.migrad()
    assert minuit.valid
    assert minuit.ngrad > 0
    assert minuit.parameters == ("m", "x_0", "x_1", "x_2")
    np.testing.assert_allclose(np.array(minuit.values), np.ones(4), atol=1e-6)


def test_nlopt_minimises() -> None:
    nlopt = pytest.importorskip("nlopt")
    for algorithm in (nlopt.LD_SLSQP, nlopt.LN_BOBYQA):
        opt = nlopt.opt(algorithm, 3)
        opt.set_min_objective(interop.nlopt(rosenbrock, np.zeros(3)))
        opt.set_xtol_rel(1e-10)
        opt.set_maxeval(5000)
        np.testing.assert_allclose(opt.optimize(np.array([-1.0, 1.0, 0.5])), np.ones(3), rtol=1e-4)


def test_emcee_samples() -> None:
    def density(p: Any) -> Any:
        return -0.5 * tg.sum((p - 1) ** 2) if p[0] > -9 else -np.inf

    log_density = interop.emcee(density, np.zeros(2), ways=[np.full(2, -10.0)])
    sampler = emcee.EnsembleSampler(16, 2, log_density, vectorize=True)
    sampler.random_state = np.random.RandomState(5).get_state()
    sampler.run_mcmc(np.random.default_rng(3).standard_normal((16, 2)), 300)
    np.testing.assert_allclose(sampler.get_chain(discard=50, flat=True).mean(axis=0), 1, atol=0.2)
    np.testing.assert_array_equal(log_density(np.array([[1.0, 1.0], [-20.0, 0.0]])), [0, -np.inf])
    with pytest.raises(ValueError, match=r"2 parameters, but points of shape \(3,\)"):
        log_density(np.ones(3))


def test_what_is_not_finite_or_known_in_a_log_density() -> None:
    log_density = interop.emcee(lambda x: tg.sum(tg.sqrt(x)), np.ones(2))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(log_density(np.array([[-1.0, 1.0], [4.0, 1.0]])), [-np.inf, 3])
    log_density = interop.emcee(lambda x: tg.sum(x) if x[0] > 0 else 0.0, np.ones(2))
    with pytest.raises(tg.UnrecordedWayError):
        log_density(np.array([[1.0, 1.0], [-1.0, 1.0]]))


def test_points_of_a_log_density_have_names() -> None:
    log_density = interop.emcee(normal, START)
    assert repr(log_density) == "<log density of 4 elements: m, x (3,)>"
    assert (log_density.size, log_density.names) == (4, ["m", "x_0", "x_1", "x_2"])
    point = log_density.flatten({"x": np.array([1.0, 2.0, 3.0]), "m": 7.0})
    np.testing.assert_array_equal(point, [7, 1, 2, 3])
    np.testing.assert_array_equal(log_density.x0, np.zeros(4))
    draws = np.arange(40.0).reshape(5, 2, 4)
    found = log_density.unflatten(draws)
    np.testing.assert_array_equal(found["m"], draws[..., 0])
    np.testing.assert_array_equal(found["x"], draws[..., 1:])
    np.testing.assert_array_equal(log_density.unflatten(point)["x"], [1, 2, 3])
    np.testing.assert_array_equal(
        interop.emcee(lambda x: -tg.sum(x**2), np.zeros((2, 3))).unflatten(np.ones((4, 6))),
        np.ones((4, 2, 3)),
    )
    with pytest.raises(ValueError, match=r"vectors of 4 elements along the last axis, not shape \(5, 3\)"):
        log_density.unflatten(np.ones((5, 3)))


def test_a_failure_of_linear_algebra_is_no_density_or_an_error() -> None:
    points = np.array([[0.5], [2.0]])
    found = interop.emcee(correlated, {"r": 0.0})(points)
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    with pytest.raises(np.linalg.LinAlgError):
        interop.emcee(correlated, {"r": 0.0}, errors="raise")(points)


def test_nutpie_samples() -> None:
    nutpie = pytest.importorskip("nutpie")

    def expand(p: Any) -> Any:
        return {"x": p["x"], "m": p["m"], "s": tg.exp(p["x"][:2])}

    model = interop.nutpie(normal, START, expand=expand, coords={"k": ["a", "b", "c"]}, dims={"x": ("k",)})
    trace = nutpie.sample(model, chains=4, cores=4, tune=200, draws=500, seed=1, progress_bar=False)
    posterior = trace.posterior
    assert posterior["x"].dims == ("chain", "draw", "k")
    np.testing.assert_allclose(posterior["x"].mean(), 1, atol=0.2)
    np.testing.assert_allclose(posterior["m"].std(), 1, atol=0.2)
    np.testing.assert_allclose(posterior["s"].values[..., 0], np.exp(posterior["x"].values[..., 0]))
    plain = nutpie.sample(
        interop.nutpie(normal, START), chains=1, tune=50, draws=50, seed=1, progress_bar=False
    )
    assert plain.posterior["x"].shape == (1, 50, 3)


def correlated(p: Any) -> Any:
    """Log density of a correlation: beyond 1 its matrix is not positive definite."""
    cov = tg.stack([tg.stack([1.0 + 0 * p["r"], p["r"]]), tg.stack([p["r"], 1.0 + 0 * p["r"]])])
    return tg.sum(tg.stats.multivariate_normal.logpdf(PAIRS, np.zeros(2), cov))


PAIRS = np.random.default_rng(4).multivariate_normal(np.zeros(2), [[1.0, 0.8], [0.8, 1.0]], 6)


@pytest.mark.parametrize("errors", ["nan", "raise"])
def test_nutpie_goes_on_after_matrices_that_are_not_positive_definite(errors: Any) -> None:
    nutpie = pytest.importorskip("nutpie")
    model = interop.nutpie(correlated, {"r": 0.0}, errors=errors)
    options = {"chains": 2, "cores": 2, "tune": 300, "draws": 2000, "seed": 3, "progress_bar": False}
    trace = nutpie.sample(model, **options)
    grid = np.linspace(-1, 1, 4001)[1:-1]
    density = tg.vmap(tg.jit(lambda r: correlated({"r": r})))(grid)
    weights = np.exp(density - density.max())
    expected = np.sum(grid * weights) / np.sum(weights)
    np.testing.assert_allclose(float(trace.posterior["r"].mean()), expected, atol=0.05)
    assert int(trace.sample_stats["diverging"].sum()) > 0
    assert float(abs(trace.posterior["r"]).max()) < 1


def test_nutpie_goes_on_after_a_draw_without_a_trace() -> None:
    nutpie = pytest.importorskip("nutpie")
    model = interop.nutpie(normal, START, expand=lambda p: {"log": tg.log(p["m"])})
    trace = nutpie.sample(model, chains=1, tune=100, draws=200, seed=2, progress_bar=False)
    assert 0 < int(np.isnan(trace.posterior["log"]).sum()) < 200


def test_nutpie_names_the_branch_that_ended_its_run() -> None:
    nutpie = pytest.importorskip("nutpie")
    model = interop.nutpie(lambda p: normal(p) * (1.0 if p["m"] > -0.5 else 2.0), START)
    with pytest.raises(
        tg.UnrecordedWayError, match=r"no example took: .*test_packages\.py, line \d+.*ways=\[x1\]"
    ):
        nutpie.sample(model, chains=1, tune=100, draws=100, seed=2, progress_bar=False)


class PanicException(BaseException):
    """What PyO3 raises for a panic of Rust's."""


class _Library:
    """The part of nutpie's library that models use: chains walk at random, and read statuses as nutpie does."""

    class PyVariable:
        @staticmethod
        def new_variables(*variables: Any) -> Any:
            return variables

    LogpFunc = ExpandFunc = PyMcModel = staticmethod(lambda *arguments: arguments)

    class PySampler:
        def __init__(self, model: Any) -> None:
            (_, _, self.kept), self.expand, self.variables, self.n_dim, *_, self.point, _ = model
            self.aborted = False

        @classmethod
        def from_pymc(cls, settings: Any, cores: Any, model: Any, progress: Any, store: Any) -> Any:
            return cls(model)

        def _status(self, x: np.ndarray) -> int:
            value, gradient = np.zeros(1), np.zeros(self.n_dim)
            pointers = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (x, gradient, value)]
            density = self.kept.density
            status: int = density.ctypes(self.n_dim, *pointers, density.user_data)
            return status

        def wait(self, timeout: Any) -> None:
            statuses = [self._status(self.point(seed)) for seed in range(20)]
            if min(statuses) < 0:
                raise PanicException("Poisond sampler state mutex: PoisonError { .. }")
            if min(statuses) > 0:
                raise RuntimeError("All initialization points failed\n\nCaused by: ErrorCode(1)")

        def abort(self) -> None:
            self.aborted = True
            raise PanicException("Poisond sampler state mutex: PoisonError { .. }")

        def is_empty(self, ignore_error: bool = False) -> bool:
            return False


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a library in the place of nutpie's, so that models are tested where it is not installed."""

    @dataclass(frozen=True)
    class CompiledModel:
        dims: Any

    parts = {"nutpie": SimpleNamespace(), "nutpie._lib": _Library, "nutpie.sample": SimpleNamespace()}
    parts["nutpie.sample"].CompiledModel = CompiledModel
    for name, part in parts.items():
        monkeypatch.setitem(sys.modules, name, part)
    samplers.nutpie_model.model_class.cache_clear()
    yield
    samplers.nutpie_model.model_class.cache_clear()


def sampler_of(function: Any, **options: Any) -> Any:
    return interop.nutpie(function, START, **options)._make_sampler(None, None, 1, None, None)


@pytest.mark.usefixtures("library")
def test_a_model_says_what_it_is_of() -> None:
    model = interop.nutpie(normal, START, expand=lambda p: {"s": tg.exp(p["x"]), "m": p["m"]})
    assert repr(model) == "<nutpie model of 4 elements: m, x (3,); trace: m, s (3,)>"
    assert (model.n_dim, model.shapes) == (4, {"m": (), "s": (3,)})
    assert sampler_of(normal).wait(None) is None


@pytest.mark.usefixtures("library")
def test_what_a_model_is_not_made_of() -> None:
    with pytest.raises(ValueError, match="nutpie: dims has 'y', but the trace has 'm', 'x'"):
        interop.nutpie(normal, START, dims={"y": ("k",)}, coords={"k": [1, 2, 3]})
    outside = r"the log density is -inf at x0, and its gradient there is finite\. .*inside of the support"
    with pytest.raises(ValueError, match=outside):
        interop.nutpie(lambda p: normal(p) + tg.stats.expon.logpdf(p["m"], 5.0), START)
    with pytest.raises(
        ValueError, match=r"is -1\.5 at x0, and its gradient there is not finite by x_0, x_1, x_2"
    ):
        interop.nutpie(lambda p: normal(p) - 1 + tg.sum(tg.sqrt(p["x"])), START)
    failing = lambda p: normal(p) + tg.linalg.cholesky(tg.reshape(p["m"] - 1, (1, 1)))[0, 0]  # noqa: E731
    with pytest.raises(
        ValueError, match=r"is nan at x0 \(.*a matrix is not positive definite\), and its gradient"
    ):
        interop.nutpie(failing, START)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite") as caught:
        interop.nutpie(failing, START, errors="raise")
    assert "at x0" in caught.value.__notes__[0]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("errors", ["nan", "raise"])
def test_failures_of_linear_algebra_end_no_run(errors: Any) -> None:
    def density(p: Any) -> Any:
        return normal(p) + tg.linalg.cholesky(tg.reshape(p["m"] + 0.5, (1, 1)))[0, 0]

    sampler = sampler_of(density, errors=errors)
    assert sampler.wait(None) is None
    assert {sampler._status(np.array([m, 0.0, 0.0, 0.0])) for m in (-0.6, 0.0)} == {0, 1}
    vectors = lambda p: normal(p) + tg.linalg.eigh(tg.diag(p["x"] + np.array([0.0, 1.0, 3.0])))[1][0, 1]  # noqa: E731
    sampler = sampler_of(vectors, errors=errors)
    assert sampler._status(np.array([0.0, 1.0, 0.0, 0.0])) == 1  # equal eigenvalues
    never = lambda p: normal(p) + tg.linalg.cholesky(tg.reshape(1e-9 - abs(p["m"]), (1, 1)))[0, 0]  # noqa: E731
    with pytest.raises(
        RuntimeError, match=r"none of the points .* between -0\.5 and 0\.5: pass a smaller jitter"
    ):
        sampler_of(never, errors=errors, jitter=0.5).wait(None)


@pytest.mark.usefixtures("library")
def test_errors_of_the_program_end_a_run_with_their_reason() -> None:
    sampler = sampler_of(lambda p: normal(p) * (1.0 if p["m"] > -0.5 else 2.0))
    with pytest.raises(
        tg.UnrecordedWayError, match=r"took a branch that no example took: .*test_packages\.py, line"
    ):
        sampler.wait(None)
    sampler.abort()  # Rust's would panic in place of the exception
    assert not sampler._sampler.aborted
    assert sampler.is_empty(ignore_error=True)

    @tg.custom_op("positive", vjp=lambda y_bar, y, x: y_bar)
    def positive(x: Any) -> Any:
        if x < 0:
            raise ArithmeticError
        return x

    with pytest.raises(RuntimeError, match="nutpie: the log density failed: a custom op raised an exception"):
        sampler_of(lambda p: normal(p) + positive(p["m"])).wait(None)


def test_blackjax_takes_a_callback() -> None:
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    log_density = interop.jax(lambda x: -0.5 * tg.sum((x - 1) ** 2), np.zeros(2))
    x = jax.numpy.array([3.0, 0.5])
    np.testing.assert_allclose(jax.jit(jax.grad(log_density))(x), [-2, 0.5])
    np.testing.assert_allclose(jax.vmap(log_density)(jax.numpy.ones((2, 2))), [0, 0])
    kernel = blackjax.hmc(log_density, 0.5, np.ones(2), 5)
    state, _ = jax.jit(kernel.step)(jax.random.key(0), kernel.init(x))
    assert np.isfinite(state.logdensity)


@pytest.mark.parametrize(
    ("name", "package"),
    [("nutpie",) * 2, ("jax",) * 2, ("iminuit",) * 2, ("ceres", "pyceres"), ("gtsam",) * 2, ("pyomo",) * 2],
)
def test_a_package_that_is_missing_is_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    try:
        listed = importlib.metadata.requires("tapegrad") or []
    except importlib.metadata.PackageNotFoundError:  # a folder on the path, which says no version
        listed = []
    is_known = any(each.startswith(package) for each in listed)  # by what is installed
    version = r"[=>]=[\d.]+(,<[\d.]+)?" if is_known else ""
    args = (normal, [0], None, START) if name == "gtsam" else (normal, START)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install '{package}{version}'"):
        getattr(interop, name)(*args)


def test_residuals_of_blocks() -> None:
    function = lambda p, s, w: {"a": p["v"] * p["k"] * s, "b": w - s**2}  # noqa: E731
    x0 = {"k": 2.0, "v": np.array([1.0, 3.0])}, 1.5
    layouts = tuple(map(layout_of, x0))
    residuals, linearized = replays(function, layouts, (None, None), flat=True)
    p, s = np.array([2.0, 1.0, 3.0]), np.array([1.5])
    np.testing.assert_array_equal(residuals(p, s, 4.0), [3.0, 9.0, 1.75])
    value, by_p, by_s = linearized(p, s, 4.0)
    np.testing.assert_array_equal(value, residuals(p, s, 4.0))
    np.testing.assert_array_equal(by_p.reshape(3, 3), [[1.5, 3, 0], [4.5, 0, 3], [0, 0, 0]])
    np.testing.assert_array_equal(by_s, [2, 6, -3])
    shared = tg.jit(function)
    made = [replays(shared, tuple(map(layout_of, x0)), (None, None), flat=True) for _ in range(2)]
    assert made[0] == made[1]  # recorded once for all cost functions


def test_steps_of_blocks() -> None:
    def turned(matrix: Any, step: Any) -> Any:
        return matrix + step[0] * (matrix @ np.array([[0.0, -1.0], [1.0, 0.0]]))

    turned.size = 1  # type: ignore[attr-defined]
    angle = 0.3
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    _, linearized = replays(lambda m, x: m @ x, (None, None), (turned, None), flat=False)
    x = np.array([1.0, 2.0])
    value, by_angle, by_x = linearized(matrix, x)
    np.testing.assert_allclose(value, matrix @ x)
    np.testing.assert_allclose(by_angle[:, 0], [-value[1], value[0]])
    np.testing.assert_allclose(by_x, matrix)
