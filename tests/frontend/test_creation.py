"""Creation functions: what their derivatives cannot say. Their values and derivatives are in the table of oracles."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.tensor.modes import EAGER

MADE: dict[str, Callable[..., Any]] = {
    "zeros": lambda n, **k: n.zeros((2, 3), **k),
    "ones": lambda n, **k: n.ones(3, np.float32, **k),
    "full": lambda n, **k: n.full(2, 7.0, **k),
    "eye": lambda n, **k: n.eye(2, 3, 1, **k),
    "identity": lambda n, **k: n.identity(3, **k),
    "tri": lambda n, **k: n.tri(3, 4, -1, np.float32, **k),
    "arange": lambda n, **k: n.arange(1.0, 3.0, 0.5, **k),
    "array": lambda n, **k: n.array([[1.0, 2.0]], ndmin=3, **k),
    "asarray": lambda n, **k: n.asarray([1, 2], float, **k),
    "asanyarray": lambda n, **k: n.asanyarray(((1.0, 2.0), (3.0, 4.0)), **k),
    "ascontiguousarray": lambda n, **k: n.ascontiguousarray(np.ones((2, 3)).T, **k),
    "asfortranarray": lambda n, **k: n.asfortranarray(np.ones((2, 3)), np.float32, **k),
    "require": lambda n, **k: n.require([1.0], np.float32, ["C"], **k),
    "fromfunction": lambda n, **k: n.fromfunction(lambda i, j: i - 2 * j, (2, 3), **k),
    "fromiter": lambda n, **k: n.fromiter(iter([1.0, 2.0, 3.0]), float, 2, **k),
    "frombuffer": lambda n, **k: n.frombuffer(bytearray(24), offset=8, **k),
    "integers": lambda n, **k: n.asarray([1, 2, 3], **k),
}
WITHOUT_LIKE: dict[str, Callable[..., Any]] = {
    "linspace": lambda n: n.linspace(0, 1, 5),
    "logspace": lambda n: n.logspace([0, 1], 2, 3, axis=1),
    "geomspace": lambda n: n.geomspace(1, 16, 5),
    "copy": lambda n: n.copy([1.0, 2.0]),
    "asarray_chkfinite": lambda n: n.asarray_chkfinite([1.0, 2.0]),
    "bartlett": lambda n: n.bartlett(5),
    "blackman": lambda n: n.blackman(4),
    "hamming": lambda n: n.hamming(4),
    "hanning": lambda n: n.hanning(M=4),
    "kaiser": lambda n: n.kaiser(5, 2.0),
}


def check(made: Any, expected: np.ndarray) -> None:
    assert isinstance(made, tg.Tensor)
    assert (made.shape, made.dtype, made.strides) == (expected.shape, expected.dtype, expected.strides)
    np.testing.assert_array_equal(made.data, expected)
    assert made.constant == (expected.dtype.kind != "f")


@pytest.mark.parametrize("name", MADE)
def test_arrays_like_a_tensor_are_tensors(name: str) -> None:
    make, like = MADE[name], tg.ones(2)
    expected = make(np)
    for made in (make(tg), make(tg, like=like), make(np, like=like), make(tg, like=None)):
        check(made, expected)
    assert make(tg, constant=True).constant


@pytest.mark.parametrize("name", WITHOUT_LIKE)
def test_creation(name: str) -> None:
    check(WITHOUT_LIKE[name](tg), WITHOUT_LIKE[name](np))


def test_arrays_come_back_as_they_are() -> None:
    x = tg.ones((2, 3))
    assert tg.ascontiguousarray(x) is x
    assert tg.asfortranarray(x.T).base is x
    assert tg.asanyarray(x) is x
    assert tg.asarray_chkfinite(x) is x
    assert tg.require(x, None, "CAW") is x
    assert tg.require(x[0], None, "O").base is None


def test_what_cannot_be_made_is_said() -> None:
    x, y = tg.tensor([1.0, np.nan]), tg.tensor(0.0)
    for call, message in (
        (lambda: tg.asarray_chkfinite(x), "asarray_chkfinite: .* nan or infinite"),
        (lambda: tg.linspace(y, 1.0, -1), "linspace: num must be non-negative, not -1"),
        (lambda: tg.linspace(y, 1.0, device="gpu"), "[Dd]evice"),
        (lambda: tg.geomspace(y, 1.0), "begin at zero"),
        (lambda: tg.full((3, 2), x, order="Z"), "order must be"),
        (lambda: tg.fromiter([x[0]], float, 3), "ended after 1 numbers"),
        (lambda: tg.require(x, None, "CF"), "both memory orders"),
        (lambda: np.full(2, x), r"numpy\.full asks for this Tensor"),
        (lambda: np.arange(y), r"numpy\.arange asks for this Tensor"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()


def test_integers_of_tensors() -> None:
    x = tg.tensor(2.7)
    for n in (tg, np):
        whole = n.linspace(0.0, x, 4, dtype=int)
        assert whole.constant
        np.testing.assert_array_equal(np.asarray(whole), np.linspace(0.0, 2.7, 4, dtype=int))
    assert tg.full(2, tg.tensor(3)).dtype == np.int64


def test_the_number_of_elements_is_guarded() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        return tg.sum(tg.arange(0.0, x, 1.0) ** 2) * x

    for x, expected in ((2.5, 12.5), (2.75, 13.75), (3.5, 49.0)):
        assert f(np.array(x)) == pytest.approx(expected)


def test_a_check_of_the_elements_is_guarded() -> None:
    f = tg.jit(lambda x: tg.sum(tg.asarray_chkfinite(x) * 2.0))
    assert f(np.ones(2)) == 4.0
    assert f(np.full(2, 3.0)) == 12.0
    with pytest.raises(ValueError, match="nan or infinite"):
        f(np.array([1.0, np.inf]))


NUMBERS: dict[str, Callable[[], Any]] = {
    "a product of integers": lambda: tg.matmul([1, 2], tg.tensor([3, 4])),
    "a product of booleans": lambda: tg.dot(tg.tensor([True, False]), [True, True]),
    "an integer that is rounded": lambda: tg.round(tg.tensor(3)),
    "a fold of nothing": lambda: np.hypot.reduce(tg.zeros(0)),
    "a number": lambda: tg.asarray(np.float64(2.0)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_numpy_gives_for_an_array_is_an_array(name: str) -> None:
    made = NUMBERS[name]()
    assert isinstance(made.data, np.ndarray)
    assert tg.jit(NUMBERS[name])() == made.data
    assert (tg.tensor(2.0) * made).item() == 2.0 * made.data


def test_fill() -> None:
    x, value = tg.zeros((2, 3)) * 1.0, tg.tensor(2.0)
    x.fill(value)
    x[0].fill(5.0)
    x.backward()
    np.testing.assert_array_equal(x.data, [[5.0] * 3, [2.0] * 3])
    assert value.grad == 3.0


def test_what_is_constant_can_be_saved() -> None:
    x, file = tg.tensor([1.0, 2.0]), io.BytesIO()
    np.save(file, tg.tensor([1.0, 2.0], constant=True))
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), [1.0, 2.0])
    for save in (np.save, np.savez, np.savez_compressed, np.savetxt):
        with pytest.raises(tg.UnsupportedError, match=rf"numpy\.{save.__name__} .*\.detach\(\)"):
            save(io.BytesIO(), x)
        save(io.BytesIO(), x.detach())
        with tg.no_grad():
            save(io.BytesIO(), x)


@pytest.mark.parametrize("ndmin", [-1, 0, 1, 2, 3, np.int64(4)])
@pytest.mark.parametrize("value", [2.0, [1.0, 2.0], [[1, 2]], np.ones((2, 3), np.float32)])
def test_missing_dimensions_come_first(value, ndmin):
    expected = np.array(value, ndmin=ndmin)
    made = tg.array(value, ndmin=ndmin)
    assert (made.shape, made.dtype, made.base) == (expected.shape, expected.dtype, None)
    np.testing.assert_array_equal(made.data, expected)
    again = tg.array(tg.array(value), ndmin=ndmin)
    assert again.shape == expected.shape
    assert tg.array([tg.tensor(1.0), 2.0], ndmin=ndmin).ndim == max(1, ndmin)
    for wrong in (None, 1.5):
        with pytest.raises(TypeError):
            tg.array(value, ndmin=wrong)


PLAIN = {
    "objects": lambda xp: xp.array([None, "a"]),
    "mixed": lambda xp: xp.asarray([1.0, None]),
    "text": lambda xp: xp.array(["a", "bc"], ndmin=2),
    "bytes": lambda xp: xp.asarray([b"abc"]),
    "dates": lambda xp: xp.array(["2020-01-01"], dtype="datetime64[D]"),
    "days": lambda xp: xp.arange(np.datetime64("2020-01-01"), np.datetime64("2020-01-04")),
    "records": lambda xp: xp.zeros(2, "i4,f8"),
    "asked for": lambda xp: xp.array([1.0, 2.0], dtype=object),
    "empty": lambda xp: xp.empty(2, object),
    "full": lambda xp: xp.full(2, "a"),
    "full_like": lambda xp: xp.full_like(np.array(["a", "b"]), "c"),
    "zeros_like": lambda xp: xp.zeros_like(np.array(["a", "b"])),
    "ascontiguousarray": lambda xp: xp.ascontiguousarray(np.array([["a", "b"]]).T),
    "asfortranarray": lambda xp: xp.asfortranarray(np.array([["a", "b"]])),
    "fromiter": lambda xp: xp.fromiter("abc", "U1"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_no_tensor_has_stays_numpys(name):
    expected = PLAIN[name](np)
    for made in (PLAIN[name](tg), tg.jit(lambda x: PLAIN[name](tg))(1.0)):
        assert type(made) is np.ndarray
        assert (made.shape, made.dtype, made.flags.f_contiguous) == (
            expected.shape, expected.dtype, expected.flags.f_contiguous
        )  # fmt: skip
        assert made.tolist() == expected.tolist()
    with pytest.raises(tg.UnsupportedError):
        tg.tensor(expected)
    with pytest.raises(tg.UnsupportedError):
        tg.asarray(expected, constant=True)


@pytest.mark.parametrize(
    "data", [0.5, [0.5, 2.0], [[1, 2.0]], np.float32([1.0, 2.0]), 0.5 + 1j, np.float64(0.5)], ids=repr
)
def test_a_small_tensor_is_on_the_tape_at_once(data):
    """Its first operation takes 0.3 us; of one that has to enter the tape, 8 us."""
    x = tg.tensor(data)
    assert x._tape is EAGER
    y = x * x
    assert np.array_equal(y.data, np.asarray(data) ** 2)
    assert x.dtype == y.dtype == np.asarray(data).dtype
    y.backward(np.ones_like(data))
    np.testing.assert_allclose(x.grad, 2 * np.conj(data), rtol=1e-7)


def test_data_of_a_small_tensor_are_its_own():
    data = np.array([0.5, 2.0])
    for x in (tg.tensor(data), tg.tensor(data.astype(np.float32)), tg.tensor([[1.0, 2.0]])):
        x[...] = 3.0
        assert np.all(x.data == 3.0)
    assert data.tolist() == [0.5, 2.0]
    with pytest.raises(TypeError, match="constant must be True, False or None"):
        tg.tensor([0.5], constant=0)
