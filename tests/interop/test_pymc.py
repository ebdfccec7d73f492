"""`tg.interop.pymc`: models of PyMC's against PyTensor's own values and gradients, and as nutpie's models."""

import ctypes
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import tapegrad as tg

pm = pytest.importorskip("pymc")
nutpie = pytest.importorskip("nutpie")
pytensor = pytest.importorskip("pytensor")

import pytensor.tensor as pt  # noqa: E402  after it is known to be there

from helpers.pymc_models import MODELS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's and PyTensor's own
POINTS = 5


def by_pytensor(model: Any) -> Any:
    """Return PyTensor's function of the values of the free variables: log density, then the gradient."""
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    logp = model.logp()
    return model.compile_fn(
        [logp, *pt.grad(logp, values)],
        inputs=values,
        mode="FAST_COMPILE",
        point_fn=False,
        on_unused_input="ignore",
    )


@pytest.fixture(scope="module")
def schools() -> Any:
    return tg.interop.pymc(MODELS["eight_schools"]())


@pytest.mark.parametrize("name", MODELS)
def test_value_and_gradient_are_those_of_pytensor(name: str) -> None:
    model = MODELS[name]()
    compiled, expected = tg.interop.pymc(model), by_pytensor(model)
    rng = np.random.default_rng(3)
    shapes = list(compiled.parameters.values())
    for _ in range(POINTS):
        x = compiled.x0 + 0.3 * rng.normal(size=compiled.n_dim)
        value, gradient = compiled.log_density(x)
        parts = np.split(x, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1])
        wanted, *parts = expected(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
        wanted_gradient = np.concatenate([np.ravel(part) for part in parts])
        assert np.isfinite(wanted)
        np.testing.assert_allclose(value, wanted, rtol=1e-9)
        scale = max(np.abs(wanted_gradient).max(), 1.0)
        np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("name", ["eight_schools", "correlated_slopes", "several_transforms", "zero_sum"])
def test_expansions_are_those_of_pymc(name: str) -> None:
    model = MODELS[name]()
    compiled = tg.interop.pymc(model)
    x = compiled.x0 + 0.1
    point, first = {}, 0
    for key, shape in compiled.parameters.items():
        stop = first + int(np.prod(shape))
        point[key], first = x[first:stop].reshape(shape), stop
    expected = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, mode="FAST_COMPILE")(
        point
    )
    found = compiled.expand(x)
    assert list(found) == [
        *compiled.names,
        *(v.name for v in model.unobserved_value_vars if v.name not in compiled.names),
    ]
    for variable, value in zip(model.unobserved_value_vars, expected, strict=True):
        np.testing.assert_allclose(found[variable.name], value, rtol=1e-10, err_msg=variable.name)


def test_labels_and_points_are_those_of_nutpie() -> None:
    def made() -> Any:
        with pm.Model(coords={"school": list("abc"), "time": [2000, 2001]}) as model:
            a = pm.Normal("a", dims=("school", "time"), initval=np.ones((3, 2)))
            pm.HalfNormal("s", dims="school")
            pm.Deterministic("total", a.sum(axis=0), dims="time")
            pm.Normal("plain", shape=2)
        return model

    ours, theirs = tg.interop.pymc(made()), nutpie.compile_pymc_model(made())
    assert list(ours.variables) == list(theirs.shapes)
    assert {k: tuple(v) for k, v in ours.variables.items()} == {k: tuple(v) for k, v in theirs.shapes.items()}
    for name, values in theirs.coords.items():
        assert list(ours.coords[name]) == list(values), name
    for name, dims in theirs.dims.items():
        assert tuple(ours.dims[name]) == tuple(dims)
    np.testing.assert_array_equal(ours.point(5), theirs.initial_point_func(5))
    # and in the trace, with dimensions that nobody named
    traces = [
        nutpie.sample(model, draws=20, tune=20, chains=1, progress_bar=False) for model in (ours, theirs)
    ]
    for name, variable in traces[1].posterior.data_vars.items():
        assert traces[0].posterior[name].shape == variable.shape, name
    assert set(traces[0].posterior.data_vars) == set(traces[1].posterior.data_vars)


@pytest.fixture
def registered() -> Iterator[None]:
    tg.interop.register_nutpie()
    tg.interop.register_nutpie()  # once more is no harm
    yield
    tg.interop.register_nutpie(remove=True)


