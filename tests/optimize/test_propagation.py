"""`propagate`: against the example of the guide to uncertainty, and closed forms of quadratic functions."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg

SCALE = 1.0


# JCGM 100:2008, table H.2: voltage in V, current in mA and phase in rad, measured together five times
VOLTAGE = [5.007, 4.994, 5.005, 4.990, 4.999]
CURRENT = [19.663, 19.639, 19.640, 19.685, 19.678]
PHASE = [1.0456, 1.0438, 1.0468, 1.0428, 1.0433]


def test_the_impedance_of_the_guide_to_uncertainty() -> None:
    measured = np.array([VOLTAGE, CURRENT, PHASE]) * [[1.0], [1e-3], [1.0]]

    def impedance(x: Any) -> Any:
        voltage, current, phase = x
        size = voltage / current
        return {"R": size * np.cos(phase), "X": size * np.sin(phase), "Z": size}

    result = tg.propagate(impedance, measured.mean(axis=1), np.cov(measured) / 5)
    known = {"R": (127.732, 0.071), "X": (219.847, 0.295), "Z": (254.260, 0.236)}
    for name, (value, std) in known.items():
        assert result.values[name] == pytest.approx(value, abs=5e-4)
        assert result.std[name] == pytest.approx(std, abs=7e-4)  # 0.29558 is printed as 0.295
    std = np.sqrt(np.diag(result.covariance))
    between = (result.covariance / np.outer(std, std))[[0, 0, 1], [1, 2, 2]]
    np.testing.assert_allclose(between, [-0.588, -0.485, 0.993], atol=5e-3)


def moments(matrices: Any, vectors: Any, mean: Any, covariance: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return exact means and covariance of x' A x + b' x for normal x, by each A and b."""
    slopes = 2 * matrices @ mean + vectors
    spread = matrices @ covariance
    means = (slopes + vectors) @ mean / 2 + np.trace(spread, axis1=1, axis2=2)
    return means, slopes @ covariance @ slopes.T + 2 * np.einsum("aij,bji->ab", spread, spread)


@pytest.mark.parametrize("is_singular", [False, True])
def test_second_order_is_exact_for_quadratic_functions(rng: np.random.Generator, is_singular: bool) -> None:
    matrices = rng.normal(size=(3, 4, 4))
    matrices, vectors, mean = matrices + matrices.swapaxes(1, 2), rng.normal(size=(3, 4)), rng.normal(size=4)
    root = rng.normal(size=(4, 2 if is_singular else 4))
    covariance = root @ root.T

    def quadratic(x: Any) -> Any:
        return np.stack([x @ a @ x + b @ x for a, b in zip(matrices, vectors, strict=True)])

    result = tg.propagate(quadratic, mean, covariance, order=2)
    means, both = moments(matrices, vectors, mean, covariance)
    np.testing.assert_allclose(result.values, means, rtol=1e-11)
    np.testing.assert_allclose(result.covariance, both, rtol=1e-10)
    np.testing.assert_allclose(result.std, np.sqrt(np.diag(both)), rtol=1e-11)


def neighbours(x: Any) -> Any:
    """Return products of neighbours and squares; entries by the first value are the same at all inputs."""
    return np.concatenate([x[1:] * x[:-1] + x[1:] ** 2, 3 * x[:1] + x[-1:] ** 2, x[:1] * 2])


