"""NumPy conventions of a Tensor beside its ops: printing, attributes, creation, conversions."""

import copy
import gc
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import tapegrad as tg
from tapegrad.frontend.tensor.modes import EAGER

# --- printing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "text"),
    [
        ([1, 2], float, "Tensor([1., 2.])"),
        ([1.0, 2.5], np.float32, "Tensor([1. , 2.5], dtype=float32)"),
        ([1, 2], None, "Tensor([1, 2])"),
        ([1, 2], np.int32, "Tensor([1, 2], dtype=int32)"),
        ([True, False], None, "Tensor([ True, False])"),
        (3.0, None, "Tensor(3.)"),
        (3, None, "Tensor(3)"),
        ([], None, "Tensor([], dtype=float64)"),
        (np.zeros((2, 0)), None, "Tensor([], shape=(2, 0), dtype=float64)"),
        (np.zeros((0, 3), np.float32), None, "Tensor([], shape=(0, 3), dtype=float32)"),
        ([[1.0, 2.0], [3.0, 4.0]], None, "Tensor([[1., 2.],\n        [3., 4.]])"),
    ],
)
def test_repr(data: Any, dtype: Any, text: str) -> None:
    assert repr(tg.tensor(data, dtype)) == text
    assert str(tg.tensor(data, dtype)) == text


def test_repr_of_results_and_views() -> None:
    x = tg.tensor([1.0, 2.0])
    assert repr(x * 2) == "Tensor([2., 4.])"
    assert repr(x[::-1]) == "Tensor([2., 1.])"
    assert "..." in repr(tg.zeros(100_000))
    assert f"{tg.tensor(1.5):.3f}" == "1.500"
    assert f"{x}" == "Tensor([1., 2.])"


# --- attributes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tg.tensor, lambda x: tg.tensor(x) * 1, lambda x: tg.tensor(x[None])[0]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_attributes_are_those_of_the_array(make: Callable[..., Any], dtype: Any) -> None:
    x = np.arange(6.0, dtype=dtype).reshape(2, 3)
    t = make(x)
    for name in ("shape", "ndim", "size", "dtype", "itemsize", "nbytes"):
        assert getattr(t, name) == getattr(x, name)
    np.testing.assert_array_equal(t.data, x)
    np.testing.assert_array_equal(t.numpy(), x)
    np.testing.assert_array_equal(t.T.data, x.T)
    assert t.tolist() == x.tolist()
    assert not t.constant
    assert t.grad is None


def test_base() -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    y = x[1:]
    assert x.base is None
    assert y.base is x
    assert y[1:].base is x
    assert (x * 1).base is None


def test_data_is_the_tensors_own_memory() -> None:
    x = tg.tensor([1.0, 2.0])
    y = x * 1
    for t in (x, y):
        assert t.data is t.data
        t.data[0] = 7.0
        assert t[0].item() == 7.0


def test_an_array_outlives_its_tensor() -> None:
    data = (tg.ones(1000) * 3).data
    view = (tg.ones(1000) * 4)[::2].data
    gc.collect()
    _ = [tg.ones(1000) * 5 for _ in range(50)]
    assert (data == 3).all()
    assert (view == 4).all()


def test_attributes_cannot_be_invented() -> None:
    x = tg.tensor(1.0)
    for name in ("ndim", "colour", "grad"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1)


# --- creation ------------------------------------------------------------------------------------------

