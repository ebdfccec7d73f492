"""Sparse Cholesky factors: against dense linear algebra, on every path of the plan, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg
from tapegrad.engine.kernels.fronts.plan import HEADER_FIELDS

SparseCholesky = tg.linalg.SparseCholesky


def dominant(pattern):
    """A positive definite matrix with both triangles of a pattern and a diagonal."""
    pattern = scipy.sparse.csr_array(pattern)
    pattern = pattern + pattern.T
    rows = np.abs(pattern).sum(axis=1)
    excess = np.random.default_rng(0).uniform(0.5, 1.5, len(rows))
    return scipy.sparse.csr_array(pattern + scipy.sparse.diags_array(rows + excess))


def random_matrices(rng):
    for k in range(200):
        n = int(rng.integers(1, 60))
        density = (0.0, 0.02, 0.05, 0.2)[k % 4]
        yield dominant(scipy.sparse.random_array((n, n), density=density, rng=rng))


def forest(n):
    """A graph without cycles, in several trees."""
    rng, child = np.random.default_rng(n), np.arange(1, n)
    parent = rng.integers(0, child)
    kept = child % 7 != 0
    return scipy.sparse.coo_array((rng.standard_normal(kept.sum()), (child[kept], parent[kept])), (n, n))


def grid(m):
    """The 13-point stencil of a grid of m by m points: fronts of many sizes."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m, m))
    eye = scipy.sparse.eye_array(m)
    laplacian = scipy.sparse.kron(eye, line) + scipy.sparse.kron(line, eye)
    matrix = scipy.sparse.csr_array(laplacian @ laplacian + 0.5 * scipy.sparse.eye_array(m * m))
    matrix.sort_indices()
    return matrix


def arrow(n):
    return scipy.sparse.coo_array((np.ones(n - 1), (np.full(n - 1, 0), np.arange(1, n))), (n, n))


SHAPES = {
    "forest": dominant(forest(50)),
    "chain": dominant(scipy.sparse.diags_array([1.0], offsets=[1], shape=(40, 40))),
    "band": dominant(scipy.sparse.diags_array([1.0, 0.5, 0.2], offsets=[1, 3, 11], shape=(60, 60))),
    "arrow": dominant(arrow(30)),
    "grid": grid(12),
    "full band": dominant(scipy.sparse.diags_array([1.0] * 6, offsets=range(1, 7), shape=(40, 40))),
    "blocks": dominant(scipy.sparse.block_diag([np.ones((k, k)) for k in (2, 5, 1, 3, 9, 4)])),
    "hub": dominant(scipy.sparse.diags_array([1.0], offsets=[1], shape=(30, 30)) + arrow(30)),
    "full": dominant(np.ones((25, 25))),
    "diagonal": scipy.sparse.diags_array(np.linspace(1.0, 2.0, 9)).tocsr(),
    "one": scipy.sparse.csr_array([[3.0]]),
}


