"""Distributions with a matrix as a parameter, against SciPy."""

import numpy as np
import pytest
import scipy.stats

import tapegrad as tg

ROOT = np.array([[1.3, 0.0, 0.0], [0.4, 0.9, 0.0], [-0.7, 0.2, 1.1]])
COVARIANCE, MEAN = ROOT @ ROOT.T, np.array([0.3, -1.0, 0.5])
POINTS = np.random.default_rng(0).standard_normal((2, 5, 3))
STACK = np.moveaxis(COVARIANCE + POINTS[..., None] * POINTS[..., None, :], (0, 1), (-2, -1))[..., 0, :]


def check(name, *args):
    ours, theirs = getattr(tg.stats, name), getattr(scipy.stats, name)
    for method in ("logpdf", "pdf"):
        found, expected = getattr(ours, method)(*args).data, getattr(theirs, method)(*args)
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "parameters", [(MEAN, COVARIANCE), (None, COVARIANCE), (MEAN, 2.0), (MEAN, [1.0, 2.0, 3.0])]
)
@pytest.mark.parametrize("x", [POINTS, POINTS[0], POINTS[:1, :1], POINTS[0, 0], POINTS[0, :, :1], 0.3])
def test_multivariate_normal(x, parameters):
    check("multivariate_normal", x, *parameters)


@pytest.mark.parametrize("parameters", [(), (0.5,), (None, 2.0), ([0.5], [[2.0]])])
@pytest.mark.parametrize("x", [0.3, [0.1, 0.2], [[0.1], [0.2]]])
def test_multivariate_normal_of_one_dimension(x, parameters):
    check("multivariate_normal", x, *parameters)


@pytest.mark.parametrize("parameters", [(3, COVARIANCE), (4.5, [1.0, 2.0, 3.0]), (None, COVARIANCE)])
@pytest.mark.parametrize("x", [STACK, STACK[..., 0], [1.0, 2.0, 3.0], 2.0])
def test_wishart(x, parameters):
    check("wishart", x, *parameters)


@pytest.mark.parametrize("x", [2.0, [1.0, 2.0], [[1.0]]])
def test_wishart_of_one_dimension(x):
    check("wishart", x, 3.5, 2.0)


def normal(p):
    return tg.sum(tg.stats.multivariate_normal.logpdf(POINTS[0], p[0], p[1:] @ p[1:].T))


def wishart(p):
    return tg.sum(tg.stats.wishart.logpdf(STACK * p[0, 0], 3.0 + p[0, 2], p[1:] @ p[1:].T))


@pytest.mark.parametrize("function", [normal, wishart])
def test_derivatives(function):
    p = np.concatenate([np.abs(MEAN)[None], ROOT])
    assert tg.check_grads(function, p) is None
    np.testing.assert_allclose(tg.grad(tg.jit(function))(p), tg.grad(function)(p), rtol=1e-12, atol=1e-13)
    assert function(p.astype(np.float32)).dtype == np.float64  # the points are


@pytest.mark.parametrize(
    "density",
    [
        lambda c: tg.stats.multivariate_normal.logpdf(MEAN, None, c),
        lambda c: tg.stats.wishart.logpdf(c, 3, 1.0 * c),
    ],
)
def test_what_is_not_positive_definite(density):
    replayed = tg.jit(density)
    value = replayed(COVARIANCE)
    for call in (density, replayed):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            call(-COVARIANCE)
    assert replayed(COVARIANCE) == value


SINGULAR = ROOT[:, :2] @ ROOT[:, :2].T
ON_IT = MEAN + POINTS[0, :, :2] @ ROOT[:, :2].T
NEAR_IT = ON_IT + np.array([0.0, 0.0, 1.0, 1e-12, 1e-3])[:, None]


@pytest.mark.parametrize("x", [ON_IT, NEAR_IT, ON_IT[0], POINTS])
@pytest.mark.parametrize("cov", [SINGULAR, COVARIANCE, [1.0, 2.0, 0.0], np.zeros((3, 3)), 2.0])
def test_densities_on_subspaces_are_scipys(x, cov):
    check("multivariate_normal", x, MEAN, cov, True)


def on_subspace(inner, mean, scale):
    """Points and matrix stay on the space that two vectors span."""
    factor, points = ROOT[:, :2] @ inner, scale * POINTS[0, :, :2] @ ROOT[:, :2].T
    return tg.sum(tg.stats.multivariate_normal.logpdf(mean + points, mean, factor @ factor.T, True))


