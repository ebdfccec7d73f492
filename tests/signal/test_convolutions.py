"""Convolutions and correlations by products: values of SciPy's functions, transposes, its errors."""

from typing import Any

import numpy as np
import pytest
import scipy.signal

import tapegrad as tg
from helpers.linear_maps import check_transpose

SHAPES = [
    ((7,), (3,)), ((3,), (7,)), ((4,), (4,)), ((1,), (1,)), ((4, 5), (2, 3)), ((4, 5), (3, 2)), ((2, 3), (4, 5)),
    ((3, 5), (4, 2)), ((2, 3, 4), (2, 2, 2)), ((2, 3, 2, 3), (2, 2, 1, 2)),
]  # fmt: skip
MODES = ("full", "same", "valid")
BOUNDARIES = ("fill", "wrap", "symm")


def agree(name: str, x: np.ndarray, v: np.ndarray, *args: Any) -> bool:
    """Compare with SciPy; return False if both refuse."""
    try:
        expected = getattr(scipy.signal, name)(x, v, *args)
    except ValueError:
        with pytest.raises(ValueError, match="valid"):
            getattr(tg.signal, name)(x, v, *args)
        return False
    found = getattr(tg.signal, name)(x, v, *args)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (name, x.shape, v.shape, args)
    tolerance = 3e-6 if expected.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(
        found.numpy(), expected, tolerance, 10 * tolerance, err_msg=f"{name} {x.shape} {v.shape} {args}"
    )
    return True


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_values_by_products_are_scipys(name: str, dtype: Any, rng: np.random.Generator) -> None:
    done = [
        agree(name, *(rng.standard_normal(shape).astype(dtype) for shape in shapes), mode, "direct")
        for shapes in SHAPES
        for mode in MODES
    ]
    assert sum(done) > 25


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_values_over_boundaries_are_scipys(name: str, dtype: Any, rng: np.random.Generator) -> None:
    for shapes in SHAPES:
        if len(shapes[0]) == 2:
            x, v = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
            for mode in MODES:
                for boundary in BOUNDARIES:
                    agree(name, x, v, mode, boundary)
                agree(name, x, v, mode, "fill", 1.5)


CALLS = {
    **{f"{name}_{mode}": (name, mode, "direct") for name in ("convolve", "correlate") for mode in MODES},
    **{
        f"{name}_{boundary}": (name, "same", boundary)
        for name in ("convolve2d", "correlate2d")
        for boundary in BOUNDARIES
    },
}


@pytest.mark.parametrize(("name", "mode", "how"), CALLS.values(), ids=CALLS)
def test_cotangents_are_of_the_transpose(name: str, mode: str, how: str, rng: np.random.Generator) -> None:
    x, v = rng.standard_normal((4, 5)), rng.standard_normal((3, 2))
    call = getattr(tg.signal, name)
    for point, f in ((x, lambda x: call(x, v, mode, how)), (v, lambda v: call(x, v, mode, how))):
        check_transpose(f, point, rng, 1e-12)
        _, tangent = tg.jvp(f, (rng.standard_normal(point.shape),), (point,))
        np.testing.assert_allclose(tangent, f(tg.tensor(point)).numpy(), rtol=1e-12, atol=1e-14)


def test_second_derivatives(rng: np.random.Generator) -> None:
    x, v = rng.standard_normal((2, 3)), rng.standard_normal((2, 2))
    tg.check_grads(lambda x, v: tg.signal.convolve2d(x, v, "same", "symm"), (x[:, :2], v[:1]), order=2)
    tg.check_grads(lambda x, c: tg.signal.convolve2d(x, [[1.0, 2.0]], fillvalue=c), (x[:1], 0.5), order=1)


def test_replays_and_instances(rng: np.random.Generator) -> None:
    f = tg.jit(lambda x, v: tg.signal.correlate2d(x, v, "valid") ** 2)
    x, v = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 2, 2))
    expected = np.stack([scipy.signal.correlate2d(a, b, "valid") ** 2 for a, b in zip(x, v, strict=True)])
    np.testing.assert_allclose(tg.vmap(f)(x, v), expected, 1e-12)
    np.testing.assert_allclose([f(a, b) for a, b in zip(x, v, strict=True)], expected, 1e-12)


def test_jacobians_know_the_windows(rng: np.random.Generator) -> None:
    kernel = rng.standard_normal((2, 2))
    f = lambda x: tg.signal.convolve2d(x.reshape(6, 7), kernel, "same").reshape(-1)  # noqa: E731
    x = rng.standard_normal((42,))
    dense = np.stack([f(column).numpy() for column in np.eye(42)], 1)
    np.testing.assert_allclose(tg.jacobian(f)(x), dense, atol=1e-13)
    found = tg.jacobian(f, sparse=True)(x)
    np.testing.assert_allclose(found.toarray(), dense, atol=1e-13)
    assert found.nnz == np.count_nonzero(dense)


def test_integers_are_constants() -> None:
    for name in ("convolve", "correlate"):
        found = getattr(tg.signal, name)(np.arange(4), np.arange(3), "same")
        expected = getattr(scipy.signal, name)(np.arange(4), np.arange(3), "same")
        np.testing.assert_array_equal(found.numpy(), expected)
        assert found.constant
        assert found.dtype == expected.dtype
    images = np.arange(6).reshape(2, 3), np.array([[1, 2]])
    found = tg.signal.convolve2d(*images)
    np.testing.assert_array_equal(found.numpy(), scipy.signal.convolve2d(*images))
    assert found.dtype == int
    np.testing.assert_allclose(tg.signal.convolve([1, 2], [0.5]).numpy(), [0.5, 1.0])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("convolve", (np.ones(3), np.ones((1, 3)))),
        ("correlate", (np.ones(3), np.ones((1, 3)))),
        ("convolve", (np.ones(3), np.ones(2), "all")),
        ("convolve", (np.ones(3), np.ones(2), "full", "slow")),
        ("convolve", (np.ones(0), np.ones(2))),
        ("correlate", (np.ones(3), np.ones(2), "all")),
        ("convolve2d", (np.ones(3), np.ones(2))),
        ("convolve2d", (np.ones((3, 3)), np.ones((2, 2)), "all")),
        ("convolve2d", (np.ones((3, 3)), np.ones((2, 2)), "full", "mirror")),
        ("correlate2d", (np.ones((3, 1)), np.ones((1, 3)), "valid")),
    ],
)
def test_errors_are_scipys(name: str, args: tuple[Any, ...]) -> None:
    for module in (scipy.signal, tg.signal):
        with pytest.raises(ValueError):  # noqa: PT011
            getattr(module, name)(*args)


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"tapegrad\.signal has no butter: .*design filters"):
        tg.signal.butter  # noqa: B018
    with pytest.raises(tg.UnsupportedError, match=r"write tapegrad\.signal\.convolve2d"):
        scipy.signal.convolve2d(tg.tensor(np.ones((3, 3))), np.ones((2, 2)))
