"""Filters of images: values of SciPy's functions, derivatives beside differences, its errors."""

from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import tapegrad as tg
from helpers.linear_maps import check_transpose


def drawn(*shape: int) -> np.ndarray:
    """Return normal numbers, the same ones of each shape."""
    return np.random.default_rng(shape).standard_normal(shape)


IMAGE, LINE, VOLUME = drawn(5, 6), drawn(7), drawn(3, 4, 5)
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap", "grid-constant")

# The image, and the arguments behind it.
CALLS: dict[str, list[tuple[np.ndarray, tuple[Any, ...], dict[str, Any]]]] = {
    "correlate1d": [
        *[(IMAGE, (drawn(taps), axis), {"mode": m}) for m in MODES for axis in (0, 1) for taps in (4, 5)],
        (VOLUME, ([1.0, 2.0], 1), {"cval": 2.0, "mode": "constant", "origin": -1}),
        (LINE, (drawn(16),), {"mode": "mirror", "origin": 3}),
        (LINE[:1], (drawn(5),), {"mode": "mirror"}),
        (IMAGE, ([2.0, 1.0],), {"output": np.float32}),
    ],
    "convolve1d": [
        *[(IMAGE, (drawn(taps), axis), {"origin": 1}) for axis in (0, 1) for taps in (4, 5)],
        (VOLUME, (drawn(3), -2), {"mode": "nearest"}),
    ],
    "correlate": [
        *[(IMAGE, (drawn(*shape),), {"mode": m}) for m in MODES for shape in ((3, 3), (2, 4))],
        (IMAGE, (drawn(3, 4),), {"origin": (1, -2), "mode": "wrap"}),
        (IMAGE, (drawn(3, 3),), {"cval": -1.5, "mode": "constant"}),
        (VOLUME, (drawn(2, 3, 2),), {}),
        (VOLUME, (drawn(3, 2),), {"axes": (0, 2), "origin": (0, -1)}),
        (VOLUME, (drawn(3),), {"axes": 1}),
        (drawn(2, 3, 2, 3), (drawn(2, 2, 3, 2),), {"mode": "constant"}),
    ],
    "convolve": [
        *[(IMAGE, (drawn(*shape),), {"mode": "nearest"}) for shape in ((3, 3), (2, 4), (1, 1))],
        (IMAGE, (drawn(3, 4),), {"origin": (1, 1)}),
        (drawn(2, 3, 2, 3), (drawn(2, 2, 3, 2),), {}),
    ],
    "gaussian_filter1d": [
        *[(IMAGE, (1.3, axis, order), {}) for axis in (0, 1) for order in range(4)],
        (IMAGE, (0.7,), {"truncate": 2.0, "mode": "constant", "cval": 1.0}),
        (LINE, (2.0,), {"radius": 3}),
    ],
    "gaussian_filter": [
        (IMAGE, (1.1,), {}),
        (IMAGE, ((0.5, 2.0), (1, 0)), {"mode": ("wrap", "nearest")}),
        (IMAGE, ((0.0, 1.0),), {"radius": (1, 2)}),
        (VOLUME, (0.8,), {"axes": (0, 2), "mode": "mirror"}),
        (IMAGE, (0.0,), {}),
        (np.array(2.5), (1.0,), {}),
    ],
    "uniform_filter1d": [(IMAGE, (4, 0), {"origin": -2}), (IMAGE, (3,), {"mode": "wrap"})],
    "uniform_filter": [
        (IMAGE, (3,), {}),
        (IMAGE, ((1, 4),), {"origin": (0, 1), "mode": ("constant", "mirror"), "cval": 2.0}),
        (VOLUME, (2,), {"axes": 1}),
    ],
    "sobel": [(IMAGE, (), {}), (VOLUME, (0,), {"mode": ("wrap", "nearest", "mirror")})],
    "prewitt": [(IMAGE, (0,), {"mode": "constant", "cval": 1.0}), (VOLUME, (), {})],
    "laplace": [(IMAGE, (), {}), (VOLUME, (), {"axes": (1, 2), "mode": ("wrap", "mirror")}), (np.array(1.5), (), {})],
    "gaussian_laplace": [(IMAGE, (0.9,), {"truncate": 3.0}), (VOLUME, ((1.0, 0.6),), {"axes": (0, 1)})],
    "gaussian_gradient_magnitude": [(IMAGE, (0.9,), {}), (IMAGE, ((1.0, 2.0),), {"mode": "wrap"})],
    "shift": [
        # Of degree 1: SciPy's cubic splines meet the elements to 1e-6 alone
        *[(IMAGE, (by,), {"mode": m, "order": 1}) for m in MODES for by in (2, -3, (1, -2), (0, 6))],
        *[(LINE, (by,), {"mode": m, "order": 1}) for m in MODES for by in (6, -6, 12, -12, 13, -20)],
        (IMAGE, (1,), {"cval": 3.0}),
    ],
}  # fmt: skip
CASES = [(name, *case) for name, cases in CALLS.items() for case in cases]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_scipys(dtype: Any) -> None:
    for name, x, args, kwargs in CASES:
        x = x.astype(dtype)
        expected = getattr(scipy.ndimage, name)(x, *args, **kwargs)
        found = getattr(tg.ndimage, name)(x, *args, **kwargs)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
        tolerance = 2e-5 if expected.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(
            found.numpy(), expected, tolerance, tolerance, err_msg=f"{name} {args} {kwargs}"
        )


