"""Fourier transforms against `numpy.fft` and `scipy.fft`: every function, norm, length and axis, and both doors.

The tables are the namespaces themselves, so that a function that is added is tested by being there.
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.fft

import tapegrad as tg
from helpers.daily import daily

FREQUENCIES = ("fftfreq", "rfftfreq")
SHIFTS = ("fftshift", "ifftshift")
NAMES = sorted(name for name in dir(tg.fft) if not name.startswith("_") and callable(getattr(tg.fft, name)))
TRANSFORMS = [name for name in NAMES if name not in (*FREQUENCIES, *SHIFTS)]
TRIGONOMETRIC = [name for name in TRANSFORMS if "ct" in name or "st" in name]
FOURIER = [name for name in TRANSFORMS if name not in TRIGONOMETRIC]
ALONG_AXES = [name for name in TRANSFORMS if name[-1] in "n2"]
# What takes real numbers alone
OF_REALS = [name for name in FOURIER if "rfft" in name.replace("irfft", "") or "ihfft" in name]
NORMS = (None, "backward", "ortho", "forward")
third = daily(every=3, always=lambda name: name in ("fft", "rfft", "irfft", "dct"))


def numbers(rng: np.random.Generator, name: str, shape: tuple[int, ...], dtype: str = "d") -> np.ndarray:
    x = rng.standard_normal(shape)
    real = name in OF_REALS or name in TRIGONOMETRIC
    return np.asarray(x if real else x + 1j * rng.standard_normal(shape)).astype(
        dtype if real else dtype.upper()
    )


def tolerance(dtype: np.dtype[Any]) -> float:
    return 1e-13 if dtype in (np.float64, np.complex128) else 2e-5


def assert_equal(found: Any, expected: np.ndarray) -> None:
    assert type(found) is tg.Tensor
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(
        found.data, expected, rtol=0, atol=tolerance(expected.dtype) * max(1, expected.size)
    )


def lengths_of(name: str, size: int) -> list[Any]:
    """Lengths along one axis, or along the last two: those of the axes, padded, cut, odd, even, prime, 1 and 2."""
    least = 2 if name in TRIGONOMETRIC else 1
    lengths = [None, least, 2, size - 1, size, size + 1, 11, 16]
    return lengths if name not in ALONG_AXES else [None if n is None else (n, 5) for n in lengths]


# --- values ------------------------------------------------------------------------------------------------------


def test_every_function_of_numpys_and_scipys_is_there() -> None:
    plans = {name for name in dir(scipy.fft) if "backend" in name or "workers" in name or "fast_len" in name}
    theirs = {
        name for module in (np.fft, scipy.fft) for name in dir(module)
        if not name.startswith("_") and callable(getattr(module, name))
    }  # fmt: skip
    assert theirs - set(NAMES) == (plans | {"test", "fht", "ifht", "fhtoffset"}) & theirs


@third
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_values_are_scipys(name: str, dtype: str, rng: np.random.Generator) -> None:
    ours, theirs = getattr(tg.fft, name), getattr(scipy.fft, name)
    x = numbers(rng, name, (6, 7), dtype)
    for n in lengths_of(name, 7):
        for norm in NORMS:
            key = "s" if name in ALONG_AXES else "n"
            assert_equal(ours(x, norm=norm, **{key: n}), theirs(x, norm=norm, **{key: n}))


@third
@pytest.mark.parametrize("name", TRANSFORMS)
def test_values_along_any_axis_of_any_layout(name: str, rng: np.random.Generator) -> None:
    ours, theirs = getattr(tg.fft, name), getattr(scipy.fft, name)
    whole = numbers(rng, name, (4, 6, 20))
    views = (whole, whole.T, whole[::-1, :, ::3], whole[:, 1:3].transpose(1, 2, 0))
    axes = [{"axes": pair} for pair in ((0, 1), (2, 0), (-1, -2))] if name in ALONG_AXES else [
        {"axis": axis} for axis in (0, 1, -1)
    ]  # fmt: skip
    for x in views:
        for where in axes:
            assert_equal(ours(tg.tensor(whole)[...] if x is whole else x, **where), theirs(x, **where))


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_types_of_trigonometric_transforms(name: str, kind: int, rng: np.random.Generator) -> None:
    ours, theirs = getattr(tg.fft, name), getattr(scipy.fft, name)
    for size in (2, 3, 5, 8):
        x = rng.standard_normal((size, size))
        for norm in NORMS:
            for orthogonalize in (None, True, False):
                expected = theirs(x, kind, norm=norm, orthogonalize=orthogonalize)
                assert_equal(ours(x, kind, norm=norm, orthogonalize=orthogonalize), expected)
        both = ours(x + 2j * x, kind, norm="ortho").data
        np.testing.assert_allclose(both, (1 + 2j) * theirs(x, kind, norm="ortho"), atol=1e-13)


@pytest.mark.parametrize("name", [name for name in FOURIER if name not in OF_REALS])
def test_real_numbers_and_integers(name: str, rng: np.random.Generator) -> None:
    for x in (
        rng.standard_normal((4, 5)),
        rng.standard_normal((4, 5)).astype("f"),
        np.arange(20).reshape(4, 5),
    ):
        assert_equal(getattr(tg.fft, name)(x), getattr(np.fft, name, getattr(scipy.fft, name))(x))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_infinite_and_huge_numbers(name: str, rng: np.random.Generator) -> None:
    for value in (np.inf, -np.inf, np.nan, 1e308, 5e-324, -0.0):
        x = numbers(rng, name, (6,))
        x[2] = value
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(getattr(tg.fft, name)(x).data, getattr(np.fft, name)(x))


@pytest.mark.parametrize("name", FOURIER)
def test_no_lines_and_no_elements(name: str, rng: np.random.Generator) -> None:
    where: dict[str, Any] = {"axes": (1,)} if name in ALONG_AXES else {"axis": 1}
    points = getattr(scipy.fft, name)(numbers(rng, name, (1, 4, 1)), **where).shape[1]
    for shape in ((0, 4, 3), (3, 4, 0)):
        leaf = tg.tensor(numbers(rng, name, shape))
        y = getattr(tg.fft, name)(leaf, **where)
        assert y.shape == (shape[0], points, shape[2])
        y.backward(np.ones(y.shape, y.dtype))
        assert leaf.grad.shape == shape


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name: str, rng: np.random.Generator) -> None:
    for x in (rng.standard_normal((4, 5)), numbers(rng, "fft", (4, 5)), numbers(rng, "fft", (3,))):
        for axes in (None, 0, (x.ndim - 1,), -1):
            np.testing.assert_array_equal(getattr(tg.fft, name)(x, axes).data, getattr(np.fft, name)(x, axes))


@pytest.mark.parametrize("name", FREQUENCIES)
def test_frequencies(name: str) -> None:
    for n, d in ((1, 1.0), (7, 0.25), (8, 3.0)):
        np.testing.assert_array_equal(getattr(tg.fft, name)(n, d).data, getattr(np.fft, name)(n, d))


# --- derivatives -------------------------------------------------------------------------------------------------


def inner(a: Any, b: Any) -> float:
    """The real inner product, in which a gradient is dL/dx + i dL/dy."""
    return float(np.sum((np.conj(np.asarray(a)) * np.asarray(b)).real))


@third
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_cotangent_is_that_of_the_transpose(name: str, dtype: str, rng: np.random.Generator) -> None:
    function = getattr(tg.fft, name)
    for n in lengths_of(name, 7):
        for norm in NORMS[1:]:
            arguments = {"s" if name in ALONG_AXES else "n": n, "norm": norm}
            leaf = tg.tensor(numbers(rng, name, (6, 7), dtype))
            direction = numbers(rng, name, (6, 7), dtype)
            y = function(leaf, **arguments)
            y_bar = numbers(rng, "fft" if y.dtype.kind == "c" else "rfft", y.shape, dtype)
            y.backward(y_bar)
            assert leaf.grad.dtype == leaf.dtype
            along = inner(y_bar, function(direction, **arguments).data)
            scale = np.linalg.norm(y_bar) * np.linalg.norm(function(direction, **arguments).data)
            assert abs(inner(leaf.grad, direction) - along) <= 10 * tolerance(leaf.dtype) * scale


def power(x: Any) -> Any:
    """The power spectrum of a filtered signal."""
    y = tg.fft.rfft(x * x, 12)
    return tg.sum(tg.fft.irfft(y, 9) ** 2) + tg.sum(y.real**2 + y.imag**2)


def test_derivatives_of_all_orders_and_replays(rng: np.random.Generator) -> None:
    x = rng.standard_normal(8)
    value, gradient = tg.value_and_grad(power)(x)
    tg.check_grads(power, x)
    assert tg.jit(power)(x) == value
    step = 1e-6
    near = [tg.grad(power)(x + sign * step * np.eye(8)[3]) for sign in (1, -1)]
    np.testing.assert_allclose(
        tg.hessian(power)(x)[3], (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(tg.jvp(power, (x,), (gradient,))[1], gradient @ gradient, rtol=1e-12)


def test_lanes(rng: np.random.Generator) -> None:
    xs = rng.standard_normal((5, 8))
    for function in (tg.grad(power), lambda x: tg.fft.rfft(x.reshape(2, 4), axis=0).imag):
        each = np.stack([np.asarray(function(x)) for x in xs])
        np.testing.assert_allclose(tg.vmap(function)(xs), each, rtol=1e-13, atol=1e-13)


def test_saved_programs(tmp_path: Any, rng: np.random.Generator) -> None:
    x = rng.standard_normal(8)
    compiled = tg.compile(power, x)
    compiled.save(tmp_path / "power")
    np.testing.assert_array_equal(tg.load(tmp_path / "power")(x), compiled(x))


def test_an_axis_is_dense_and_lines_are_apart(rng: np.random.Generator) -> None:
    def spectra(x: Any) -> Any:
        return tg.fft.rfft(x.reshape(3, 4), axis=0).real

    found = tg.jacobian(spectra, sparse=True)(rng.standard_normal(12)).toarray()
    lines = np.arange(12) % 4
    assert found.shape == (8, 12)
    assert not found[lines[:8, None] != lines].any()


# --- doors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [np.fft, scipy.fft], ids=["numpy.fft", "scipy.fft"])
@pytest.mark.parametrize("name", TRANSFORMS + list(SHIFTS))
def test_doors(name: str, module: Any, rng: np.random.Generator) -> None:
    theirs = getattr(module, name, None)
    if theirs is None:
        pytest.skip("SciPy's alone")
    x = numbers(rng, name, (4, 6))
    plain = theirs(x)
    assert type(plain) is np.ndarray
    assert_equal(theirs(tg.tensor(x)), plain)


def test_arguments_of_scipys_that_are_of_memory_and_threads(rng: np.random.Generator) -> None:
    x = rng.standard_normal(6)
    expected = scipy.fft.fft(x, 8, -1, "ortho", True, 2)
    assert_equal(scipy.fft.fft(tg.tensor(x), 8, -1, "ortho", True, 2), expected)
    assert_equal(scipy.fft.dct(x=tg.tensor(x), workers=2), scipy.fft.dct(x))
    with pytest.raises(tg.UnsupportedError, match="plan"):
        scipy.fft.fft(tg.tensor(x), plan=object())
    with pytest.raises(tg.UnsupportedError, match=r"scipy\.fft\.fht is not supported"):
        scipy.fft.fht(tg.tensor(x), 0.1, 0.0)


@pytest.mark.parametrize("imports", ["tapegrad, scipy.fft", "scipy.fft, tapegrad"])
def test_either_import_comes_first(imports: str) -> None:
    program = f"""
import sys, {imports}
assert type(scipy.fft.fft(tapegrad.tensor([1.0, 2.0]))) is tapegrad.Tensor
assert not any(getattr(each, "__module__", "").startswith("tapegrad") for each in sys.meta_path)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_REALS)
def test_real_transforms_of_complex_numbers_raise(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name[:-1]}.*complex128"):
        getattr(tg.fft, name)(tg.tensor(np.ones((2, 2), complex)))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_arguments_that_raise(name: str) -> None:
    function, x = getattr(tg.fft, name), tg.tensor(np.ones((3, 3)))
    several = name in ALONG_AXES
    with pytest.raises(ValueError, match="data points"):
        function(x, s=(0, 3)) if several else function(x, n=0)
    with pytest.raises(ValueError, match="norm"):
        function(x, norm="none")
    with pytest.raises(IndexError, match="axis 5 is out of bounds"):
        function(x, axes=(5, 0)) if several else function(x, axis=5)
    with pytest.raises(ValueError, match="data points"):
        function(tg.tensor(np.ones((3, 0))))
