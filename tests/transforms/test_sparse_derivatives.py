"""Sparse Jacobians and Hessians: patterns, colours, entries, and what may go wrong."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from numpy.lib.stride_tricks import sliding_window_view

import tapegrad as tg
from helpers.compositions.sample import EVERY, Sample
from helpers.daily import random_seeds
from helpers.table_loops import grouped
from tapegrad.autodiff.sparsity import compressed
from tapegrad.autodiff.sparsity import sets as pools
from tapegrad.autodiff.sparsity.plan import plan_of
from tapegrad.autodiff.sparsity.rules import RULES
from tapegrad.autodiff.sparsity.sets import SetPool
from tapegrad.engine.tape.fields.view import View
from tapegrad.errors import DensePatternError, RecordingWarning
from tapegrad.ops import ROWS
from tapegrad.ops.params import Region

X = np.linspace(0.5, 1.5, 8)
TABLE = np.array([3, 0, 3, 7, 5])
STENCIL = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=(-1, 0, 1), shape=(8, 8)).tocsr()


def rosenbrock(x):
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def filled(x):
    y = tg.zeros(8)
    y[1:] = x[:-1] ** 2
    y[::3] += x[::3]
    y[2] = 1.0
    return y


def rows_written(x):
    y = x * 1.0
    y[TABLE[:2]] = x[:2] * 2
    return y * x


def reaction(u):
    return STENCIL @ u + 0.1 * tg.exp(u)


def bratu(u):
    """The residuals of Bratu's problem on a square."""
    inside = tg.pad(tg.reshape(u, (4, 4)), 1)
    beside = inside[2:, 1:-1] + inside[:-2, 1:-1] + inside[1:-1, 2:] + inside[1:-1, :-2]
    return tg.ravel(4 * inside[1:-1, 1:-1] - beside - 0.08 * tg.exp(inside[1:-1, 1:-1]))


def brusselator(w):
    """The rates of two substances that react and diffuse on a torus."""
    u, v = tg.reshape(w, (2, 4, 4))

    def diffused(x):
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x

    rates = 1.0 + u * u * v - 4.4 * u + 10 * diffused(u), 3.4 * u - u * u * v + 10 * diffused(v)
    return tg.concatenate([tg.ravel(each) for each in rates])


