"""Sparse systems of complex numbers, beside dense ones and differences along 1 and i."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

import tapegrad as tg

N = 6
STEP = 1e-6


def complex_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal((*shape, 2)).view(complex)[..., 0]


def matrix(layout: str) -> sp.sparray:
    rng = np.random.default_rng(0)
    real = sp.random_array((N, N), density=0.4, rng=rng) + 3 * sp.eye_array(N)
    return (real + 1j * sp.random_array((N, N), density=0.3, rng=rng)).asformat(layout)


SIDES = {
    "complex": complex_numbers(np.random.default_rng(1), N),
    "several": complex_numbers(np.random.default_rng(2), N, 2),
    "real": np.random.default_rng(3).standard_normal(N),
}


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("side", SIDES)
def test_solutions_are_those_of_dense_systems(layout: str, side: str) -> None:
    a, b = matrix(layout), SIDES[side]
    np.testing.assert_allclose(tg.linalg.spsolve(a, b).data, np.linalg.solve(a.toarray(), b), rtol=1e-12)


def differences(f: Callable[[np.ndarray], float], z: np.ndarray) -> np.ndarray:
    found = np.zeros_like(z)
    for place in np.ndindex(z.shape):
        for unit in (1, 1j) if z.dtype.kind == "c" else (1,):
            step = np.zeros_like(z)
            step[place] = STEP * unit
            found[place] += unit * (f(z + step) - f(z - step)) / (2 * STEP)
    return found


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("side", SIDES)
def test_derivatives_by_entries_and_sides(layout: str, side: str) -> None:
    a, b = matrix(layout), SIDES[side]

    def loss(data, b):
        return np.sum(((1 - 0.5j) * tg.linalg.spsolve(a, b, data) ** 2).real)

    def value(data: np.ndarray, b: np.ndarray) -> float:
        return loss(*[tg.tensor(each, constant=True) for each in (data, b)]).item()

    by_data, by_side = tg.grad(loss, (0, 1))(a.data, b)
    np.testing.assert_allclose(
        by_data, differences(lambda data: value(data, b), a.data), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(by_side, differences(lambda b: value(a.data, b), b), rtol=1e-5, atol=1e-6)
    for replayed, eager in zip(tg.grad(tg.jit(loss), (0, 1))(a.data, b), (by_data, by_side), strict=True):
        np.testing.assert_allclose(replayed, eager, rtol=1e-13)
    v = complex_numbers(np.random.default_rng(4), a.nnz)
    gradient = tg.grad(loss)
    ends = [gradient(a.data + sign * STEP * v, b) for sign in (1, -1)]
    np.testing.assert_allclose(
        tg.hvp(lambda data: loss(data, b))(a.data, v),
        (ends[0] - ends[1]) / (2 * STEP),
        rtol=1e-4,
        atol=1e-4,
    )
    tangent = tg.jvp(lambda data: tg.linalg.spsolve(a, b, data), (a.data,), (v,))[1]
    ends = [tg.linalg.spsolve(a, b, a.data + sign * STEP * v).data for sign in (1, -1)]
    np.testing.assert_allclose(tangent, (ends[0] - ends[1]) / (2 * STEP), rtol=1e-5, atol=1e-6)


def test_singular_matrices_and_wrong_shapes_raise() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        tg.linalg.spsolve(sp.csc_array(np.zeros((2, 2), complex)), np.ones(2))
    with pytest.raises(ValueError, match="b needs the shape"):
        tg.linalg.spsolve(matrix("csr"), np.ones(N + 1))
    with pytest.raises(ValueError, match="square"):
        tg.linalg.spsolve(matrix("csr")[:3], np.ones(3))