def named_model() -> Any:
    with pm.Model(coords={"school": list("abcd")}) as model:
        mu, s = pm.Normal("mu"), pm.HalfNormal("s", dims="school")
        theta = pm.Deterministic("theta", mu + s, dims="school")
        pm.Dirichlet("w", np.ones(3))
        pm.Normal("y", theta, 1.0, observed=np.arange(4.0), dims="school")
    return model


def groups(trace: Any) -> dict[str, Any]:
    """Return the datasets of a trace, by name: of `InferenceData`, or of xarray's `DataTree`."""
    if hasattr(trace, "groups") and callable(trace.groups):
        return {name: trace[name] for name in trace.groups()}
    return {name: child.to_dataset() for name, child in trace.children.items()}


@pytest.mark.usefixtures("registered")
def test_traces_of_the_backend_are_those_of_nutpie() -> None:
    """Groups, variables, dims and coordinates; also of the unconstrained variables, which some versions set apart."""
    settings = {"draws": 20, "tune": 30, "chains": 2, "seed": 1, "progress_bar": False}
    unconstrained = inspect.signature(nutpie.sample).parameters.keys() & {"store_unconstrained"}
    settings |= dict.fromkeys(unconstrained, True)
    ours, theirs = (
        groups(nutpie.sample(nutpie.compile_pymc_model(named_model(), backend=backend), **settings))
        for backend in ("tapegrad", "numba")
    )
    assert ours.keys() == theirs.keys()
    assert ("unconstrained_posterior" in ours) == bool(unconstrained)
    for name, group in theirs.items():
        assert set(ours[name].data_vars) == set(group.data_vars), name
        assert set(ours[name].coords) >= set(group.coords), name
        for coordinate, values in group.coords.items():
            np.testing.assert_array_equal(ours[name].coords[coordinate], values)
        for variable in group.data_vars:
            one, other = ours[name][variable], group[variable]
            assert (one.shape, one.dtype) == (other.shape, other.dtype), variable
            named = [dim for dim in other.dims if "_dim_" not in dim]
            assert [dim for dim in one.dims if "_dim_" not in dim] == named, variable
    assert all(np.isfinite(ours["posterior"][name]).all() for name in ("mu", "s", "theta", "w"))


@pytest.mark.usefixtures("registered")
def test_pymc_samples_by_the_backend() -> None:
    modern = "nuts_sampler_kwargs" not in inspect.getsource(pm.sampling.mcmc._sample_external_nuts)
    options = {"compile_kwargs" if modern else "nuts_sampler_kwargs": {"backend": "tapegrad"}}
    settings = {"draws": 500, "tune": 500, "chains": 2, "random_seed": 1, "progressbar": False}
    with MODELS["eight_schools"]():
        trace = pm.sample(nuts_sampler="nutpie", compute_convergence_checks=False, **settings, **options)
    assert {"posterior", "sample_stats", "observed_data"} <= groups(trace).keys()
    assert abs(float(trace.posterior["mu"].mean()) - 4.4) < 1.0


def test_backend_is_registered_and_taken_away() -> None:
    own, model = nutpie.compile_pymc_model, MODELS["eight_schools"]()
    with pytest.raises(ValueError, match="Got tapegrad"):
        own(model, backend="tapegrad")
    tg.interop.register_nutpie()
    try:
        assert nutpie.compile_pymc_model is not own
        compiled = nutpie.compile_pymc_model(model, backend="Tapegrad", var_names=["tau"], freeze_model=True)
        assert list(compiled.variables) == ["mu", "tau_log__", "raw", "tau"]
        with pytest.raises(ValueError, match="Got other"):
            nutpie.compile_pymc_model(model, backend="other")
        with pytest.raises(
            ValueError, match="gradient_backend='jax', but the backend 'tapegrad' differentiates"
        ):
            nutpie.compile_pymc_model(model, backend="tapegrad", gradient_backend="jax")
    finally:
        tg.interop.register_nutpie(remove=True)
    assert nutpie.compile_pymc_model is own


def test_draws_agree_with_those_of_nutpie(schools: Any) -> None:
    settings = {"draws": 1000, "tune": 500, "chains": 4, "progress_bar": False}
    ours = nutpie.sample(schools, seed=1, **settings).posterior
    theirs = nutpie.sample(nutpie.compile_pymc_model(MODELS["eight_schools"]()), seed=2, **settings).posterior
    for name in ("mu", "tau", "theta"):
        a = ours[name].to_numpy().reshape(4000, -1)
        b = theirs[name].to_numpy().reshape(4000, -1)
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 400)  # effective draws: a tenth of all at least
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5 * error).all()
        np.testing.assert_allclose(a.std(axis=0), b.std(axis=0), rtol=0.25)
        ranks = np.argsort(np.argsort(np.concatenate([a, b]), axis=0), axis=0)[:4000].mean(axis=0) / 8000
        assert (np.abs(ranks - 0.5) < 0.06).all()