CREATED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "zeros": (lambda **k: tg.zeros((2, 3), **k), lambda **k: np.zeros((2, 3), **k)),
    "ones": (lambda **k: tg.ones(3, **k), lambda **k: np.ones(3, **k)),
    "full": (lambda **k: tg.full((2,), 7.0, **k), lambda **k: np.full((2,), 7.0, **k)),
    "full int": (lambda **k: tg.full(2, 7, **k), lambda **k: np.full(2, 7, **k)),
    "eye": (lambda **k: tg.eye(3, **k), lambda **k: np.eye(3, **k)),
    "eye off": (lambda **k: tg.eye(2, 3, 1, **k), lambda **k: np.eye(2, 3, 1, **k)),
    "arange": (lambda **k: tg.arange(3.0, **k), lambda **k: np.arange(3.0, **k)),
    "arange int": (lambda **k: tg.arange(1, 7, 2, **k), lambda **k: np.arange(1, 7, 2, **k)),
    "linspace": (lambda **k: tg.linspace(0, 1, 5, **k), lambda **k: np.linspace(0, 1, 5, **k)),
    "linspace open": (
        lambda **k: tg.linspace(0, 1, 5, endpoint=False, **k),
        lambda **k: np.linspace(0, 1, 5, endpoint=False, **k),
    ),
    "zeros_like": (lambda **k: tg.zeros_like(np.ones((2, 1)), **k), lambda **k: np.zeros((2, 1), **k)),
    "ones_like": (lambda **k: tg.ones_like(tg.zeros((2, 1)), **k), lambda **k: np.ones((2, 1), **k)),
    "full_like": (lambda **k: tg.full_like([1, 2], 3, **k), lambda **k: np.full_like([1, 2], 3, **k)),
    "tensor": (lambda **k: tg.tensor([1.0, 2.0], **k), lambda **k: np.array([1.0, 2.0], **k)),
    "asarray": (lambda **k: tg.asarray([1.0, 2.0], **k), lambda **k: np.asarray([1.0, 2.0], **k)),
}


@pytest.mark.parametrize("name", CREATED)
def test_creation(name: str) -> None:
    make, by_numpy = CREATED[name]
    dtypes = [np.float32, int] if name.startswith("arange") else [np.float32, int, bool]
    for arguments in ({}, *[{"dtype": dtype} for dtype in dtypes]):
        t, expected = make(**arguments), by_numpy(**arguments)
        assert isinstance(t, tg.Tensor)
        assert t.dtype == expected.dtype
        np.testing.assert_array_equal(t.data, expected)
        assert t.constant == (expected.dtype.kind != "f")
        assert make(constant=True, **arguments).constant
        if expected.dtype.kind != "f":
            with pytest.raises(ValueError, match="always constant"):
                make(constant=False, **arguments)
        else:
            assert not make(constant=False, **arguments).constant


@pytest.mark.parametrize("name", ["empty", "empty_like"])
def test_empty(name: str) -> None:
    for dtype in (float, np.float32):
        t = tg.empty((2, 3), dtype) if name == "empty" else tg.empty_like(np.ones((2, 3)), dtype)
        assert (t.shape, t.dtype) == ((2, 3), np.dtype(dtype))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "full_like"])
def test_like_functions_through_numpy(name: str) -> None:
    for like in (tg.ones((2, 3), np.float32), tg.tensor([1, 2])):
        arguments = (like, 2) if name == "full_like" else (like,)
        t = getattr(np, name)(*arguments)
        assert isinstance(t, tg.Tensor)
        assert (t.shape, t.dtype) == (like.shape, like.dtype)
        assert getattr(np, name)(*arguments, dtype=float).dtype == np.float64


@pytest.mark.parametrize("dtype", ["f2", "U1", "M8[s]", "O"])
def test_unsupported_dtypes_are_refused(dtype: str) -> None:
    for call in (
        lambda: tg.tensor(np.zeros(2, dtype)),
        lambda: tg.sum(np.zeros(2, dtype)),
        lambda: tg.ones(2).astype(dtype),
    ):
        with pytest.raises(TypeError, match="not supported"):
            call()


def test_tensor_copies_and_asarray_does_not() -> None:
    x = np.array([1.0, 2.0])
    copied, shared, plain = tg.tensor(x), tg.tensor(x, copy=False), tg.asarray(x)
    assert not np.shares_memory(copied.data, x)
    for t in (shared, plain):
        assert np.shares_memory(t.data, x)
        x[0] = 9.0
        assert t.data[0] == 9.0
        (t * t).backward()
        np.testing.assert_array_equal(t.grad, 2 * x)
    assert tg.asarray(plain) is plain
    assert tg.asarray(plain, constant=True).constant
    assert tg.asarray(plain, np.float32).dtype == np.float32
    assert tg.asarray([1, 2], float).dtype == np.float64


def test_the_class_makes_tensors_too() -> None:
    x = tg.Tensor([1, 2], dtype=float)
    assert isinstance(x, tg.Tensor)
    assert tg.Tensor([1.0], constant=True).constant
    (x * x).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 4.0])


def test_tensor_of_a_tensor_takes_its_contents() -> None:
    x = tg.tensor([1.0, 2.0])
    y = tg.tensor(x * 2)
    (y * y).backward()
    np.testing.assert_array_equal(y.grad, [4.0, 8.0])
    assert x.grad is None


