"""Convolutions by transforms, spectra and complex signals: SciPy's values, transposes, errors."""

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal

import tapegrad as tg
from helpers.linear_maps import check_transpose

SHAPES = [
    ((50,), (4,)), ((4,), (50,)), ((9,), (9,)), ((300,), (7,)), ((30, 41), (3, 5)), ((30, 3), (3, 41)),
    ((60, 1, 5), (4, 3, 2)), ((7, 8), (1, 3)), ((1, 1), (1, 1)),
]  # fmt: skip


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    real, imaginary = rng.standard_normal((2, *shape))
    return (real + 1j * imaginary if np.dtype(dtype).kind == "c" else real).astype(dtype)


def near(found: Any, expected: np.ndarray, note: str = "", digits: float = 1e-12) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), note
    tolerance = 1e-5 if expected.dtype in (np.float32, np.complex64) else digits
    np.testing.assert_allclose(found.numpy(), expected, tolerance, 3 * tolerance, err_msg=note)


@pytest.mark.parametrize("dtypes", ["dd", "ff", "Dd", "dD", "FF"])
@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
def test_convolutions_by_transforms_are_scipys(name: str, dtypes: str, rng: np.random.Generator) -> None:
    for a, b in SHAPES:
        x, v = drawn(rng, a, dtypes[0]), drawn(rng, b, dtypes[1])
        for mode in ("full", "same", "valid"):
            try:
                expected = getattr(scipy.signal, name)(x, v, mode)
            except ValueError:
                with pytest.raises(ValueError, match="valid"):
                    getattr(tg.signal, name)(x, v, mode)
            else:
                near(getattr(tg.signal, name)(x, v, mode), expected, f"{a} {b} {mode}")
        if len(a) == 2:
            for axes in (0, (1,), (-1, 0)):
                if all(a[k] == b[k] or 1 in (a[k], b[k]) for k in {0, 1} - set(np.atleast_1d(axes) % 2)):
                    near(
                        getattr(tg.signal, name)(x, v, axes=axes),
                        getattr(scipy.signal, name)(x, v, axes=axes),
                    )


@pytest.mark.parametrize("dtypes", ["DD", "Dd", "dD", "FF"])
def test_complex_convolutions_by_products_are_scipys(dtypes: str, rng: np.random.Generator) -> None:
    for a, b in (((7,), (3,)), ((3,), (6,)), ((4, 5), (2, 3)), ((2, 3), (4, 5))):
        x, v = drawn(rng, a, dtypes[0]), drawn(rng, b, dtypes[1])
        for mode in ("full", "same", "valid"):
            for name in ("convolve", "correlate"):
                for method in ("direct", "fft"):
                    expected = getattr(scipy.signal, name)(x, v, mode, method)
                    near(
                        getattr(tg.signal, name)(x, v, mode, method),
                        expected,
                        f"{name} {a} {b} {mode} {method}",
                    )
                if len(a) == 1:
                    expected = getattr(np, name)(x, v, mode)
                    near(getattr(tg, name)(x, v, mode), expected, f"numpy.{name} {a} {b} {mode}")
            if len(a) == 2:
                for name in ("convolve2d", "correlate2d"):
                    near(getattr(tg.signal, name)(x, v, mode), getattr(scipy.signal, name)(x, v, mode), name)


def test_the_faster_method_is_taken(rng: np.random.Generator) -> None:
    for a, b in (((4000,), (3000,)), ((4000,), (3,)), ((60, 60), (50, 50)), ((200, 200), (3, 3))):
        x, v = drawn(rng, a), drawn(rng, b)
        for name in ("convolve", "correlate"):
            near(
                getattr(tg.signal, name)(x, v, "same"),
                getattr(scipy.signal, name)(x, v, "same"),
                digits=1e-10,
            )


def test_analytic_signals(rng: np.random.Generator) -> None:
    for dtype in (np.float64, np.float32):
        x = drawn(rng, (3, 8, 5), dtype)
        for axis in (0, 1, -1):
            for length in (None, 6, 7, 11):
                near(tg.signal.hilbert(x, length, axis), scipy.signal.hilbert(x, length, axis))
    near(tg.signal.hilbert(np.arange(5)), scipy.signal.hilbert(np.arange(5)))


STFT: list[dict[str, Any]] = [
    {},
    {"nperseg": 15, "noverlap": 11, "fs": 3.0},
    {"nfft": 20, "scaling": "psd", "window": ("tukey", 0.4)},
    {"boundary": "odd", "return_onesided": False},
    {"boundary": "even", "padded": False},
    {"boundary": "constant"},
    {"boundary": None, "padded": False, "axis": 0, "window": np.hamming(16)},
]


