"""The discrete distributions against SciPy."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import tapegrad as tg

SHAPES = {"poisson": (3.3,), "binom": (7, 0.3), "nbinom": (3.5, 0.4), "bernoulli": (0.3,), "geom": (0.3,)}
METHODS = ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf")
K = np.array([-1.0, 0, 1, 2, 3, 6, 7, 8, 2.5, np.nan])
every = pytest.mark.parametrize("name", SHAPES)


def ours(name):
    return getattr(tg.stats, name)


def theirs(name):
    return getattr(scipy.stats, name)


@every
def test_values_are_scipys(name):
    for method in METHODS:
        with np.errstate(all="ignore"):
            expected = getattr(theirs(name), method)(K, *SHAPES[name], loc=0)
            moved = getattr(theirs(name), method)(K + 2, *SHAPES[name], loc=2)
        for k, loc, values in ((K, 0, expected), (K + 2, 2, moved)):
            found = getattr(ours(name), method)(k, *SHAPES[name], loc=loc).data
            np.testing.assert_allclose(found, values, rtol=1e-13, atol=1e-16, err_msg=method)
    assert ours(name).logpmf(np.array([0, 1]), *SHAPES[name]).dtype == np.float64
    assert ours(name).logpmf(np.array([0, 1], np.float32), *SHAPES[name]).dtype == np.float32


@every
def test_derivatives_by_the_parameter(name):
    *others, p = SHAPES[name]
    k, h = np.arange(1.0, 4.0) if name != "bernoulli" else np.array([0.0, 1.0]), 1e-5
    for method in METHODS:

        def total(p, method=method):
            return tg.sum(getattr(ours(name), method)(k[:-1], *others, p))

        ends = [getattr(theirs(name), method)(k[:-1], *others, p + s).sum() for s in (h, -h)]
        gradient = tg.grad(total)(p)
        assert gradient == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-9), method
        assert tg.grad(tg.jit(total))(p) == pytest.approx(gradient, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_by_a_number_of_successes(method):
    k, (n, p), h = np.arange(4.0), SHAPES["nbinom"], 1e-5

    def total(n):
        return tg.sum(getattr(tg.stats.nbinom, method)(k, n, p))

    ends = [getattr(scipy.stats.nbinom, method)(k, n + s, p).sum() for s in (h, -h)]
    gradient = tg.grad(total)(n)
    assert gradient == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-8)
    assert tg.grad(tg.jit(total))(n) == pytest.approx(gradient, rel=1e-12)


@every
def test_outside_is_constant_and_wrong_parameters_are_nan(name):
    leaves = [tg.tensor(float(value)) for value in SHAPES[name]]
    ours(name).logpmf([-1.0, 0.5], *leaves).backward()
    assert all(leaf.grad == 0 for leaf in leaves)
    for wrong in (-0.5, np.nan):
        for value in (wrong, tg.tensor(wrong, constant=True)):
            for method in METHODS:
                found = getattr(ours(name), method)([-1.0, 1.0, 99.0], *SHAPES[name][:-1], value).data
                assert np.isnan(found).all()


@pytest.mark.parametrize("wrong", [np.nan, -1.0, 2.5])
def test_numbers_of_trials_that_are_none_are_nan(wrong):
    for value in (wrong, tg.tensor(wrong, constant=True)):
        for method in METHODS:
            assert np.isnan(getattr(tg.stats.binom, method)(1.0, value, 0.3).data)


def test_logarithms_near_1_are_those_of_what_is_missing():
    for name, k in (("nbinom", 1000.0), ("poisson", 40.0), ("geom", 1000.0)):
        rest = ours(name).sf(k, *SHAPES[name]).data
        assert 0 < rest < 1e-16
        assert ours(name).logcdf(k, *SHAPES[name]).data == pytest.approx(-rest, rel=1e-12)


def test_large_arguments_keep_their_digits():
    with mp.workdps(40):
        exact = mp.log(mp.binomial(10**6, 5 * 10**5)) - 10**6 * mp.log(2)
    assert tg.stats.binom.logpmf(5e5, 1e6, 0.5).data == pytest.approx(float(exact), abs=2e-9)
    assert tg.stats.geom.logsf(1e6, 0.5).data == pytest.approx(1e6 * np.log(0.5), rel=1e-15)


def test_whole_numbers_are_constants():
    k, mu = tg.tensor([1.0, 2.0]), tg.tensor(2.0)
    y = tg.stats.poisson.logpmf(k, mu)
    y.backward()
    assert k.grad is None
    assert mu.grad == pytest.approx(3 / 2.0 - 2)