ODD = {
    "big-endian": np.array([1.0, 2.0], ">f8"),
    "unaligned": np.zeros(2, np.dtype([("pad", "i1"), ("value", "f8")]))["value"],
    "overlapping": np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2),
    "broadcast": np.broadcast_to(1.5, (2, 2)),
    "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "backwards": np.arange(6.0)[::-2],
    "read-only": np.frombuffer(np.arange(3.0).tobytes()),
    "matrix": np.arange(4.0).reshape(2, 2).view(np.recarray),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("make", [tg.tensor, tg.asarray])
def test_arrays_of_every_layout(kind: str, make: Callable[..., Any]) -> None:
    x = ODD[kind]
    t = make(x)
    y = t * x + t
    np.testing.assert_array_equal(y.data, np.asarray(x * x + x))
    y.backward()
    np.testing.assert_array_equal(t.grad, np.asarray(x + 1))


# --- conversion ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_numbers(shape: tuple[int, ...]) -> None:
    x = tg.full(shape, 2.5, constant=True)
    assert (x.item(), float(x), int(x), bool(x)) == (2.5, 2.5, 2, True)
    assert type(x.item()) is float
    if shape == ():
        assert operator.index(tg.full(shape, 3)) == 3
    else:
        with pytest.raises(TypeError, match="0-dimensional Tensor of integers"):
            operator.index(tg.full(shape, 3))
    assert not bool(tg.zeros(shape))
    assert type(tg.full(shape, 3).item()) is int


def test_what_has_no_one_number() -> None:
    x = tg.tensor([1.0, 2.0])
    for call, error in ((float, TypeError), (int, TypeError), (lambda t: t.item(), ValueError)):
        with pytest.raises(error, match=r"shape \(2,\)"):
            call(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tg.zeros(0))
    for t in (tg.tensor(1.0), tg.tensor([1, 2])):
        with pytest.raises(TypeError, match="index"):
            operator.index(t)
    with pytest.raises(TypeError, match="0-dimensional"):
        len(tg.tensor(1.0))


def test_item_by_index() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.item(3) == 4.0
    assert x.item(1, 0) == 3.0
    assert x.item((0, 1)) == 2.0


def test_astype() -> None:
    x = tg.tensor([1.5, 2.5])
    y = x.astype(np.float32)
    assert y.dtype == np.float32
    y.backward([1.0, 3.0])
    assert x.grad.dtype == np.float64
    np.testing.assert_array_equal(x.grad, [1.0, 3.0])
    assert x.astype(float, copy=False) is x
    assert x.astype(float) is not x
    whole = x.astype(int)
    assert whole.constant
    np.testing.assert_array_equal(np.asarray(whole), [1, 2])
    assert tg.tensor([1, 2]).astype(float).constant
    assert tg.tensor([True]).astype(np.float32).dtype == np.float32


def test_detach_and_copy() -> None:
    x = tg.tensor([1.0, 2.0])
    d, c = x.detach(), x.copy()
    assert d.constant
    assert not c.constant
    for t in (d, c):
        assert not np.shares_memory(t.data, x.data)
    (d * x + c).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 3.0])
    for integers in (tg.tensor([1, 2]), tg.tensor([True, False])):
        np.testing.assert_array_equal(np.asarray(integers.copy()), np.asarray(integers))
        np.testing.assert_array_equal(np.asarray(integers.detach()), np.asarray(integers))


def test_plain_arrays_are_refused_where_a_gradient_would_be_lost() -> None:
    x, target = tg.tensor([1.0, 2.0]), np.zeros(2)
    for call in (lambda: np.asarray(x), lambda: operator.setitem(target, ..., x), lambda: np.array(x * 2)):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        causes = str(caught.value) + str(caught.value.__cause__)
        assert ".detach()" in causes
    np.testing.assert_array_equal(np.asarray(x.detach()), [1.0, 2.0])
    with tg.no_grad():
        np.testing.assert_array_equal(np.asarray(x), [1.0, 2.0])
    target[...] = tg.tensor([3, 4])
    np.testing.assert_array_equal(target, [3.0, 4.0])


def test_array_protocol_arguments() -> None:
    x = tg.tensor([1.0, 2.0], constant=True)
    assert np.asarray(x, np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(x), x.data)
    assert not np.shares_memory(np.array(x), x.data)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.float32, copy=False)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])
