"""Guarantees of eager code: gradients, graphs, constants, modes, escapes, errors."""

import copy
import pickle
import threading

import numpy as np
import pytest

import tapegrad as tg


def make(*numbers, **arguments):
    return tg.tensor(list(numbers), **arguments)


def still_right():
    """Whatever went wrong before, the next computation is right."""
    x = make(1.0, 2.0, 3.0)
    y = x[1:] * x[:-1]
    y[0] = 5.0
    (y.sum() + (x @ x)).backward()
    return np.array_equal(x.grad, [2.0, 7.0, 8.0])


# --- backward -------------------------------------------------------------------------------------------


def test_backward_again_accumulates():
    x = make(1.0, 2.0)
    (x * x).backward()
    (3 * x).backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_accumulate_false_overwrites():
    x = make(1.0, 2.0)
    (x * x).backward()
    y = 3 * x
    y.backward(accumulate=False)
    assert x.grad.tolist() == [3.0, 3.0]
    assert y.grad.tolist() == [1.0, 1.0]


def test_accumulation_stays_in_the_memory_that_was_handed_out():
    x = make(1.0, 2.0)
    (x * x).backward()
    gradient = x.grad
    (3 * x).backward()
    assert gradient.tolist() == [5.0, 7.0]


def test_graph_is_freed_and_the_error_names_retain_graph():
    x = make(1.0, 2.0)
    y = x * x
    y.backward()
    for root in (y, y.sum(), y + x):
        with pytest.raises(tg.FreedGraphError, match="retain_graph"):
            root.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert still_right()


def test_a_freed_part_is_noticed_from_another_root():
    x = make(1.0, 2.0)
    shared = tg.exp(x)
    first, second = shared.sum(), (shared * shared).sum()
    first.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        second.backward()
    assert np.array_equal(x.grad, np.exp([1.0, 2.0]))


def test_retained_graph_goes_on():
    x = make(1.0, 2.0)
    y = x * x
    for count in (1, 2, 3):
        y.backward(retain_graph=True)
        assert np.array_equal(x.grad, count * np.array([2.0, 4.0]))
        assert np.array_equal(y.grad, count * np.ones(2))
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


def test_non_scalar_root_is_summed():
    x = make(1.0, 2.0)
    (x * x).backward()
    z = make(1.0, 2.0)
    (z * z).sum().backward()
    assert np.array_equal(x.grad, z.grad)


@pytest.mark.parametrize("gradient", [2.0, 2, [2.0], np.array([[1.0], [3.0]]), np.float32(2), [1, 2, 3]])
def test_gradient_broadcasts(gradient):
    x = tg.ones((2, 3))
    (x * 5).backward(gradient)
    assert np.array_equal(x.grad, np.broadcast_to(5.0 * np.asarray(gradient), (2, 3)))


def test_gradient_may_be_a_tensor():
    x = make(1.0, 2.0)
    (x * x).backward(make(1.0, 10.0))
    assert x.grad.tolist() == [2.0, 40.0]


@pytest.mark.parametrize("shape", [(2,), (2, 1, 3), (3, 2), (1, 2, 3), (0,)])
def test_gradient_of_the_wrong_shape_is_refused(shape):
    y = tg.ones((2, 3)) * 2
    with pytest.raises(ValueError, match="backward") as error:
        y.backward(np.ones(shape))
    assert str(shape) in str(error.value)
    assert "(2, 3)" in str(error.value)
    y.backward()


@pytest.mark.parametrize("gradient", ["a", 1j, [1j, 2], [None, None]])
def test_gradient_of_the_wrong_type_is_refused(gradient):
    with pytest.raises(TypeError, match="gradient"):
        (make(1.0, 2.0) * 2).backward(gradient)
    assert still_right()


def test_root_may_be_a_leaf():
    x = tg.tensor(1.0)
    x.backward(2.0)
    assert x.grad == 2
    x.backward(2.0)
    assert x.grad == 4


def test_every_living_tensor_gets_a_gradient():
    x, c = make(1.0, 2.0), make(3.0, 4.0, constant=True)
    y = x * c
    z = (tg.exp(y) / 100).sum()
    z.backward()
    assert z.grad == 1
    assert np.allclose(y.grad, np.exp([3, 8]) / 100)
    assert np.allclose(x.grad, [3, 4] * np.exp([3, 8]) / 100)
    assert c.grad is None


