"""Matérn fields on grids and meshes: their precisions, and the covariance function that they come near."""

import math

import numpy as np
import pytest
import scipy.sparse
from scipy.special import kv

import tapegrad as tg
from helpers.random_units import covariance
from helpers.same_derivatives import assert_same_derivatives
from tapegrad import stats


def triangulated(shape):
    """A grid of unit squares, each cut into two triangles."""
    points = np.indices(shape).reshape(2, -1).T.astype(float)
    number = np.arange(len(points)).reshape(shape)
    corners = number[:-1, :-1], number[1:, :-1], number[:-1, 1:], number[1:, 1:]
    a, b, c, d = (each.reshape(-1) for each in corners)
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([d, c, b], 1)])


SLANTED = np.array([[1.0, 0.3], [0.0, 1.2]])  # so that no entry of the stiffness is zero


def mesh(alpha=2):
    points, triangles = triangulated((5, 6))
    return stats.matern_mesh(points @ SLANTED, triangles, alpha)


FIELDS = {
    "line": stats.matern_grid((30,), 0.4),
    "line, exponential": stats.matern_grid((30,), 0.4, alpha=1),
    "plane": stats.matern_grid((5, 6), (0.7, 1.1)),
    "space": stats.matern_grid((2, 3, 5), 0.6),
    "mesh": mesh(),
}
WITHOUT_VARIANCE = {"plane, nu 0": stats.matern_grid((5, 6), alpha=1), "mesh, nu 0": mesh(1)}
X = np.random.default_rng(0).standard_normal(30)


def dense(precision):
    cholesky, entries = precision
    lower = scipy.sparse.coo_array((np.asarray(entries), (cholesky.rows, cholesky.columns))).toarray()
    return lower + np.tril(lower, -1).T


@pytest.mark.parametrize("name", [*FIELDS, *WITHOUT_VARIANCE])
def test_a_field_has_its_precision(name):
    field = (FIELDS | WITHOUT_VARIANCE)[name]
    precision = field.precision(kappa=1.1, tau=0.5)
    matrix = dense(precision)
    found = field.logpdf(X, kappa=1.1, tau=0.5).data
    expected = 0.5 * (np.linalg.slogdet(matrix)[1] - 30 * math.log(2 * math.pi) - X @ matrix @ X)
    assert found == pytest.approx(expected, rel=1e-11)
    assert stats.gmrf.logpdf(X, precision).data == pytest.approx(expected, rel=1e-11)
    both = field.logpdf(np.stack([X, 2 * X])[:, None], kappa=1.1, tau=0.5)
    assert both.shape == (2, 1)
    assert both.data[0, 0] == pytest.approx(expected, rel=1e-11)
    drawn = covariance(lambda **how: field.rvs(kappa=1.1, tau=0.5, **how), 30)
    np.testing.assert_allclose(drawn, np.linalg.inv(matrix), atol=1e-10 * drawn.max())
    hessian = tg.hessian(lambda x: field.logpdf(x, kappa=1.1, tau=0.5), sparse=True)(X)
    np.testing.assert_allclose(hessian.toarray(), -matrix, atol=1e-12 * matrix.max())
    assert hessian.nnz == np.count_nonzero(matrix)


@pytest.mark.parametrize("name", ["line, exponential", "plane", "mesh"])
def test_derivatives_are_those_of_dense_matrices(name):
    field = FIELDS[name]

    def of_dense(size, range_, sd):
        kappa2, x = 8 * field.nu / range_**2, size * X
        operator = kappa2 * np.diag(field.mass) + field.stiffness.toarray()
        applied, logdet = operator @ x, np.linalg.slogdet(operator)[1]
        log_tau2 = -2 * field.nu * 0.5 * np.log(kappa2) - 2 * np.log(sd)
        tau2 = field._variance() * np.exp(log_tau2)
        quadratic = x @ applied if field.alpha == 1 else applied @ (applied / field.mass)
        return 0.5 * (field.n * log_tau2 + field.alpha * logdet - tau2 * quadratic)

    assert_same_derivatives(lambda size, *args: field.logpdf(size * X, *args), of_dense, (1.0, 2.5, 0.8))


@pytest.mark.parametrize("name", FIELDS)
def test_derivatives_of_fields(name):
    field = FIELDS[name]
    expected = stats.gmrf.logpdf(X, field.precision(2.5, 0.8)).data
    assert field.logpdf(X, 2.5, 0.8).data == pytest.approx(expected, rel=1e-11)

    def by_precision(range_, sd):
        return stats.gmrf.logpdf(X, field.precision(range_, sd))

    first = tg.grad(tg.jit(field.logpdf), argnums=(1, 2))(X, 2.5, 0.8)
    np.testing.assert_allclose(first, tg.grad(by_precision, argnums=(0, 1))(2.5, 0.8), rtol=1e-9)


def test_range_and_standard_deviation():
    """Those of R-INLA: ``kappa = sqrt(8 nu) / range``, in the plane ``tau = 1 / (sqrt(4 pi) kappa sd)``."""
    field = FIELDS["plane"]
    kappa = math.sqrt(8.0) / 2.5
    tau = 1 / (math.sqrt(4 * math.pi) * kappa * 0.8)
    expected = field.logpdf(X, kappa=kappa, tau=tau).data
    assert field.logpdf(X, 2.5, 0.8).data == pytest.approx(expected, rel=1e-13)
    np.testing.assert_array_equal(
        field.rvs(2.5, 0.8, random_state=1), field.rvs(range=2.5, sd=0.8, random_state=1)
    )


def column(field, node, *parameters):
    """Covariances with one node."""
    cholesky, entries = field.precision(*parameters)
    unit = np.zeros(field.n)
    unit[node] = 1.0
    return cholesky.factor(entries).solve(unit).data


