"""Gaussian Markov random fields against dense normal distributions; intrinsic ones against eigenvalues."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

import tapegrad as tg
from helpers.random_units import covariance
from helpers.same_derivatives import assert_same_derivatives
from tapegrad import stats

N = 7
X, MEAN = np.random.default_rng(0).standard_normal((2, N))
_SPREAD = scipy.sparse.random_array((N, N), density=0.3, rng=np.random.default_rng(1))
Q = scipy.sparse.csr_array(_SPREAD @ _SPREAD.T + np.eye(N))
DENSE = Q.toarray()


def intrinsic(x, structure, sd):
    """Compute a density on the space that a structure matrix spans, by its eigenvalues."""
    values = np.linalg.eigvalsh(structure)
    values = values[values > 1e-9 * values.max()]
    constant = np.sum(np.log(values / (2 * np.pi * sd**2)))
    return 0.5 * (constant - x @ structure @ x / sd**2)


def like_intrinsic(x, structure):
    """Return a function of the size of x and of sd that differs from a density by a constant."""
    quadratic, rank = x @ structure @ x, np.linalg.matrix_rank(structure.toarray())
    return lambda size, sd: -rank * tg.log(sd) - 0.5 * quadratic * (size / sd) ** 2


def inverse(structure):
    return np.linalg.pinv(structure, rcond=1e-10, hermitian=True)


def generalized_variance(structure):
    return np.exp(np.mean(np.log(np.diag(inverse(structure)))))


def sparse_hessian(density, *args):
    return tg.hessian(density, sparse=True)(*args)


# --- gmrf ----------------------------------------------------------------------------------------------------------


def faces():
    """A precision as users give it."""
    cholesky = tg.linalg.SparseCholesky(Q)
    lower = scipy.sparse.tril(Q).tocsr()
    named = SimpleNamespace(shape=Q.shape, indptr=Q.indptr, indices=Q.indices, data=tg.tensor(Q.data))
    return {
        "csr": Q,
        "csc": Q.tocsc(),
        "coo": Q.tocoo(),
        "dia": Q.todia(),
        "lower": lower,
        "entries": (cholesky, Q.data),
        "list": (cholesky, Q.data.tolist()),
        "tensor": (cholesky, tg.tensor(Q.data)),
        "lower tensor": (tg.linalg.SparseCholesky(lower), tg.tensor(lower.data)),
        "attributes": named,
        "coo with attributes": SimpleNamespace(shape=Q.shape, format="coo", tocsr=lambda: named),
    }


FACES = faces()


@pytest.mark.parametrize("face", FACES)
def test_gmrf_is_the_dense_normal_distribution(face):
    precision = FACES[face]
    expected = scipy.stats.multivariate_normal.logpdf(X, MEAN, np.linalg.inv(DENSE))
    assert stats.gmrf.logpdf(X, precision, MEAN).data == pytest.approx(expected, rel=1e-12)
    both = stats.gmrf.logpdf(np.stack([X, 2 * X]), precision)
    expected = scipy.stats.multivariate_normal.logpdf([X, 2 * X], None, np.linalg.inv(DENSE))
    np.testing.assert_allclose(both.data, expected, rtol=1e-12)


def test_derivatives_of_gmrf():
    cholesky = tg.linalg.SparseCholesky(scipy.sparse.tril(Q))
    entries = scipy.sparse.tril(Q).tocsr()[cholesky.rows, cholesky.columns]
    chain = tg.linalg.SparseCholesky(scipy.sparse.tril(stats.rw1.structure(3)))
    entries_of_chain = np.array([2.0, -1.0, 3.0, 0.5, 2.0])

    def density(size, mean, v):
        return stats.gmrf.logpdf(size * X[:3], (chain, v), mean)

    def of_dense(size, mean, v):
        matrix = tg.array([[v[0], v[1], 0.0], [v[1], v[2], v[3]], [0.0, v[3], v[4]]])
        distances = size * X[:3] - mean
        return 0.5 * (np.linalg.slogdet(matrix)[1] - distances @ matrix @ distances)

    assert_same_derivatives(density, of_dense, (1.0, 0.5, entries_of_chain))
    for precision in (Q, (cholesky, tg.tensor(entries, constant=True))):
        found = sparse_hessian(lambda x, precision=precision: stats.gmrf.logpdf(x, precision, MEAN), X)
        np.testing.assert_allclose(found.toarray(), -DENSE, rtol=1e-12)
        assert found.nnz == Q.nnz < N * N


def test_a_recording_follows_a_constant_precision():
    own = Q.copy()
    density = tg.jit(lambda x: stats.gmrf.logpdf(x, own))
    for scale in (1.0, 2.0, 3.0):
        own.data[:] = scale * Q.data
        expected = scipy.stats.multivariate_normal.logpdf(X, None, np.linalg.inv(scale * DENSE))
        assert density(X) == pytest.approx(expected, rel=1e-12)
        assert density(X) == pytest.approx(expected, rel=1e-12)


def test_gmrf_draws():
    found = covariance(lambda **how: stats.gmrf.rvs(Q, **how), N)
    np.testing.assert_allclose(found, np.linalg.inv(DENSE), atol=1e-12)
    one = stats.gmrf.rvs(Q, MEAN, random_state=3)
    np.testing.assert_array_equal(one, stats.gmrf.rvs(Q, MEAN, random_state=np.random.default_rng(3)))
    np.testing.assert_array_equal(
        stats.gmrf.rvs(Q, size=(2, 1), random_state=3), stats.gmrf.rvs(Q, size=2, random_state=3)[:, None]
    )
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        stats.gmrf.rvs(stats.rw1.structure(4) - scipy.sparse.eye_array(4))


def test_what_is_no_precision():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        stats.gmrf.logpdf(X, scipy.sparse.csr_array(-DENSE))
    with pytest.raises(TypeError, match="csr_array"):
        stats.gmrf.logpdf(X, DENSE)
    with pytest.raises(ValueError, match="7 elements"):
        stats.gmrf.logpdf(X[:-1], Q)
    with pytest.raises(ValueError, match="tocsr"):
        stats.gmrf.logpdf(X, Q.todok())


# --- ar1 -----------------------------------------------------------------------------------------------------------


def of_ar1(rho, sd):
    return sd**2 * rho ** abs(np.subtract.outer(np.arange(N), np.arange(N)))


def test_ar1():
    expected = scipy.stats.multivariate_normal.logpdf(X, None, of_ar1(-0.6, 1.7))
    assert stats.ar1.logpdf(X, -0.6, 1.7).data == pytest.approx(expected, rel=1e-13)
    several = stats.ar1.logpdf(np.stack([X, MEAN]), [0.5, -0.6], [1.0, 1.7]).data
    assert several[0] == pytest.approx(stats.ar1.logpdf(X, 0.5).data, rel=1e-13)
    assert several[1] == pytest.approx(stats.ar1.logpdf(MEAN, -0.6, 1.7).data, rel=1e-13)
    assert stats.ar1.logpdf([2.0], 0.3, 1.5).data == pytest.approx(
        scipy.stats.norm.logpdf(2, 0, 1.5), rel=1e-13
    )
    assert_same_derivatives(
        lambda size, rho, sd: stats.ar1.logpdf(size * X, rho, sd),
        lambda size, rho, sd: stats.multivariate_normal.logpdf(size * X, None, of_ar1(rho, sd)),
        (1.0, 0.8, 1.3),
    )
    found = sparse_hessian(lambda x: stats.ar1.logpdf(x, 0.8, 1.3), X)
    np.testing.assert_allclose(found.toarray(), -np.linalg.inv(of_ar1(0.8, 1.3)), atol=1e-13)
    assert found.nnz == 3 * N - 2
    np.testing.assert_allclose(
        covariance(lambda **how: stats.ar1.rvs(N, 0.8, 1.3, **how), N), of_ar1(0.8, 1.3), rtol=1e-13
    )


def test_ar1_outside_of_its_domain():
    for rho, sd in ((1.0, 1.0), (-1.5, 1.0), (0.5, 0.0), (0.5, -1.0), (np.nan, 1.0)):
        assert np.isnan(stats.ar1.logpdf(X, rho, sd).data)
        assert np.isnan(stats.ar1.logpdf(X, tg.tensor(rho), tg.tensor(sd)).data)
        with pytest.raises(ValueError, match="needed"):
            stats.ar1.rvs(3, rho, sd)
    with pytest.raises(ValueError, match="last axis"):
        stats.ar1.logpdf(1.0, 0.5)


# --- rw1, rw2 ------------------------------------------------------------------------------------------------------

WALKS = [(walk, cyclic) for walk in (stats.rw1, stats.rw2) for cyclic in (False, True)]


@pytest.mark.parametrize(("walk", "cyclic"), WALKS)
def test_walks(walk, cyclic):
    for n in (3, 4, 11, 60):
        x = np.random.default_rng(n).standard_normal(n)
        for scale_model in (False, True):
            structure = walk.structure(n, scale_model, cyclic).toarray()
            found = walk.logpdf(x, 1.7, scale_model, cyclic).data
            assert found == pytest.approx(intrinsic(x, structure, 1.7), rel=1e-9)
        assert generalized_variance(structure) == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize(("walk", "cyclic"), WALKS)
def test_derivatives_and_draws_of_walks(walk, cyclic):
    structure = walk.structure(N, cyclic=cyclic)
    assert_same_derivatives(
        lambda size, sd: walk.logpdf(size * X, sd, True, cyclic), like_intrinsic(X, structure), (1.0, 1.3)
    )
    found = sparse_hessian(lambda x: walk.logpdf(x, 1.3, True, cyclic), X)
    np.testing.assert_allclose(found.toarray(), -structure.toarray() / 1.69, atol=1e-13)
    assert found.nnz == structure.nnz < N * N
    drawn = covariance(lambda **how: walk.rvs(N, 1.3, True, cyclic, **how), N)
    np.testing.assert_allclose(drawn, 1.69 * inverse(structure.toarray()), atol=1e-12)


def test_a_walk_is_the_singular_normal_distribution():
    structure = stats.rw2.structure(N, scale_model=False).toarray()
    cov = 0.25 * inverse(structure)
    x = cov @ X  # in the space that the density is on
    expected = scipy.stats.multivariate_normal(None, cov, allow_singular=True).logpdf(x)
    assert stats.rw2.logpdf(x, 0.5, scale_model=False).data == pytest.approx(expected, rel=1e-9)
    line = 3.0 - 0.5 * np.arange(N)
    assert stats.rw2.logpdf(x + line, 0.5, scale_model=False).data == pytest.approx(expected, rel=1e-9)


def test_scaling_of_long_walks():
    """Closed sums, no eigenvalues: variances grow with n, and n**3."""
    for walk, power in ((stats.rw1, 1), (stats.rw2, 3)):
        first, second = (
            walk.structure(n)[0, 0] / walk.structure(n, scale_model=False)[0, 0] for n in (10_000, 20_000)
        )
        assert second / first == pytest.approx(2.0**power, rel=1e-3)


def test_what_is_no_walk():
    assert np.isnan(stats.rw1.logpdf(X, -1.0).data)
    assert np.isnan(stats.rw1.logpdf(X, tg.tensor([0.0, 1.0])).data).tolist() == [True, False]
    for walk, cyclic, n in ((stats.rw1, False, 1), (stats.rw2, False, 2), (stats.rw1, True, 2)):
        with pytest.raises(ValueError, match=f"at least {n + 1} elements, not {n}"):
            walk.logpdf(np.ones(n), cyclic=cyclic)
        with pytest.raises(ValueError, match=f"at least {n + 1} elements, not {n}"):
            walk.rvs(n, cyclic=cyclic)


# --- besag, bym2 ---------------------------------------------------------------------------------------------------

EDGES = [[0, 1], [2, 1], [2, 3], [3, 0], [4, 5]]  # a ring, a pair, and an island


def test_besag_on_components_and_an_island():
    field = stats.besag(EDGES, n=N)
    assert field.components.tolist() == [0, 0, 0, 0, 1, 1, 2]
    np.testing.assert_allclose(field.variances, [0.3125, 0.25, 1.0], rtol=1e-14)
    structure = field.structure().toarray()
    assert field.rank == 5 == np.linalg.matrix_rank(structure)
    np.testing.assert_allclose(np.diag(inverse(structure)), 1.0, rtol=1e-13)
    assert field.logpdf(X, 1.3).data == pytest.approx(intrinsic(X, structure, 1.3), rel=1e-12)
    both = field.logpdf(np.stack([X, MEAN]), [1.3, 2.0]).data
    assert both[1] == pytest.approx(intrinsic(MEAN, structure, 2.0), rel=1e-12)
    drawn = covariance(lambda **how: field.rvs(1.3, **how), len(EDGES) + 1)
    np.testing.assert_allclose(drawn, 1.69 * inverse(structure), atol=1e-13)


def test_besag_without_scaling():
    field = stats.besag(EDGES, n=N, scale_model=False)
    structure = field.structure().toarray()
    assert field.rank == 4
    assert not structure[6].any()
    assert field.logpdf(X, 1.3).data == pytest.approx(intrinsic(X, structure, 1.3), rel=1e-12)
    drawn = covariance(lambda **how: field.rvs(1.3, **how), len(EDGES))
    np.testing.assert_allclose(drawn, 1.69 * inverse(structure), atol=1e-13)


def test_besag_by_an_adjacency_matrix_with_weights():
    weights = scipy.sparse.coo_array(([2.0, 0.5, 0.0], ([0, 1, 0], [1, 2, 2])), (3, 3))
    field = stats.besag(weights + weights.T, scale_model=False)
    assert field.structure().toarray().tolist() == [[2, -2, 0], [-2, 2.5, -0.5], [0, -0.5, 0.5]]
    assert field.logpdf(X[:3]).data == pytest.approx(
        intrinsic(X[:3], field.structure().toarray(), 1.0), rel=1e-12
    )
    plain = scipy.sparse.csr_array(np.array([[0, 1], [1, 0]], bool))
    assert stats.besag(plain).variances == pytest.approx(stats.besag([[1, 0], [0, 1]]).variances, rel=1e-14)


def test_derivatives_of_besag():
    field = stats.besag(EDGES, n=N)
    expected = like_intrinsic(X, field.structure())
    assert_same_derivatives(lambda size, sd: field.logpdf(size * X, sd), expected, (1.0, 1.3))
    found = sparse_hessian(lambda x: field.logpdf(x, 1.3), X)
    np.testing.assert_allclose(found.toarray(), -field.structure().toarray() / 1.69, rtol=1e-12)
    assert found.nnz == N + 2 * len(EDGES)


def test_a_soft_constraint():
    field = stats.besag(EDGES, n=N)
    sums = scipy.stats.norm.logpdf([X[:4].sum(), X[4:6].sum()], 0.0, [0.4, 0.2]).sum()
    found = field.logpdf(X, 1.3, zero_sum_stdev=0.1).data
    assert found == pytest.approx(field.logpdf(X, 1.3).data + sums, rel=1e-12)


def test_bym2():
    field, structured = stats.bym2(EDGES, n=N), stats.besag(EDGES, n=N)
    x, sd, phi = np.concatenate([X, MEAN]), 1.3, 0.4
    rest = scipy.stats.norm.logpdf(X, sd * np.sqrt(phi) * MEAN, sd * np.sqrt(1 - phi)).sum()
    assert field.logpdf(x, sd, phi).data == pytest.approx(structured.logpdf(MEAN).data + rest, rel=1e-12)

    def of_parts(size, sd, phi):
        u, rest = size * MEAN, tg.sqrt(1 - phi) * sd
        independent = stats.norm.logpdf(size * X, sd * tg.sqrt(phi) * u, rest)
        return tg.sum(independent) - 0.5 * (u @ (structured.structure() @ u))

    assert_same_derivatives(lambda size, *args: field.logpdf(size * x, *args), of_parts, (1.0, sd, phi))
    found = sparse_hessian(lambda x: field.logpdf(x, sd, phi), x)
    assert found.nnz == 4 * N + 2 * len(EDGES)
    drawn = covariance(lambda **how: field.rvs(sd, phi, **how), len(EDGES) + 1 + N)
    spread = inverse(structured.structure().toarray())
    np.testing.assert_allclose(drawn[:N, :N], sd**2 * (phi * spread + (1 - phi) * np.eye(N)), atol=1e-12)
    np.testing.assert_allclose(np.diag(drawn)[:N], sd**2, rtol=1e-12)  # what the scaling is for
    for outside in (0.0, 1.0, -0.1):
        assert np.isnan(field.logpdf(x, sd, outside).data)
        assert np.isnan(field.logpdf(x, tg.tensor(sd), tg.tensor(outside)).data)


def test_islands_alone():
    field = stats.besag(np.zeros((0, 2), int), n=3)
    assert field.logpdf(X[:3], 1.3).data == pytest.approx(
        scipy.stats.norm.logpdf(X[:3], 0, 1.3).sum(), rel=1e-13
    )
    assert stats.besag(np.zeros((0, 2), int), n=3, scale_model=False).logpdf(X[:3], 1.3).data == 0.0


def test_what_is_no_graph():
    one_way = scipy.sparse.csr_array([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="not symmetric"):
        stats.besag(one_way)
    for graph, message in (
        (scipy.sparse.eye_array(3), "own neighbour"),
        ([[0, 0]], "own neighbour"),
        (scipy.sparse.csr_array(-np.ones((3, 3)) + np.eye(3)), "positive"),
        (np.ones((3, 3)), "csr_array"),
        ([[0, 3]], "of 3 nodes"),
        ([[0, -1]], "of 3 nodes"),
        (scipy.sparse.csr_array((2, 3)), "square"),
        (one_way + one_way.T, "2 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            stats.besag(graph, n=3)


# Districts of Scotland and their neighbours (Clayton and Kaldor 1987), numbered from 1.
SCOTLAND = """
5 9 11 19; 7 10; 6 12; 18 20 28; 1 11 12 13 19; 3 8; 2 10 13 16 17; 6; 1 11 17 19 23 29; 2 7 16 22; 1 5 9 12; 3 5 11;
5 7 17 19; 31 32 35; 25 29 50; 7 10 17 21 22 29; 7 9 13 16 19 29; 4 20 28 33 55 56; 1 5 9 13 17; 4 18 55; 16 29 50;
10 16; 9 29 34 36 37 39; 27 30 31 44 47 48 55 56; 15 26 29; 25 29 42 43; 24 31 32 55; 4 18 33 45;
9 15 16 17 21 23 25 26 34 43 50; 24 38 42 44 45 56; 14 24 27 32 35 46 47; 14 27 31 35; 18 28 45 56;
23 29 39 40 42 43 51 52 54; 14 31 32 37 46; 23 37 39 41; 23 35 36 41 46; 30 42 44 49 51 54; 23 34 36 40 41;
34 39 41 49 52; 36 37 39 40 46 49 53; 26 30 34 38 43 51; 26 29 34 42; 24 30 38 48 49; 28 30 33 56; 31 35 37 41 47 53;
24 31 46 48 49 53; 24 44 47 49; 38 40 41 44 47 48 52 53 54; 15 21 29; 34 38 42 54; 34 40 49 54; 41 46 47 49;
34 38 49 51 52; 18 20 24 27 56; 18 24 30 33 45 55
"""


def test_the_scaling_of_the_districts_of_scotland():
    """Published is 0.4853175, R-INLA's (Morris et al., *Spat. Spatio-temporal Epidemiol.* 31, 2019, and its code)."""
    lists = [list(map(int, each.split())) for each in SCOTLAND.split(";")]
    edges = [[i, j - 1] for i, each in enumerate(lists) for j in each]
    assert (len(lists), len(edges)) == (56, 264)
    assert sorted(edges) == sorted([j, i] for i, j in edges)
    field = stats.besag(edges)
    assert field.rank == 55
    assert field.variances == pytest.approx([0.4853175], rel=1e-6)
    structure = stats.besag(edges, scale_model=False).structure().toarray()
    assert field.variances == pytest.approx([generalized_variance(structure)], rel=1e-12)
