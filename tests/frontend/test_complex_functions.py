"""Every function of the table of oracles with complex operands: NumPy's values and true gradients, or a clear error.

The table is `functions.CASES`, so a function that is added to it is tried here as well. A function never returns what
has no gradient where NumPy's result depends on the operands.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from functions import CASES

import tapegrad as tg
from helpers.functions import Case, operands, results
from tapegrad.errors import UnsupportedError

NAMES = sorted({case.name for case in CASES})


def complex_operands(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [x + 1j * rng.uniform(-1.0, 1.0, x.shape) for x in operands(case)]


def plain(value: Any) -> np.ndarray:
    return value.data if isinstance(value, tg.Tensor) else np.asarray(value)


def loss(case: Case, xp: Any, *xs: Any) -> Any:
    """A real number that both parts of all results with a derivative count for."""
    rng, total = np.random.default_rng(9), 0.0
    for y in results(case.call(xp, *xs)):
        if plain(y).dtype.kind in "fc":
            weights = rng.standard_normal((2, *y.shape))
            total = total + (y.real * weights[0]).sum()
            if plain(y).dtype.kind == "c":
                total = total + (y.imag * weights[1]).sum()
    return total


def check_gradient(case: Case, xs: list[np.ndarray], tensors: list[tg.Tensor]) -> None:
    """The directional derivative is the real inner product with the gradient."""
    rng, step = np.random.default_rng(4), 1e-5
    loss(case, tg, *tensors).backward()
    dots = [rng.standard_normal(x.shape) + 1j * rng.standard_normal(x.shape) for x in xs]
    ends = [loss(case, np, *[x + s * step * d for x, d in zip(xs, dots, strict=True)]) for s in (1, -1)]
    slope = sum(
        np.sum((np.conj(t.grad) * d).real) for t, d in zip(tensors, dots, strict=True) if t.grad is not None
    )
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def check_case(case: Case) -> None:
    xs = complex_operands(case)
    tensors = [tg.tensor(x) for x in xs]
    found, message = None, ""
    try:
        found = results(case.call(tg, *tensors))
    except UnsupportedError as error:
        message = str(error)
    except TypeError:  # NumPy's own, of functions that it has for real numbers alone
        return
    if found is None:
        assert re.search(r"abs\(z\)|z\.real", message), message
        return
    with np.errstate(all="ignore"):
        expected = results(case.call(np, *xs))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        value, theirs = plain(ours), np.asarray(theirs)
        assert (value.shape, value.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(value, theirs, rtol=1e-9, atol=1e-9)
    carriers = [y for y in found if plain(y).dtype.kind in "fc"]
    if case.derivatives and carriers:
        assert any(isinstance(y, tg.Tensor) and not y.constant for y in carriers)
        check_gradient(case, xs, tensors)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_function_agrees_with_numpy_or_raises(name: str) -> None:
    for case in CASES:
        if case.name == name and not name.startswith("linalg."):
            check_case(case)


# --- what puts numbers in order ----------------------------------------------------------------------------------

Z, X = np.array([1.0 + 2.0j, 3.0 - 1.0j]), np.array([1.0, 2.0])
ORDERED: list[Callable[..., Any]] = [
    lambda xp, z: z < z, lambda xp, z: z.real >= 1j, lambda xp, z: z.real <= 1j, lambda xp, z: xp.less(z, 1.0),
    lambda xp, z: z.real < [1j, 2.0], lambda xp, z: xp.sort(z), lambda xp, z: z.argsort(), lambda xp, z: xp.argmax(z),
    lambda xp, z: z.max(), lambda xp, z: xp.maximum(z, 1.0), lambda xp, z: xp.clip(z, 0.0, 1.0),
    lambda xp, z: xp.median(z), lambda xp, z: xp.percentile(z, 50), lambda xp, z: xp.floor(z),
    lambda xp, z: xp.histogram(z), lambda xp, z: xp.heaviside(z, 0.0),
    lambda xp, z: xp.searchsorted(z.real, z), lambda xp, z: xp.lexsort((z,)), lambda xp, z: z % 2.0,
    lambda xp, z: xp.digitize(z, [1.0]), lambda xp, z: xp.nanargmin(z), lambda xp, z: xp.arctan2(z, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("xp", [tg, np], ids=["tg", "np"])
def test_order_raises(xp: Any) -> None:
    for call in ORDERED:
        with pytest.raises(TypeError, match=r"abs\(z\), z\.real"):
            call(xp, tg.tensor(Z))


# --- what holds real numbers takes no complex ones ------------------------------------------------------------------


def write_of(write: Callable[[Any, Any], Any]) -> None:
    for value in (1j, Z[:1], tg.tensor(Z[:1])):
        target = tg.tensor(X)
        with pytest.raises(TypeError):
            write(target, value)
        np.testing.assert_array_equal(target.data, X)


def add_in_place(x: Any, value: Any) -> None:
    x += value


WRITES: list[Callable[[Any, Any], Any]] = [
    add_in_place,
    lambda x, v: x.__setitem__(0, v),
    lambda x, v: x.fill(v),
    lambda x, v: x.put([0], v),
    lambda x, v: tg.place(x, [True, False], v),
    lambda x, v: tg.putmask(x, [True, False], v),
    lambda x, v: tg.copyto(x, v),
    lambda x, v: tg.add.at(x, [0], v),
    lambda x, v: tg.multiply.at(x, [0], v),
    lambda x, v: tg.add(x, v, out=x),
    lambda x, v: tg.insert(x, 0, v),
    lambda x, v: tg.pad(x, 1, constant_values=v),
    lambda x, v: x.flat.__setitem__(0, v),
]


def test_real_tensors_take_no_imaginary_parts() -> None:
    for write in WRITES:
        write_of(write)
    for conversion in (float, int, lambda z: z.astype(float), lambda z: tg.asarray(z, np.float32)):
        with pytest.raises(TypeError, match=r"z\.real"):
            conversion(tg.tensor(1.0 + 0.0j))


# --- dtypes --------------------------------------------------------------------------------------------------------

OPERANDS: list[Any] = [
    1, 2.0, 1j, np.float32(2), np.float64(2), np.complex64(1j), np.complex128(1j), X, X.astype(np.float32), Z,
    Z.astype(np.complex64), np.array([1, 2]), np.array([True, False]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtypes_promote_as_in_numpy(dtype: str) -> None:
    array = np.array([2.0, 3.0], dtype)
    for other in OPERANDS:
        for operate in (lambda a, b: a * b, lambda a, b: b - a, lambda a, b: a / b, lambda a, b: b**a):
            with np.errstate(all="ignore"):
                wanted = operate(array, other)
            found = operate(tg.tensor(array), other)
            assert found.dtype == wanted.dtype, (dtype, other)
            np.testing.assert_allclose(found.data, wanted, rtol=1e-5)


# --- sums, spreads, and values that are not finite ------------------------------------------------------------------

SPECIAL = np.array([np.nan + 1j, complex(1.0, np.inf), complex(-np.inf, np.nan), 2.0 - 1j])
CALLS: list[Callable[..., Any]] = [
    lambda xp, z: xp.sum(z, axis=1, dtype=complex, initial=1j),
    lambda xp, z: xp.sum(z, axis=(), where=[True, False, True]),
    lambda xp, z: xp.mean(z.T, 0, where=np.array([[True], [False], [True]])),
    lambda xp, z: xp.var(z, axis=0, ddof=1, keepdims=True),
    lambda xp, z: xp.std(z, where=[True, False, True]),
    lambda xp, z: xp.var(z, 1, mean=xp.mean(z, 1, keepdims=True)),
    lambda xp, z: xp.prod(z[::-1], axis=1, keepdims=True),
    lambda xp, z: xp.cumprod(z, axis=0),
    lambda xp, z: xp.cumsum(z[:, ::2], axis=1),
    lambda xp, z: xp.average(z, axis=0, weights=[1.0, 3.0]),
    lambda xp, z: xp.interp([0.5, 1.5, 3.0], [0.0, 1.0, 2.0], z[0], 1j),
    lambda xp, z: xp.round(z, 1),
    lambda xp, z: xp.iscomplex(z), lambda xp, z: xp.isreal(z), lambda xp, z: xp.real_if_close(z.real + 0j),
    lambda xp, z: xp.geomspace(z[0], z[1], 4),
    lambda xp, z: xp.conjugate(z), lambda xp, z: xp.conj(z.real), lambda xp, z: xp.angle(z, deg=True),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("xp", [tg, np], ids=["tg", "np"])
def test_calls_have_numpy_values_and_dtypes(xp: Any, dtype: str) -> None:
    z = (np.arange(6).reshape(2, 3) + 1j * np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]]) + 1.0).astype(dtype)
    for k, call in enumerate(CALLS):
        found, wanted = call(xp, tg.tensor(z)), call(np, z)
        assert (plain(found).shape, plain(found).dtype) == (wanted.shape, wanted.dtype), k
        np.testing.assert_allclose(plain(found), wanted, rtol=2e-6)


def test_special_values() -> None:
    z = tg.tensor(SPECIAL)
    for name in ("isnan", "isinf", "isfinite", "nan_to_num"):
        np.testing.assert_array_equal(plain(getattr(tg, name)(z)), getattr(np, name)(SPECIAL))
    for name in ("nansum", "nanmean", "nancumsum", "nanprod"):
        function, values = getattr(tg, name), SPECIAL[[0, 3, 3]]
        np.testing.assert_allclose(plain(function(tg.tensor(values))), getattr(np, name)(values))
    still = tg.tensor(np.full(3, 1.5 - 0.1j))
    tg.std(still).backward()
    np.testing.assert_array_equal(still.grad, np.zeros(3, complex))


@pytest.mark.parametrize("index", [(0, 1), (0, 0)])
def test_products_have_right_gradients_beside_zeros(index: tuple[int, ...]) -> None:
    values = np.array([2.0 + 1j, 0.0, 3.0 - 1j, 1j])
    values[list(index)] = 0.0
    z = tg.tensor(values)
    (z.prod() * (1.0 - 2j)).real.backward()
    others = np.array([np.prod(np.delete(values, k)) for k in range(4)])
    np.testing.assert_allclose(z.grad, np.conj(others * (1.0 - 2j)))