def test_pickle_and_copies_of_leaves(duplicate: Callable[[Any], Any]) -> None:
    for x in (
        tg.tensor([1.0, 2.0]),
        tg.ones(2, np.float32, constant=True),
        tg.tensor([1, 2]),
        tg.tensor(3.0),
    ):
        if not x.constant:
            x.sum().backward()
        y = duplicate(x)
        assert (y.constant, y.dtype, y.shape) == (x.constant, x.dtype, x.shape)
        np.testing.assert_array_equal(y.data, x.data)
        assert not np.shares_memory(y.data, x.data)
        if not y.constant:
            (y * y).backward()
            np.testing.assert_array_equal(y.grad, 2 * x.data)


def test_what_was_computed_cannot_be_pickled() -> None:
    y = tg.tensor([1.0]) * 2
    for call in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="detach"):
            call(y)
    assert pickle.loads(pickle.dumps(y.detach())).item() == 2.0


def test_hash_is_identity() -> None:
    x, y = tg.tensor([1.0]), tg.tensor([1.0])
    assert len({x, y, x}) == 2
    assert {x: "a", y: "b"}[x] == "a"


# --- operators and NumPy's functions -------------------------------------------------------------------


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
@pytest.mark.parametrize(
    "left", [np.array([2.0, 3.0]), np.float64(2), np.float32(2), np.array(2), 2, [2.0, 3.0]], ids=repr
)
def test_an_operator_with_an_array_on_the_left_gives_a_tensor(op: Any, left: Any) -> None:
    x = tg.tensor([1.0, 2.0])
    y = op(left, x)
    assert isinstance(y, tg.Tensor)
    np.testing.assert_array_equal(y.data, op(np.asarray(left), x.data))
    y.backward()
    assert x.grad is not None


def test_an_array_is_not_updated_in_place_by_a_tensor() -> None:
    x, plain = tg.tensor([1.0, 2.0]), np.ones(2)
    with pytest.raises(tg.UnsupportedError, match=r"add.*'out'"):
        plain += x
    np.testing.assert_array_equal(plain, np.ones(2))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.polydiv(x, x), r"numpy\.polydiv"),
        (lambda x: scipy.special.besselpoly(1.0, 1.0, x), r"scipy\.special\.besselpoly"),
        (lambda x: np.frompyfunc(lambda v: v, 1, 1)(x), r"<lambda>"),
        (lambda x: np.sum(x, out=np.zeros(())), "sum.*'out'"),
        (lambda x: np.concatenate([x, x], out=np.zeros(4)), "concatenate.*'out'"),
        (lambda x: np.clip(x, 0, 1, np.zeros(2)), "clip.*'out'"),
        (lambda x: np.add(x, 1, out=np.zeros(2)), "out"),
    ],
)
def test_what_is_not_supported_names_itself(call: Callable[[Any], Any], name: str) -> None:
    x = tg.tensor([1.0, 2.0])
    with pytest.raises(tg.UnsupportedError, match=name):
        call(x)
    (x * 2).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


def test_booleans() -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    np.testing.assert_array_equal((x > 1) & (x < 3), [False, True, False])
    flags = tg.tensor([True, False])
    for op in (operator.and_, operator.or_, operator.xor):
        np.testing.assert_array_equal(op(flags, [True, True]), op(np.array([True, False]), [True, True]))
        np.testing.assert_array_equal(op([True, True], flags), op(np.array([True, False]), [True, True]))
    np.testing.assert_array_equal(~flags, [False, True])
    assert (x == None).tolist() == [False] * 3  # noqa: E711


def test_aliases_are_the_functions() -> None:
    for alias, name in (("abs", "absolute"), ("true_divide", "divide"), ("pow", "power"), ("asin", "arcsin")):
        assert getattr(tg, alias) is getattr(tg, name)


def test_names_are_in_the_namespace() -> None:
    assert tg.pi == np.pi
    assert tg.newaxis is None
    assert tg.sin.__name__ == "sin"
    assert "cos(x)" in tg.sin.__doc__
    with pytest.raises(AttributeError):
        tg.no_such_function  # noqa: B018


def test_nothing_stays_on_the_tape() -> None:
    gc.collect()
    before = len(EAGER)
    for _ in range(100):
        x = tg.ones(3)
        y = (tg.sin(x) * x)[1:].sum()
        del y
    del x
    assert len(EAGER) == before