VECTORS = {
    "neighbours": lambda x: x[1:] * x[:-1],
    "itself": lambda x: x,
    "constant": lambda x: np.ones(3),
    "linear": lambda x: 2.0 * x[1:] - x[:-1],
    "linear and not": lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1) + x**2,
    "by an array": lambda x: X * x[::-1],
    "parts": lambda x: tg.concatenate([x * 2, tg.sin(x[::2]), np.ones(2)]),
    "taken": lambda x: x[TABLE] ** 2,
    "sparse": lambda x: STENCIL.T @ (x**2),
    "reaction": reaction,
    "columns": lambda x: tg.reshape(x, (2, 4)) @ np.arange(12.0).reshape(4, 3),
    "largest": lambda x: tg.max(tg.reshape(x, (4, 2)), axis=1),
    "means": lambda x: x - tg.mean(tg.reshape(x, (2, 4)), axis=0)[0],
    "one number": lambda x: tg.sum(x) ** 2,
    "dense row": lambda x: tg.concatenate([x**2, [tg.sum(tg.sin(x))]]),
    "windows": lambda x: tg.convolve(x, np.array([1.0, 2.0, 1.0])),
    "chosen": lambda x: tg.where(x > 1, x**2, np.flip(x)),
    "steps": lambda x: tg.floor(x) * x,
    "filled": filled,
    "rows written": rows_written,
    "matrix": lambda x: tg.outer(x, x[:2]),
    "determinants": lambda x: tg.linalg.det(tg.reshape(x, (2, 2, 2)) + 3 * np.eye(2)),
    "log-determinants": lambda x: tg.linalg.slogdet(tg.reshape(x, (2, 2, 2)) + 3 * np.eye(2))[1],
    "repeated": lambda x: tg.broadcast_to((x**2)[:, None], (8, 3)),
    "repeated and moved": lambda x: tg.broadcast_to(2 * x[::2], (3, 4))[:, ::-1],
    "of no elements": lambda x: (STENCIL @ tg.outer(x, x[:0])).T,
}
# Each element is several elements of what follows, at which other elements meet it
REPEATED = {
    "repeat": lambda x: np.repeat(x, 2)[1:] * np.repeat(x, 2)[:-1],
    "tile": lambda x: np.tile(x, 3)[1:] * np.tile(x, 3)[:-1],
    "broadcast_to": lambda x: (
        np.broadcast_to(x, (2, x.size))[:, 1:] * np.broadcast_to(x[:2, None], (2, x.size - 1))
    ),
    "meshgrid": lambda x: np.multiply(*np.meshgrid(x[:3], x[2:])),
    "windows": lambda x: sliding_window_view(x, 3).prod(axis=-1),
    "windows of two axes": lambda x: sliding_window_view(tg.outer(x, x[:3]), (2, 2)).prod(axis=(-1, -2)),
    "outer": lambda x: tg.outer(x[:-1], x[1:]) ** 2,
    "taken": lambda x: x[[0, 0, 1, 1]] * x[[1, 2, 2, 0]],
    "padded": lambda x: np.pad(x, 2, "wrap")[2:] * np.pad(x, 2, "edge")[:-2],
    "complex windows": lambda x: sliding_window_view(x * np.exp(1j * x[::-1]), 3).prod(axis=-1).imag,
}
SCALARS = {
    "rosenbrock": rosenbrock,
    "linear": lambda x: tg.sum(x),
    "quadratic": lambda x: x @ (STENCIL @ x),
    "arrow": lambda x: x[0] * tg.sum(x**2),
    "product": lambda x: tg.prod(x),
}


def dense(function, x):
    found = np.asarray(tg.jacobian(function)(x))
    return found.reshape(-1, x.size)


# --- entries -----------------------------------------------------------------------------------------------------