def assert_right(matrix, rng):
    cholesky = SparseCholesky(matrix)
    factor, dense = cholesky.factor(matrix), matrix.toarray()
    inverse = np.linalg.inv(dense)
    for b in (rng.standard_normal(cholesky.n), rng.standard_normal((cholesky.n, 3))):
        x = factor.solve(b).data
        np.testing.assert_allclose(dense @ x, b, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(cholesky.matmul(matrix, x).data, dense @ x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(factor.logdet().data, np.linalg.slogdet(dense)[1], rtol=1e-11, atol=1e-11)
    found = factor.inverse_on_pattern().data
    np.testing.assert_allclose(found, inverse[cholesky.rows, cholesky.columns], rtol=1e-9, atol=1e-12)


def test_random_patterns(rng):
    for matrix in random_matrices(rng):
        assert_right(matrix, rng)


@pytest.mark.parametrize("name", SHAPES)
def test_named_patterns(name, rng):
    assert_right(SHAPES[name], rng)


def test_both_forms_of_fronts_are_tried():
    """Updates are listed for thin fronts only."""
    listed = {name: SparseCholesky(matrix)._header.pairs for name, matrix in SHAPES.items()}
    assert listed["chain"] == 39
    assert listed["grid"] == listed["full"] == 0


def test_some_patterns_do_not_fill_in():
    for name in ("chain", "full band", "blocks", "arrow", "hub", "forest"):
        assert SparseCholesky(SHAPES[name]).nnz == scipy.sparse.tril(SHAPES[name]).nnz, name


def test_chains_are_eliminated_from_both_ends(rng):
    numbers = rng.permutation(40)
    for matrix in (SHAPES["chain"], SHAPES["chain"][numbers][:, numbers]):
        cholesky = SparseCholesky(matrix)
        header, plan = cholesky._header, cholesky._plan
        starts = HEADER_FIELDS + header.n + 2 * (header.fronts + 1)
        parents = plan[starts : starts + header.fronts]
        np.testing.assert_array_equal(
            parents, np.minimum(np.arange(40) + 2, np.where(np.arange(40) < 39, 39, 40))
        )


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_narrow_matrices_of_any_magnitude(scale):
    """The square of an entry is out of the range of float64."""
    matrix, b = SHAPES["chain"], np.ones(40)
    factor, scaled = (SparseCholesky(matrix).factor(each) for each in (matrix, scale * matrix))
    np.testing.assert_allclose(scaled.logdet().data, factor.logdet().data + 40 * np.log(scale), rtol=1e-13)
    np.testing.assert_allclose(scaled.solve(b).data * scale, factor.solve(b).data, rtol=1e-12)
    found, expected = scaled.inverse_on_pattern().data, factor.inverse_on_pattern().data
    np.testing.assert_allclose(found * scale, expected, rtol=1e-12)


def test_order_fills_in_little():
    """Stored elements of the factor against those in the order of the matrix, and with a row that meets all others."""
    line = scipy.sparse.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(60, 60))
    assert SparseCholesky(scipy.sparse.kronsum(line, line)).nnz < 0.7 * 3600 * 61
    hub = dominant(arrow(600))
    assert SparseCholesky(hub).nnz == 1199


def test_order_and_positions():
    cholesky = SparseCholesky(SHAPES["band"])
    np.testing.assert_array_equal(np.sort(cholesky.order), np.arange(60))
    stored = SHAPES["band"].tocoo()
    np.testing.assert_array_equal(cholesky.rows, stored.row)
    np.testing.assert_array_equal(cholesky.columns, stored.col)


@pytest.mark.parametrize("name", SHAPES)
def test_the_factor_itself(name):
    a = SHAPES[name]
    factor = tg.linalg.SparseCholesky(a).factor(a)
    lower, order = factor.lower_triangle(), factor.cholesky.order
    assert (lower.toarray() == np.tril(lower.toarray())).all()
    np.testing.assert_allclose(
        (lower @ lower.T).toarray(), a.toarray()[np.ix_(order, order)], rtol=1e-12, atol=1e-12
    )
    z = np.random.default_rng(0).standard_normal((2, 3, a.shape[0]))
    x = factor.half_solve(z)
    np.testing.assert_allclose(x[..., order] @ lower.toarray(), z, rtol=1e-9, atol=1e-9)


def test_numbers_of_the_factor_lose_no_gradient_and_no_imaginary_part():
    a = SHAPES["band"]
    cholesky = tg.linalg.SparseCholesky(a)
    draw = np.arange(a.shape[0]) * (2.0 - 1j)
    factor = cholesky.factor(tg.tensor(a.data))
    lower, order = factor.lower_triangle().toarray(), cholesky.order
    np.testing.assert_allclose(factor.half_solve(draw)[order] @ lower, draw, rtol=1e-9, atol=1e-9)
    numbers_by_name = {
        "half_solve": lambda f: f.half_solve(draw.real),
        "lower_triangle": lambda f: f.lower_triangle().toarray(),
    }
    for name, numbers in numbers_by_name.items():
        for transform in (tg.grad, tg.jit):
            with pytest.raises(tg.TracedValueError, match=rf"{name}\(\)"):
                transform(lambda v, numbers=numbers: tg.sum(numbers(cholesky.factor(v))) + v[0])(a.data)


def test_vectors_of_another_length_are_refused():
    factor = SparseCholesky(SHAPES["band"]).factor(SHAPES["band"])
    with pytest.raises(ValueError, match=r"vectors of length 60 are needed, not of shape \(2, 30\)"):
        factor.half_solve(np.ones((2, 30)))


def test_empty_matrix():
    cholesky = SparseCholesky(scipy.sparse.csr_array((0, 0)))
    factor = cholesky.factor([])
    assert factor.logdet().data == 0.0
    assert factor.solve(np.zeros((0, 2))).shape == (0, 2)
    assert factor.half_solve(np.zeros((3, 0))).shape == (3, 0)
    assert factor.inverse_on_pattern().shape == cholesky.matmul([], np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
def test_formats(form):
    matrix = SHAPES["forest"].asformat(form)
    logdet = np.linalg.slogdet(SHAPES["forest"].toarray())[1]
    for own in (matrix, scipy.sparse.tril(matrix).asformat(form)):
        cholesky = SparseCholesky(own)
        np.testing.assert_allclose(cholesky.factor(own).logdet().data, logdet)
        np.testing.assert_allclose(cholesky.factor(SHAPES["forest"]).logdet().data, logdet)
        if form in ("csr", "csc", "coo"):  # of the others the order is not that of `data`
            np.testing.assert_allclose(cholesky.factor(own.data).logdet().data, logdet)


def test_lists_of_tensors():
    cholesky, t = SparseCholesky(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 2.0]])), tg.tensor(2.0)
    cholesky.factor([t, 1.0, t]).logdet().backward()
    np.testing.assert_allclose(t.grad, 4.0 / 3.0)