def test_inputs_leave_the_others_alone():
    x, w = make(1.0, 2.0), make(3.0, 4.0)
    y = x * w
    z = y.sum()
    z.backward(inputs=[x, y])
    assert x.grad.tolist() == [3.0, 4.0]
    assert y.grad.tolist() == [1.0, 1.0]
    assert w.grad is None
    assert z.grad is None


@pytest.mark.parametrize(
    ("inputs", "error"),
    [([], ValueError), (3, TypeError), ([np.ones(2)], TypeError), ([tg.ones(2, constant=True)], ValueError)],
)
def test_inputs_that_cannot_have_a_gradient_are_refused(inputs, error):
    x = make(1.0, 2.0)
    with pytest.raises(error):
        (x * x).backward(inputs=inputs)
    assert still_right()


def test_input_that_the_root_does_not_depend_on():
    x, other = make(1.0), make(1.0)
    (x * x).backward(inputs=other)
    assert other.grad is None
    assert x.grad is None


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_type_of_grad(dtype):
    x = tg.tensor([[1.0], [2.0]], dtype=dtype)
    assert x.grad is None
    (x * np.arange(3)).backward()
    assert type(x.grad) is np.ndarray
    assert x.grad.dtype == x.dtype == dtype
    assert x.grad.shape == x.shape