@pytest.mark.parametrize("dtype", ["d", "f", "D"])
def test_short_time_transforms(dtype: str, rng: np.random.Generator) -> None:
    lines = drawn(rng, (50, 2), dtype)
    for given in STFT:
        options = {"nperseg": 16, "axis": 0, **given}
        if dtype == "D":
            options["return_onesided"] = False
        found, expected = tg.signal.stft(lines, **options), scipy.signal.stft(lines, **options)
        for part, each in zip(found[:2], expected[:2], strict=True):
            np.testing.assert_allclose(part, each, 1e-13, err_msg=str(options))
        near(found[2], expected[2], str(options))
        back = {
            name: options[name] for name in ("fs", "window", "noverlap", "nfft", "scaling") if name in options
        }
        back |= {
            "nperseg": options["nperseg"],
            "freq_axis": 0,
            "boundary": options.get("boundary", "") is not None,
        }
        back["input_onesided"] = options.get("return_onesided", True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without an extension windows leave out the ends
            found, expected = tg.signal.istft(expected[2], **back), scipy.signal.istft(expected[2], **back)
        near(found[1], expected[1], str(back))
        assert len(found[0]) == found[1].shape[-1]


def test_detrended_windows(rng: np.random.Generator) -> None:
    x = drawn(rng, (40,)) + 7
    options: dict[str, Any] = {"nperseg": 8, "detrend": lambda d: d - d.mean(-1, keepdims=True)}
    near(tg.signal.stft(x, **options)[2], scipy.signal.stft(x, **options)[2])
    for line in (x, x + 1j * x[::-1]):
        for detrend in ("constant", "linear", None):
            options = {"nperseg": 8, "detrend": detrend, "return_onesided": line is x}
            near(tg.signal.stft(line, **options)[2], scipy.signal.stft(line, **options)[2])


def test_frequency_responses() -> None:
    b, a = scipy.signal.butter(3, 0.4)
    for options in (
        {},
        {"worN": 7, "whole": True},
        {"worN": [0.1, 2.0], "fs": 5.0},
        {"worN": 4, "include_nyquist": True},
    ):
        for bottom in (a, 2.0):
            found, expected = tg.signal.freqz(b, bottom, **options), scipy.signal.freqz(b, bottom, **options)
            np.testing.assert_allclose(found[0], expected[0], 1e-14)
            np.testing.assert_allclose(found[1].numpy(), expected[1], 1e-11, 1e-13)
    tg.check_grads(
        lambda b, a, w: abs(tg.signal.freqz(b, a, w)[1]), (b[:2], a[:2] + 1.0, np.array([0.3, 1.1])), order=1
    )


MAPS: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "fftconvolve": (lambda x: tg.signal.fftconvolve(x, np.arange(1.0, 5.0), "same"), (11,), "d"),
    "oaconvolve": (lambda x: tg.signal.oaconvolve(x, np.arange(1.0, 5.0)), (90,), "d"),
    "oaconvolve by the short one": (lambda v: tg.signal.oaconvolve(np.arange(90.0), v, "valid"), (4,), "d"),
    "complex": (lambda x: tg.signal.fftconvolve(x, np.array([1.0, 2j, 3.0])), (8,), "D"),
    "complex products": (
        lambda x: tg.signal.correlate(x, np.array([1.0, 2j, 3.0]), method="direct"),
        (8,),
        "D",
    ),
    "real by complex": (
        lambda x: tg.signal.convolve(x, np.array([1.0, 2j, 3.0]), method="direct"),
        (8,),
        "d",
    ),
    "hilbert": (lambda x: tg.signal.hilbert(x, 9), (2, 7), "d"),
    "stft": (lambda x: tg.signal.stft(x, nperseg=8, noverlap=5, boundary="odd")[2], (30,), "d"),
    "istft": (lambda z: tg.signal.istft(z, noverlap=5)[1], (5, 9), "D"),
    "lfilter": (lambda x: tg.signal.lfilter([1.0, 0.5], [1.0, -0.4, 0.1], x), (12,), "D"),
    "filtfilt": (lambda x: tg.signal.filtfilt([1.0, 0.5], [1.0, -0.4], x, padlen=3), (12,), "D"),
    "gaussian": (lambda x: tg.ndimage.gaussian_filter(x, 1.0, mode="mirror"), (4, 5), "D"),
    "image": (lambda w: tg.ndimage.convolve(np.arange(12.0).reshape(3, 4), w), (2, 3), "D"),
}