def test_unsorted_entries_and_patterns_by_attributes():
    class Pattern:
        shape, indptr, indices = (3, 3), [0, 1, 3, 5], [0, 1, 0, 2, 1]

    factor = SparseCholesky(Pattern).factor([2.0, 2.0, -1.0, 2.0, -1.0])
    np.testing.assert_allclose(factor.solve([1.0, 0.0, 1.0]).data, [1.0, 1.0, 1.0], rtol=1e-14)


def test_single_precision():
    matrix = SHAPES["grid"].astype(np.float32)
    factor = SparseCholesky(matrix).factor(matrix.data)
    b = np.ones(144, np.float32)
    assert factor.logdet().dtype == factor.solve(b).dtype == factor.inverse_on_pattern().dtype == np.float32
    np.testing.assert_allclose(matrix @ factor.solve(b).data, b, rtol=1e-4)
    assert factor.solve(np.ones(144)).dtype == np.float64


# --- derivatives -------------------------------------------------------------------------------------------------


def dense_of(cholesky, values):
    """The dense matrix of entries, by the lower triangle."""
    lower = np.flatnonzero(cholesky.rows >= cholesky.columns)
    i, j = cholesky.rows[lower], cholesky.columns[lower]
    dense = tg.zeros((cholesky.n, cholesky.n))
    dense[i, j] = values[lower]
    dense[j, i] = values[lower]
    return dense


FIELDS = {
    "logdet": (lambda c, v, x: c.factor(v).logdet(), lambda a, x: tg.linalg.slogdet(a)[1]),
    "field": (
        lambda c, v, x: 0.5 * c.factor(v).logdet() - 0.5 * tg.dot(x, c.matmul(v, x)),
        lambda a, x: 0.5 * tg.linalg.slogdet(a)[1] - 0.5 * tg.dot(x, a @ x),
    ),
    "solve": (
        lambda c, v, x: tg.sum(c.factor(v).solve(x) ** 2),
        lambda a, x: tg.sum(tg.linalg.solve(a, x) ** 2),
    ),
    "variances": (
        lambda c, v, x: tg.dot(c.factor(v).inverse_on_pattern()[c.rows == c.columns], x),
        lambda a, x: tg.dot(tg.linalg.diagonal(tg.linalg.inv(a)), x),
    ),
}


