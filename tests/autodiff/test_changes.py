"""Writes behind the tape's back: documented everywhere, and found where checks are switched on."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.engine.inspection import verify

Write = Callable[[Any, np.ndarray], None]


def through_data(x: Any, array: np.ndarray) -> None:
    x.data[0] = 9.0


def by_operator(x: Any, array: np.ndarray) -> None:
    x.data -= 0.5


def through_source(x: Any, array: np.ndarray) -> None:
    array[0] = 9.0


# What reads which contents in its reverse rule, and the operand that the message names.
READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "operand 0 of square": (lambda x: tg.sum(x**2), r"operand 0 of square, of shape \(3,\)"),
    "operand 0 of sin": (lambda x: tg.sum(tg.sin(x)), r"operand 0 of sin, of shape \(3,\)"),
    "operand 1 of multiply": (lambda x: tg.sum((x * 1.0) * x), r"operand 1 of multiply"),
    "a view": (lambda x: tg.sum(x[:2] ** 2), r"operand 0 of square, of shape \(2,\)"),
    "a transposed view": (lambda x: tg.sum(x.reshape(3, 1).T ** 2), r"operand 0 of square, of shape \(1, 3\)"),
    "matmul": (lambda x: x @ (x * 1.0), "operand 0 of matmul"),
    "prod": (lambda x: tg.prod(x), "operand 0 of prod_reduce"),
    "divide": (lambda x: tg.sum(1.0 / x), "operand 1 of divide"),
    "deep": (lambda x: tg.sum(tg.exp(tg.sin(x * x) + 1.0) * 2.0), r"operand 0 of multiply"),
}  # fmt: skip


@grouped("name")
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("write", [by_operator, through_data, through_source])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_writes_behind_the_tapes_back_are_found(name: str, write: Write, dtype: Any) -> None:
    function, named = READERS[name]
    array = np.array([1.0, 2.0, 3.0], dtype)
    x = tg.asarray(array)
    y = function(x)
    write(x, array)
    with pytest.raises(tg.ChangedValueError, match=named) as caught:
        y.backward()
    assert "asarray()" in str(caught.value)
    assert x.grad is None
    with pytest.raises(tg.ChangedValueError):
        y.backward(create_graph=True)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_both_parts_of_complex_numbers_are_looked_at(dtype: Any) -> None:
    for change in (1e-3, 1e-3j):
        x = tg.asarray(np.array([1.0 + 2.0j, 3.0], dtype))
        y = tg.sum(abs(x))
        x.data[0] += change
        with pytest.raises(tg.ChangedValueError):
            y.backward()


@pytest.mark.parametrize("write", [by_operator, through_data])
def test_results_are_looked_at_too(write: Write) -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    y = tg.exp(x)
    write(y, y.data)
    with pytest.raises(tg.ChangedValueError, match=r"the result of exp.*t\.data"):
        y.backward()


def test_a_mask_is_looked_at_too() -> None:
    mask = tg.tensor([True, False, True])
    x = tg.tensor([1.0, 2.0, 3.0])
    y = tg.where(mask, x * x, 0.0)
    mask.data[1] = True
    with pytest.raises(tg.ChangedValueError, match="operand 0 of where"):
        y.backward()


def test_what_is_not_read_may_change() -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    y, z = x * 2.0 + 1.0, x[:2] ** 2
    x.data[2] = 7.0
    y.data[...] = 0.0
    (y.sum() + z.sum()).backward()
    np.testing.assert_array_equal(x.grad, [4.0, 6.0, 2.0])


def test_what_was_computed_after_the_write_is_right() -> None:
    """A graph on the new contents is right, even while an older graph is alive."""
    x = tg.tensor([1.0, 2.0])
    older = x * x
    x.data -= 0.5
    (x * x).backward()
    np.testing.assert_array_equal(x.grad, [1.0, 3.0])
    with pytest.raises(tg.ChangedValueError):
        older.backward()


def test_writes_through_the_library_are_right() -> None:
    array = np.array([1.0, 2.0, 3.0])
    for write in (
        lambda x: x.__setitem__(0, 9.0),
        lambda x: x.__setitem__(slice(1, None), x[:2] * 2.0),
        lambda x: x[1:].__imul__(3.0),
        lambda x: x.__setitem__([0, 2], 5.0),
        lambda x: setattr(x, "data", [4.0, 5.0, 6.0]),
    ):
        x = tg.asarray(array.copy())
        z = x * 1.0
        y = tg.sum(z * z) + tg.sum(tg.exp(z))
        write(z)
        (y + tg.sum(z**2)).backward()
        assert x.grad is not None


def test_an_optimisation_loop_writes_between_sweeps() -> None:
    for x in (tg.tensor([1.0, 2.0]), tg.asarray(np.array([1.0, 2.0]))):
        for _ in range(20):
            tg.sum((x - 3.0) ** 2).backward(accumulate=False)
            x.data -= 0.25 * x.grad
        np.testing.assert_allclose(x.data, [3.0, 3.0], atol=1e-4)


def test_replays_read_arrays_where_they_lie() -> None:
    array = np.array([1.0, 2.0])
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * x * array)))
    for scale in (1.0, 2.0, 3.0):
        array[...] = scale
        value, gradient = f(np.array([1.0, 2.0]))
        assert value == 5 * scale
        np.testing.assert_array_equal(gradient, 2 * scale * np.array([1.0, 2.0]))


def test_many_graphs_and_reused_buffers() -> None:
    x = tg.tensor(np.arange(4.0))
    for k in range(300):
        parts = [tg.sin(x * float(k + j)) * x for j in range(5)]
        tg.concatenate([*parts, parts[0][::-1]]).backward()
    y = x * x
    x.data[1] += 1.0
    with pytest.raises(tg.ChangedValueError, match="multiply"):
        y.backward()


def test_switched_off_nothing_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify.switch, "on", False)
    x = tg.tensor([1.0, 2.0])
    y = x * x
    x.data[0] = 5.0
    y.backward(retain_graph=True)
    monkeypatch.setattr(verify.switch, "on", True)
    y.backward()  # recorded before: nothing is known
    z = x * x
    x.data[0] = 6.0
    with pytest.raises(tg.ChangedValueError):
        z.backward()


def test_the_environment_switches_it_on() -> None:
    program = "import numpy as np, tapegrad as tg; a = np.ones(3); x = tg.asarray(a); y = x * x; a[0] = 2; y.backward()"
    environment = {**os.environ, "TAPEGRAD_CHECK": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert "ChangedValueError: backward: operand" in run.stderr
