"""Arguments as NumPy's: what NumPy takes, ours take; what NumPy refuses, ours refuse by the same kind of error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

HUGE = 10**30
Call = Callable[[Any], Any]


def vector(n: Any) -> Any:
    return n.linspace(1.0, 3.0, 3)


def matrix(n: Any) -> Any:
    return n.reshape(n.arange(6.0), (2, 3))


def cube(n: Any) -> Any:
    return n.reshape(n.arange(24.0), (2, 3, 4))


MASK = [True, False, True]

# Called with NumPy, or with tapegrad in its place.
TAKEN: dict[str, Call] = {
    "reshape by columns": lambda n: n.reshape(matrix(n), (3, 2), "F"),
    "reshape of columns": lambda n: matrix(n).T.reshape((-1, 2), order="A"),
    "reshape of rows": lambda n: cube(n).reshape((4, 6), order="A"),
    "reshape -1 by columns": lambda n: cube(n).reshape((4, -1, 2), order="F"),
    "reshape a copy": lambda n: matrix(n).reshape(6, copy=True),
    "reshape no copy": lambda n: matrix(n).reshape((3, 2), copy=False),
    "reshape 0-d": lambda n: n.ones(1).reshape(()),
    "ravel by columns": lambda n: n.ravel(matrix(n), order="F"),
    "ravel as it lies": lambda n: matrix(n).T.ravel("K"),
    "ravel A": lambda n: matrix(n).T.ravel("A"),
    "flatten by columns": lambda n: matrix(n).flatten("F"),
    "flatten A": lambda n: matrix(n).T.flatten("A"),
    "flatten integers": lambda n: n.arange(4).flatten(),
    "transpose one": lambda n: n.transpose(vector(n), 0),
    "transpose list": lambda n: n.transpose(cube(n), [1, -1, 0]),
    ".transpose numbers": lambda n: cube(n).transpose(np.int64(1), 0, 2),
    ".transpose None": lambda n: cube(n).transpose(None),
    ".transpose tuple": lambda n: cube(n).transpose((2, 0, 1)),
    ".transpose 0-d": lambda n: n.ones(()).transpose(()),
    "broadcast_to by name": lambda n: n.broadcast_to(array=n.ones(()), shape=3, subok=True),
    "sum by position": lambda n: n.sum(matrix(n), 0, None, None, True),
    "sum in float32": lambda n: n.sum(matrix(n), dtype=np.float32),
    "sum where": lambda n: n.sum(matrix(n), axis=1, where=MASK),
    "sum initial": lambda n: n.sum(matrix(n), initial=3),
    "sum of integers": lambda n: n.sum(n.arange(6), dtype=float, initial=2, where=n.arange(6) > 2),
    "sum of nothing": lambda n: n.sum(vector(n)[:0], initial=2.0),
    ".sum by position": lambda n: matrix(n).sum(0, None, None, True),
    "mean by position": lambda n: n.mean(matrix(n), 0, None, None, True),
    "mean where": lambda n: n.mean(matrix(n), where=MASK, keepdims=True),
    "mean in float64": lambda n: n.ones(3, np.float32).mean(dtype=float),
    "prod": lambda n: n.prod(vector(n), initial=2.0, where=MASK),
    "prod in float32": lambda n: vector(n).prod(None, np.float32),
    "max by position": lambda n: n.max(matrix(n), 0, None, True),
    "max where": lambda n: n.max(matrix(n), axis=1, initial=4.5, where=MASK),
    "max of nothing": lambda n: n.max(vector(n)[:0], initial=4.5),
    "max of integers": lambda n: n.max(n.arange(3), initial=7),
    ".min by position": lambda n: matrix(n).min(1, None, False, 2.0, MASK),
    "cumsum": lambda n: matrix(n).cumsum(0, np.float32, None),
    "concatenate": lambda n: n.concatenate([vector(n), [1.0]], 0, None, dtype=np.float32, casting="same_kind"),
    "stack": lambda n: n.stack([vector(n), vector(n)], -1, None, dtype=np.float32),
    "clip by other names": lambda n: n.clip(vector(n), min=1.5, max=2.5),
    "clip by one of them": lambda n: n.clip(vector(n), max=2.5),
    ".clip by name": lambda n: vector(n).clip(min=1.5, max=None),
    "clip by position": lambda n: n.clip(vector(n), 1.5, 2.5, None),
    ".clip by position": lambda n: vector(n).clip(1.5, 2.5, None),
    "dot": lambda n: n.dot(vector(n), vector(n), None),
    ".dot": lambda n: vector(n).dot(vector(n), None),
    "where alone": lambda n: n.where(vector(n))[0],
    "copy": lambda n: matrix(n).copy("C"),
    "astype": lambda n: vector(n).astype(np.float32, "K", "same_kind", True, True),
    "~integers": lambda n: ~n.arange(3),
    "in": lambda n: (1.0 in vector(n), 7.0 in vector(n), "a" in vector(n)),
    "arange by name": lambda n: n.arange(start=1, stop=3),
    "arange stop": lambda n: n.arange(stop=3.0),
    "arange device": lambda n: n.arange(0, 3, 0.5, dtype=np.float32, device="cpu", like=None),
    "linspace along": lambda n: n.linspace([0, 1], [1, 2], 3, axis=1),
    "linspace by position": lambda n: n.linspace(0, 1, 5, False),
    "linspace step": lambda n: n.linspace(0, 1, 5, retstep=True),
    "zeros": lambda n: n.zeros((2, 3), float, "F", device="cpu", like=None),
    "ones": lambda n: n.ones(shape=2, dtype=np.float32, order="C"),
    "full": lambda n: n.full((2,), 3.0, None, "C", device="cpu"),
    "eye": lambda n: n.eye(2, 3, k=1, order="F"),
    "zeros_like": lambda n: n.zeros_like(matrix(n), shape=4),
    "ones_like": lambda n: n.ones_like(a=matrix(n), dtype=np.float32, order="F", subok=True, device=None),
    "full_like": lambda n: n.full_like(matrix(n), 3, np.float32, "K"),
    "asarray": lambda n: n.asarray([[1.0]], None, "F", device="cpu", copy=True, like=None),
    "asarray again": lambda n: n.asarray(vector(n), np.float32, copy=True),
    # integers that no integer dtype holds
    "hypot huge": lambda n: n.hypot(HUGE, 2**63),
    "add huge": lambda n: vector(n) + HUGE,
    "huge minus": lambda n: HUGE - vector(n),
    "power huge": lambda n: vector(n) ** HUGE,
    "where huge": lambda n: n.where(True, HUGE, 1.0),
    "maximum huge": lambda n: n.maximum(vector(n), HUGE),
    "less huge": lambda n: vector(n) < HUGE,
    "equal huge": lambda n: n.arange(3) == HUGE,
    "clip huge": lambda n: n.clip(vector(n), 0, HUGE),
    "isclose huge": lambda n: n.isclose(vector(n), HUGE),
    "absolute huge": lambda n: n.absolute(float(-HUGE)),
}  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.data if isinstance(value, tg.Tensor) else value


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", TAKEN)
def test_what_numpy_takes(name: str) -> None:
    found, expected = plain(TAKEN[name](tg)), TAKEN[name](np)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


REFUSED: dict[str, Call] = {
    "item": lambda n: matrix(n).item(),
    "item 9": lambda n: vector(n).item(9),
    "item 0 0": lambda n: vector(n).item(0, 0),
    "item text": lambda n: vector(n).item("a"),
    "float": lambda n: float(vector(n)),
    "bool": lambda n: bool(vector(n)),
    "len": lambda n: len(n.ones(())),
    "iter": lambda n: iter(n.ones(())),
    "reshape nothing": lambda n: vector(n).reshape(),
    "reshape 2": lambda n: vector(n).reshape(2),
    "reshape 2.5": lambda n: n.reshape(vector(n), 2.5),
    "reshape floats": lambda n: vector(n).reshape((1.5, 2)),
    "reshape text": lambda n: vector(n).reshape("a"),
    "reshape -1 -1": lambda n: vector(n).reshape(-1, -1),
    "reshape huge": lambda n: vector(n).reshape(HUGE),
    "reshape order": lambda n: matrix(n).reshape((3, 2), order="Z"),
    "reshape no copy": lambda n: matrix(n).T.reshape(6, copy=False),
    "ravel order": lambda n: matrix(n).ravel("Z"),
    "where two": lambda n: n.where(vector(n) > 0, vector(n)),
    "where shapes": lambda n: n.where(vector(n) > 0, vector(n), n.ones(2)),
    "transpose axis": lambda n: n.transpose(vector(n), 1),
    "transpose twice": lambda n: n.transpose(matrix(n), (0, 0)),
    "transpose 1.5": lambda n: matrix(n).transpose(1.5, 0),
    ".transpose ()": lambda n: matrix(n).transpose(()),
    "swapaxes": lambda n: matrix(n).swapaxes(0, 5),
    "moveaxis": lambda n: n.moveaxis(matrix(n), (0, 1), 0),
    "squeeze": lambda n: n.squeeze(matrix(n), 0),
    "squeeze 1.5": lambda n: n.squeeze(matrix(n), 1.5),
    "expand_dims": lambda n: n.expand_dims(matrix(n), 9),
    "broadcast_to 2.5": lambda n: n.broadcast_to(vector(n), 2.5),
    "broadcast_to shape": lambda n: n.broadcast_to(vector(n), (2,)),
    "sum axis": lambda n: n.sum(matrix(n), 5),
    "sum 1.5": lambda n: n.sum(matrix(n), 1.5),
    "sum list": lambda n: n.sum(matrix(n), [0]),
    "sum twice": lambda n: n.sum(matrix(n), (0, 0)),
    "sum where shape": lambda n: n.sum(matrix(n), where=[True, False]),
    "max of nothing": lambda n: n.max(vector(n)[:0]),
    "max where": lambda n: n.max(vector(n), where=MASK),
    "min axis": lambda n: n.min(matrix(n), axis=(0, 3)),
    "cumsum tuple": lambda n: n.cumsum(matrix(n), (0,)),
    "dot": lambda n: n.dot(vector(n), n.ones(2)),
    "matmul number": lambda n: vector(n) @ 3,
    "concatenate nothing": lambda n: n.concatenate([]),
    "concatenate numbers": lambda n: n.concatenate([n.ones(())]),
    "concatenate number": lambda n: n.concatenate(3),
    "concatenate 1.5": lambda n: n.concatenate([vector(n)], axis=1.5),
    "concatenate casting": lambda n: n.concatenate([vector(n)], dtype=np.float32, casting="safe"),
    "stack shapes": lambda n: n.stack([vector(n), n.ones(2)]),
    "stack axis": lambda n: n.stack([vector(n)], axis=4),
    "add shapes": lambda n: vector(n) + n.ones(2),
    "add text": lambda n: vector(n) + "a",
    "add object": lambda n: vector(n) + object(),
    "sin nothing": lambda n: n.sin(),
    "sin ragged": lambda n: n.sin([1.0, [2.0]]),
    "less text": lambda n: vector(n) < "a",
    "~floats": lambda n: ~vector(n),
    "floats & floats": lambda n: vector(n) & vector(n),
    "index 9": lambda n: vector(n)[9],
    "index 1.5": lambda n: vector(n)[1.5],
    "index two": lambda n: vector(n)[0, 0],
    "format": lambda n: format(vector(n), ".3f"),
    "astype x": lambda n: vector(n).astype("x"),
    "astype nothing": lambda n: vector(n).astype(),
    "astype casting": lambda n: vector(n).astype(np.float32, casting="safe"),
    "zeros 2.5": lambda n: n.zeros(2.5),
    "zeros text": lambda n: n.zeros("3"),
    "zeros -1": lambda n: n.zeros(-1),
    "zeros device": lambda n: n.zeros(3, device="gpu"),
    "eye 2.5": lambda n: n.eye(2.5),
    "full shape": lambda n: n.full(3, [1, 2]),
    "arange nothing": lambda n: n.arange(),
    "arange step": lambda n: n.arange(0, 3, 0),
    "linspace -1": lambda n: n.linspace(0, 1, -1),
    "linspace 2.5": lambda n: n.linspace(0, 1, 2.5),
    "asarray copy": lambda n: n.asarray([1.0], copy=False),
    "asarray dtype": lambda n: n.asarray(vector(n), np.float32, copy=False),
    "huge integers": lambda n: n.add(HUGE, 1),
    "huge product": lambda n: n.arange(3) * HUGE,
    "huge power": lambda n: n.power(2, HUGE),
    "beyond floats": lambda n: vector(n) + 10**400,
}  # fmt: skip
KINDS = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError)


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses(name: str) -> None:
    with pytest.raises(KINDS) as expected:
        REFUSED[name](np)
    with pytest.raises(KINDS) as found:
        REFUSED[name](tg)
    assert [isinstance(found.value, kind) for kind in KINDS] == [
        isinstance(expected.value, kind) for kind in KINDS
    ]
    assert str(found.value)


@pytest.mark.parametrize("call", [tg.sin, tg.log, tg.sqrt, tg.sinc, tg.sigmoid, tg.softplus, tg.erf])
def test_functions_of_huge_integers_take_them_as_floats(call: Call) -> None:
    np.testing.assert_array_equal(call(HUGE).data, call(float(HUGE)).data)
    with pytest.raises(OverflowError):
        call(10**400)


def test_gradients_with_these_arguments() -> None:
    x = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])
    mask = np.array([True, False, True])
    for f, expected in (
        (lambda x: tg.sum(x * x, where=mask, initial=2.0), 2 * x * mask),
        (lambda x: tg.mean(x * x, where=mask), 2 * x * mask / 4),
        (lambda x: tg.prod(x, axis=1, where=mask, initial=3.0).sum(), 3 * x[:, ::-1] * mask),
        (lambda x: tg.max(x, axis=1, where=mask, initial=5.0).sum(), x == 6),
        (lambda x: tg.min(x, initial=3.5, where=mask), x == 1),
        (lambda x: tg.sum(x * x, dtype=np.float32), 2 * x),
        (lambda x: tg.reshape(x, (3, 2), "F")[0, 1] * 2.0, 2.0 * (x == 3)),
        (lambda x: tg.ravel(x.T, "F")[1] * 2.0, 2.0 * (x == 5)),
    ):
        for function in (f, tg.jit(f)):
            np.testing.assert_allclose(tg.grad(function)(x), expected)


@pytest.mark.parametrize("wrong", ["no", 1, 0, 1.0, []])
def test_constant_is_true_false_or_none(wrong: Any) -> None:
    for make in (
        lambda c: tg.tensor([1.0], constant=c),
        lambda c: tg.tensor(np.ones(2), constant=c),
        lambda c: tg.asarray(tg.ones(2), constant=c),
        lambda c: tg.asarray([1.0], constant=c),
        lambda c: tg.zeros(2, constant=c),
        lambda c: tg.arange(3.0, constant=c),
        lambda c: tg.ones_like(np.ones(2), constant=c),
        lambda c: tg.Tensor([1.0], constant=c),
    ):
        with pytest.raises(TypeError, match="constant must be True, False or None"):
            make(wrong)
    with pytest.raises(TypeError, match="constant must be"):
        tg.jit(lambda x: x * tg.tensor(np.ones(2), constant=wrong))(np.ones(2))
    assert tg.zeros(2, constant=np.True_).constant


@pytest.mark.parametrize("dtype", [">f8", ">f4", "<f8", "=f4", ">i8", ">i4"])
def test_byte_order_is_the_machines(dtype: str) -> None:
    entry_point = np.dtype(dtype).newbyteorder("=")
    x = tg.tensor([1.0, 2.0])
    for t in (x.astype(dtype), tg.asarray(x, dtype), tg.tensor([1.0, 2.0], dtype), tg.zeros(2, dtype)):
        assert t.dtype == entry_point
        assert t.dtype.isnative
    y = x.astype(dtype)
    assert y.constant == (entry_point.kind != "f")
    for f in (lambda x: tg.sum(x * x).astype(dtype), lambda x: tg.sum(x * tg.tensor(np.ones(2), dtype))):
        if entry_point.kind == "f":
            np.testing.assert_allclose(tg.jit(f)(np.ones(2)), 2.0)
    for function in (
        tg.sum,
        tg.max,
        tg.cumsum,
        tg.sort,
        lambda a: a @ tg.ones(2),
        lambda a: tg.stack([a, a]),
    ):
        given = np.array([2.0, 1.0], dtype)
        found = function(given)
        assert found.dtype.isnative
        replayed = tg.jit(lambda x, f=function, given=given: tg.sum(x) * f(given))(np.ones(1))
        np.testing.assert_allclose(replayed, found.data)


def test_writes_to_data() -> None:
    """An update of ``t.data`` is a write that is not differentiated."""
    x = tg.tensor([1.0, 2.0])
    y = x * x
    y.backward()
    kept = x.data
    x.data -= 0.5 * x.grad
    assert x.data is kept
    np.testing.assert_array_equal(x.data, [0.0, 0.0])
    x.data = [3.0, 4.0]
    x.data += tg.tensor([1.0, 1.0]).data
    x.data = tg.asarray(x.data * 2)
    np.testing.assert_array_equal(kept, [8.0, 10.0])
    x.data[0] = 1.0
    x.null_grad()
    (x * x).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 20.0])
    view = x[1:]
    view.data *= 2
    view.data = 7.0
    np.testing.assert_array_equal(x.data, [1.0, 7.0])
    n = tg.tensor([1, 2])
    n.data += 1
    n.data = [5, 6]
    assert n.tolist() == [5, 6]
    with pytest.raises(ValueError, match="broadcast"):
        x.data = [1.0, 2.0, 3.0]


def test_assigned_data_leave_a_recorded_graph_right() -> None:
    x = tg.tensor([1.0, 2.0])
    y = x * x
    x.data = [5.0, 6.0]
    y.backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_data_in_a_recording() -> None:
    def f(x: Any) -> Any:
        x.data -= 1.0
        return x

    def g(x: Any) -> Any:
        x.data = 1.0
        return x

    for function in (f, g):
        with pytest.raises(tg.TracedValueError):
            tg.jit(function)(np.ones(2))


def test_writes_to_grad() -> None:
    x = tg.tensor([1.0, 2.0])
    with pytest.raises(AttributeError, match="backward"):
        x.grad = 1.0
    (x * x).backward()
    x.grad *= 0.5
    np.testing.assert_array_equal(x.grad, [1.0, 2.0])
    x.grad = [3.0, 4.0]
    (x * x).backward()
    np.testing.assert_array_equal(x.grad, [5.0, 8.0])
    x.grad = None
    assert x.grad is None
    (x * x * x).sum().backward(create_graph=True)
    x.grad *= 0.5
    np.testing.assert_array_equal(x.grad.data, [1.5, 6.0])
    with pytest.raises(AttributeError, match="null_grad"):
        x.grad = [1.0, 1.0]
    x.grad = None
    assert x.grad is None
