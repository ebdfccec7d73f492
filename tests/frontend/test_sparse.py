"""Sparse matrices of SciPy as constants: products in both orders, and what is refused."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tapegrad as tg

DENSE = np.array([[0.0, 2.0, 0.0], [1.5, 0.0, -3.0], [0.0, 0.0, 0.0], [0.0, -0.5, 4.0]])
FORMATS = ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"]
RECORDED = FORMATS[:5]  # of the others, not all changes could be noticed
VECTOR = np.random.default_rng(5).standard_normal(3)
MATRIX = np.random.default_rng(6).standard_normal((3, 2))
LEFT = np.random.default_rng(7).standard_normal(4)
ROWS = np.random.default_rng(8).standard_normal((2, 4))
PRODUCTS = {
    "S @ t": (lambda s, t: s @ t, VECTOR),
    "S @ T": (lambda s, t: s @ t, MATRIX),
    "t @ S": (lambda s, t: t @ s, LEFT),
    "T @ S": (lambda s, t: t @ s, ROWS),
    "S.T @ t": (lambda s, t: s.T @ t, LEFT),
    "S.dot(t)": (lambda s, t: s.dot(t), VECTOR),
    "S.T.dot(T)": (lambda s, t: s.T.dot(t), ROWS.T),
    "np.matmul": (lambda s, t: np.matmul(s, t), VECTOR),
    "tg.matmul": (lambda s, t: tg.matmul(t, s), ROWS),
}


def matrix(form, kind=scipy.sparse.csr_array):
    return kind(DENSE).asformat(form)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_is_that_of_the_dense_matrix(name, form, kind):
    function, at = PRODUCTS[name]
    sparse = matrix(form, kind)
    if form == "coo" and "dot" in name:  # the one method that SciPy keeps to itself
        with pytest.raises(TypeError, match="S @ t"):
            function(sparse, tg.tensor(at))
        return
    found = function(sparse, tg.tensor(at))
    assert type(found) is tg.Tensor
    np.testing.assert_allclose(found.data, function(DENSE, at), rtol=1e-15)

    def loss(x, s=sparse):
        return tg.sum(function(s, x) ** 3)

    columns = [function(DENSE, unit.reshape(at.shape)) for unit in np.eye(at.size)]
    expected = np.reshape([np.sum(3 * function(DENSE, at) ** 2 * column) for column in columns], at.shape)
    np.testing.assert_allclose(tg.grad(loss)(at), expected, rtol=1e-13)
    if form in RECORDED:
        np.testing.assert_allclose(tg.grad(tg.jit(loss))(at), expected, rtol=1e-13)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_derivatives_of_both_orders_and_modes(form, wrap):
    sparse, v = matrix(form), np.array([1.0, -2.0, 0.5])
    f = wrap(lambda x: tg.sum(tg.sin(sparse @ x)))
    hessian = -DENSE.T @ np.diag(np.sin(DENSE @ VECTOR)) @ DENSE
    np.testing.assert_allclose(tg.hessian(f)(VECTOR), hessian, rtol=1e-13)
    np.testing.assert_allclose(tg.hvp(f)(VECTOR, v), hessian @ v, rtol=1e-13)
    np.testing.assert_allclose(tg.jvp(f, (VECTOR,), (v,))[1], np.cos(DENSE @ VECTOR) @ DENSE @ v)
    np.testing.assert_array_equal(tg.jacobian(wrap(lambda x: sparse @ x))(VECTOR), DENSE)


FACTORS = {"complex matrix": (1 - 2j, 1.0), "complex operand": (1.0, 0.5j), "both complex": (1j, 2 - 1j)}


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_complex_products(name, factors, form):
    function, at = PRODUCTS[name]
    if form == "coo" and "dot" in name:
        return
    of_matrix, of_operand = FACTORS[factors]
    sparse, dense = (matrix(form) * of_matrix).asformat(form), DENSE * of_matrix
    at = at * of_operand

    def along(direction):
        """Return the derivatives of the loss along the units times a number."""
        y_bar = 2 * np.conj(function(dense, at) - 1)
        dots = [function(dense, direction * unit.reshape(at.shape)) for unit in np.eye(at.size)]
        return np.reshape([np.sum(y_bar * y_dot).real for y_dot in dots], at.shape)

    np.testing.assert_allclose(
        function(sparse, tg.tensor(at)).data, function(dense, at), rtol=1e-14, atol=1e-15
    )
    found = tg.grad(tg.jit(lambda x: tg.sum(abs(function(sparse, x) - 1) ** 2)))(at)
    assert found.dtype == at.dtype
    np.testing.assert_allclose(found.real, along(1.0), rtol=1e-12)
    if found.dtype.kind == "c":
        np.testing.assert_allclose(found.imag, along(1j), rtol=1e-12)


def test_a_replay_sees_changed_complex_entries():
    sparse = matrix("csr") * (1 + 1j)
    f = tg.jit(lambda x: (sparse @ x).imag)
    f(VECTOR)
    sparse.data[0] = 3 - 2j
    np.testing.assert_allclose(f(VECTOR), (sparse.toarray() @ VECTOR).imag)
    single = matrix("csr").astype(np.complex64) @ tg.tensor(VECTOR.astype(np.float32))
    assert single.dtype == np.complex64


def test_a_replay_multiplies_by_one_instruction():
    text = str(tg.jit(lambda x: matrix("csr") @ x).tape(VECTOR))
    assert "csr_matmul(x0" in text
    assert "custom" not in text


@pytest.mark.parametrize(
    ("matrix_dtype", "dtype", "expected"),
    [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8"), ("i8", "f4", "f8"), ("?", "f8", "f8")],
)
def test_dtypes_are_numpys(matrix_dtype, dtype, expected):
    sparse, x = matrix("csr").astype(matrix_dtype), VECTOR.astype(dtype)
    for f in (lambda t: sparse @ t, tg.jit(lambda t: sparse @ t)):
        found = f(tg.tensor(x)).data
        assert found.dtype == np.dtype(expected)
        np.testing.assert_allclose(found, sparse.toarray() @ x, rtol=1e-6)
        assert tg.grad(lambda t, f=f: tg.sum(f(t)))(x).dtype == np.dtype(dtype)


def test_integers_are_constants():
    found = matrix("csr").astype(int) @ tg.tensor([1, 2, 3])
    np.testing.assert_array_equal(np.asarray(found), DENSE.astype(int) @ [1, 2, 3])


def test_constants_and_recorded_constants():
    """SciPy would take a constant for an array; while a function is being recorded that is no answer."""
    sparse, t = matrix("csr"), tg.tensor(VECTOR, constant=True)
    assert (sparse @ t).constant
    f = tg.jit(lambda x: tg.sum((sparse @ t) * x))
    np.testing.assert_allclose(f(LEFT), DENSE @ VECTOR @ LEFT)


def test_empty_extents_and_layouts():
    for shape in ((0, 3), (3, 0), (0, 0)):
        sparse = scipy.sparse.csr_array(shape)
        assert (sparse @ tg.zeros(shape[1])).shape == shape[:1]
        assert tg.grad(lambda x, s=sparse: tg.sum(s @ x))(np.zeros(shape[1])).shape == shape[1:]
    sparse = matrix("csr")
    for x in (MATRIX[::-1], np.asfortranarray(MATRIX), MATRIX[:, :0], np.repeat(MATRIX, 2, 1)[:, ::2]):
        np.testing.assert_allclose((sparse @ tg.tensor(x, copy=False)).data, DENSE @ x)
        np.testing.assert_allclose(tg.grad(lambda t: tg.sum((sparse @ t) ** 2))(x), 2 * DENSE.T @ (DENSE @ x))


def test_sparse_vectors():
    for s in (scipy.sparse.coo_array(DENSE[1]), scipy.sparse.coo_array(DENSE[1]).tocsr()):
        np.testing.assert_allclose((s @ tg.tensor(VECTOR)).data, DENSE[1] @ VECTOR)
        np.testing.assert_allclose((s @ tg.tensor(MATRIX)).data, DENSE[1] @ MATRIX)
        np.testing.assert_allclose((tg.tensor(MATRIX.T) @ s).data, MATRIX.T @ DENSE[1])


def test_duplicate_and_unsorted_entries_add_up():
    lists = ([1.0, 2.0, 4.0, 8.0], ([0, 0, 1, 0], [2, 0, 1, 2]))
    sparse = scipy.sparse.coo_array(lists, shape=(2, 3))
    np.testing.assert_allclose((sparse @ tg.tensor(VECTOR)).data, sparse.toarray() @ VECTOR)
    rows = scipy.sparse.csr_array(([1.0, 8.0, 2.0], [2, 2, 0], [0, 3]), shape=(1, 3))
    np.testing.assert_allclose((rows @ tg.tensor(VECTOR)).data, rows.toarray() @ VECTOR)


# --- changes -------------------------------------------------------------------------------------------------------


def rebind(s):
    s.data = 2 * s.data


def set_entry(s):
    s.data[0] = 7.0


def exchange(s):
    s.indices[1:3] = s.indices[1:3][::-1].copy()


def set_element(s):
    s[2, 1] = 5.0


CHANGES = [("csr", rebind), ("csr", set_entry), ("csr", exchange), ("csc", exchange), ("csr", set_element),
           ("coo", rebind), ("coo", set_entry), ("bsr", set_entry)]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize(("form", "change"), CHANGES)
@pytest.mark.parametrize(
    "used", [lambda s, x: s @ x, lambda s, x: s.T.tocsc() @ (s @ x), lambda s, x: s.sum() * x]
)
def test_a_replay_sees_what_has_changed_in_a_matrix(form, change, used):
    sparse = matrix(form)
    f = tg.jit(lambda x: tg.sum(used(sparse, x) ** 2))
    f(VECTOR)
    change(sparse)
    np.testing.assert_allclose(f(VECTOR), np.sum(used(sparse, tg.tensor(VECTOR)).data ** 2))


def test_formats_that_cannot_be_watched_are_refused_in_a_recording():
    for form in ("lil", "dok"):
        sparse = matrix(form)
        with pytest.raises(TypeError, match=f"{form!r} format cannot be detected .*tocsr"):
            tg.jit(lambda x, s=sparse: s @ x)(VECTOR)


# --- what is refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "multiply": (lambda s, t: s.multiply(t), r"csr_array\(S\)\.multiply\(t\)"),
    "over": (lambda s, t: t / s, "S @ t"),
    "equal": (lambda s, t: t == s, "S @ t"),
    "less": (lambda s, t: t < s, "S @ t"),
    "where": (lambda s, t: tg.where(s, t, t), "toarray"),
    "exp": (lambda s, t: tg.exp(s), "toarray"),
    "dot": (lambda s, t: np.dot(s, t), "S @ t"),
    "both": (lambda s, t: tg.matmul(s, s.T), "both operands are sparse"),
    "solve": (lambda s, t: scipy.sparse.linalg.spsolve((s.T @ s).tocsc(), t), "custom op"),
    "operator @": (lambda s, t: scipy.sparse.linalg.aslinearoperator(s) @ t, "LinearOperator.*custom op"),
    "operator": (lambda s, t: scipy.sparse.linalg.aslinearoperator(s).matvec(t), "LinearOperator.*custom op"),
    "@ operator": (lambda s, t: t @ scipy.sparse.linalg.aslinearoperator(s.T), "LinearOperator.*custom op"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_operations_are_refused_with_what_to_write(name):
    function, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        function(matrix("csr"), tg.tensor(VECTOR))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones(4), r"shapes \(4, 3\) @ \(4,\) do not fit"),
        (np.ones((2, 3)), r"shapes \(4, 3\) @ \(2, 3\) do not fit"),
        (np.ones((2, 3, 1)), "a vector or a matrix"),
        (np.ones(()), "a vector or a matrix"),
    ],
)
def test_shapes_that_do_not_fit(x, message):
    with pytest.raises(ValueError, match=message):
        matrix("csr") @ tg.tensor(x)


def test_a_matrix_that_is_not_whole_is_an_error():
    sparse = matrix("csr")
    sparse.data = sparse.data[:2]
    with pytest.raises(ValueError, match="not as many entries as its indptr says"):
        sparse @ tg.tensor(VECTOR)
    sparse = matrix("csr")
    sparse.indices[0] = 1000
    with pytest.raises(IndexError):
        sparse @ tg.tensor(VECTOR)
