"""Sparse systems with computed entries: `spsolve` by SuperLU, and `SparseCholesky` of such matrices."""

import gc

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tapegrad as tg
from tapegrad import sparse
from tapegrad.engine.inspection.printing import custom_ops
from tapegrad.sparse import superlu

A = scipy.sparse.csr_array(
    scipy.sparse.random_array((7, 7), density=0.25, rng=np.random.default_rng(6))
    + 3 * scipy.sparse.eye_array(7)
)
ENTRIES = A.data.copy()
SIDE = np.random.default_rng(7).standard_normal(7)
SIDES = np.random.default_rng(8).standard_normal((7, 2))


def matrix(d, form="csr"):
    made = sparse.csr_array((d, A.indices, A.indptr), shape=A.shape)
    return made.asformat(form)


def solution(d, b, form="csr"):
    return tg.linalg.spsolve(matrix(d, form), b)


def dense(d, b):
    return tg.linalg.solve(matrix(d).toarray(), b)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("b", [SIDE, SIDES], ids=["vector", "columns"])
def test_solutions_and_first_derivatives(form, b):
    np.testing.assert_allclose(
        solution(ENTRIES, b, form).data, scipy.sparse.linalg.spsolve(A.tocsc(), b), rtol=1e-12
    )
    found = tg.jacobian(lambda d, b: solution(d, b, form), (0, 1))(ENTRIES, b)
    for own, expected in zip(found, tg.jacobian(dense, (0, 1))(ENTRIES, b), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "replayed"])