def matern(distance, nu, range_):
    scaled = np.maximum(math.sqrt(8 * nu) / range_ * distance, 1e-12)
    return 2 ** (1 - nu) / math.gamma(nu) * scaled**nu * kv(nu, scaled)


@pytest.mark.parametrize(
    ("field", "range_", "error"),
    [
        (stats.matern_grid((401,), 0.1, alpha=1), 5.0, 0.01),
        (stats.matern_grid((401,), 0.1), 5.0, 0.002),
        (stats.matern_grid((61, 61), 0.5), 10.0, 0.017),
        (stats.matern_mesh(triangulated((61, 61))[0] * 0.5, triangulated((61, 61))[1]), 10.0, 0.017),
    ],
    ids=["exponential", "line", "plane", "mesh"],
)
def test_covariances_in_the_interior_are_matern_s(field, range_, error):
    middle = field.points.mean(0)
    node = int(np.argmin(np.linalg.norm(field.points - middle, axis=1)))
    distances = np.linalg.norm(field.points - field.points[node], axis=1)
    near = distances < 0.8 * range_
    found = column(field, node, range_, 2.0)[near]
    np.testing.assert_allclose(found / 4, matern(distances[near], field.nu, range_), atol=error)


def test_the_variance_doubles_at_an_end():
    """Neumann's condition adds the mirror image of the field."""
    field = stats.matern_grid((401,), 0.1)
    assert column(field, 0, 2.0, 1.0)[0] == pytest.approx(2 * column(field, 200, 2.0, 1.0)[200], rel=0.02)


def test_finite_elements():
    field = mesh()
    area = 4 * 5 * np.linalg.det(SLANTED)
    assert field.mass.sum() == pytest.approx(area, rel=1e-13)
    assert abs(field.stiffness.sum(1)).max() < 1e-13
    slope = np.array([2.0, -3.0])
    plane = field.points @ slope
    assert plane @ field.stiffness @ plane == pytest.approx(area * (slope @ slope), rel=1e-12)


def test_projections(rng):
    field = mesh()
    at = rng.uniform(0.02, 0.98, (50, 2)) * [4, 5] @ SLANTED
    for points in (at, field.points):
        weights = field.projection(points)
        np.testing.assert_allclose(weights @ field.points, points, atol=1e-12)
        np.testing.assert_allclose(weights.sum(1), 1.0, rtol=1e-12)
        assert weights.data.min() >= -1e-9
    grid = stats.matern_grid((4, 3, 2), (0.5, 1.0, 2.0))
    at = rng.uniform(0, 1, (20, 3)) * [1.5, 2.0, 2.0]
    np.testing.assert_allclose(grid.projection(at) @ grid.points, at, atol=1e-13)
    np.testing.assert_allclose(grid.projection(grid.points).toarray(), np.eye(24), atol=1e-13)
    border = grid.projection([[-0.2, 2.4, -0.9]]) @ grid.points
    np.testing.assert_allclose(border, [[0.0, 2.0, 0.0]], atol=1e-13)
    with pytest.raises(ValueError, match="point 1"):
        field.projection([[0.1, 0.1], [-0.1, 0.0]])
    with pytest.raises(ValueError, match="point 0"):
        grid.projection([[0.0, 2.6, 0.0]])
    with pytest.raises(ValueError, match=r"\(k, 2\)"):
        field.projection([0.1, np.nan])


def test_parameters_outside_of_their_domain():
    for field in (FIELDS["plane"], FIELDS["mesh"]):
        for parameters in ((0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (np.nan, 1.0)):
            assert np.isnan(field.logpdf(X, *parameters).data)
            assert np.isnan(field.logpdf(X, *map(tg.tensor, parameters)).data)
            with pytest.raises(ValueError, match="positive"):
                field.rvs(*parameters)
        for wrong in ({}, {"range": 1.0}, {"range": 1.0, "tau": 1.0}, {"sd": 1.0, "kappa": 1.0, "tau": 1.0}):
            with pytest.raises(TypeError, match="range and sd, or kappa= and tau="):
                field.logpdf(X, **wrong)
        with pytest.raises(ValueError, match="one number"):
            field.logpdf(X, np.ones(30), 1.0)
        with pytest.raises(ValueError, match="30 elements"):
            field.logpdf(X[1:], 1.0, 1.0)
    for field in WITHOUT_VARIANCE.values():
        with pytest.raises(ValueError, match="no variance"):
            field.logpdf(X, 1.0, 1.0)


def test_a_field_keeps_its_arrays():
    points, triangles = triangulated((2, 2))
    field = stats.matern_mesh(points, triangles)
    points[:] = 0.0
    triangles[:] = 0
    assert field.points.any()
    for array in (field.points, field.mass, field.stiffness.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert field.projection(field.points).shape == (4, 4)


def test_what_is_no_mesh_and_no_grid():
    points, triangles = triangulated((2, 2))
    for given, message in (
        ((points, triangles[:1]), "point 3 is in no triangle"),
        ((points, [[0, 1, 4], [1, 2, 3]]), "points 0 to 4 of 4"),
        ((np.c_[points[:, 0], points[:, 0]], triangles), "no area"),
        ((points.T, triangles), r"\(n, 2\)"),
        ((points, triangles[:, :2]), r"\(m, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            stats.matern_mesh(*given)
    for shape, spacing in (((), 1.0), ((2, 2, 2, 2), 1.0), ((0,), 1.0), ((3,), 0.0)):
        with pytest.raises(ValueError, match="one to three extents"):
            stats.matern_grid(shape, spacing)
    with pytest.raises(ValueError, match="alpha"):
        stats.matern_grid((3,), alpha=3)
