"""Sparse matrices with computed entries: against SciPy's, and derivatives against those of dense matrices."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg
from tapegrad import sparse

DENSE = np.array([[2.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.5, 3.0, 0.0, 1.0], [0.0, 4.0, 0.0, -2.0]])
A = scipy.sparse.csr_array(DENSE)
B = scipy.sparse.csr_array(
    np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 5.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
)
X = np.random.default_rng(4).standard_normal(4)
XS = np.random.default_rng(5).standard_normal((4, 2))
ROW = np.random.default_rng(6).standard_normal((1, 4))
ENTRIES = A.data.copy()
ROWS, COLUMNS = A.tocoo().row, A.tocoo().col
MAKERS = {
    "csr": lambda d: sparse.csr_array((d, A.indices, A.indptr), shape=A.shape),
    "csc": lambda d: sparse.csr_array((d, A.indices, A.indptr), shape=A.shape).tocsc(),
    "coo": lambda d: sparse.coo_array((d, (ROWS, COLUMNS)), shape=A.shape),
}
# Each is written once, for SciPy's matrix with arrays, and for ours with Tensors.
OPERATIONS = {
    "S @ x": lambda s, x: s @ x,
    "S @ X": lambda s, x: s @ XS,
    "x @ S": lambda s, x: x @ s,
    "X @ S": lambda s, x: XS.T @ s,
    "S.T @ x": lambda s, x: s.T @ x,
    "S.dot": lambda s, x: s.dot(x),
    "S @ S.T": lambda s, x: s @ s.T,
    "S @ B": lambda s, x: s @ B,
    "B @ S": lambda s, x: B @ s,
    "B.T @ S @ B": lambda s, x: B.T @ s @ B,
    "S + B": lambda s, x: s + B,
    "B - S": lambda s, x: B - s,
    "S + S": lambda s, x: s + s,
    "S - S.T": lambda s, x: s - s.T,
    "S + X": lambda s, x: s + np.ones((4, 4)),
    "-S": lambda s, x: -s,
    "abs": lambda s, x: abs(s),
    "c * S": lambda s, x: 2.5 * s,
    "S * c": lambda s, x: s * x[0],
    "S / c": lambda s, x: s / 2.0,
    "S / X": lambda s, x: s / np.full((4, 4), 3.0),
    "S * row": lambda s, x: s * (x[None, :] + ROW),
    "S * x": lambda s, x: s * x,
    "column * S": lambda s, x: x[:, None] * s,
    "S.multiply(X)": lambda s, x: s.multiply(np.arange(16.0).reshape(4, 4)),
    "S * B": lambda s, x: s * B,
    "B * S": lambda s, x: B * s,
    "S * S": lambda s, x: s * s,
    "S**2": lambda s, x: s**2,
    "sum": lambda s, x: s.sum(),
    "sum 0": lambda s, x: s.sum(axis=0),
    "sum -1": lambda s, x: s.sum(axis=-1),
    "diagonal": lambda s, x: s.diagonal(),
    "diagonal 1": lambda s, x: s.diagonal(1),
    "diagonal -2": lambda s, x: s.diagonal(k=-2),
    "trace": lambda s, x: s.trace(),
    "toarray": lambda s, x: s.toarray(),
    "S[1:3]": lambda s, x: s[1:3],
    "S[rows]": lambda s, x: s[[3, 0, 3]],
    "S[:, columns]": lambda s, x: s[:, np.array([2, 1])],
    "S[mask]": lambda s, x: s[np.array([True, False, True, False])],
    "S[2, 1]": lambda s, x: s[2, 1],
    "S[1, 1]": lambda s, x: s[1, 1],
    "S.tocsc()": lambda s, x: s.tocsc(),
    "S.tocsr()": lambda s, x: s.tocsr(),
    "S.tocoo()": lambda s, x: s.tocoo(),
}  # fmt: skip
SIMPLE = (
    "S @ x",
    "x @ S",
    "B.T @ S @ B",
    "S + B",
    "S * x",
    "S * B",
    "sum 0",
    "diagonal 1",
    "toarray",
    "S[rows]",
)


def numbers(found):
    """The elements of whatever an operation gives, as an array."""
    found = found.toarray() if sparse.issparse(found) else found
    return np.asarray(getattr(found, "data", found) if isinstance(found, tg.Tensor) else found)


def elements(found):
    return found.toarray() if isinstance(found, sparse.SparseArray) else found


def differences(function, x, h=1e-6):
    return np.stack(
        [(numbers(function(x + h * u)) - numbers(function(x - h * u))) / (2 * h) for u in np.eye(len(x))], -1
    )


# --- against SciPy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", MAKERS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_those_of_scipy(name, form):
    function, theirs = OPERATIONS[name], A.asformat(form)
    expected = function(theirs, X)
    found = function(MAKERS[form](tg.tensor(ENTRIES)), tg.tensor(X))
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-14)
    if scipy.sparse.issparse(expected) and isinstance(found, sparse.SparseArray):
        assert found.shape == expected.shape
        if expected.format in ("csr", "csc"):
            assert found.format == expected.format

    def by_entries(d):
        return elements(function(MAKERS[form](d), tg.tensor(X, constant=True)))

    np.testing.assert_allclose(tg.jacobian(by_entries)(ENTRIES), differences(by_entries, ENTRIES), atol=1e-8)


@pytest.mark.parametrize("name", SIMPLE)
def test_derivatives_of_all_orders_and_modes(name, rng):
    function = OPERATIONS[name]

    def scalar(d, x):
        y = elements(function(MAKERS["csr"](tg.sin(d)), x))
        return tg.sum(tg.exp(0.3 * y) * np.cos(np.arange(y.size)).reshape(y.shape))

    def dense(d, x):
        matrix = tg.zeros((4, 4))
        matrix[ROWS, COLUMNS] = tg.sin(d)
        y = DENSE_OPERATIONS[name](matrix, x)
        return tg.sum(tg.exp(0.3 * y) * np.cos(np.arange(y.size)).reshape(y.shape))

    recorded, v = tg.jit(scalar), rng.standard_normal(len(ENTRIES))
    for found, expected in zip(
        tg.grad(scalar, (0, 1))(ENTRIES, X), tg.grad(dense, (0, 1))(ENTRIES, X), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(tg.grad(recorded)(ENTRIES, X), tg.grad(scalar)(ENTRIES, X))
    for f in (scalar, recorded):
        np.testing.assert_allclose(
            tg.hvp(f)(ENTRIES, X, v), tg.hvp(dense)(ENTRIES, X, v), rtol=1e-11, atol=1e-12
        )
        found, expected = (tg.jvp(g, (ENTRIES, X), (v, X))[1] for g in (f, dense))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


DENSE_OPERATIONS = {
    "S @ x": lambda s, x: s @ x,
    "x @ S": lambda s, x: x @ s,
    "B.T @ S @ B": lambda s, x: B.toarray().T @ s @ B.toarray(),
    "S + B": lambda s, x: s + B.toarray(),
    "S * x": lambda s, x: s * x,
    "S * B": lambda s, x: s * B.toarray(),
    "sum 0": lambda s, x: tg.sum(s, axis=0),
    "diagonal 1": lambda s, x: tg.diagonal(s, 1),
    "toarray": lambda s, x: s * 1.0,
    "S[rows]": lambda s, x: s[[3, 0, 3]],
}


def test_lanes_files_and_sparse_jacobians(tmp_path, rng):
    def product(d, x):
        s = MAKERS["csr"](d)
        return (s.T @ s) @ x + s @ XS[:, 0]

    lanes = ENTRIES * np.linspace(0.5, 2.0, 3)[:, None]
    for axes, args in (
        ((0, None), (lanes, X)),
        ((0, 0), (lanes, rng.standard_normal((3, 4)))),
        ((None, 0), (ENTRIES, XS.T)),
    ):
        slope = tg.grad(lambda d, x: tg.sum(product(d, x) ** 2), (0, 1))
        found = tg.vmap(slope, axes)(*args)
        for k in range(len(found[0])):
            expected = slope(*[a if axis is None else a[k] for a, axis in zip(args, axes, strict=True)])
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a[k], b, rtol=1e-14)
    compiled = tg.compile(product, (ENTRIES, X))
    compiled.save(tmp_path / "product.tg")
    expected = numbers(product(ENTRIES, X))
    np.testing.assert_array_equal(compiled(ENTRIES, X), expected)
    np.testing.assert_array_equal(tg.load(tmp_path / "product.tg")(ENTRIES, X), expected)
    jacobian = tg.jacobian(lambda d: MAKERS["csr"](d) @ X, sparse=True)(ENTRIES)
    assert jacobian.nnz == len(ENTRIES)  # an entry is in one row
    np.testing.assert_allclose(jacobian.toarray(), tg.jacobian(lambda d: MAKERS["csr"](d) @ X)(ENTRIES))


# --- making ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integers", [np.int32, np.int64, list])
@pytest.mark.parametrize("kind", ["csr_array", "csc_array"])
def test_compressed_matrices_of_unsorted_and_duplicate_indices(kind, integers):
    data, indices, indptr = np.arange(1.0, 7.0), [2, 0, 2, 1, 1, 0], [0, 3, 3, 6]
    indices, indptr = (each if integers is list else np.array(each, integers) for each in (indices, indptr))
    theirs = getattr(scipy.sparse, kind)((data, indices, indptr), shape=(3, 3))
    ours = getattr(sparse, kind)((tg.tensor(data), indices, indptr), shape=(3, 3))
    np.testing.assert_array_equal(numbers(ours), theirs.toarray())
    np.testing.assert_array_equal(ours.data.data, data)
    np.testing.assert_array_equal(ours.indices, indices)
    np.testing.assert_array_equal(ours.indptr, indptr)
    assert not ours.has_canonical_format
    for name in (
        "S @ x",
        "S @ S.T",
        "S + S",
        "S * S",
        "S - S.T",
        "S[rows]",
        "S[2, 1]",
        "diagonal",
        "S.tocoo()",
        "S.tocsc()",
    ):
        function = (lambda s, x: s[[2, 0]]) if name == "S[rows]" else OPERATIONS[name]
        theirs_now = theirs.copy()
        if name == "S * S":
            theirs_now.sum_duplicates()
        np.testing.assert_allclose(
            numbers(function(ours, X[:3])), numbers(function(theirs_now, X[:3])), err_msg=name
        )
    assert sparse.csr_array((data, indices, indptr)).shape == (3, 3)


def test_coordinates_add_up_as_in_scipy():
    i, j, data = np.array([1, 0, 1, 1]), np.array([0, 2, 0, 1]), np.array([1.0, 2.0, 4.0, 8.0])
    coo = sparse.coo_array((tg.tensor(data), (i, j)))
    theirs = scipy.sparse.coo_array((data, (i, j)))
    assert (coo.shape, coo.nnz, coo.size, coo.ndim) == (theirs.shape, 4, 4, 2)
    for kind in ("csr_array", "csc_array"):
        ours, expected = (
            getattr(sparse, kind)((tg.tensor(data), (i, j))),
            getattr(scipy.sparse, kind)((data, (i, j))),
        )
        np.testing.assert_array_equal(ours.data.data, expected.data)
        np.testing.assert_array_equal(ours.indices, expected.indices)
        np.testing.assert_array_equal(ours.indptr, expected.indptr)
    leaf = tg.tensor(data)
    sparse.coo_array((leaf, (i, j))).tocsr().data.backward(np.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(leaf.grad, [10.0, 1.0, 10.0, 100.0])


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_entries_of_one_position_are_added_up_before_what_is_not_linear(form):
    data, places = np.array([1.0, 2.0, -3.0, 4.0, 5.0]), ([0, 0, 1, 1, 1], [1, 1, 0, 0, 1])
    compressed = np.array([1, 1, 0, 0, 1]), np.array([0, 2, 5])

    def matrix(entries, home):
        make = getattr(home, f"{form}_array")
        copies = tuple(each.copy() for each in (entries, *compressed))  # SciPy adds up in place
        return make((entries, places) if form == "coo" else copies, shape=(2, 2))

    for call in (abs, lambda s: s**2, lambda s: s.power(3)):
        found, pull = tg.vjp(lambda d, call=call: call(matrix(d, sparse)).toarray(), data)
        np.testing.assert_array_equal(found, call(matrix(data, scipy.sparse)).toarray())
        steps = [call(matrix(data + 1e-6 * unit, scipy.sparse)).toarray().sum() for unit in np.eye(5)]
        (gradient,) = pull(np.ones((2, 2)))
        np.testing.assert_allclose(gradient, (np.array(steps) - found.sum()) / 1e-6, rtol=1e-4)


def test_matrices_of_diagonals_blocks_and_products():
    main, upper = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([4.0, 5.0])
    for offsets, shape in (([0, 1], (3, 3)), ([-1, 2], (4, 5)), ([0, 1], None)):
        parts = [main, upper] if offsets[0] == 0 else [main, main]
        plain = [each.data for each in parts]
        expected = scipy.sparse.diags_array(plain, offsets=offsets, shape=shape, dtype=float).toarray()
        np.testing.assert_array_equal(
            numbers(sparse.diags_array(parts, offsets=offsets, shape=shape)), expected
        )
        np.testing.assert_array_equal(numbers(sparse.diags(parts, offsets, shape)), expected)
    np.testing.assert_array_equal(numbers(sparse.diags_array(main)), np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(
        numbers(sparse.diags_array([2.0], offsets=1, shape=(3, 3))), np.eye(3, k=1) * 2
    )
    np.testing.assert_array_equal(numbers(sparse.eye_array(2, 4, k=1)), np.eye(2, 4, 1))
    np.testing.assert_array_equal(numbers(sparse.eye(3, format="csc")), np.eye(3))
    s, dense = MAKERS["coo"](tg.tensor(ENTRIES)), DENSE
    blocks = sparse.block_array([[s, None, B], [np.ones((1, 4)), sparse.eye_array(1), None]], format="csc")
    expected = np.block(
        [[dense, np.zeros((4, 1)), B.toarray()], [np.ones((1, 4)), np.eye(1), np.zeros((1, 4))]]
    )
    np.testing.assert_array_equal(numbers(blocks), expected)
    np.testing.assert_array_equal(numbers(sparse.hstack([s, B])), np.hstack([dense, B.toarray()]))
    np.testing.assert_array_equal(numbers(sparse.vstack([B, s])), np.vstack([B.toarray(), dense]))
    np.testing.assert_array_equal(numbers(sparse.kron(s, B)), np.kron(dense, B.toarray()))
    np.testing.assert_array_equal(numbers(sparse.csr_array(B)), B.toarray())
    np.testing.assert_array_equal(numbers(sparse.coo_array(s.tocsc())), dense)


def test_empty_matrices():
    for shape in ((0, 3), (3, 0), (0, 0), (2, 3)):
        for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
            s = kind(shape)
            assert (s.shape, s.nnz, s.toarray().shape) == (shape, 0, shape)
            assert (s @ np.ones(shape[1])).shape == shape[:1]
            assert (np.ones(shape[0]) @ s).shape == shape[1:]
            assert (s @ s.T).shape == (shape[0], shape[0])
            assert (s + s).nnz == (s * s).nnz == 0
            assert (s @ np.ones((shape[1], 0))).shape == (shape[0], 0)
            assert s.sum(axis=0).shape == shape[1:]
    assert tg.grad(lambda d: tg.sum(sparse.coo_array((d, ([], [])), shape=(2, 2)) @ X[:2]))(
        np.zeros(0)
    ).shape == (0,)


def test_dtypes_and_memory():
    single = MAKERS["csr"](tg.tensor(ENTRIES.astype("f4")))
    assert single.dtype == (single @ X.astype("f4")).dtype == np.float32
    assert (single @ X).dtype == (single + B).dtype == (single * B).dtype == np.float64
    assert MAKERS["csr"](np.arange(7)).dtype == np.float64  # integers have no gradient, and are no entries
    assert sparse.csr_array(B, dtype=np.float32).dtype == single.astype(np.float32).dtype == np.float32
    assert tg.grad(lambda d: tg.sum(MAKERS["csr"](d) @ X))(ENTRIES.astype("f4")).dtype == np.float32
    apart = np.repeat(ENTRIES[::-1], 2)[::-2]
    leaf = tg.tensor(np.repeat(ENTRIES, 3))
    for given in (apart, leaf[::3], list(ENTRIES), tg.broadcast_to(tg.tensor(2.0), (7,))):
        s = MAKERS["csr"](given)
        np.testing.assert_array_equal(
            (s @ X).data, scipy.sparse.csr_array((s.data.data, A.indices, A.indptr)) @ X
        )
    for x in (np.asfortranarray(XS), XS[::-1], np.repeat(XS, 2, 1)[:, ::2]):
        np.testing.assert_allclose(
            (MAKERS["csr"](ENTRIES) @ tg.tensor(x, copy=False)).data, DENSE @ x, rtol=1e-15
        )
        np.testing.assert_allclose((x.T @ MAKERS["csr"](ENTRIES)).data, x.T @ DENSE, rtol=1e-14)


def test_special_values_stay_in_their_rows():
    s = MAKERS["csr"](tg.tensor([np.inf, -1.0, np.nan, 3.0, 1.0, 0.0, -np.inf]))
    found = (s @ np.array([1.0, 0.0, 1.0, 1.0])).data
    np.testing.assert_array_equal(found, [np.inf, 0.0, np.nan, -np.inf])
    zero = MAKERS["csr"](tg.tensor(0.0 * ENTRIES))
    assert (zero + zero).nnz == zero.nnz == len(ENTRIES)  # what happens to be zero stays


# --- programs --------------------------------------------------------------------------------------------------------


def test_index_arrays_are_copied_and_watched():
    indices = A.indices.copy()
    s = sparse.csr_array((tg.tensor(ENTRIES), indices, A.indptr), shape=A.shape)
    f = tg.jit(lambda d: sparse.csr_array((d, indices, A.indptr), shape=A.shape) @ X)
    g = tg.jit(lambda x: s @ x)
    before = f(ENTRIES), numbers(g(X))
    indices[0] = 1
    np.testing.assert_array_equal(numbers(g(X)), before[1])
    changed = scipy.sparse.csr_array((ENTRIES, indices, A.indptr), shape=A.shape)
    np.testing.assert_allclose(f(ENTRIES), changed @ X, rtol=1e-14)
    assert not np.array_equal(f(ENTRIES), before[0])
    with pytest.raises(ValueError, match="read-only"):
        s.indices[0] = 2
    other = B.copy()
    h = tg.jit(lambda d: (other @ MAKERS["csr"](d)) @ X)
    h(ENTRIES)
    other.data[0] = 7.0
    np.testing.assert_allclose(h(ENTRIES), other @ (A @ X), rtol=1e-14)
    other.indices[0] = 3
    np.testing.assert_allclose(h(ENTRIES), other @ (A @ X), rtol=1e-14)
    rows = [0, 2]
    part = tg.jit(lambda d: MAKERS["csr"](d)[rows] @ X)
    part(ENTRIES)
    rows[1] = 3
    np.testing.assert_allclose(part(ENTRIES), DENSE[[0, 3]] @ X, rtol=1e-14)


def test_matrices_are_arguments_and_results():
    s = MAKERS["csr"](ENTRIES)
    norm = tg.jit(lambda m: tg.sum((m @ X) ** 2))
    np.testing.assert_allclose(norm(s).data, np.sum((A @ X) ** 2))
    slope = tg.grad(norm)(s)
    np.testing.assert_allclose(numbers(slope), 2 * np.outer(A @ X, X) * (DENSE != 0))
    assert isinstance(slope, sparse.csr_array)
    scaled = tg.jit(lambda c: {"matrix": c * s})
    for c in (2.0, 3.0):
        np.testing.assert_array_equal(numbers(scaled(c)["matrix"]), c * DENSE)
    assert tg.jit(lambda m: m @ X)(MAKERS["coo"](ENTRIES)).shape == (4,)
    other = sparse.eye_array(4)
    np.testing.assert_allclose(norm(other).data, np.sum(X**2))  # another pattern is another program
    assert tg.vmap(lambda c: c * s)(np.ones(3)).shape == (3, 7)
    leaf = tg.tensor(ENTRIES)
    tg.sum(norm(MAKERS["csr"](leaf))).backward()
    np.testing.assert_allclose(leaf.grad, slope.data.data)
    np.testing.assert_array_equal(numbers(pickle.loads(pickle.dumps(s))), DENSE)
    np.testing.assert_array_equal(numbers(s.copy()), DENSE)


def test_printing():
    s = sparse.csr_array((tg.tensor([1.0, 2.0]), [0, 1], [0, 1, 2]))
    first = (
        "<Compressed Sparse Row sparse array of dtype 'float64'\n\twith 2 stored elements and shape (2, 2), "
    )
    assert repr(s) == first + "entries that are a Tensor>"
    assert repr(sparse.eye_array(2)) == first + "constant entries>"
    assert str(s) == repr(s) + "\n  Coords\tValues\n  (0, 0)\t1.0\n  (1, 1)\t2.0"
    assert str(sparse.eye_array(99)).count("\n") < 60
    texts = []
    tg.jit(lambda d: [texts.append(str(MAKERS["coo"](d))), d][1])(ENTRIES)
    assert texts[0].startswith("<COOrdinate sparse array")


# --- what is refused -------------------------------------------------------------------------------------------------

T = tg.tensor(ENTRIES)
S = MAKERS["csr"](T)
REFUSED = {
    "@ of another shape": (lambda: S @ np.ones(3), ValueError, r"\(4, 4\) @ \(3,\) do not fit"),
    "@ a stack": (lambda: S @ np.ones((4, 2, 2)), ValueError, "a vector or a matrix"),
    "@ a number": (lambda: S @ 2.0, ValueError, r"c \* S"),
    "@ sparse": (lambda: S @ sparse.eye_array(3), ValueError, "do not fit"),
    "* of another shape": (lambda: S * np.ones(3), ValueError, "does not broadcast"),
    "* a stack": (lambda: S * np.ones((1, 4, 4)), ValueError, "does not broadcast"),
    "+ of another shape": (lambda: S + sparse.eye_array(3), ValueError, "shapes"),
    "+ a number": (lambda: S + 1.0, TypeError, r"S\.toarray\(\) \+ c"),
    "over sparse": (lambda: S / S, TypeError, "toarray"),
    "a number over": (lambda: 2.0 / S, TypeError, "toarray"),
    "power": (lambda: S**-1, TypeError, "positive"),
    "==": (lambda: S == S.T, TypeError, r"S\.data"),
    "len": (lambda: len(S), TypeError, "nnz"),
    "bool": (lambda: bool(S), ValueError, "ambiguous"),
    "a row": (lambda: S[0], TypeError, r"S\[\[i\]\]"),
    "a Tensor of rows": (lambda: S[T], TypeError, "plain integers"),
    "np.multiply": (lambda: np.multiply(DENSE, S), TypeError, "ufunc"),
    "tg.exp": (lambda: tg.exp(S), TypeError, r"S\.data"),
    "csr_matrix *": (lambda: scipy.sparse.csr_matrix(B) * S, TypeError, "A @ S"),
    "column": (lambda: sparse.csr_array((T, [0, 9, 0, 0, 0, 0, 0], A.indptr), (4, 4)), ValueError, "9 of entry 1"),
    "negative": (lambda: sparse.coo_array((T[:1], ([-1], [0]))), ValueError, "count from 0"),
    "floats": (lambda: sparse.csr_array((T, A.indices * 1.0, A.indptr)), TypeError, r"np\.asarray\(indices, int\)"),
    "indptr": (lambda: sparse.csr_array((T, A.indices, [0, 5, 3, 7])), ValueError, "ascend from 0"),
    "rows": (lambda: sparse.csr_array((T, A.indices, A.indptr), shape=(5, 4)), ValueError, "indptr needs 6"),
    "data": (lambda: sparse.csr_array((T[:3], A.indices, A.indptr)), ValueError, r"needs the shape \(7,\)"),
    "positions": (lambda: sparse.coo_array((T, ([0], [0, 1]))), ValueError, "one of each"),
    "no shape": (lambda: sparse.coo_array(([], ([], []))), ValueError, "shape="),
    "dense": (lambda: sparse.csr_array(DENSE), TypeError, r"x\[i, j\]"),
    "complex": (lambda: sparse.csr_array((ENTRIES * 1j, A.indices, A.indptr)), TypeError, "complex"),
    "SciPy's": (lambda: scipy.sparse.csr_array((T, A.indices, A.indptr)), TypeError, r"tapegrad\.sparse\.csr_array"),
    "SciPy's coo": (lambda: scipy.sparse.coo_array((T, (ROWS, COLUMNS))), TypeError, r"tapegrad\.sparse"),
    "diagonal": (lambda: sparse.diags_array([T, T], offsets=[0, 1]), ValueError, "has 6 elements"),
    "twice": (lambda: sparse.diags_array([T, T], offsets=[0, 0]), ValueError, "twice"),
    "format": (lambda: S.asformat("bsr"), ValueError, "'coo'"),
    "axis": (lambda: S.sum(axis=2), ValueError, "axis 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_to_write(name):
    function, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        function()