@pytest.mark.parametrize("b", [SIDE, SIDES], ids=["vector", "columns"])
def test_derivatives_of_all_orders_and_modes(wrap, b):
    scalar = wrap(lambda d, b: tg.sum(tg.sin(solution(d, b))))
    known = lambda d, b: tg.sum(tg.sin(dense(d, b)))  # noqa: E731
    along = np.cos(np.arange(len(ENTRIES)))
    close = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(tg.hessian(scalar)(ENTRIES, b), tg.hessian(known)(ENTRIES, b), **close)
    np.testing.assert_allclose(tg.hvp(scalar, 1)(ENTRIES, b, b), tg.hvp(known, 1)(ENTRIES, b, b), **close)
    found, expected = (tg.jvp(f, (ENTRIES, b), (along, b))[1] for f in (scalar, known))
    np.testing.assert_allclose(found, expected, **close)
    found, expected = (
        tg.grad(lambda d, f=f: tg.sum(tg.hvp(f)(d, b, along) * along))(ENTRIES) for f in (scalar, known)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(
        tg.grad(scalar)(ENTRIES, b), tg.grad(lambda d, b: tg.sum(tg.sin(solution(d, b))))(ENTRIES, b)
    )


def test_entries_of_scipys_matrix():
    for own in (A, A.tocsc(), A.tocoo()):
        f = lambda d, own=own: tg.linalg.spsolve(own, SIDE, d)  # noqa: E731
        np.testing.assert_allclose(f(2 * own.data).data, np.linalg.solve(2 * A.toarray(), SIDE), rtol=1e-12)
        by_entry = {
            (i, j): slope for i, j, slope in zip(*own.tocoo().coords, tg.jacobian(f)(own.data).T, strict=True)
        }
        known = tg.jacobian(dense)(ENTRIES, SIDE).T
        for i, j, slope in zip(*A.tocoo().coords, known, strict=True):
            np.testing.assert_allclose(by_entry[i, j], slope, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(tg.linalg.spsolve(A, tg.tensor(SIDE)).data, np.linalg.solve(A.toarray(), SIDE))
    own = A.copy()
    f = tg.jit(lambda b: tg.linalg.spsolve(own, b))
    f(SIDE)
    own.data[:] *= 2
    np.testing.assert_allclose(f(SIDE), np.linalg.solve(2 * A.toarray(), SIDE), rtol=1e-12)


def test_one_factorisation_serves_both_sweeps(monkeypatch):
    counts = []
    plain = superlu.splu
    monkeypatch.setattr(superlu, "splu", lambda *a, **k: [counts.append(1), plain(*a, **k)][1])
    pattern = matrix(ENTRIES)  # whose solver is its own
    f = tg.jit(lambda d: tg.sum(tg.linalg.spsolve(pattern.with_data(d), SIDE) ** 2))
    for k in range(3):
        tg.value_and_grad(f)(ENTRIES + k)
    assert len(counts) == 3
    tg.hvp(f)(ENTRIES, ENTRIES)
    assert len(counts) <= 4
    lanes = ENTRIES * np.linspace(1, 2, 5)[:, None]
    del counts[:]
    tg.vmap(tg.grad(f))(lanes)
    assert len(counts) <= 5
    monkeypatch.setattr(superlu, "_MAX_KEPT_ELEMENTS", 1)
    tg.grad(f)(ENTRIES + 5)
    assert len(superlu.solver_of(pattern.pattern, None).factors._factors) == 1


def test_patterns_and_their_factors_go_with_the_last_tensor():
    def slope(d):
        leaf = tg.tensor(d)
        x = solution(leaf, SIDE)
        gc.collect()  # nothing but the instruction leads to the pattern
        tg.sum(x**2).backward(create_graph=True)
        first = leaf.grad
        tg.sum(first**2).backward()
        return first.data

    gc.collect()
    before = len(custom_ops)
    np.testing.assert_allclose(
        slope(ENTRIES), tg.grad(lambda d: tg.sum(dense(d, SIDE) ** 2))(ENTRIES), rtol=1e-10
    )
    slope(2 * ENTRIES)
    gc.collect()
    assert len(custom_ops) == before


def test_lanes_compile_and_files():
    scalar = tg.value_and_grad(lambda d: tg.sum(solution(d, SIDE) ** 2))
    lanes = ENTRIES * np.linspace(1, 2, 3)[:, None]
    values, slopes = tg.vmap(scalar)(lanes)
    for k in range(3):
        value, slope = scalar(lanes[k])
        assert values[k] == value
        np.testing.assert_array_equal(slopes[k], slope)
    compiled = tg.compile(scalar, ENTRIES)
    assert compiled(ENTRIES)[0] == scalar(ENTRIES)[0]
    with pytest.raises(TypeError, match="calls Python"):
        compiled.save("never_written.tg")


def test_sizes_dtypes_and_duplicates():
    empty = tg.linalg.spsolve(sparse.csr_array((0, 0)), np.zeros((0, 2)))
    assert empty.shape == (0, 2)
    assert tg.linalg.spsolve(matrix(ENTRIES), np.zeros((7, 0))).shape == (7, 0)
    single = solution(ENTRIES.astype("f4"), SIDE.astype("f4"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.data, dense(ENTRIES, SIDE).data, rtol=1e-3, atol=1e-4)
    assert solution(ENTRIES.astype("f4"), SIDE).dtype == np.float64
    assert solution(ENTRIES, np.arange(7)).dtype == np.float64
    coo = sparse.coo_array((tg.tensor([1.0, 1.0, 3.0, 4.0]), ([0, 0, 1, 0], [0, 0, 1, 1])))
    np.testing.assert_allclose(tg.linalg.spsolve(coo, [6.0, 3.0]).data, [1.0, 1.0])
    unsorted = sparse.csr_array((tg.tensor([4.0, 1.0, 3.0, 1.0]), [1, 0, 1, 0], [0, 2, 4]))
    expected = np.linalg.solve([[1.0, 4.0], [1.0, 3.0]], [6.0, 3.0])
    for order in (None, "NATURAL", "MMD_AT_PLUS_A"):
        np.testing.assert_allclose(tg.linalg.spsolve(unsorted, [6.0, 3.0], permc_spec=order).data, expected)


REFUSED = {
    "dense": (lambda: tg.linalg.spsolve(A.toarray(), SIDE), TypeError, r"tapegrad\.linalg\.solve"),
    "sparse right side": (lambda: tg.linalg.spsolve(A, A), TypeError, "toarray"),
    "square": (lambda: tg.linalg.spsolve(A[:3], SIDE[:3]), ValueError, "square"),
    "right side": (lambda: tg.linalg.spsolve(A, SIDE[:3]), ValueError, r"\(7,\) or \(7, k\)"),
    "entries": (lambda: tg.linalg.spsolve(A, SIDE, ENTRIES[:3]), ValueError, "data needs the shape"),
    "order of entries": (lambda: tg.linalg.spsolve(A.todia(), SIDE, ENTRIES), ValueError, "tocsr"),
    "singular": (lambda: solution(0.0 * ENTRIES, SIDE), np.linalg.LinAlgError, "singular"),
    "SciPy's": (lambda: scipy.sparse.linalg.spsolve(A, tg.tensor(SIDE)), TypeError, r"tapegrad\.linalg\.spsolve"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_to_write(name):
    function, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        function()


def test_a_singular_matrix_in_a_replay_is_an_error():
    f = tg.jit(lambda d: solution(d, SIDE))
    f(ENTRIES)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        f(0.0 * ENTRIES)
    np.testing.assert_allclose(f(ENTRIES), dense(ENTRIES, SIDE).data, rtol=1e-12)
    lanes = np.array([ENTRIES, 0.0 * ENTRIES])
    with tg.linalg.errstate("nan"):
        found, slopes = tg.vmap(tg.value_and_grad(lambda d: tg.sum(solution(d, SIDE))))(lanes)
    assert np.isnan(found[1])
    assert np.isnan(slopes[1]).all()
    np.testing.assert_allclose(found[0], np.sum(dense(ENTRIES, SIDE).data), rtol=1e-12)


def test_cholesky_of_computed_matrices():
    """Assembled entries of several for a position, and of both triangles, of which the lower one is read."""
    both = scipy.sparse.coo_array(A + A.T + 5 * scipy.sparse.eye_array(7))
    i, j, d = np.r_[both.row, 0, 0], np.r_[both.col, 0, 0], np.r_[both.data, 1.0, 2.0]
    made = lambda d: sparse.coo_array((d, (i, j)), shape=(7, 7))  # noqa: E731
    cholesky = tg.linalg.SparseCholesky(made(d))
    whole = made(d).toarray().data
    f = lambda d: cholesky.factor(made(d)).solve(SIDE)  # noqa: E731
    np.testing.assert_allclose(f(d).data, np.linalg.solve(whole, SIDE), rtol=1e-12)
    np.testing.assert_allclose(cholesky.matmul(made(d), SIDE).data, whole @ SIDE, rtol=1e-12)

    def by_lower_triangle(d):
        m = made(d).toarray()
        return tg.linalg.solve(tg.tril(m) + tg.tril(m, -1).T, SIDE)

    for wrap in (lambda f: f, tg.jit):
        found = tg.jacobian(wrap(f))(d)
        np.testing.assert_allclose(found, tg.jacobian(by_lower_triangle)(d), rtol=1e-10, atol=1e-13)
    lower = tg.linalg.SparseCholesky(scipy.sparse.tril(both).tocsr())
    np.testing.assert_allclose(lower.factor(made(d)).logdet().data, np.linalg.slogdet(whole)[1], rtol=1e-12)
    with pytest.raises(ValueError, match="not in the pattern"):
        lower.factor(sparse.csr_array((np.ones(49), (np.repeat(range(7), 7), np.tile(range(7), 7)))))