def dense_parts(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `neighbours` of values as quadratic forms."""
    matrices, vectors = np.zeros((size + 1, size, size)), np.zeros((size + 1, size))
    for k in range(size - 1):
        matrices[k, k, k + 1] = matrices[k, k + 1, k] = 0.5
        matrices[k, k + 1, k + 1] = 1.0
    matrices[size - 1, -1, -1], vectors[size - 1, 0], vectors[size, 0] = 1.0, 3.0, 2.0
    return matrices, vectors


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_sparse_and_dense_are_of_one_formula(rng: np.random.Generator, sparse: bool, order: int) -> None:
    mean, std = rng.normal(size=6), rng.uniform(0.1, 0.5, size=6)
    result = tg.propagate(neighbours, mean, std=std, order=order, sparse=sparse)
    matrices, vectors = dense_parts(6)
    covariance = np.diag(std**2)
    if order == 2:
        means, both = moments(matrices, vectors, mean, covariance)
    else:
        means = np.array([mean @ a @ mean + b @ mean for a, b in zip(matrices, vectors, strict=True)])
        slopes = 2 * matrices @ mean + vectors
        both = slopes @ covariance @ slopes.T
    assert scipy.sparse.issparse(result.covariance) == sparse
    found = result.covariance.toarray() if sparse else result.covariance
    np.testing.assert_allclose(found, both, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(result.values, means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(result.std, np.sqrt(np.diag(both)), rtol=1e-12)


def test_large_results_are_sparse_by_themselves() -> None:
    x = np.linspace(-2.0, 2.0, 2000)
    result = tg.propagate(lambda x: x**2, x, std=0.1, order=2)
    assert result.covariance.nnz == 2000
    np.testing.assert_allclose(result.std, np.sqrt(4 * x**2 * 0.01 + 2e-4), rtol=1e-13)
    np.testing.assert_allclose(result.values, x**2 + 0.01, rtol=1e-13)


def test_covariance_with_a_sparse_jacobian(rng: np.random.Generator) -> None:
    root = rng.normal(size=(6, 6))
    mean, covariance = rng.normal(size=6), root @ root.T
    expected = tg.propagate(neighbours, mean, covariance)
    result = tg.propagate(neighbours, mean, scipy.sparse.csr_array(covariance), sparse=True)
    np.testing.assert_allclose(result.covariance, expected.covariance, rtol=1e-10, atol=1e-12)


def test_results_are_propagated_further(rng: np.random.Generator) -> None:
    mean, root = rng.normal(size=3), rng.normal(size=(3, 3))
    inner = lambda x: np.stack([np.sin(x[0]) * x[1], np.exp(x[2])])  # noqa: E731
    outer = lambda y: y[0] * y[1]  # noqa: E731
    between = tg.propagate(inner, mean, root @ root.T)
    last = tg.propagate(outer, between.values, between.covariance)
    at_once = tg.propagate(lambda x: outer(inner(x)), mean, root @ root.T)
    assert last.std == pytest.approx(at_once.std, rel=1e-12)


def test_structures_and_what_functions_see() -> None:
    global SCALE
    values = {"a": 2.0, "b": np.array([[1.0, 2.0]])}
    deviations = {"a": 0.1, "b": np.array([[0.2, 0.3]])}

    def scaled() -> Any:
        return tg.propagate(lambda p: (SCALE * p["a"] ** 2, p["b"]), values, std=deviations, order=2)

    try:
        for scale in (1.0, 3.0):
            SCALE = scale
            (first, second), (first_std, second_std) = (result := scaled()).values, result.std
            assert first == pytest.approx(scale * (4 + 0.01))
            assert first_std == pytest.approx(scale * np.sqrt(16 * 0.01 + 2 * 1e-4))
            np.testing.assert_array_equal(second, values["b"])
            np.testing.assert_allclose(second_std, deviations["b"])
    finally:
        SCALE = 1.0


def test_linear_and_constant_results_have_no_second_order() -> None:
    for sparse in (False, True):
        result = tg.propagate(
            lambda x: np.concatenate([2 * x, np.ones(2)]), [1.0, 2.0], std=[0.1, 0.2], order=2, sparse=sparse
        )
        np.testing.assert_allclose(result.std, [0.2, 0.4, 0.0, 0.0])
        np.testing.assert_array_equal(result.values, [2.0, 4.0, 1.0, 1.0])


REFUSED: dict[str, Any] = {
    "nothing": (ValueError, "pass one of covariance and std", {}),
    "both": (ValueError, "pass one of", {"covariance": np.eye(2), "std": 1.0}),
    "deviations for a covariance": (ValueError, "for standard deviations write std=", {"covariance": [0.1, 0.2]}),
    "another size": (ValueError, r"shape \(3, 3\), but values have 2", {"covariance": np.eye(3)}),
    "not symmetric": (ValueError, "not symmetric", {"covariance": [[1.0, 0.5], [0.0, 1.0]]}),
    "negative": (ValueError, "negative or nan", {"std": [0.1, -0.1]}),
    "nan": (ValueError, "negative or nan", {"std": np.nan}),
    "other shapes": (ValueError, "but x0 has", {"std": [0.1, 0.2, 0.3]}),
    "order": (ValueError, "order=3", {"std": 0.1, "order": 3}),
    "not semidefinite": (ValueError, "not positive semidefinite", {"covariance": [[1.0, 2.0], [2.0, 1.0]]}),
    "a Tensor": (tg.UnsupportedError, "tg.jacobian", {"std": tg.tensor([0.1, 0.2])}),
    "sparse, correlated, second order": (
        tg.UnsupportedError, "independent values", {"covariance": np.eye(2), "order": 2, "sparse": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    error, words, arguments = REFUSED[name]
    with pytest.raises(error, match=words):
        tg.propagate(lambda x: x**2, [1.0, 2.0], **arguments)


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="values are complex"):
        tg.propagate(lambda z: z, np.array([1j]), std=0.1)
    with pytest.raises(TypeError, match="returned complex numbers"):
        tg.propagate(lambda x: x * 1j, [1.0], std=0.1)