@grouped("name")
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", VECTORS)
def test_jacobian_is_the_dense_one(name, mode):
    function = VECTORS[name]
    jacobian = tg.jacobian(tg.jit(function), sparse=True, mode=mode)
    for x in (X, X[::-1] + 0.25):  # the second one is replayed
        found = jacobian(x)
        np.testing.assert_allclose(found.toarray(), dense(function, x), rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(jacobian.values(x), found.data)
        assert found.indices.dtype == found.indptr.dtype == np.int32
        assert found.has_sorted_indices


@pytest.mark.parametrize("name", SCALARS)
def test_hessian_is_the_dense_one(name):
    function = SCALARS[name]
    hessian = tg.hessian(function, sparse=True)
    for x in (X, X[::-1] + 0.25):
        np.testing.assert_allclose(hessian(x).toarray(), tg.hessian(function)(x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", REPEATED)
def test_hessian_of_what_repeats_elements(name):
    gradient = tg.grad(lambda x: tg.sum(REPEATED[name](x) * 1.5))
    for hessian, x in (
        (lambda x: tg.jacobian(gradient, sparse=True)(x).toarray(), X),
        (lambda x: tg.hessian(lambda x: tg.sum(REPEATED[name](x) * 1.5), sparse=True)(x).toarray(), X),
        (tg.jacobian(gradient), np.linspace(0.5, 1.5, 20)),  # whose columns may share tangents
    ):
        steps = 1e-6 * np.eye(x.size)
        by_differences = [(gradient(x + step) - gradient(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(hessian(x), np.stack(by_differences, 1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("format_", ["csr", "csc", "coo"])
def test_formats_have_their_entries_in_order(format_):
    jacobian = tg.jacobian(VECTORS["parts"], sparse=format_)
    found = jacobian(X)
    assert found.format == format_
    assert isinstance(found, scipy.sparse.sparray)
    np.testing.assert_array_equal(found.toarray(), dense(VECTORS["parts"], X))
    np.testing.assert_array_equal(found.data, jacobian.values(X))
    again = getattr(scipy.sparse, f"{format_}_array")(found.toarray())
    np.testing.assert_array_equal(found.data, again.data)  # in SciPy's own order, as nothing is zero


@pytest.mark.parametrize(
    ("function", "size", "entries", "colours"), [(bratu, 16, 64, 1), (brusselator, 32, 192, 2)]
)
def test_discretised_equations(function, size, entries, colours):
    """Entries of neighbours are constant: replays have sweeps of the reaction alone."""
    x = np.linspace(-1.0, 1.0, size)
    jacobian = tg.jacobian(function, sparse=True)
    np.testing.assert_allclose(jacobian(x).toarray(), tg.jacobian(function)(x), rtol=1e-13, atol=1e-13)
    pattern = jacobian.pattern(x)
    assert pattern.nnz == entries
    assert pattern.colors.max() + 1 == colours


@random_seeds(0, 32, 2)
def test_random_programs(seeds):
    """Sparse Jacobians of random programs beside dense ones."""
    for seed in seeds:
        sample = Sample(seed)
        found, dense = (
            tg.jacobian(sample.vector, EVERY, sparse=choice)(*sample.inputs) for choice in (True, False)
        )
        for sparse, whole in zip(found, dense, strict=True):
            expected = np.reshape(whole, sparse.shape)
            scale = 1 + np.abs(expected).max(initial=0)
            np.testing.assert_allclose(
                sparse.toarray(), expected, rtol=1e-11, atol=1e-12 * scale, err_msg=str(sample)
            )


@pytest.mark.parametrize("count", [4, 6])
def test_a_column_with_a_sweep_of_its_own_beside_rows_that_share_theirs(count):
    """Entries of the column are read from its sweep: those of the rows add up several in it."""

    def f(y):
        return np.concatenate(
            [np.ravel(np.sum(y * y)), np.ravel((y[0] * np.arange(1.0, count + 1))[:, None] * y)]
        )

    y = np.linspace(0.3, 1.4, 16)
    expected = np.zeros((count, 16, 16))
    expected[:, np.arange(16), np.arange(16)] = y[0]
    expected[:, :, 0] += y
    expected *= np.arange(1.0, count + 1)[:, None, None]
    found = tg.jacobian(f, sparse=True)(y).toarray()
    np.testing.assert_allclose(found, np.vstack([2 * y, expected.reshape(-1, 16)]), rtol=1e-14)


def test_what_is_constant_takes_no_sweep():
    """Of a stencil and a reaction, only the reaction is computed by replays: a diagonal, of one colour."""
    jacobian = tg.jacobian(lambda u: np.roll(u, 1) - 2 * u + np.roll(u, -1) + tg.exp(u), sparse=True)
    pattern = jacobian.pattern(X)
    assert pattern.nnz == 24
    assert pattern.colors.tolist() == [0] * 8
    assert "roll" not in str(jacobian.values.recorded.tape(X))
    np.testing.assert_allclose(jacobian(X + 1).diagonal(), np.exp(X + 1) - 2, rtol=1e-15)


def test_numbers_that_a_closure_changes_are_no_constants():
    scale, weights = np.array(2.0), np.arange(8.0)
    jacobian = tg.jacobian(tg.jit(lambda x: scale * x + weights * x[::-1]), sparse=True)
    jacobian(X)
    scale[...], weights[:] = 3.0, weights + 1
    expected = 3.0 * np.eye(8) + np.diag(weights)[:, ::-1]
    np.testing.assert_allclose(jacobian(X).toarray(), expected, rtol=1e-15)


def test_lists_that_a_closure_changes_change_the_pattern():
    listed = np.array([0, 1, 2])
    matrix = STENCIL.copy()
    taken = tg.jacobian(tg.jit(lambda x: x[listed] ** 2), sparse=True)
    product = tg.jacobian(tg.jit(lambda x: matrix @ x), sparse=True)
    taken(X), product(X)
    listed[:] = [5, 6, 7]
    matrix.indices[:] = (matrix.indices + 1) % 8
    np.testing.assert_allclose(taken(X)[:, 5:].toarray(), np.diag(2 * X[5:]))
    np.testing.assert_allclose(product(X).toarray(), matrix.toarray())


def test_lists_that_are_arguments_may_name_any_row():
    jacobian = tg.jacobian(tg.jit(lambda x, rows: x[rows] ** 2), sparse=True)
    assert jacobian.pattern(X, np.array([1, 2])).nnz == 16
    for rows in (np.array([1, 2]), np.array([7, 0])):
        np.testing.assert_allclose(jacobian(X, rows).toarray()[[0, 1], rows], 2 * X[rows])


def test_each_branch_has_its_pattern():
    def branch(x):
        return x[1:] * x[:-1] if x[0] > 0 else x[1:] ** 2

    jacobian = tg.jacobian(tg.jit(branch), sparse=True)
    for x, entries in ((X, 14), (-X, 7), (X + 1, 14)):
        assert jacobian.pattern(x).nnz == entries
        np.testing.assert_allclose(jacobian(x).toarray(), dense(branch, x))


def test_structures_and_several_arguments():
    point = {"a": X[:4], "b": X[4:]}

    def function(p):
        return tg.sum(p["a"] ** 2 * p["b"]) + tg.sum(p["a"][1:] * p["a"][:-1])

    found, expected = tg.hessian(function, sparse=True)(point), tg.hessian(function)(point)
    for i in "ab":
        for j in "ab":
            np.testing.assert_allclose(found[i][j].toarray(), expected[i][j], rtol=1e-13)
    left, right = tg.jacobian(lambda x, y: x * y[::-1], (0, 1), sparse="csc")(X, X + 1)
    np.testing.assert_allclose(left.toarray(), np.diag(X[::-1] + 1))
    np.testing.assert_allclose(right.toarray(), np.diag(X)[:, ::-1])


def test_auxiliary_results():
    matrix, aux = tg.jacobian(lambda x: (x**2, {"n": 5}), sparse=True, has_aux=True)(X)
    np.testing.assert_allclose(matrix.diagonal(), 2 * X)
    assert aux == {"n": 5}


@pytest.mark.parametrize("function", [rosenbrock, lambda x: tg.sum(x**3)])
def test_single_precision(function):
    x = X.astype(np.float32)
    found = tg.hessian(function, sparse=True)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), tg.hessian(function)(x), rtol=1e-5)


def test_scalars_and_empty_arrays():
    assert tg.jacobian(lambda x: x * x, sparse=True)(3.0).toarray().tolist() == [[6.0]]
    assert tg.jacobian(lambda x: x * 2, sparse=True)(np.zeros(0)).shape == (0, 0)
    assert tg.jacobian(lambda x: x[1:] * x[:-1], sparse=True)(np.zeros(1)).shape == (0, 1)


def test_special_values_are_those_of_the_dense_derivative():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 0.0, 2.0])
    for function in (VECTORS["neighbours"], lambda x: tg.where(x > 0, tg.sqrt(x), 0.0) * x[::-1]):
        found = tg.jacobian(function, sparse=True)(x).toarray()
        np.testing.assert_array_equal(found, dense(function, x))


# --- as a function among others ----------------------------------------------------------------------------------


def test_entries_are_differentiated_mapped_and_compiled():
    hessian = tg.hessian(tg.jit(rosenbrock), sparse=True)
    values = hessian.values(X)
    gradient = tg.grad(lambda x: tg.sum(hessian.values(x) ** 2))(X)
    expected = tg.grad(lambda x: tg.sum(tg.hessian(rosenbrock)(x) ** 2))(X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    lanes = np.stack([X, X + 1, X - 1])
    for mapped in (tg.vmap(hessian.values), tg.vmap(hessian)):
        np.testing.assert_array_equal(mapped(lanes), np.stack([hessian.values(x) for x in lanes]))
    compiled = tg.compile(hessian, X)
    np.testing.assert_array_equal(compiled(X), values)
    assert compiled.pattern.nnz == len(values)


def test_derivatives_of_entries_are_those_of_differences():
    tg.check_grads(tg.jacobian(VECTORS["neighbours"], sparse=True).values, (X[:3],), order=1, modes="rev")


def test_files(tmp_path):
    jacobian = tg.jacobian(reaction, sparse=True)
    tg.compile(jacobian, X).save(tmp_path / "reaction.tape")
    np.testing.assert_array_equal(tg.load(tmp_path / "reaction.tape")(X + 1), jacobian.values(X + 1))


def test_tensors_have_entries_and_no_matrix():
    jacobian = tg.jacobian(VECTORS["neighbours"], sparse=True)
    leaf = tg.tensor(X)
    tg.sum(jacobian.values(leaf)).backward()
    np.testing.assert_allclose(leaf.grad, [1, *[2] * 6, 1])
    with pytest.raises(TypeError, match=r"use \.values\(x\)"):
        jacobian(leaf)


def test_out_is_written():
    jacobian = tg.jacobian(VECTORS["neighbours"], sparse=True)
    out = np.empty(14)
    assert jacobian.values(X, out=out) is out
    np.testing.assert_array_equal(out, jacobian.values(X))
    with pytest.raises(ValueError, match="there are 14 entries"):
        jacobian.values(X, out=np.empty(13))
    with pytest.raises(ValueError, match="float32"):
        jacobian.values(X, out=np.empty(14, np.float32))
    with pytest.raises(TypeError, match="one array"):
        jacobian.values(X, out=[0.0] * 14)


def test_matrices_of_two_calls_share_places_and_no_entries():
    jacobian = tg.jacobian(VECTORS["neighbours"], sparse=True)
    first, second = jacobian(X), jacobian(X + 1)
    assert np.shares_memory(first.indices, second.indices)
    assert not first.indices.flags.writeable
    np.testing.assert_array_equal(first.toarray(), dense(VECTORS["neighbours"], X))


def test_pickles_and_reprs():
    hessian = tg.hessian(np.sum, sparse=True)
    assert repr(hessian) == repr(pickle.loads(pickle.dumps(hessian))) == "sparse hessian(sum)"
    assert repr(tg.jacobian(rosenbrock, sparse=True)) == "sparse jacobian(rosenbrock)"


# --- patterns ----------------------------------------------------------------------------------------------------


def test_a_large_pattern_is_drawn_by_blocks():
    pattern = tg.jacobian(lambda x: x**2, sparse=True).pattern(np.ones(1000))
    lines = str(pattern).split("\n")
    assert lines[0] == "1,000 x 1,000, 1,000 entries (0.1 %), 1 colours"
    assert {len(line) for line in lines[1:]} == {72}
    assert len(lines) == 25
    assert all(line.count(".") >= 68 for line in lines[1:])


def test_a_given_pattern_is_used_and_checked():
    function = VECTORS["neighbours"]
    known = tg.jacobian(function, sparse=True).pattern(X)
    expected = dense(function, X)
    np.testing.assert_allclose(tg.jacobian(function, sparse=True, pattern=known)(X).toarray(), expected)
    everything = scipy.sparse.csr_array(np.ones((7, 8)))
    replayed = tg.jit(function)
    for given in (everything, everything.tocoo(), scipy.sparse.csc_matrix(everything)):
        assert tg.jacobian(replayed, sparse=True, pattern=given)(X).nnz == 56
    assert len(replayed.derived) == 1  # equal patterns share recordings
    with pytest.raises(ValueError, match=r"lacks entries: .* in row 0 and column 1 is 0.*\(7 rows differ\)"):
        tg.jacobian(function, sparse=True, pattern=scipy.sparse.csr_array(np.eye(7, 8)))(X)
    with pytest.raises(ValueError, match="its shape is"):
        tg.jacobian(function, sparse=True, pattern=scipy.sparse.csr_array(np.eye(8)))(X)
    with pytest.raises(TypeError, match="not a ndarray"):
        tg.jacobian(function, sparse=True, pattern=np.eye(7, 8))(X)


def test_a_given_pattern_of_bad_indices_is_refused():
    bad = scipy.sparse.csr_array(np.eye(7, 8))
    bad.indices[0] = 1000
    with pytest.raises(ValueError, match="indices"):
        tg.jacobian(VECTORS["neighbours"], sparse=True, pattern=bad)(X)


def test_a_given_pattern_of_a_hessian():
    known = tg.hessian(rosenbrock, sparse=True).pattern(X)
    lower = scipy.sparse.tril(known.matrix(np.ones(known.nnz)))  # it is completed to a symmetric one
    for given in (known, lower):
        found = tg.hessian(rosenbrock, sparse=True, pattern=given)(X)
        np.testing.assert_allclose(found.toarray(), tg.hessian(rosenbrock)(X), rtol=1e-13)


def test_a_dense_product_warns():
    weights = np.random.default_rng(0).normal(size=(80, 80))
    with pytest.warns(RecordingWarning, match="scipy.sparse"):
        tg.jacobian(lambda x: weights @ x, sparse=True)(np.ones(80))


def test_too_many_entries_are_an_error(monkeypatch):
    monkeypatch.setattr(pools, "MAX_ENTRIES", 1 << 12)
    with pytest.raises(DensePatternError, match="use sparse=False"):
        tg.jacobian(lambda x: x[:200] + tg.cumsum(tg.tile(tg.sum(x[200:]), 200)), sparse=True)(np.ones(400))


@pytest.mark.parametrize("size", [60, 70])
def test_large_matrices_that_are_dense_are_refused(size, monkeypatch):
    """Of those that are not, each column has a sweep of its own: no colours are looked for."""
    monkeypatch.setattr(compressed, "_MAX_DENSE_EXTENT", 63)
    x = np.linspace(0.1, 1.0, size)
    hessian = tg.hessian(lambda x: tg.sum(x**2) ** 2 * x[0], sparse=True)
    if size > 63:
        with pytest.raises(DensePatternError, match="4,900 of the 70 x 70 entries may be other than zero"):
            hessian(x)
        return
    total, first = np.sum(x**2), np.eye(size)[0]
    slopes = 4 * total * np.outer(x, first)
    expected = x[0] * (8 * np.outer(x, x) + 4 * total * np.eye(size)) + slopes + slopes.T
    np.testing.assert_allclose(hessian(x).toarray(), expected, rtol=1e-12)
    assert hessian.pattern(x).colors.tolist() == list(range(size))


@pytest.mark.parametrize("sparse", ["dia", 1, "yes"])
def test_other_formats_are_refused(sparse):
    with pytest.raises(ValueError, match="it must be True, False, 'csr'"):
        tg.jacobian(rosenbrock, sparse=sparse)


def test_a_pattern_of_a_dense_derivative_is_refused():
    with pytest.raises(ValueError, match="pass sparse=True"):
        tg.hessian(rosenbrock, pattern=scipy.sparse.eye_array(8))


# --- sets and colours --------------------------------------------------------------------------------------------


def contents(pool, numbers):
    starts, entries = pool.starts, pool.entries
    return [frozenset(entries[starts[k] : starts[k + 1]].tolist()) for k in np.ravel(numbers).tolist()]


@pytest.mark.parametrize("seed", range(8))
def test_sets_are_those_of_python(seed):
    """Random unions beside Python's sets; equal sets have equal numbers."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    pool = SetPool(n)
    numbers, expected = [np.arange(1, n + 1)], [[frozenset([k]) for k in range(n)]]
    for _ in range(12):
        i, j = rng.integers(len(numbers), size=2)
        order = rng.permutation(n)
        if rng.random() < 0.7:
            numbers.append(pool.unite(numbers[i], numbers[j][order]))
            expected.append([expected[i][k] | expected[j][order[k]] for k in range(n)])
        else:
            groups = rng.integers(0, n, size=n)
            numbers.append(pool.unite_listed(numbers[i], groups, n))
            listed = [[expected[i][k] for k in np.flatnonzero(groups == g)] for g in range(n)]
            expected.append([frozenset().union(*each) for each in listed])
        assert contents(pool, numbers[-1]) == expected[-1]
    every = contents(pool, np.arange(pool.count))
    assert len(set(every)) == pool.count


@pytest.mark.parametrize("seed", range(40))
def test_plans_find_every_entry(seed):
    """Entries of random matrices from the sweeps of their plans, by definition."""
    rng = np.random.default_rng(seed)
    m, n, share = int(rng.integers(1, 25)), int(rng.integers(1, 25)), rng.uniform(0, 0.5)
    pattern = scipy.sparse.csr_array((rng.random((m, n)) < share).astype(np.int8))
    symmetric = rng.random((n, n)) < share
    for matrix, is_symmetric, mode in (
        (pattern, False, ("auto", "forward", "reverse")[seed % 3]),
        (scipy.sparse.csr_array((symmetric | symmetric.T).astype(np.int8)), True, "auto"),
    ):
        values = scipy.sparse.csr_array(matrix.astype(float))
        values.data = rng.normal(size=values.nnz)
        if is_symmetric:
            values = scipy.sparse.csr_array(values + values.T)
            values.sort_indices()
        plan, whole = plan_of(matrix, is_symmetric, mode), values.toarray()
        sweeps = [whole @ (plan.columns == c) for c in range(plan.forward)]
        sweeps += [(plan.rows == r) @ whole for r in range(plan.reverse)]
        results = np.concatenate([np.zeros(0), *sweeps])
        np.testing.assert_allclose(results[plan.sources], values.data, rtol=1e-12)


@pytest.mark.parametrize(
    ("offsets", "jacobian", "hessian"), [((0, 1), 2, 3), ((-1, 0, 1), 3, 3), ((-2, -1, 0, 1, 2), 5, 5)]
)
def test_bands_have_as_many_colours_as_diagonals(offsets, jacobian, hessian):
    band = scipy.sparse.diags_array([1.0] * len(offsets), offsets=offsets, shape=(60, 60)).tocsr()
    both = scipy.sparse.csr_array(band + band.T)
    for each in (band, both):
        each.sort_indices()
    assert plan_of(band, False).forward == jacobian
    assert plan_of(both, True).forward == hessian


def test_lines_that_are_dense_have_sweeps_of_their_own():
    arrow = scipy.sparse.lil_array((300, 300))
    arrow.setdiag(1)
    arrow[5, :] = 1
    wide, both = arrow.tocsr(), (arrow + arrow.T).tocsr()
    assert (plan_of(wide, False).forward, plan_of(wide, False).reverse) == (1, 1)
    assert plan_of(wide.T.tocsr(), False).forward == 2
    assert plan_of(both, True).forward == 2


def test_chains_of_a_hundred_thousand():
    x = np.linspace(0.5, 1.5, 100_000)
    hessian = tg.hessian(rosenbrock, sparse=True)
    direction = np.random.default_rng(0).normal(size=len(x))
    np.testing.assert_allclose(hessian(x) @ direction, tg.hvp(rosenbrock)(x, direction), rtol=1e-11)
    assert hessian.pattern(x).nnz == 299_998


def test_a_region_that_shows_elements_twice_has_the_sets_of_both():
    pool, region = SetPool(4), Region(8, (2, 2), (8, 8), (16, 8))
    windows = SimpleNamespace(
        pool=pool,
        shape=(4,),
        params=SimpleNamespace(region=region, regions=(region,), total=4),
        numbers=[np.arange(4)],
        flat=lambda operand: np.full(4, 1),
        region=lambda operand, region: View(8, (2, 2), (8, 8), np.dtype(float)),
        seen_by=lambda operand, region: np.array([[1, 2], [3, 4]]),
    )
    for rule, outside in (("embedded", set()), ("written_region", {0})):
        assert contents(pool, RULES[rule](windows)) == [outside, {0}, {1, 2}, {3}], rule


@pytest.mark.parametrize("row", [row for row in ROWS if row.differentiable], ids=lambda row: row.name)
def test_every_op_has_a_rule_of_dependence(row):
    assert (row.pattern or row.kind) in RULES, (
        f"{row.name}: its row names no `pattern`, and there is no rule for the kind {row.kind!r}: see"
        " autodiff/sparsity/rules.py"
    )


# --- SciPy's optimisers ------------------------------------------------------------------------------------------


def misfits(x):
    return tg.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


def test_least_squares_by_a_sparse_jacobian():
    start = np.full(300, 0.9)
    found = tg.optimize.least_squares(misfits, start, sparse=True)
    np.testing.assert_allclose(found.x, 1, rtol=1e-6)
    assert scipy.sparse.issparse(found.jac)
    np.testing.assert_allclose(found.jac.toarray(), tg.jacobian(misfits)(found.x), rtol=1e-12)


def test_minimize_by_a_sparse_hessian():
    structure = {"a": np.full(4, 0.9), "b": np.full(4, 0.8)}
    found = tg.optimize.minimize(
        lambda p: rosenbrock(tg.concatenate([p["a"], p["b"]])), structure, method="trust-constr", sparse=True
    )
    for leaf in found.x.values():
        np.testing.assert_allclose(leaf, 1, rtol=1e-5)
    with pytest.raises(ValueError, match="'trust-constr', not for 'BFGS'"):
        tg.optimize.minimize(rosenbrock, X, method="BFGS", sparse=True)


PREFIXES = {
    "cumsum": tg.cumsum,
    "cumprod": lambda x: tg.cumprod(1 + 0.1 * x),
    "rows": lambda x: tg.cumsum(x.reshape(2, 3), 1),
    "columns": lambda x: tg.cumsum(x.reshape(2, 3), 0),
    "from the end": lambda x: tg.cumsum(x[::-1])[::-1] * x[0],
    "of sums": lambda x: tg.cumsum(tg.cumsum(x) * x),
}


@pytest.mark.parametrize("name", PREFIXES)
def test_cumulative_sums_and_products_depend_on_what_is_before(name: str) -> None:
    function, x = PREFIXES[name], np.arange(1.0, 7.0)
    derivative = tg.jacobian(function, sparse=True)
    dense = tg.jacobian(function)(x).reshape(6, 6)
    np.testing.assert_allclose(derivative(x).toarray(), dense, rtol=1e-14)
    assert derivative.pattern(x).nnz == np.count_nonzero(dense)


def test_long_cumulative_sums_that_are_summed_fit_into_memory() -> None:
    """The sets of all prefixes would have ten thousand million entries."""
    derivative = tg.jacobian(lambda x: tg.stack([tg.sum(tg.cumsum(x)), x[0]]), sparse=True)
    matrix = derivative(np.ones(20_000))
    assert matrix.nnz == 20_001
    np.testing.assert_array_equal(matrix.data[:3], [20_000.0, 19_999.0, 19_998.0])
