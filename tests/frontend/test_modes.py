"""Modes are per thread, and what is recorded in one is what is recorded outside: by one way, whatever the mode."""

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.recording import record
from tapegrad.frontend.tensor.modes import NO_MODE, Mode, thread

X = np.linspace(0.5, 2.0, 6)
ONE_CALL: dict[str, Callable[[Any], Any]] = {
    "x + x": lambda x: x + x,
    "x + 1": lambda x: x + 1.0,
    "1 - x": lambda x: 1 - x,
    "-x": lambda x: -x,
    "x**2": lambda x: x**2,
    "x**3": lambda x: x**3,
    "sin": tg.sin,
    "np.sin": np.sin,
    "add": lambda x: tg.add(x, 2),
    "a view's": lambda x: x[1:] * x[:-1],
}


@contextmanager
def in_another_thread(mode: Any) -> Iterator[None]:
    """While another thread is in a mode."""
    entered, done = threading.Event(), threading.Event()

    def run() -> None:
        with mode:
            entered.set()
            done.wait()

    other = threading.Thread(target=run)
    other.start()
    entered.wait()
    try:
        yield
    finally:
        done.set()
        other.join()


def looked_at() -> Any:
    """A Tensor whose array has been asked for."""
    x = tg.tensor(X)
    x.data.sum()
    return x


def inside(f: Callable[[Any], Any]) -> Any:
    """Return the result of a function while a gradient is being computed."""
    found = []

    def function(x: Any) -> Any:
        found.append(f(x).data_or_traced().copy())
        return tg.sum(x)

    tg.grad(function)(X)
    return found[0]


@pytest.mark.parametrize("name", ONE_CALL)
def test_operands_as_they_are_need_no_conversion_in_any_mode(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The general way, which is ten times as slow, is for what the engine refuses."""
    f = ONE_CALL[name]
    x, expected = tg.tensor(X), f(X)
    looked = looked_at() * 1.0
    f(x)  # loads the kernel

    def refuse(code: int, *operands: Any) -> Any:
        raise AssertionError(operands)

    monkeypatch.setattr(record, "apply", refuse)
    np.testing.assert_array_max_ulp(f(x).data, expected, 2)
    np.testing.assert_array_max_ulp(f(looked).data, expected, 2)
    with tg.no_grad():
        y = f(x)
        assert y.constant
        np.testing.assert_array_max_ulp(y.data, expected, 2)
    with in_another_thread(tg.no_grad()), in_another_thread(tg.detect_anomaly()):
        y = f(x)
        assert not y.constant
        np.testing.assert_array_max_ulp(y.data, expected, 2)
    np.testing.assert_array_max_ulp(inside(f), expected, 2)
    with tg.detect_anomaly():
        np.testing.assert_array_max_ulp(f(x).data, expected, 2)


def test_a_thread_begins_without_modes() -> None:
    found = []
    with tg.no_grad():
        other = threading.Thread(target=lambda: found.append((thread.mode, (tg.tensor(X) * 2).constant)))
        other.start()
        other.join()
    assert found == [(NO_MODE, False)]


def test_a_mode_left_out_of_turn_takes_back_its_own_part_only() -> None:
    """Generators that take turns leave their modes in another order than that in which they entered them."""

    def under(mode: Any) -> Iterator[None]:
        with mode:
            yield

    first, second = under(tg.no_grad()), under(tg.detect_anomaly())
    next(first)
    next(second)
    first.close()
    assert thread.mode.differentiate
    assert thread.mode.anomaly is not None
    second.close()
    assert [getattr(thread.mode, name) for name in Mode.__slots__] == [
        getattr(NO_MODE, name) for name in Mode.__slots__
    ]
    thread.mode = NO_MODE  # itself, for tests that ask whether something is left


@pytest.mark.parametrize("make", [tg.no_grad, tg.detect_anomaly])
def test_one_object_enters_a_mode_several_times(make: Any) -> None:
    mode = make()
    with mode, mode:
        inner = thread.mode
        with copy.copy(mode):
            assert thread.mode is not inner
        assert thread.mode is inner
    assert thread.mode is NO_MODE


SHAPES = [
    (24,), 24, -1, (-1,), (2, 12), (-1, 12), (2, -1), (2, 3, 4), (2, -1, 4), (1, 24), (24, 1, 1), (2, 3, 2, 2), [4, 6],
    (np.int64(4), 6), (np.int64(-1), 6),
]  # fmt: skip
WRONG = [(5, 5), (-1, 5), (-1, -1), (0, -1), (0,), (2**33, 2**31), (3 * 2**62, 8), (25,), (), 23]


@pytest.mark.parametrize("mode", ["eager", "recorded"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reshape_as_numpy_does(shape: Any, mode: str) -> None:
    a = np.arange(48.0).reshape(2, 24)
    for make in (lambda x: x[1], lambda x: x[0] * 1.0, lambda x: x[:, ::2], lambda x: x.T[:12]):
        expected = make(a).reshape(shape)

        def f(x: Any, make: Any = make) -> Any:
            return make(x).reshape(shape)

        found = f(tg.tensor(a)).data if mode == "eager" else tg.jit(f)(a)
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape


@pytest.mark.parametrize("shape", WRONG, ids=str)
def test_reshape_refuses_what_numpy_refuses(shape: Any) -> None:
    x = tg.tensor(np.arange(24.0))
    with pytest.raises((ValueError, OverflowError)):
        x.data.reshape(shape)
    with pytest.raises((ValueError, OverflowError)):
        x.reshape(shape)
    for extents in [(2.0, 12), (2, "12"), 24.0]:
        with pytest.raises(TypeError):
            x.reshape(extents)


@pytest.mark.parametrize(
    "key", [0, -1, 5, -6, slice(1, 3), slice(-2, 10**30), slice(None, -1), 10**30, 6, -7]
)
def test_rows_as_numpy_takes_them(key: Any) -> None:
    for array in (X, np.arange(18.0).reshape(6, 3), np.arange(36.0).reshape(6, 6)[:, ::-2]):
        x = tg.asarray(array) * 1.0 if array.flags.c_contiguous else tg.asarray(array)
        try:
            expected = array[key]
        except IndexError:
            with pytest.raises(IndexError):
                x[key]
            continue
        np.testing.assert_array_equal(x[key].data, expected)
        assert x[key].base is x
