"""Stacks of small matrices, which are worked on several at once, beside NumPy and one matrix alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.triangles import folded
from tapegrad.linalg import LinAlgError

L = tg.linalg
COUNTS = (4, 13, 33)  # fewer than there are lanes, and full blocks with some matrices more
ROUNDINGS = {np.float64: 1e-11, np.float32: 2e-3}


def matrices(count: int, n: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((count, n, n)).astype(dtype)


def positive(a: np.ndarray) -> np.ndarray:
    return a @ a.swapaxes(1, 2) + np.eye(a.shape[-1], dtype=a.dtype)


def assert_close(result: tg.Tensor, expected: np.ndarray, dtype: Any) -> None:
    assert result.dtype == dtype
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result.data, expected, rtol=0, atol=ROUNDINGS[dtype] * scale)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "solve": lambda xp, a: xp.linalg.solve(a, np.ones((a.shape[-1], 2), a.dtype.char.lower())),
    "solve, one matrix": lambda xp, a: xp.linalg.solve(a[0], a),
    "inv": lambda xp, a: xp.linalg.inv(a),
    "det": lambda xp, a: xp.linalg.det(a),
    "slogdet": lambda xp, a: xp.linalg.slogdet(a)[1],
    "signs": lambda xp, a: xp.linalg.slogdet(a)[0],
    "cholesky": lambda xp, a: xp.linalg.cholesky(a @ xp.swapaxes(a, -1, -2)),
    "eigenvalues": lambda xp, a: xp.linalg.eigh(a)[0],
    "eigenvectors": lambda xp, a: xp.linalg.eigh(a)[1],
    "eigenvectors, upper": lambda xp, a: xp.linalg.eigh(a, "U")[1],
    "q": lambda xp, a: xp.linalg.qr(a)[0],
    "r, wide": lambda xp, a: xp.linalg.qr(a[:, 1:])[1],
    "q, complete": lambda xp, a: xp.linalg.qr(a[:, :, 1:], "complete")[0],
    "singular values": lambda xp, a: xp.linalg.svd(a)[1],
}


@pytest.mark.parametrize("dtype", ROUNDINGS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_stacks_are_as_numpy_has_them(name: str, dtype: Any) -> None:
    for n, count in ((1, 4), (2, 4), (3, 33), (4, 13), (5, 17), (8, 9), (13, 4)):
        a = matrices(count, n, dtype) + (3 * np.eye(n, dtype=dtype) if name != "eigenvectors" else 0)
        result, expected = FUNCTIONS[name](tg, tg.tensor(a)), FUNCTIONS[name](np, a.astype(np.float64))
        if (
            name.startswith("eigenvectors") and dtype == np.float32
        ):  # whose signs are those of other roundings
            result, expected = abs(result), abs(expected)
        assert_close(result, expected, dtype)


@pytest.mark.parametrize("dtype", ROUNDINGS)
@pytest.mark.parametrize("triangle", "LU")
def test_replays_leave_out_eigenvectors_that_nobody_reads(triangle: Any, dtype: Any) -> None:
    """The values are the same whether or not a derivative, which needs the vectors, is computed as well."""
    function = tg.jit(lambda a: L.eigvalsh(a, triangle))
    for n, count in ((1, 4), (2, 4), (3, 1), (4, 13), (8, 9), (9, 2)):
        a = matrices(count, n, dtype)
        expected = np.linalg.eigvalsh(a.astype(np.float64), triangle)
        weights = np.arange(1.0, n + 1).astype(dtype)
        summed = tg.value_and_grad(lambda a, weights=weights: tg.sum(function(a) * weights))
        assert_close(tg.tensor(function(a)), expected, dtype)
        value, gradient = summed(a)
        np.testing.assert_allclose(value, np.sum(expected * weights), rtol=ROUNDINGS[dtype])
        vectors = np.linalg.eigh(a.astype(np.float64), triangle)[1]
        expected = folded((vectors * weights) @ vectors.swapaxes(1, 2), triangle == "L")
        assert_close(tg.tensor(gradient), expected, dtype)


@pytest.mark.parametrize("dtype", ROUNDINGS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 6), (3, 1), (1, 3)])
def test_singular_vectors_of_stacks(shape: tuple[int, int], dtype: Any) -> None:
    a = np.random.default_rng(3).standard_normal((21, *shape)).astype(dtype)
    u, s, vh = L.svd(tg.tensor(a), full_matrices=False)
    eye = np.broadcast_to(np.eye(min(shape)), (21, min(shape), min(shape)))
    assert_close(s, np.linalg.svd(a.astype(np.float64))[1], dtype)
    assert_close((u * s[:, None, :]) @ vh, a, dtype)
    assert_close(tg.swapaxes(u, -1, -2) @ u, eye, dtype)
    assert_close(vh @ tg.swapaxes(vh, -1, -2), eye, dtype)


TRIDIAGONAL = np.array([[1.0, 2, 0, 0], [2, 3, 0, 0], [0, 0, 2, 1], [0, 0, 1, 5]])  # falls into two parts
SPECIAL = {
    "zeros": np.zeros((4, 4)),
    "ones": np.ones((4, 4)),
    "identity": np.eye(4),
    "diagonal": np.diag([3.0, -1.0, 2.0, 2.0]),
    "parts": TRIDIAGONAL,
    "pairs": TRIDIAGONAL[::-1, ::-1],
    "large": TRIDIAGONAL * 1e200,
    "small": TRIDIAGONAL * 1e-200,
    "graded": np.outer(10.0 ** -np.arange(4), 10.0 ** -np.arange(4)) * (np.eye(4) + 0.5),
    "of low rank": np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices_in_a_stack(name: str) -> None:
    """A matrix among others, which are random, has the result that it has alone."""
    a = matrices(9, 4, np.float64)
    a[2] = a[8] = SPECIAL[name]
    size = max(np.abs(SPECIAL[name]).max(), 1e-300)
    w, v = L.eigh(tg.tensor(a))
    np.testing.assert_allclose(w.data[2], np.linalg.eigvalsh(SPECIAL[name]), rtol=1e-12, atol=1e-14 * size)
    for k in (2, 8):
        back = (v.data[k] * w.data[k]) @ v.data[k].T
        np.testing.assert_allclose(back, SPECIAL[name], atol=1e-13 * size)
        np.testing.assert_allclose(v.data[k].T @ v.data[k], np.eye(4), atol=1e-13)
    u, s, vh = L.svd(tg.tensor(a))
    q, r = L.qr(tg.tensor(a))
    for factors in ((u.data[2] * s.data[2], vh.data[2]), (q.data[2], r.data[2])):
        np.testing.assert_allclose(factors[0] @ factors[1], SPECIAL[name], atol=1e-13 * size)
    np.testing.assert_allclose(u.data[2].T @ u.data[2], np.eye(4), atol=1e-13)
    np.testing.assert_array_equal(L.det(tg.tensor(a)).data[2], L.det(tg.tensor(SPECIAL[name])).data)
    for of_stack, alone in zip(L.slogdet(tg.tensor(a)), L.slogdet(tg.tensor(SPECIAL[name])), strict=True):
        np.testing.assert_array_equal(of_stack.data[[2, 8]], alone.data)


@pytest.mark.parametrize("count", COUNTS)
def test_one_bad_matrix_of_a_stack_is_an_error(count: int) -> None:
    a = positive(matrices(count, 3, np.float64))
    for place in (0, count - 1):
        bad = a.copy()
        bad[place] = np.ones((3, 3)) - 2 * np.eye(3) * (place > 0)
        bad[place, 2] = 0.0
        for function in (L.inv, L.cholesky, lambda x: L.solve(x, np.ones((3, 1)))):
            with pytest.raises(LinAlgError, match=r"singular|positive"):
                function(tg.tensor(bad))


def test_nan_of_a_matrix_is_its_own() -> None:
    a = positive(matrices(6, 3, np.float64))
    a[4, 1, 1] = np.nan
    for function in (
        L.det,
        lambda x: L.slogdet(x)[0],
        lambda x: L.slogdet(x)[1],
        L.inv,
        lambda x: L.qr(x)[1],
    ):
        result = function(tg.tensor(a)).data
        assert np.isnan(result[4]).any()
        assert np.isfinite(np.delete(result, 4, 0)).all()


@pytest.mark.parametrize("name", ["solve", "inv", "det", "cholesky", "eigenvalues", "q"])
def test_gradients_of_stacks_are_those_of_the_matrices(name: str) -> None:
    a = matrices(5, 3, np.float64) + 3 * np.eye(3)
    function = lambda x: tg.sum(FUNCTIONS[name](tg, x) ** 2)  # noqa: E731
    expected = [tg.grad(function)(each[None])[0] for each in a]
    np.testing.assert_allclose(tg.grad(tg.jit(function))(a), expected, rtol=1e-10, atol=1e-12)