def of_floats(name: str, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Return a map of floats, in place of complex numbers their parts, and a place."""
    f, shape, dtype = MAPS[name]

    def parts(x: Any) -> Any:
        y = f(x.view(complex) if dtype == "D" else x)
        return tg.stack([y.real, y.imag]) if y.dtype.kind == "c" else y

    return parts, drawn(rng, (*shape[:-1], shape[-1] * (1 + (dtype == "D"))))


@pytest.mark.parametrize("name", MAPS)
def test_cotangents_are_of_the_transpose(name: str, rng: np.random.Generator) -> None:
    f, v = of_floats(name, rng)
    check_transpose(f, v, rng, 1e-12)
    _, tangent = tg.jvp(f, (drawn(rng, v.shape),), (v,))
    np.testing.assert_allclose(tangent, f(tg.tensor(v)).numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["oaconvolve", "complex products", "stft", "filtfilt"])
def test_replays(name: str, rng: np.random.Generator) -> None:
    f, v = of_floats(name, rng)
    replayed = tg.jit(f)
    for x in (v, drawn(rng, v.shape)):
        np.testing.assert_allclose(replayed(x), f(tg.tensor(x)).numpy(), rtol=1e-12, atol=1e-13)


def test_losses_of_spectra_have_second_derivatives(rng: np.random.Generator) -> None:
    x, v = drawn(rng, (4,)), drawn(rng, (3,))
    tg.check_grads(lambda x, v: tg.sum(tg.signal.fftconvolve(x, v) ** 3), (x, v), order=2)
    tg.check_grads(lambda x: tg.sum(abs(tg.signal.hilbert(x))), (x + 3,), order=2)


def test_instances(rng: np.random.Generator) -> None:
    x, v = drawn(rng, (3, 12)), drawn(rng, (3, 4))
    expected = np.stack([scipy.signal.fftconvolve(a, b) for a, b in zip(x, v, strict=True)])
    np.testing.assert_allclose(tg.vmap(tg.signal.fftconvolve)(x, v), expected, 1e-11)
    envelopes = tg.vmap(tg.jit(lambda x: abs(tg.signal.hilbert(x))))(x)
    np.testing.assert_allclose(envelopes, abs(scipy.signal.hilbert(x)), 1e-11)


def test_empty_and_integer_arrays() -> None:
    for name in ("fftconvolve", "oaconvolve"):
        assert getattr(tg.signal, name)(np.zeros(0), np.ones(2)).shape == (0,)
        found = getattr(tg.signal, name)(np.arange(5), np.arange(3))
        expected = getattr(scipy.signal, name)(np.arange(5), np.arange(3))
        near(found, expected)
        assert found.constant
        near(getattr(tg.signal, name)(np.array(2.0), np.array(3.0)), np.array(6.0))


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("fftconvolve", (np.ones(3), np.ones((1, 3))), {}),
        ("fftconvolve", (np.ones(3), np.ones(2), "all"), {}),
        ("fftconvolve", (np.ones((3, 2)), np.ones((3, 4))), {"axes": 0}),
        ("fftconvolve", (np.ones((3, 2)), np.ones((3, 2))), {"axes": (0, 0)}),
        ("fftconvolve", (np.ones((3, 2)), np.ones((3, 2))), {"axes": ()}),
        ("oaconvolve", (np.ones((3, 2)), np.ones((3, 2))), {"axes": 2}),
        ("hilbert", (np.ones(3) * 1j,), {}),
        ("hilbert", (np.ones(3), 0), {}),
        ("stft", (np.ones(30),), {"nperseg": 8, "noverlap": 8}),
        ("stft", (np.ones(30),), {"nperseg": 8, "nfft": 7}),
        ("stft", (np.ones(30),), {"nperseg": 0}),
        ("stft", (np.ones(30),), {"boundary": "none"}),
        ("stft", (np.ones(30),), {"scaling": "none"}),
        ("stft", (np.ones(30),), {"nperseg": 8, "detrend": "none"}),
        ("stft", (np.ones(30),), {"window": np.ones(40), "nperseg": None}),
        ("istft", (np.ones(3),), {}),
        ("istft", (np.ones((3, 3)),), {"freq_axis": -1}),
        ("istft", (np.ones((3, 3)),), {"window": np.ones(7)}),
        ("freqz", ([1.0],), {"worN": -1}),
    ],
)
def test_errors_are_scipys(name: str, args: Any, kwargs: Any) -> None:
    for module in (scipy.signal, tg.signal):
        with pytest.raises(ValueError):  # noqa: PT011
            getattr(module, name)(*args, **kwargs)


SCIPYS = """
import numpy as np, scipy.signal, tapegrad as tg

x, v = np.arange(9.0) ** 2, tg.tensor([1.0, 0.5, 2.0], constant=True)
f = lambda x: tg.sum(scipy.signal.fftconvolve(x, v) ** 2)
along = (f(tg.tensor(x + 1e-4)) - f(tg.tensor(x - 1e-4))).item() / 2e-4
np.testing.assert_allclose(tg.grad(f)(x).sum(), along, rtol=1e-6)
"""


def test_scipys_own_function_takes_tensors_by_the_array_standard() -> None:
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}  # which SciPy reads when it is imported
    subprocess.run([sys.executable, "-c", SCIPYS], env=environment, check=True, timeout=300)