def test_magnitudes_of_gradients_have_derivatives() -> None:
    tg.check_grads(
        lambda x: tg.ndimage.gaussian_gradient_magnitude(x, 0.8, radius=1), (IMAGE[:2, :2],), order=2
    )


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"gaussian_gradient_magnitude"}))
def test_cotangents_are_of_the_transpose(name: str, rng: np.random.Generator) -> None:
    for x, args, kwargs in CALLS[name]:
        if "output" not in kwargs and not kwargs.get("cval"):
            f = lambda x, args=args, kwargs=kwargs: getattr(tg.ndimage, name)(x, *args, **kwargs)  # noqa: E731
            u, v = rng.standard_normal((2, *x.shape))
            check_transpose(f, v, rng, 1e-12)
            np.testing.assert_allclose(tg.jvp(f, (u,), (v,))[1], f(tg.tensor(v)).data, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["correlate1d", "convolve1d", "correlate", "convolve"])
def test_derivatives_by_weights(name: str) -> None:
    x, weights = (
        IMAGE[:2, :3],
        np.array([0.5, -1.0]) if name.endswith("1d") else np.array([[0.5, -1.0], [2.0, 0.3]]),
    )
    f = lambda x, w: getattr(tg.ndimage, name)(x, w, mode="mirror")  # noqa: E731
    tg.check_grads(f, (x, weights), order=2)


