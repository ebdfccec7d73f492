"""Distributions with a matrix as a parameter, against SciPy."""

import mpmath as mp
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


# --- multivariate_t and matrix_normal --------------------------------------------------------------------------------

T_LOC, T_SHAPE = np.array([0.3, -0.2, 1.0]), np.array([[2.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 1.2]])
T_POINTS = np.array([[0.5, 0.1, 0.9], [1.5, -1.0, 0.2]])


def mp_density_of_t(x, loc, shape, df):
    size = len(x)
    matrix = mp.matrix(shape)
    d = mp.matrix([a - b for a, b in zip(x, loc, strict=True)])
    square = (d.T * mp.inverse(matrix) * d)[0]
    constant = mp.loggamma((df + size) / 2) - mp.loggamma(df / 2) - size * mp.log(df * mp.pi) / 2
    return constant - mp.log(mp.det(matrix)) / 2 - (df + size) / 2 * mp.log1p(square / df)


@pytest.mark.parametrize("df", [0.7, 3.0, 1e6])
def test_multivariate_t_is_scipys_with_exact_derivatives(df):
    own = tg.stats.multivariate_t
    expected = scipy.stats.multivariate_t.logpdf(T_POINTS, T_LOC, T_SHAPE, df)
    np.testing.assert_allclose(
        own.logpdf(T_POINTS, T_LOC, T_SHAPE, df).data, expected, rtol=1e-9 if df > 10 else 1e-13
    )
    np.testing.assert_allclose(
        own.pdf(T_POINTS, T_LOC, T_SHAPE, df).data, np.exp(expected), rtol=1e-8 if df > 10 else 1e-12
    )
    x = T_POINTS[1]
    with mp.workdps(40):
        value = mp_density_of_t(x, T_LOC, T_SHAPE, mp.mpf(df))
        by_df = mp.diff(lambda df: mp_density_of_t(x, T_LOC, T_SHAPE, df), mp.mpf(df))
        by_x = mp.diff(lambda v: mp_density_of_t([v, *x[1:]], T_LOC, T_SHAPE, df), mp.mpf(x[0]))

        def by_entry(v):  # both triangles
            shape = mp.matrix(T_SHAPE)
            shape[1, 0] = shape[0, 1] = v
            return mp_density_of_t(x, T_LOC, shape, df)

        by_shape = mp.diff(by_entry, mp.mpf(T_SHAPE[1, 0]))
    for function in (own.logpdf, tg.jit(own.logpdf)):
        found = tg.grad(function, argnums=(0, 1, 2, 3))(x, T_LOC, T_SHAPE, df)
        np.testing.assert_allclose(function(x, T_LOC, T_SHAPE, df), float(value), rtol=1e-13)
        np.testing.assert_allclose(found[0][0], float(by_x), rtol=1e-12)
        np.testing.assert_allclose(found[1], -found[0], rtol=1e-12)
        np.testing.assert_allclose(found[2][1, 0], float(by_shape), rtol=1e-12)
        np.testing.assert_allclose(found[3], float(by_df), rtol=1e-9, atol=1e-17)


def test_multivariate_t_in_one_dimension_and_in_the_limit():
    own = tg.stats.multivariate_t
    np.testing.assert_allclose(
        own.logpdf([0.3, 1.2], 0.1, 2.0, 3.0).data, scipy.stats.t.logpdf([0.3, 1.2], 3.0, 0.1, 2**0.5)
    )
    np.testing.assert_array_equal(
        own.logpdf(T_POINTS, T_LOC, T_SHAPE, np.inf).data,
        tg.stats.multivariate_normal.logpdf(T_POINTS, T_LOC, T_SHAPE).data,
    )
    np.testing.assert_allclose(
        own.logpdf(T_POINTS, None, np.diag(T_SHAPE)).data,
        scipy.stats.multivariate_t.logpdf(T_POINTS, np.zeros(3), np.diag(np.diag(T_SHAPE))),
    )
    for df, shape in ((0.0, T_SHAPE), (np.ones(2), T_SHAPE), (1.0, T_SHAPE[:2])):
        with pytest.raises(ValueError, match=r"multivariate_t\.logpdf: the"):
            own.logpdf(T_POINTS, T_LOC, shape, df)
    with pytest.raises(np.linalg.LinAlgError):
        own.logpdf(T_POINTS, T_LOC, -T_SHAPE, 2.0)


def test_matrix_normal_is_the_normal_distribution_of_its_elements():
    own, theirs = tg.stats.matrix_normal, scipy.stats.matrix_normal
    rng = np.random.default_rng(0)
    x, mean, columns = rng.normal(size=(4, 3, 2)), rng.normal(size=(3, 2)), np.array([[1.2, 0.5], [0.5, 0.9]])
    np.testing.assert_allclose(
        own.logpdf(x, mean, T_SHAPE, columns).data, theirs.logpdf(x, mean, T_SHAPE, columns), rtol=1e-13
    )
    np.testing.assert_allclose(
        own.pdf(x[0], mean, T_SHAPE, columns).data, theirs.pdf(x[0], mean, T_SHAPE, columns), rtol=1e-12
    )
    np.testing.assert_allclose(
        own.logpdf(x[0], mean, 2.0, [1.5, 0.5]).data,
        theirs.logpdf(x[0], mean, 2.0, np.diag([1.5, 0.5])),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        own.logpdf(x, rowcov=T_SHAPE, colcov=columns).data,
        theirs.logpdf(x, rowcov=T_SHAPE, colcov=columns),
        rtol=1e-13,
    )

    def of_elements(x, mean, rows, columns):
        cov = tg.kron(columns, rows)
        return tg.stats.multivariate_normal.logpdf(x.T.reshape(-1), mean.T.reshape(-1), cov)

    expected = tg.grad(of_elements, argnums=(0, 1, 2, 3))(x[0], mean, T_SHAPE, columns)
    for function in (own.logpdf, tg.jit(own.logpdf)):
        found = tg.grad(function, argnums=(0, 1, 2, 3))(x[0], mean, T_SHAPE, columns)
        for a, b in zip(found[:2], expected[:2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11)
        for a, b in zip(found[2:], expected[2:], strict=True):  # by one triangle each
            np.testing.assert_allclose(a + a.T, b + b.T, rtol=1e-10, atol=1e-12)
    for bad in (
        (x, mean[:2], T_SHAPE, columns),
        (x, mean[0], T_SHAPE, columns),
        (x, mean, T_SHAPE[:2], columns),
    ):
        with pytest.raises(ValueError, match=r"matrix_normal\.logpdf"):
            own.logpdf(*bad)


def test_scipys_distributions_of_vectors_run_ours_in_place():
    with tg.stats.in_place_of_scipy():
        found = tg.grad(lambda df: scipy.stats.multivariate_t(T_LOC, T_SHAPE, df).logpdf(T_POINTS[0]))(3.0)
        other = tg.grad(lambda v: scipy.stats.matrix_normal.logpdf(T_POINTS, None, v, T_SHAPE))(np.eye(2))
    assert found == tg.grad(lambda df: tg.stats.multivariate_t.logpdf(T_POINTS[0], T_LOC, T_SHAPE, df))(3.0)
    np.testing.assert_array_equal(
        other, tg.grad(lambda v: tg.stats.matrix_normal.logpdf(T_POINTS, None, v, T_SHAPE))(np.eye(2))
    )