CONSTANTS = {
    "integers": lambda: make(1, 2),
    "booleans": lambda: make(True, False),
    "computed integers": lambda: make(1, 2) * 3,
    "constant": lambda: make(1.0, 2.0, constant=True),
    "of constants": lambda: tg.exp(make(1.0, constant=True)),
    "detached": lambda: (make(1.0) * 2).detach(),
    "view of a constant": lambda: make(1.0, 2.0, constant=True)[:1],
    "astype": lambda: make(1.0).astype(int),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_backward_on_a_constant_says_why(name):
    constant = CONSTANTS[name]()
    assert constant.constant
    with pytest.raises(RuntimeError, match="constant"):
        constant.backward()
    assert constant.grad is None


def test_constants():
    assert not make(1.0).constant
    assert (make(1.0, constant=True) * 2).constant
    assert not (make(1.0, constant=True) * make(1.0)).constant
    with pytest.raises(ValueError, match="constant"):
        make(1, 2, constant=False)
    for function in (tg.zeros, tg.ones, tg.empty):
        assert function(3, constant=True).constant
        assert not function(3).constant
    assert tg.arange(3).constant
    assert not tg.arange(3.0).constant


# --- views ----------------------------------------------------------------------------------------------

VIEWS = {
    "slice": lambda x: x[1:, ::2],
    "reversed": lambda x: x[::-1],
    "row": lambda x: x[1],
    "element": lambda x: x[1, 2],
    "newaxis": lambda x: x[:, None, ..., 1:],
    "transpose": lambda x: x.T,
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "reshape": lambda x: x.reshape(4, 3),
    "ravel": lambda x: x.ravel(),
    "expand_dims": lambda x: tg.expand_dims(x, 1),
    "view of a view": lambda x: x.T[1:][::-1, 0],
    "broadcast": lambda x: tg.broadcast_to(x, (2, 3, 4)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_gradient(name):
    array = np.arange(1.0, 13).reshape(3, 4)
    x = tg.tensor(array)
    view = VIEWS[name](x)
    expected = VIEWS[name](array) if name not in ("expand_dims", "broadcast") else view.data
    assert np.array_equal(view.data, expected)
    assert np.shares_memory(view.data, x.data)
    assert view.base is x
    assert x.base is None
    (x * x).backward()
    assert np.shares_memory(view.grad, x.grad)
    assert np.array_equal(view.grad, 2 * view.data)
    assert view.grad.strides == view.data.strides


@pytest.mark.parametrize("name", VIEWS)
def test_gradient_through_views(name):
    x = tg.tensor(np.arange(1.0, 13).reshape(3, 4))
    places = VIEWS[name](tg.tensor(np.arange(12).reshape(3, 4))).data.ravel()
    (VIEWS[name](x) * 3).backward()
    assert np.array_equal(x.grad.ravel(), 3 * np.bincount(places, minlength=12))


NOT_VIEWS = {
    "sum": lambda x: x.sum(axis=0),
    "max": lambda x: x.max(axis=0, keepdims=True),
    "cumsum": lambda x: tg.cumsum(x, axis=0),
    "matmul": lambda x: x @ np.ones(4),
    "gather": lambda x: x[[0, 1]],
    "copy": lambda x: x.copy(),
    "flatten": lambda x: x.flatten(),
    "ravel of a transpose": lambda x: x.T.ravel().copy(),
}


@pytest.mark.parametrize("name", NOT_VIEWS)
def test_results_own_their_memory(name):
    x = tg.tensor(np.arange(1.0, 13).reshape(3, 4))
    result = NOT_VIEWS[name](x)
    assert not np.shares_memory(result.data, x.data)
    assert result.data.flags.c_contiguous
    assert result.base is None or result.base is not x


def test_clear_grad_and_null_grad():
    x = make(1.0, 2.0)
    (x * x).backward()
    gradient = x.grad
    x.clear_grad()
    assert x.grad.tolist() == [0.0, 0.0]
    assert np.shares_memory(gradient, x.grad)
    x.clear_grad(set_to_zero=False)
    assert x.grad is None
    (x * x).backward()
    assert x.null_grad() is x
    assert x.grad is None
    (x * x).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_clearing_a_view_clears_its_part():
    x = make(1.0, 2.0)
    (x * x).backward()
    x[1:].clear_grad()
    assert x.grad.tolist() == [2.0, 0.0]


# --- modes ----------------------------------------------------------------------------------------------


def test_no_grad_as_context_manager():
    x = make(1.0, 2.0)
    with tg.no_grad():
        assert (x * x).constant
        with tg.no_autodiff():
            assert tg.exp(x).constant
        assert x[1:].sum().constant
        assert not x.constant
    assert not (x * x).constant


def test_no_grad_as_decorator():
    @tg.no_grad()
    def double(x):
        return 2 * x

    assert double(make(1.0)).constant
    assert double(make(1.0)).constant
    assert not (2 * make(1.0)).constant


def test_no_grad_ends_with_an_exception():
    with pytest.raises(KeyError), tg.no_grad():
        raise KeyError
    assert not (2 * make(1.0)).constant


def test_no_grad_is_per_thread():
    x, seen = make(1.0), []
    thread = threading.Thread(target=lambda: seen.append((x * 2).constant))
    with tg.no_grad():
        thread.start()
        thread.join()
        assert (x * 2).constant
    assert seen == [False]


# --- dtypes ---------------------------------------------------------------------------------------------


def test_default_dtypes():
    assert make(1.0).dtype == np.float64
    assert make(1).dtype == np.int64
    assert tg.zeros(2).dtype == tg.eye(2).dtype == tg.linspace(0, 1, 3).dtype == np.float64


F32_CASES = {
    "number": lambda x: 2.5 * x,
    "int": lambda x: x + 1,
    "ufunc": lambda x: tg.exp(x),
    "power": lambda x: x**3,
    "float32 array": lambda x: x * np.ones(2, "f4"),
    "float32 scalar": lambda x: np.float32(2) * x,
    "small integers": lambda x: x * np.ones(2, "i1"),
    "bool": lambda x: x * True,
    "where": lambda x: tg.where(x > 0, x, 0),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "matmul": lambda x: x @ x,
    "clip": lambda x: x.clip(0, 1),
    "concatenate": lambda x: tg.concatenate([x, x]),
}


@pytest.mark.parametrize("name", F32_CASES)
def test_float32_stays(name):
    x = make(0.5, 2.0, dtype="f4")
    y = F32_CASES[name](x)
    assert y.dtype == np.float32
    y.backward()
    assert x.grad.dtype == np.float32


@pytest.mark.parametrize("other", [np.ones(2), np.float64(2), np.ones(2, int), make(1.0, 2.0)])
def test_float32_with_float64_is_float64(other):
    x = make(0.5, 2.0, dtype="f4")
    y = x * other
    assert y.dtype == (np.ones(2, "f4") * np.asarray(getattr(other, "data", other))).dtype == np.float64
    y.backward()
    assert x.grad.dtype == np.float32


@pytest.mark.parametrize("dtype", ["f2", "longdouble", "U3", "O", "M8[s]"])
def test_other_dtypes_are_refused(dtype):
    array = np.zeros(2, dtype)
    for attempt in (tg.tensor, lambda a: make(1.0, 2.0) * a, lambda a: tg.exp(a), tg.sum):
        with pytest.raises(TypeError, match="not supported"):
            attempt(array)
    assert still_right()


def test_integers_follow_numpy():
    x = make(7, 2)
    assert (x / 2).dtype == np.float64
    assert (x * 3).data.tolist() == [21, 6]
    assert (x**2).dtype == np.int64
    assert (x * x).sum().item() == 53
    assert x.mean().item() == 4.5
    assert x[::-1].data.tolist() == [2, 7]
    x += 1
    x[0] = 5
    assert x.data.tolist() == [5, 3]
    with pytest.raises(TypeError, match="astype"):
        x += 1.5
    with pytest.raises(TypeError, match="astype"):
        x /= 2


def test_foreign_byte_order():
    array = np.arange(3, dtype=">f8")
    x = tg.tensor(array)
    (x * x * array).backward()
    assert x.dtype == np.float64
    assert x.grad.tolist() == [0.0, 2.0, 8.0]


# --- kinks and infinite partials ------------------------------------------------------------------------

KINKS = [
    (lambda x: tg.maximum(x, 1.0), [1.0], [0.5]),
    (lambda x: x.max(), [3.0, 1.0, 3.0], [0.5, 0.0, 0.5]),
    (lambda x: x.min(axis=0), [[1.0, 2.0], [1.0, 3.0]], [[0.5, 1.0], [0.5, 0.0]]),
    (tg.abs, [0.0, -2.0], [0.0, -1.0]),
    (lambda x: x.clip(0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
    (lambda x: tg.hypot(x, 0.0), [0.0], [0.0]),
    (lambda x: tg.arctan2(x, 0.0), [0.0], [0.0]),
    (lambda x: x.prod(), [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    (lambda x: x.prod(), [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]),
    (lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
    (lambda x: x**1, [0.0, 2.0], [1.0, 1.0]),
    (lambda x: x**2, [0.0, 2.0], [0.0, 4.0]),
    (lambda x: tg.where(x > 0, tg.sqrt(x), 0), [0.0, 4.0], [0.0, 0.25]),
    (lambda x: tg.where(x > 0, tg.log(x), 0), [0.0, 4.0], [0.0, 0.25]),
    (lambda x: tg.where(x > 0, x / x, 1.0), [0.0, 4.0], [0.0, 0.0]),
    (lambda x: tg.sqrt(x)[1:], [0.0, 4.0], [0.0, 0.25]),
    (lambda x: tg.where(x > 0, 1 / x, 0.0) * 2, [0.0, 2.0], [0.0, -0.5]),
]


@pytest.mark.parametrize(("function", "at", "gradient"), KINKS)
def test_kinks(function, at, gradient):
    x = tg.tensor(at)
    function(x).backward()
    assert np.allclose(x.grad, gradient, rtol=1e-15, atol=0)


# --- comparisons and escapes ----------------------------------------------------------------------------

COMPARISONS = [
    lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y, lambda x, y: x >= y, lambda x, y: x == y,
    lambda x, y: x != y, np.less, np.equal, np.greater_equal,
]  # fmt: skip


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("other", [2.0, [3.0, 2.0, 1.0], np.array([3.0, 2.0, 1.0]), make(3.0, 2.0, 1.0)])
def test_comparisons_are_boolean_arrays(compare, other):
    array, plain = np.array([1.0, 2.0, 3.0]), getattr(other, "data", other)
    plain = np.asarray(plain)
    for result, expected in (
        (compare(tg.tensor(array), other), compare(array, plain)),
        (compare(plain, tg.tensor(array)), compare(plain, array)),
    ):
        assert type(result) is np.ndarray
        assert result.dtype == bool
        assert np.array_equal(result, expected)


def test_tests_are_boolean_arrays():
    x = make(1.0, np.nan, np.inf)
    for function in (tg.isnan, np.isnan, tg.isfinite, tg.isinf, lambda a: tg.less(a, 2)):
        assert type(function(x)) is np.ndarray
    assert (x == None).tolist() == [False] * 3  # noqa: E711


ESCAPES = [
    np.asarray,
    np.array,
    lambda x: np.array([x, x]),
    lambda x: np.zeros(2).__setitem__(slice(None), x),
    lambda x: np.zeros((2, 2)).__setitem__(0, x),
    lambda x: np.array(list(x)),
    lambda x: np.testing.assert_allclose(x, x),
]


@pytest.mark.parametrize("escape", ESCAPES)
def test_silent_escapes_raise_and_name_the_others(escape):
    x = make(1.0, 2.0)
    for value in (x, x * 2, x[:]):
        with pytest.raises(TypeError, match="detach"):
            escape(value)
        escape(value.detach())
        with tg.no_grad():
            escape(value)
    assert still_right()


def test_explicit_escapes():
    x = make(2.0)
    y = x * 3
    assert y.item() == 6.0
    assert int(y) == 6
    assert f"{y[0]:.2f}" == "6.00"
    assert y.tolist() == [6.0]
    assert type(y.data) is type(y.numpy()) is np.ndarray
    assert [10, 20][tg.tensor(1)] == 20
    detached = y.detach()
    detached[0] = 1.0
    assert y.item() == 6.0
    y.backward()
    assert x.grad.tolist() == [3.0]


UNSUPPORTED = [
    (lambda x: np.polydiv(x, x), "polydiv"),
    (lambda x: np.fmod(x, 2.0, out=np.ones(2)), "out"), (lambda x: np.sum(x, out=np.ones(())), "out"),
    (lambda x: np.frompyfunc(lambda v: v, 1, 1)(x), "lambda"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "named"), UNSUPPORTED)
def test_unsupported_functions_name_themselves(function, named):
    with pytest.raises(TypeError, match=named):
        function(make(1.0, 2.0))
    assert still_right()


def test_numpy_functions_are_differentiated():
    x = make(1.0, 2.0)
    y = np.sum(np.stack([np.sin(x), np.multiply(2.0, x)])) + np.dot(x, np.ones(2)) + np.float64(3) * x[0]
    y.backward()
    assert np.allclose(x.grad, np.cos([1, 2]) + 3 + np.array([3, 0]), rtol=1e-15)


def test_arrays_may_change_after_they_were_used():
    factor, mask, rows = np.array([2.0, 3.0]), np.array([True, False]), np.array([0, 1])
    window = factor[:]
    window.flags.writeable = False
    x = make(1.0, 2.0)
    y = x * factor + tg.where(mask, x, 0) + x[rows] + x * window
    y = y + x * np.broadcast_to(factor, (2, 2))[1]
    factor[:], mask[:], rows[:] = 100, False, 0
    y.backward()
    assert x.grad.tolist() == [8.0, 10.0]


def test_copies_and_pickles():
    x = make(1.0, 2.0)
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), tg.tensor(x)):
        assert np.array_equal(twin.data, x.data)
    with pytest.raises(TypeError, match="detach"):
        pickle.dumps(x * x)


# --- errors ---------------------------------------------------------------------------------------------

ERRORS = {
    "broadcast": (lambda x: x + np.ones(4), ValueError, "broadcast"),
    "broadcast tensors": (lambda x: x * tg.ones((3, 2)), ValueError, r"\(2, 3\), \(3, 2\)"),
    "matmul": (lambda x: x @ x, ValueError, "matmul"),
    "matmul of a number": (lambda x: x @ 3, ValueError, "dimension"),
    "matmul batches": (lambda _: tg.ones((2, 3, 4)) @ tg.ones((3, 4, 2)), ValueError, "leading"),
    "vector": (lambda x: x @ np.ones(2), ValueError, "matmul"),
    "index": (lambda x: x[2], IndexError, "out of bounds"),
    "row numbers": (lambda x: x[[0, 5]], IndexError, "out of bounds"),
    "negative row numbers": (lambda x: x[[-3]], IndexError, "out of bounds"),
    "too many": (lambda x: x[0, 0, 0], IndexError, "too many"),
    "mask": (lambda x: x[np.ones(3, bool)], IndexError, "boolean"),
    "float index": (lambda x: x[1.5], IndexError, "integers"),
    "name": (lambda x: x["a"], IndexError, "integers"),
    "float tensor index": (lambda x: x[x], (IndexError, TypeError), "."),
    "write out of bounds": (lambda x: x.__setitem__([5], 1.0), IndexError, "out of bounds"),
    "write of a wrong shape": (lambda x: x.__setitem__(0, [1.0, 2.0]), ValueError, r"\(2,\)"),
    "write of text": (lambda x: x.__setitem__(0, "a"), TypeError, "setitem"),
    "write of complex": (lambda x: x.__setitem__(0, 1j), TypeError, "complex"),
    "write to repeats": (lambda x: tg.broadcast_to(x, (2, 2, 3)).__setitem__(0, 1), ValueError, "read-only"),
    "growing in place": (lambda x: x.__iadd__(np.ones((2, 2, 3))), ValueError, "shape"),
    "axis": (lambda x: x.sum(axis=2), ValueError, "axis"),
    "axis twice": (lambda x: x.sum(axis=(0, -2)), ValueError, "axis"),
    "axis name": (lambda x: x.sum(axis="a"), TypeError, "."),
    "fractional axis": (lambda x: x.max(axis=0.5), TypeError, "."),
    "cumsum axis": (lambda x: tg.cumsum(x, axis=-3), ValueError, "axis"),
    "max of nothing": (lambda x: x[:, :0].max(axis=1), ValueError, "zero-size"),
    "reshape": (lambda x: x.reshape(4), ValueError, "reshape"),
    "reshape of nothing": (lambda x: x.reshape(-1, -1), ValueError, "unknown"),
    "transpose": (lambda x: x.transpose(0, 0), ValueError, "axis"),
    "squeeze": (lambda x: x.squeeze(0), ValueError, "size"),
    "broadcast_to": (lambda x: tg.broadcast_to(x, (2, 2)), ValueError, "broadcast"),
    "concatenate": (lambda x: tg.concatenate([x, x.T]), ValueError, "axis 0"),
    "concatenate nothing": (lambda _: tg.concatenate([]), ValueError, "at least one"),
    "concatenate numbers": (lambda _: tg.concatenate([tg.tensor(1.0), 2.0]), ValueError, "0-dimensional"),
    "stack": (lambda x: tg.stack([x, x.T]), ValueError, "same"),
    "text": (lambda x: x * "a", TypeError, "multiply"),
    "None": (lambda x: x + None, TypeError, "add"),
    "object": (lambda x: x + object(), TypeError, "add"),
    "float of many": (float, TypeError, "one element"),
    "truth of many": (bool, ValueError, "ambiguous"),
    "length of a number": (lambda x: len(x[0, 0]), TypeError, "0-dim"),
    "33 dimensions": (lambda _: tg.ones((1,) * 33) * 2, ValueError, "32"),
    "33rd dimension": (lambda _: (tg.ones((1,) * 32) * 2)[None], ValueError, "32"),
    "beyond memory": (lambda _: _spread(2**31, 0) * _spread(2**31, 1), MemoryError, "memory"),
    "beyond addresses": (lambda _: _spread(2**62, 0) * _spread(2**62, 1), (MemoryError, ValueError), "."),
}


def _spread(extent, axis):
    return tg.broadcast_to(tg.tensor(1.0), (1,) * axis + (extent,) + (1,) * (1 - axis))


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_clear_and_leave_everything_right(name):
    function, error, says = ERRORS[name]
    x = tg.tensor(np.arange(6.0).reshape(2, 3))
    y = x * x
    for value in (x, y, y[:, :]):
        with pytest.raises(error, match=says):
            function(value)
    y.backward()
    assert np.array_equal(x.grad, 2 * np.arange(6.0).reshape(2, 3))
    assert still_right()
