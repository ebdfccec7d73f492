"""Code that was written with `scipy.stats` takes Tensors inside of `in_place_of_scipy`."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.stats import norm, poisson

import tapegrad as tg

X = np.array([0.3, 0.6, 0.9])
K = np.array([0, 1, 2])
P = np.array([0.5, 2.0])
# Shape parameters of each family, by SciPy's names.
SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (), "expon": (), "cauchy": (), "logistic": (), "laplace": (), "uniform": (), "gumbel_r": (), "rayleigh": (),
    "gamma": (2.5,), "beta": (1.5, 2.5), "t": (4.0,), "chi2": (3.0,), "f": (3.0, 5.0), "lognorm": (0.7,),
    "weibull_min": (1.5,), "pareto": (1.5,), "invgamma": (2.5,), "truncnorm": (-1.0, 2.0), "halfnorm": (),
    "vonmises": (1.5,),
    "poisson": (2.0,), "geom": (0.4,), "bernoulli": (0.4,), "binom": (5, 0.4), "nbinom": (5, 0.4),
}  # fmt: skip
DISCRETE = ("poisson", "geom", "bernoulli", "binom", "nbinom")


def log_likelihood(p: Any, x: Any) -> Any:
    return (
        np.sum(norm.logpdf(x, p[0], scale=p[1])) + norm(p[0], p[1]).logsf(0.2) + norm(0.1, 2.0).logcdf(p[1])
    )


def derivative(p: Any, x: Any) -> Any:
    own = tg.stats.norm
    return tg.sum(own.logpdf(x, p[0], p[1])) + own.logsf(0.2, p[0], p[1]) + own.logcdf(p[1], 0.1, 2.0)


@pytest.mark.parametrize("name", SHAPES)
def test_scipys_distributions_are_ours(name: str) -> None:
    theirs, own, shapes = getattr(scipy.stats, name), getattr(tg.stats, name), SHAPES[name]
    points, methods = (
        (K, ("pmf", "logpmf", "cdf", "sf")) if name in DISCRETE else (X, ("pdf", "logpdf", "cdf", "logsf"))
    )
    for method in methods:
        if not hasattr(own, method):
            continue
        expected = getattr(theirs, method)(points, *shapes)
        parameters = [tg.tensor(float(shape), constant=True) for shape in shapes] or [tg.tensor(0.0)]
        with tg.stats.in_place_of_scipy():
            found = getattr(theirs, method)(points, *parameters)
            frozen = getattr(theirs(*parameters), method)(points)
            np.testing.assert_array_equal(getattr(theirs, method)(points, *shapes), expected)
        np.testing.assert_allclose(found.data, expected, rtol=1e-10, atol=1e-14)
        np.testing.assert_array_equal(frozen.data, found.data)
        np.testing.assert_array_equal(found.data, getattr(own, method)(points, *parameters).data)


def test_methods_that_only_scipy_has_run_its_code() -> None:
    with tg.stats.in_place_of_scipy():
        np.testing.assert_allclose(tg.grad(norm.isf)(0.3), -1 / norm.pdf(norm.isf(0.3)), rtol=1e-13)
        np.testing.assert_allclose(tg.grad(scipy.stats.lomax(2.0).logpdf)(0.5), -3.0 / 1.5, rtol=1e-14)
        np.testing.assert_allclose(
            tg.grad(lambda c: scipy.stats.lomax(c).logsf(0.5))(2.0), -np.log(1.5), rtol=1e-14
        )


def test_derivatives_replays_and_plain_numbers() -> None:
    expected = tg.grad(derivative)(P, X)
    value = log_likelihood(P, X)
    with tg.stats.in_place_of_scipy():
        np.testing.assert_array_equal(tg.grad(log_likelihood)(P, X), expected)
        replayed = tg.value_and_grad(tg.jit(log_likelihood))
        replayed(P, X)
        assert log_likelihood(P, X) == value
        assert isinstance(log_likelihood(P, X), float)
    for p in (P, P + 1.0):  # recorded inside, replayed outside
        np.testing.assert_allclose(replayed(p, X)[0], log_likelihood(p, X), rtol=1e-12)
        np.testing.assert_array_equal(replayed(p, X)[1], tg.grad(derivative)(p, X))


def test_distributions_of_vectors() -> None:
    with tg.stats.in_place_of_scipy():
        for function in (
            lambda m: scipy.stats.multivariate_normal.logpdf(P, m, np.eye(2)),
            lambda m: scipy.stats.multivariate_normal(m, np.eye(2)).logpdf(P),
        ):
            np.testing.assert_allclose(tg.grad(function)(np.zeros(2)), P, rtol=1e-14)


@tg.stats.in_place_of_scipy()
def decorated(p: Any) -> Any:
    return log_likelihood(p, X)


def test_a_decorator() -> None:
    np.testing.assert_array_equal(tg.grad(decorated)(P), tg.grad(derivative)(P, X))
    np.testing.assert_array_equal(tg.grad(tg.jit(decorated))(P), tg.grad(derivative)(P, X))
    assert decorated(P) == log_likelihood(P, X)


def refused() -> None:
    with pytest.raises(TypeError, match=r"scipy\.stats\.norm\.logpdf\(\) of a Tensor"):
        tg.grad(log_likelihood)(P, X)


def test_all_is_scipys_again_afterwards() -> None:
    before = {cls: dict(vars(cls)) for cls in type(norm).__mro__}
    with pytest.raises(ZeroDivisionError), tg.stats.in_place_of_scipy(), tg.stats.in_place_of_scipy():
        raise ZeroDivisionError
    context = tg.stats.in_place_of_scipy()
    with context:
        with context:
            pass
        tg.grad(log_likelihood)(P, X)
    refused()
    assert all(dict(vars(cls)) == names for cls, names in before.items())


def test_other_threads_have_scipys_own() -> None:
    entered, done = threading.Event(), threading.Event()

    def inside() -> Any:
        with tg.stats.in_place_of_scipy():
            entered.set()
            assert done.wait(300)
            return tg.grad(log_likelihood)(P, X)

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(inside)
        assert entered.wait(300)
        try:
            refused()
        finally:
            done.set()
        np.testing.assert_array_equal(found.result(), tg.grad(derivative)(P, X))


def test_what_there_is_none_for_is_named() -> None:
    class Own(scipy.stats.rv_continuous):
        def _pdf(self, x: Any) -> Any:
            return np.exp(-x)

    own = Own(name="norm")  # is not SciPy's
    with tg.stats.in_place_of_scipy():
        for call, named in (
            (
                lambda t: scipy.stats.multivariate_t(t).entropy(),
                r"scipy\.stats\.multivariate_t\.entropy: tapegrad\.stats has no method",
            ),
            (lambda t: scipy.stats.kstwobign.logpdf(t), r"tapegrad\.stats\.kstwobign\.logpdf runs"),
            (lambda t: norm(t).mean(), r"scipy\.stats\.norm\.mean: tapegrad\.stats has no method"),
            (
                lambda t: norm([t, 1.0]).entropy(),
                r"scipy\.stats\.norm\.entropy: tapegrad\.stats has no method",
            ),
            (lambda t: own.cdf(t), r"stats\.norm\.cdf runs .*Own\._cdf, .*: it integrates the density"),
        ):
            with pytest.raises(tg.UnsupportedError, match=named):
                call(tg.tensor(1.0))
        assert norm(1.0).mean() == 1.0
        assert own.pdf(0.0) == 1.0
        assert tg.grad(own.pdf)(0.0) == -1.0
        assert poisson.logpmf(3, [tg.tensor(1.0), 2.0]).shape == (2,)