def mixed(f, point, j, k, dot):
    """The gradient by argument j, differentiated by argument k."""

    def along(y):
        moved = list(point)
        moved[k] = y
        return tg.grad(f, argnums=j)(*moved)

    return tg.jvp(along, (point[k],), (dot,))[1]


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit])
@pytest.mark.parametrize("name", FIELDS)
def test_derivatives_are_those_of_the_dense_matrix(name, wrap, rng):
    own, dense = FIELDS[name]
    matrix = dominant(scipy.sparse.random_array((14, 14), density=0.2, rng=np.random.default_rng(1)))
    for given in (matrix, scipy.sparse.tril(matrix).tocsr()):
        cholesky, x = SparseCholesky(given), np.linspace(-1.0, 1.0, 14)
        f = wrap(lambda v, x, c=cholesky: own(c, v, x))
        g = tg.jit(lambda v, x, c=cholesky: dense(dense_of(c, v), x))
        v_dot, x_dot = rng.standard_normal(given.nnz), rng.standard_normal(14)
        point, dots = (given.data, x), (v_dot, x_dot)
        for j, k in ((0, 0), (0, 1), (1, 1)):
            found, expected = (tg.grad(h, argnums=j)(*point) for h in (f, g))
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
            second = [mixed(h, point, j, k, dots[k]) for h in (f, g)]
            np.testing.assert_allclose(*second, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(*(tg.jvp(h, point, dots)[1] for h in (f, g)), rtol=1e-9, atol=1e-11)


def test_gradient_of_the_logdet_is_the_inverse_on_the_pattern():
    lower = scipy.sparse.tril(SHAPES["grid"]).tocsr()
    cholesky = SparseCholesky(lower)
    found = tg.grad(lambda v: cholesky.factor(v).logdet())(lower.data)
    inverse = cholesky.factor(lower.data).inverse_on_pattern().data
    np.testing.assert_array_equal(found, np.where(cholesky.rows == cholesky.columns, 1, 2) * inverse)


def test_third_order_and_its_limit():
    cholesky, matrix = SparseCholesky(SHAPES["chain"]), SHAPES["chain"]

    def f(t):
        return cholesky.factor(matrix.data * t).logdet()

    for order, expected in enumerate((40.0, -40.0, 80.0, -240.0, 960.0)):
        f = tg.grad(f)
        np.testing.assert_allclose(f(1.0), expected, rtol=1e-10, err_msg=str(order))


def test_one_factor_and_one_plan_serve_a_replay():
    cholesky, values = SparseCholesky(SHAPES["band"]), SHAPES["band"].data

    def f(v, x):
        return cholesky.factor(v).logdet() + tg.sum(cholesky.factor(v).solve(x))

    replay = tg.value_and_grad(tg.jit(f))
    replay(values, np.ones(60))
    text = str(tg.jit(f).tape(values, np.ones(60)))
    assert "sparse_solve(" in text
    found = replay(2 * values, np.ones(60))
    expected = tg.value_and_grad(f)(2 * values, np.ones(60))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_lanes_compile_and_files(tmp_path):
    cholesky, values = SparseCholesky(SHAPES["forest"]), SHAPES["forest"].data

    def f(v):
        factor = cholesky.factor(v)
        return factor.logdet() + tg.sum(factor.solve(v[:50]))

    expected = [tg.value_and_grad(f)(scale * values) for scale in (1.0, 1.5)]
    found = tg.vmap(tg.value_and_grad(f))(np.stack([values, 1.5 * values]))
    for part, parts in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(part, np.stack(parts), rtol=1e-13)
    handle = tg.compile(tg.value_and_grad(f), values)
    handle.save(tmp_path / "field.tape")
    for each in (handle, tg.load(tmp_path / "field.tape")):
        for part, one in zip(each(values), expected[0], strict=True):
            np.testing.assert_array_equal(part, one)


def test_copies():
    cholesky = SparseCholesky(SHAPES["forest"])
    logdet = cholesky.factor(SHAPES["forest"]).logdet().data
    for other in (pickle.loads(pickle.dumps(cholesky)), copy.deepcopy(cholesky)):
        assert other.factor(SHAPES["forest"]).logdet().data == logdet


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain", "grid", "full"])
def test_indefinite_matrices(name):
    matrix = SHAPES[name].copy().tolil()
    matrix[3, 3] = -1.0
    matrix = matrix.tocsr()
    cholesky = SparseCholesky(matrix)
    for values in (matrix.data, tg.tensor(matrix.data)):
        with pytest.raises(
            np.linalg.LinAlgError, match=r"not positive definite: the pivot of row \d+ is not"
        ):
            cholesky.factor(values)
    with pytest.raises(np.linalg.LinAlgError, match="pivot of row"):
        tg.grad(lambda v: cholesky.factor(v).logdet())(matrix.data)
    replay = tg.jit(lambda v: cholesky.factor(v).logdet())
    np.testing.assert_allclose(
        replay(SHAPES[name].data), np.linalg.slogdet(SHAPES[name].toarray())[1], rtol=1e-11
    )
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        replay(matrix.data)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        replay(np.full(matrix.nnz, np.nan))


def test_the_row_of_the_pivot_is_that_of_the_matrix():
    values = np.ones(9)
    values[4] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="pivot of row 4 "):
        SparseCholesky(SHAPES["diagonal"]).factor(values)


