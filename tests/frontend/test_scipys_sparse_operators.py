# ruff: noqa: N803, N806  (S is a sparse matrix, as in the messages)
"""Operators of SciPy's sparse matrices and Tensors: the values and kinds that SciPy gives with arrays, or a refusal."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tapegrad as tg

A = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]])
X = np.array([0.5, 1.25, 1.5])
WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)
FORMATS = ("csr", "csc", "coo", "dia", "bsr")
OPERANDS: dict[str, Callable[[Any], Any]] = {
    "number": lambda x: x[0],
    "row": lambda x: x,
    "column": lambda x: x[:, None],
    "matrix": lambda x: x[:, None] * x,
}
SPARSE_RESULTS = [
    (kind, name, operand)
    for kind in ("array", "matrix")
    for name in ("S * t", "t * S", "S / t")
    for operand in OPERANDS
    # of SciPy's `spmatrix`, products with arrays are those of matrices
    if not (kind == "matrix" and operand != "number" and "*" in name)
]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "S * t": lambda S, t: S * t,
    "t * S": lambda S, t: t * S,
    "S / t": lambda S, t: S / t,
    "S @ t": lambda S, t: S @ t,
    "t @ S": lambda S, t: t @ S,
    "S + t": lambda S, t: S + t,
    "t + S": lambda S, t: t + S,
    "S - t": lambda S, t: S - t,
    "t - S": lambda S, t: t - S,
}


def dense(value: Any) -> Any:
    return value.toarray() if sparse.issparse(value) or tg.sparse.issparse(value) else value


def weighted(value: Any) -> Any:
    value = dense(value)
    return np.sum(value * WEIGHTS[: value.shape[0], : value.shape[-1]] if value.ndim == 2 else value * X)


def check(S: Any, name: str, operand: str) -> None:
    """Compare with SciPy on plain arrays, by complex steps, for it computes with complex numbers."""

    def f(x: Any) -> Any:
        return weighted(OPERATORS[name](S, OPERANDS[operand](x)))

    steps = np.array([f(X + 1e-30j * e).imag / 1e-30 for e in np.eye(3)])
    for function in (f, tg.jit(f)):
        value, gradient = tg.value_and_grad(function)(X)
        assert value == pytest.approx(f(X), rel=1e-14)
        np.testing.assert_allclose(gradient, steps, rtol=1e-13, atol=1e-14)
    t = tg.tensor(X)
    f(t).backward()
    np.testing.assert_allclose(t.grad, steps, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("kind", "name", "operand"), SPARSE_RESULTS)
def test_products_and_quotients_of_elements(form: str, kind: str, name: str, operand: str) -> None:
    S = getattr(sparse, f"{form}_{kind}")(A)
    check(S, name, operand)
    result = OPERATORS[name](S, OPERANDS[operand](tg.tensor(X)))
    assert isinstance(result, tg.sparse.SparseArray)
    assert repr(result).split("sparse ")[1].startswith(kind)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("name", "operand"), [("S * t", "row"), ("S * t", "matrix"), ("t * S", "row")])
def test_the_star_of_a_matrix_is_a_product_of_matrices(form: str, name: str, operand: str) -> None:
    check(getattr(sparse, f"{form}_matrix")(A), name, operand)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["S + t", "t + S", "S - t", "t - S"])
def test_sums_with_dense_arrays(form: str, name: str) -> None:
    check(getattr(sparse, f"{form}_array")(A), name, "matrix")
    with pytest.raises(tg.UnsupportedError, match=r"write S\.toarray\(\)"):
        OPERATORS[name](getattr(sparse, f"{form}_matrix")(A), tg.tensor(A))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.coo_matrix, np.asarray])
def test_results_go_on_as_scipys_do(kind: str, make: Callable[[Any], Any]) -> None:
    """Of a system matrix that is assembled by operators, then multiplied in all ways."""
    I, L, other = sparse.identity(3), sparse.csr_matrix(A), make(A.T)  # noqa: E741
    if kind == "array":
        I, L = sparse.eye_array(3), sparse.csc_array(A)  # noqa: E741

    def products(k: Any) -> list[Any]:
        system = I + k * L
        both = [
            system * X,
            system @ X,
            other @ system,
            X @ system,
            X * system,
            system.T @ X,
            (2.0 * system) * X,
        ]
        if sparse.issparse(other):
            both += [system + other, other + system, other - system, system.multiply(other), system @ other]
            both += [system * other] if kind == "array" or sparse.issparse(other) else []
            both += [other * system] if kind == "matrix" or isinstance(other, sparse.sparray) else []
        return both

    for ours, theirs in zip(products(tg.tensor(1.5)), products(1.5), strict=True):
        assert tg.sparse.issparse(ours) == sparse.issparse(theirs)
        np.testing.assert_allclose(dense(ours).data, dense(theirs), rtol=1e-14)


def test_entries_are_read_at_each_replay_and_patterns_are_guarded() -> None:
    for form in ("csr", "coo", "dia"):
        S = getattr(sparse, f"{form}_array")(A)
        f = tg.jit(lambda k, S=S: np.sum((k * S).toarray() * WEIGHTS))
        assert f(2.0) == pytest.approx(2 * np.sum(A * WEIGHTS))
        S.data *= 10
        assert f(2.0) == pytest.approx(20 * np.sum(A * WEIGHTS))


@pytest.mark.parametrize("name", ["pow", "floordiv", "mod"])
def test_other_operators_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="sparse"):
        getattr(operator, name)(tg.tensor(X), sparse.csr_array(A))
    with pytest.raises(tg.UnsupportedError, match=r"S / t, .*write S\.toarray"):
        tg.tensor(X) / sparse.csr_array(A)


def test_what_scipy_gives_as_numpys_matrix_is_refused() -> None:
    S = tg.tensor(2.0) * sparse.csr_matrix(A)
    for call in (lambda: S.sum(0), lambda: S.todense(), lambda: S + A, lambda: S**2):
        with pytest.raises(tg.UnsupportedError, match="write S"):
            call()
    assert S.sum().item() == pytest.approx(2 * A.sum())


def test_kinds_are_signatures_of_their_own() -> None:
    """A recorded function is not replayed for a matrix of the other kind, whose `*` is another product."""
    f = tg.jit(lambda S: S * np.ones(3))
    array, matrix = (tg.tensor(2.0) * make(A) for make in (sparse.csr_array, sparse.csr_matrix))
    with tg.no_grad():
        assert f(array).shape == (3, 3)
        np.testing.assert_array_equal(np.asarray(f(matrix)), 2 * A @ np.ones(3))


ROWS, COLUMNS = np.array([0, 1, 2]), np.array([1, 2, 0])


def fill(x: Any) -> Any:
    S = sparse.lil_array((3, 3))
    S[0, 1] = x[0]
    return S @ x


def fill_compressed(x: Any) -> Any:
    S = sparse.csr_matrix(A)
    S[0, 0] = x[0]
    return S @ x


ASSEMBLED = r"tapegrad\.sparse\.coo_array\(\("
REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: sparse.coo_matrix((x, (ROWS, COLUMNS))), ASSEMBLED),
    (lambda x: sparse.coo_array((x, (ROWS, COLUMNS))), ASSEMBLED),
    (lambda x: sparse.csr_matrix((x, (ROWS, COLUMNS))), ASSEMBLED),
    (lambda x: sparse.csr_matrix((x, [0, 1, 2], [0, 1, 2, 3])), r"csr_array\(\(t, indices, indptr\)"),
    (lambda x: sparse.csc_array((x, [0, 1, 2], [0, 1, 2, 3])), r"csc_array\(\(t, indices, indptr\)"),
    (lambda x: sparse.dok_array(x[:, None]), "dok_array"),
    (lambda x: sparse.diags([x, x[1:]], [0, 1]), r"tapegrad\.sparse\.diags_array"),
    (lambda x: sparse.spdiags(x[None], [0], 3, 3), r"tapegrad\.sparse\.diags_array"),
    (lambda x: sparse.kron(sparse.eye(2), x[:, None]), r"tapegrad\.sparse\.kron"),
    (lambda x: sparse.hstack([sparse.eye(3), x[:, None]]), r"tapegrad\.sparse\.hstack"),
    (lambda x: sparse.vstack([sparse.eye(3), x[None]]), r"tapegrad\.sparse\.vstack"),
    (lambda x: sparse.bmat([[sparse.eye(3), x[:, None]]]), r"tapegrad\.sparse\.block_array"),
    (lambda x: sparse.kron(sparse.eye(2), x[0] * sparse.eye(3)), r"tapegrad\.sparse\.kron"),
    (lambda x: sparse.hstack([sparse.eye(3), x[0] * sparse.eye(3)]), r"tapegrad\.sparse\.hstack"),
    (lambda x: sparse.csr_array(A).multiply(x), r"csr_array\(S\)\.multiply\(t\)"),
    (lambda x: sparse.csr_array(A).multiply(x[0] * sparse.eye_array(3)), r"csr_array\(S\)\.multiply\(t\)"),
    (lambda x: sparse.csr_matrix(A).setdiag(x), "diags_array"),
    (lambda x: np.asarray(x[0] * sparse.eye_array(3)), r"S\.toarray\(\)"),
    (lambda x: np.array([x[0] * sparse.eye_array(3)]), r"S\.toarray\(\)"),
    (fill, ASSEMBLED),
    (fill_compressed, ASSEMBLED),
]


@pytest.mark.parametrize(("program", "instead"), REFUSED)
@pytest.mark.parametrize("transform", [tg.grad, tg.jit, lambda f: tg.jit(tg.grad(f))])
def test_what_scipy_would_make_of_objects_is_refused_with_what_to_write(
    program: Callable[[Any], Any], instead: str, transform: Callable[[Any], Any]
) -> None:
    with pytest.raises((TypeError, ValueError), match=instead) as caught:
        transform(lambda x: np.sum(program(x)))(X)
    assert f"{__file__}, line " in str(caught.value) or "dok_array" in instead


def test_dot_is_the_product_or_refused() -> None:
    """SciPy's `coo_array` has a `dot` of its own since it has more than two dimensions."""
    t = tg.tensor(X)
    for S in (sparse.csr_array(A), sparse.csc_matrix(A)):
        np.testing.assert_array_equal(S.dot(t).data, A @ X)
    if hasattr(sparse.coo_array, "tensordot"):
        with pytest.raises(tg.UnsupportedError, match="write S @ t"):
            sparse.coo_array(A).dot(t)


def test_the_lines_of_the_hints_run() -> None:
    def f(x: Any) -> Any:
        entries = [x[0] * x[1], x[2] ** 2]
        a = tg.sparse.coo_array((np.stack(entries), ([0, 1], [1, 2])), shape=(3, 3))
        b = tg.sparse.diags_array([x, x[1:]], offsets=[0, 1], shape=(3, 3))
        c = tg.sparse.csr_array(sparse.csr_array(A)).multiply(x)
        d = tg.sparse.kron(sparse.eye(1), tg.sparse.csr_array((x, [0, 1, 2], [0, 1, 2, 3]), shape=(3, 3)))
        return np.sum((a + b + c + d) @ X)

    tg.check_grads(f, (X,))