def test_pointer_gives_the_bits_of_python(schools: Any) -> None:
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_uint64, *[ctypes.POINTER(ctypes.c_double)] * 3, ctypes.c_void_p
    )
    x, gradient, value = schools.x0 + 0.2, np.empty(schools.n_dim), np.empty(1)
    pointers = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (x, gradient, value)]
    assert kind(schools.density.address)(schools.n_dim, *pointers, schools.density.user_data) == 0
    wanted, wanted_gradient = schools.log_density(x)
    assert value[0] == wanted
    np.testing.assert_array_equal(gradient, wanted_gradient)


def test_walnutpie_takes_the_pointer(schools: Any) -> None:
    walnutpie = pytest.importorskip("walnutpie")
    function = walnutpie.logp_cfunc_type(schools.density.address)
    chains = walnutpie.walnuts_pyfunc((function, schools.density.user_data), num_params=schools.n_dim, seed=1)
    draws = np.concatenate([np.asarray(chain) for chain in chains])
    assert abs(draws[:, 0].mean() - 4.4) < 0.5
    assert abs(np.exp(draws[:, 1]).mean() - 3.6) < 0.6


def test_other_data_of_the_same_and_of_another_size() -> None:
    model = MODELS["reused_data"]()
    compiled = tg.interop.pymc(model)
    rng = np.random.default_rng(0)
    before = compiled.log_density(compiled.x0)[0]
    for n in (15, 7):
        x, y = rng.normal(size=n), rng.normal(size=n)
        other = compiled.with_data(x=x, obs=y)
        with pm.Model() as wanted:
            pm.Normal("y", pm.Normal("a") + pm.Normal("b") * x, pm.HalfNormal("s"), observed=y)
        at = compiled.x0 + 0.3
        np.testing.assert_allclose(
            other.log_density(at)[0], tg.interop.pymc(wanted).log_density(at)[0], rtol=1e-12
        )
    assert compiled.log_density(compiled.x0)[0] == before
    with pytest.raises(KeyError, match="z are no data of the model, which has x, obs"):
        compiled.with_data(z=1.0)


def test_other_data_with_coordinates() -> None:
    with pm.Model(coords={"obs_id": list("abcd")}) as model:
        y = pm.Data("obs", np.arange(4.0), dims="obs_id")
        pm.Normal("y", pm.Normal("mu", dims="obs_id"), 1.0, observed=y, dims="obs_id")
    other = tg.interop.pymc(model).with_data(obs=np.arange(6.0))
    assert other.variables["mu"] == (6,)
    assert list(other.coords["obs_id"]) == list(range(6))