def test_nan_on_failure():
    cholesky = SparseCholesky(SHAPES["chain"])
    with tg.linalg.errstate("nan"):
        factor = cholesky.factor(tg.tensor(-SHAPES["chain"].data))
        assert np.isnan(factor.logdet().data)
        assert np.isnan(factor.solve(np.ones(40)).data).all()


ROWS = scipy.sparse.csr_array(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
PATTERNS = {
    "square": (scipy.sparse.csr_array((2, 3)), ValueError),
    "scipy.sparse.csr_array": (np.eye(2), TypeError),
    r"it has \(0, 2\) and not \(2, 0\)": (scipy.sparse.csr_array(np.eye(3) + np.eye(3, k=2)), ValueError),
    r"entry \(1, 1\) is there twice": (
        scipy.sparse.coo_array((np.ones(3), ([0, 1, 1], [0, 1, 1]))),
        ValueError,
    ),
}


@pytest.mark.parametrize("message", PATTERNS)
def test_patterns_that_are_refused(message):
    pattern, error = PATTERNS[message]
    with pytest.raises(error, match=message):
        SparseCholesky(pattern)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2, 3], [0, 7, 2], "column number is out of range"),
        ([0, 1, 2, 3], [0, -1, 2], "column number is out of range"),
        ([0, 2, 1, 3], [0, 1, 2], "indptr"),
        ([0, 1, 2, 9], [0, 1, 2], "indptr"),
        ([0, 1, 2], [0, 1, 2], "indptr"),
    ],
)
def test_damaged_lists(indptr, indices, message):
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.indptr, matrix.indices = np.array(indptr, np.int32), np.array(indices, np.int32)
    with pytest.raises(ValueError, match=message):
        SparseCholesky(matrix)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(4), "5 entries, and the values have shape"),
        (np.ones((5, 1)), "5 entries, and the values have shape"),
        ([2.0, np.nan, 1.0, 2.0, 1.0], r"entry \(0, 1\) is nan"),
        ([2.0, 0.5, 1.0, 2.0, 1.0], r"not symmetric: 1.0 at \(1, 0\), 0.5 at \(0, 1\)"),
        (scipy.sparse.csr_array(np.ones((3, 3))), r"entry \(0, 2\) is not in the pattern"),
        (scipy.sparse.csr_array(np.eye(4)), "shape"),
    ],
)
def test_values_that_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        SparseCholesky(ROWS).factor(values)


def test_right_sides_that_are_refused():
    factor = SparseCholesky(ROWS).factor(ROWS)
    for shape in ((4,), (), (2, 3), (3, 1, 1)):
        with pytest.raises(ValueError, match="matrix of 3 rows"):
            factor.solve(np.zeros(shape))


@pytest.mark.parametrize("name", ["chain", "grid"])
def test_damaged_plans_stop_the_kernels(name, rng):
    """A plan whose numbers are wrong, as in a damaged file, is refused or computes nonsense in its own memory."""
    lower = scipy.sparse.tril(SHAPES[name]).tocsr()
    cholesky, values = SparseCholesky(lower), lower.data
    plan, header = cholesky._plan, cholesky._header
    places = np.concatenate([np.arange(HEADER_FIELDS), rng.integers(HEADER_FIELDS, len(plan), 60)])
    stopped = 0
    for place in places:
        for value in (-1, 0, 3, plan[place] + 1, len(plan), 2**40, 2**62):
            damaged = plan.copy()
            damaged[place] = value
            other = copy.copy(cholesky)
            other._plan = damaged
            try:
                factor = other.factor(tg.tensor(values))
                factor.inverse_on_pattern()
                factor.solve(np.ones(header.n))
                tg.grad(lambda v, o=other: tg.sum(o.factor(v).inverse_on_pattern()))(values)
            except (IndexError, np.linalg.LinAlgError, MemoryError):
                stopped += 1
    assert stopped > 100