@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_cotangents_of_weights_are_of_the_transpose(name: str, rng: np.random.Generator) -> None:
    for x, args, kwargs in CALLS[name]:
        if "output" not in kwargs and not kwargs.get("cval"):
            f = lambda w, x=x, kwargs=kwargs: getattr(tg.ndimage, name)(x, w, **kwargs)  # noqa: E731
            check_transpose(f, np.asarray(args[0]), rng, 1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_derivatives_by_widths_of_gaussians(order: int) -> None:
    f = lambda sigma: tg.ndimage.gaussian_filter1d(LINE, sigma, -1, order, radius=4)  # noqa: E731
    tg.check_grads(f, (1.4,), order=2)
    np.testing.assert_allclose(
        f(tg.tensor(1.4)).data, scipy.ndimage.gaussian_filter1d(LINE, 1.4, -1, order, radius=4), 1e-12
    )
    widths = tg.tensor([1.4, 0.9])
    found = tg.ndimage.gaussian_filter(IMAGE, widths, order, radius=(4, 3))
    expected = scipy.ndimage.gaussian_filter(IMAGE, (1.4, 0.9), order, radius=(4, 3))
    np.testing.assert_allclose(found.data, expected, 1e-11, 1e-13)


def test_value_beyond_the_edges_may_be_a_tensor() -> None:
    f = lambda c: tg.sum(tg.ndimage.correlate1d(LINE, [1.0, 2.0, 4.0], mode="constant", cval=c))  # noqa: E731
    np.testing.assert_allclose(tg.grad(f)(0.5), 5.0)


def test_replays_and_instances(rng: np.random.Generator) -> None:
    f = tg.jit(
        lambda x, w: tg.ndimage.convolve(tg.ndimage.gaussian_filter(x, 1.0, mode="wrap"), w, mode="mirror")
    )
    images, weights = rng.standard_normal((3, 5, 6)), rng.standard_normal((3, 2, 3))
    for x, w in zip(images, weights, strict=True):
        blurred = scipy.ndimage.gaussian_filter(x, 1.0, mode="wrap")
        np.testing.assert_allclose(f(x, w), scipy.ndimage.convolve(blurred, w, mode="mirror"), 1e-12, 1e-13)
    every = tg.vmap(f)(images, weights)
    np.testing.assert_allclose(
        every, np.stack([f(x, w) for x, w in zip(images, weights, strict=True)]), 1e-12
    )


def test_gradient_magnitude_is_flat_at_zero() -> None:
    f = lambda x: tg.sum(tg.ndimage.gaussian_gradient_magnitude(x, 1.0))  # noqa: E731
    np.testing.assert_array_equal(tg.grad(f)(np.zeros((4, 4))), np.zeros((4, 4)))


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "error"),
    [
        ("correlate1d", (IMAGE, []), {}, RuntimeError),
        ("correlate1d", (IMAGE, np.ones((2, 2))), {}, RuntimeError),
        ("correlate1d", (IMAGE, [1.0, 2.0]), {"mode": "mirrored"}, RuntimeError),
        ("correlate1d", (IMAGE, [1.0, 2.0]), {"origin": 1}, ValueError),
        ("convolve1d", (IMAGE, [1.0, 2.0, 3.0]), {"origin": 2}, ValueError),
        ("correlate1d", (IMAGE, [1.0], 2), {}, ValueError),
        ("correlate", (IMAGE, np.ones(3)), {}, RuntimeError),
        ("correlate", (IMAGE, np.ones((0, 3))), {}, RuntimeError),
        ("correlate", (IMAGE, np.ones((1, 3))), {"mode": ("wrap", "wrap")}, RuntimeError),
        ("correlate", (VOLUME, np.ones((1, 3))), {"axes": (0, 3)}, ValueError),
        ("correlate", (VOLUME, np.ones((1, 3))), {"axes": (0, -3)}, ValueError),
        ("gaussian_filter", (IMAGE, (1.0, 2.0, 3.0)), {}, RuntimeError),
        ("gaussian_filter", (IMAGE, 1.0, -1), {}, ValueError),
        ("gaussian_filter1d", (IMAGE, 1.0), {"radius": 1.5}, ValueError),
        ("uniform_filter1d", (IMAGE, 0), {}, RuntimeError),
        ("uniform_filter1d", (IMAGE, 3), {"origin": 2}, ValueError),
        ("shift", (IMAGE, 1), {"order": 6}, RuntimeError),
        ("shift", (IMAGE, 1), {"mode": "mirrored"}, RuntimeError),
    ],
)
def test_errors_are_scipys(name: str, args: Any, kwargs: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(scipy.ndimage, name)(*args, **kwargs)
    with pytest.raises(error):
        getattr(tg.ndimage, name)(*args, **kwargs)


def test_refusals_say_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"write input\.astype\(float\)"):
        tg.ndimage.sobel(np.arange(6).reshape(2, 3))
    with pytest.raises(tg.UnsupportedError, match=r"y\[\.\.\.\] = laplace\(x\)"):
        tg.ndimage.laplace(IMAGE, np.empty_like(IMAGE))
    with pytest.raises(tg.UnsupportedError, match="output must be a dtype of floats"):
        tg.ndimage.laplace(IMAGE, int)
    with pytest.raises(ValueError, match="give radius="):
        tg.grad(lambda s: tg.sum(tg.ndimage.gaussian_filter(IMAGE, s)))(1.0)
    with pytest.raises(tg.UnsupportedError, match="RegularGridInterpolator"):
        tg.ndimage.shift(IMAGE, 0.5)
    with pytest.raises(AttributeError, match=r"tapegrad\.ndimage has no zoom: there are"):
        tg.ndimage.zoom  # noqa: B018
    with pytest.raises(tg.UnsupportedError, match=r"write tapegrad\.ndimage\.gaussian_filter"):
        scipy.ndimage.gaussian_filter(tg.tensor(IMAGE), 1.0)


def test_empty_images() -> None:
    for shape in ((0, 3), (3, 0)):
        for mode in ("reflect", "constant"):
            assert tg.ndimage.gaussian_filter(np.zeros(shape), 1.0, mode=mode).shape == shape


def test_filters_that_change_nothing_return_copies() -> None:
    image = tg.tensor(np.ones((2, 3))) * 1.0
    for result in (tg.ndimage.gaussian_filter(image, 0), tg.ndimage.gaussian_filter(image, 1, axes=())):
        result[...] = 5.0
        assert (image.data == 1.0).all()