def test_derivatives_on_subspaces():
    inner, scale = np.array([[1.0, 0.3], [-0.2, 1.5]]), np.array(1.3)
    tg.check_grads(on_subspace, (inner, MEAN, scale), atol=1e-9)
    replayed = tg.grad(tg.jit(on_subspace), argnums=(0, 1, 2))
    for factor in (1.0, 0.5):
        expected = tg.grad(on_subspace, argnums=(0, 1, 2))(factor * inner, MEAN, scale)
        for found, each in zip(replayed(factor * inner, MEAN, scale), expected, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-10, atol=1e-10)
    by_point = tg.grad(lambda x: tg.stats.multivariate_normal.logpdf(x, MEAN, SINGULAR, allow_singular=True))
    np.testing.assert_allclose(by_point(ON_IT[0]), np.linalg.pinv(SINGULAR) @ (MEAN - ON_IT[0]), rtol=1e-9)
    assert not by_point(ON_IT[0] + 1.0).any()  # where there is no density


def test_a_negative_eigenvalue_gives_nan():
    assert np.isnan(tg.stats.multivariate_normal.logpdf(POINTS, MEAN, -COVARIANCE, True).data).all()
    assert (
        tg.stats.multivariate_normal.logpdf(np.float32(POINTS), None, np.eye(3, dtype="f4"), True).dtype
        == "f4"
    )


P, Q = np.array([[0.5, 0.0, 2.0], [1.0, 0.3, 0.7]]), np.array([[0.2, 0.4, 0.4], [1.0, 1.0, 3.0]])


@pytest.mark.parametrize("given", [(P,), (P, Q), (P, Q[0])])
@pytest.mark.parametrize("arguments", [{}, {"base": 2}, {"axis": 1}, {"axis": -1, "keepdims": True}])
def test_entropy(given, arguments):
    found = tg.stats.entropy(*given, **arguments).data
    np.testing.assert_allclose(found, scipy.stats.entropy(*given, **arguments), rtol=1e-14)
    away = (given[0] + 0.1, *given[1:])  # of 0, where slopes are infinite
    tg.check_grads(lambda *pq: tg.sum(tg.sin(tg.stats.entropy(*pq, **arguments))), away, atol=1e-12)


def test_entropy_refuses_a_base():
    with pytest.raises(ValueError, match="positive, not 0"):
        tg.stats.entropy(P, base=0)


def test_degrees_of_freedom_are_looked_at_in_replays():
    replayed = tg.jit(lambda df: tg.stats.wishart.logpdf(COVARIANCE, df, COVARIANCE))
    for df in (3.5, 2.5):
        assert replayed(df) == pytest.approx(
            scipy.stats.wishart.logpdf(COVARIANCE, df, COVARIANCE), rel=1e-13
        )
    with pytest.raises(ValueError, match="more than 2"):
        replayed(2.0)


def test_float32_stays():
    x = np.ones((2, 3), np.float32)
    assert tg.stats.multivariate_normal.logpdf(x, 0.5 * x[0], 2.0).dtype == np.float32
    assert tg.stats.wishart.logpdf(np.eye(3, dtype=np.float32), 4.0, x[0]).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda s: s.multivariate_normal.logpdf(MEAN[:2], MEAN, COVARIANCE),
            ValueError,
            r"\(2,\) do not fit 3 dim",
        ),
        (lambda s: s.multivariate_normal.logpdf(MEAN, MEAN, ROOT[:2]), ValueError, r"\(3,\) and \(2, 3\)"),
        (lambda s: s.multivariate_normal.cdf(MEAN, MEAN), tg.errors.UnsupportedError, "random points"),
        (lambda s: s.multivariate_normal.logcdf(MEAN, MEAN), tg.errors.UnsupportedError, "their sum"),
        (lambda s: s.wishart.logpdf(COVARIANCE, 2, COVARIANCE), ValueError, "more than 2"),
        (
            lambda s: s.wishart.logpdf(COVARIANCE, MEAN, COVARIANCE),
            ValueError,
            r"one number, not of shape \(3,\)",
        ),
        (lambda s: s.wishart.logpdf(STACK[:2], 3, COVARIANCE), ValueError, r"its shape is \(2, 3, 5\)"),
        (lambda s: s.wishart.logpdf(STACK, 3, ROOT[:2]), ValueError, r"not of shape \(2, 3\)"),
    ],
)
def test_what_does_not_fit_is_named(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(tg.stats)