def failing(kind: str) -> Any:
    """Return a model whose density fails at some points."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        if kind == "not positive definite":
            pm.MvNormal(
                "y", np.zeros(2), cov=pt.stack([pt.stack([1.0, x]), pt.stack([x, 1.0])]), observed=[0.1, 0.2]
            )
        elif kind == "outside of the support":
            pm.Normal("y", 0, x + 1.0, observed=[0.3])
        else:
            pm.Potential("p", pt.log(x + 1.0))
    return model


@pytest.mark.parametrize("kind", ["not positive definite", "outside of the support", "not a number"])
def test_failures_are_divergences(kind: str) -> None:
    compiled = tg.interop.pymc(failing(kind))
    value, _ = compiled.log_density(np.array([-3.0]))
    assert not np.isfinite(value)
    trace = nutpie.sample(compiled, draws=200, tune=200, chains=2, seed=4, progress_bar=False)
    assert np.isfinite(trace.posterior["x"]).all()
    assert trace.posterior["x"].min() > -1.0


def test_discrete_variables_are_refused() -> None:
    with pm.Model() as model:
        pm.Poisson("k", 2.0)
        pm.Normal("x")
    with pytest.raises(NotImplementedError, match=r"k are discrete, and NUTS moves along gradients"):
        tg.interop.pymc(model)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="var_names has zeta, but the model has mu, tau_log__, raw, tau"):
        tg.interop.pymc(MODELS["eight_schools"](), var_names=["zeta"])
    chosen = tg.interop.pymc(MODELS["eight_schools"](), var_names=["tau"])
    assert list(chosen.variables) == ["mu", "tau_log__", "raw", "tau"]


@pytest.mark.parametrize("outside", ["extrapolate", "zeros", "const"])
def test_splines_outside_of_their_knots(outside: str) -> None:
    places, knots = np.array([-1.0, 0.0, 0.37, 1.9, 3.0, 4.0]), np.linspace(0.0, 3.0, 9)
    spline = scipy.interpolate.InterpolatedUnivariateSpline(knots, np.sin(knots), k=3, ext=outside)
    x = pt.vector("x")
    f = tg.interop.pytensor(pm.distributions.dist_math.SplineWrapper(spline)(x), x)
    np.testing.assert_allclose(tg.jit(f)(places), spline(places), rtol=1e-13)
    slope = tg.jit(tg.grad(lambda x: tg.sum(f(x))))(places)
    is_inside = (places >= 0) & (places <= 3) if outside != "extrapolate" else True
    wanted = np.where(is_inside, spline.derivative()(places), 0.0)
    np.testing.assert_allclose(slope[[0, 2, 3, 5]], wanted[[0, 2, 3, 5]], rtol=1e-12, atol=1e-15)


def test_unknown_elementwise_ops_are_named_and_registered() -> None:
    class Wave(pytensor.scalar.UnaryScalarOp):
        def impl(self, x: Any) -> Any:
            return np.sin(x)

    wave = pt.elemwise.Elemwise(Wave(pytensor.scalar.upgrade_to_float, name="wave"))
    x = pt.vector("x")
    f = tg.interop.pytensor(pt.sum(wave(x)), x)
    with pytest.raises(NotImplementedError, match=r"no function for PyTensor's Wave .*register\(Wave\)"):
        tg.grad(f)(np.arange(3.0))
    tg.interop.tapegrad_funcify.register(Wave, lambda op, node=None, **_: np.sin)
    found = tg.grad(tg.interop.pytensor(pt.sum(wave(x)), x))(np.arange(3.0))
    np.testing.assert_allclose(found, np.cos(np.arange(3.0)))


def test_unknown_ops_are_named() -> None:
    class Mystery(pytensor.graph.Op):
        def make_node(self, x: Any) -> Any:
            return pytensor.graph.Apply(self, [x], [x.type()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = np.sin(inputs[0])

    def made() -> Any:
        with pm.Model() as model:
            pm.Potential("p", Mystery()(pm.Normal("x")))
            pm.Potential("q", Mystery()(pt.as_tensor(0.3)))
        return model

    with pytest.raises(
        NotImplementedError, match=r"(?s)no function for PyTensor's Mystery .*tapegrad_funcify.register"
    ):
        tg.interop.pymc(made())
    tg.interop.tapegrad_funcify.register(Mystery, lambda op, node=None, **_: np.sin)
    compiled = tg.interop.pymc(made())
    value, gradient = compiled.log_density(np.array([0.4]))
    np.testing.assert_allclose(value, -0.5 * np.log(2 * np.pi) - 0.08 + np.sin(0.4) + np.sin(0.3), rtol=1e-14)
    np.testing.assert_allclose(gradient, -0.4 + np.cos(0.4), rtol=1e-14)


def test_text_is_flat_python(schools: Any) -> None:
    lines = schools.source.splitlines()
    assert lines[0] == "def log_density(x):"
    assert len(lines) < 60
    assert "np.square" in schools.source


def test_no_compiler_is_needed(tmp_path: Any) -> None:
    program = """
import warnings; warnings.simplefilter("ignore")
import pytensor; assert not pytensor.config.cxx
from helpers.pymc_models import MODELS
import tapegrad as tg, numpy as np
model = tg.interop.pymc(MODELS["radon"]())
value, gradient = model.log_density(model.x0)
assert np.isfinite(value) and np.isfinite(gradient).all()
"""
    flags = {"PYTENSOR_FLAGS": f"cxx=,compiledir={tmp_path}", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_minibatches_are_refused() -> None:
    with pm.Model() as model:
        batch = pm.Minibatch(np.arange(100.0), batch_size=10)
        pm.Normal("y", pm.Normal("mu"), 1.0, observed=batch, total_size=100)
    with pytest.raises(
        NotImplementedError, match=r"draws random numbers by integers.*pm.Data for pm.Minibatch"
    ):
        tg.interop.pymc(model)
