"""The argument `out`: each case on Tensors, eager and recorded, against NumPy with a complex step."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.outputs import deliver

STEP = 1e-30
X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -0.25]])
MASK = np.array([[True, False, True], [False, True, True]])


def put(result, out, where=True, n=np):
    """Write a result to `out` by a NumPy function."""
    if n is not np:
        return deliver(result, out, where, name="numpy.f")
    np.copyto(out, result, where=where)
    return out


def case_whole(x, n):
    out = n.zeros_like(x)
    y = put(x * x, out, n=n)
    assert y is out
    return n.sum(out * x)


def case_an_operand(x, n):
    y = x * 1.0
    z = y * 3
    put(y * y, y, n=n)
    return n.sum(y * z)


def case_a_transposed_operand(x, n):
    y = n.concatenate([x, x[:1]]) * 1.0
    put(y * y.T, y.T, n=n)
    return n.sum(y * n.arange(9.0).reshape(3, 3))


def case_a_view(x, n):
    y = x * 1.0
    put(x[0] * x[1], y[1, ::-1], n=n)
    return n.sum(y * y)


def case_masked(x, n):
    y = x * x
    put(x * 5, y, MASK, n=n)
    return n.sum(y * y)


def case_masked_operand(x, n):
    y = x * x
    put(y * 5, y, [True, False, True], n=n)
    return n.sum(y * y)


def case_masked_by_a_comparison(x, n):
    y = x * x
    put(x * 5, y, x.real > 0 if n is np else x > 0, n=n)
    return n.sum(y * y)


def case_an_infinite_derivative_is_masked(x, n):
    y = n.ones_like(x)
    put(n.sqrt(n.where(MASK, x * x + 1, 0)), y, MASK, n=n)
    return n.sum(y * x)


def case_constants(x, n):
    y = x * x
    put(np.arange(6).reshape(2, 3), y, MASK, n=n)
    return n.sum(y * y)


CASES = {name: case for name, case in list(globals().items()) if name.startswith("case_")}


def complex_step(case, x):
    gradient = np.empty(x.shape)
    for k in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[k] += STEP * 1j
        gradient[k] = case(moved, np).imag / STEP
    return gradient


@pytest.mark.parametrize("name", CASES)
def test_gradients_follow_what_is_written(name):
    case = CASES[name]
    x = tg.tensor(X)
    y = case(x, tg)
    y.backward()
    np.testing.assert_allclose(y.data, case(X, np), rtol=1e-14)
    np.testing.assert_allclose(x.grad, complex_step(case, X), rtol=1e-13, atol=1e-13)
    replayed = tg.value_and_grad(tg.jit(lambda x: case(x, tg)))
    for other in (X, X[::-1] * 0.5, X - 1.0):
        value, gradient = replayed(other)
        np.testing.assert_allclose(value, case(other, np), rtol=1e-13)
        np.testing.assert_allclose(gradient, complex_step(case, other), rtol=1e-13, atol=1e-13)


DTYPES = (np.float64, np.float32, np.int64, np.int8, np.bool_)


@grouped("given")
@daily("mask")
@pytest.mark.parametrize("casting", ["same_kind", "safe", "unsafe", "no"])
@pytest.mark.parametrize("mask", [True, [True, True, False]], ids=["whole", "masked"])
@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("given", DTYPES)
def test_dtypes_are_cast_as_numpys(given, target, mask, casting):
    source, expected = np.array([3, 0, 1]).astype(given), np.ones(3, target)
    constant = tg.tensor(source, constant=True)
    ways = [(constant, tg.ones(3, target)), (source, tg.ones(3, target)), (constant, np.ones(3, target))]
    try:
        np.copyto(expected, source, casting, mask)
    except TypeError:
        for result, out in ways:
            with pytest.raises(
                TypeError, match=rf"numpy\.f: .*{result.dtype}.*'out' of {out.dtype}.*{casting}"
            ):
                deliver(result, out, mask, casting, name="numpy.f")
        return
    for result, out in ways:
        deliver(result, out, mask, casting, name="numpy.f")
        np.testing.assert_array_equal(out if isinstance(out, np.ndarray) else out.data, expected)
        assert out.dtype == target


def test_without_an_out_elements_that_are_left_out_are_zero():
    x = tg.tensor(X)
    y = deliver(tg.sqrt(x), None, X > 0, name="numpy.f")
    np.testing.assert_array_equal(y.data, np.where(X > 0, np.sqrt(np.abs(X)), 0))
    y.backward()
    np.testing.assert_allclose(x.grad, np.where(X > 0, 0.5 / np.sqrt(np.abs(X)), 0))
    truths = deliver(X > 0, None, MASK, name="numpy.f")
    np.testing.assert_array_equal(truths, (X > 0) & MASK)


def test_an_out_in_a_tuple():
    out = tg.zeros(3)
    assert deliver(tg.ones(3), (out,), name="numpy.f") is out
    np.testing.assert_array_equal(out.data, np.ones(3))
    y = tg.ones(3)
    assert deliver(y, (None,), name="numpy.f") is y


def test_a_plain_array_takes_constants():
    out = np.zeros(2)
    assert deliver(tg.tensor([1, 2]), out, name="numpy.f") is out
    np.testing.assert_array_equal(out, [1.0, 2.0])
    with tg.no_grad():
        deliver(tg.tensor([3.0, 4.0]) * 2, out, [False, True], name="numpy.f")
    np.testing.assert_array_equal(out, [1.0, 8.0])


class WithArithmetic(np.ndarray):
    """An array whose products are not NumPy's."""

    def __mul__(self, other):
        return NotImplemented


REFUSED = {
    "an array for a gradient": (lambda x: (x, np.zeros(3)), TypeError, "plain array.*gradient.*tapegrad.empty"),
    "another shape": (lambda x: (x, tg.zeros(4)), ValueError, r"\(4,\) of 'out' is not \(3,\)"),
    "one more axis": (lambda x: (x, tg.zeros((1, 3))), ValueError, r"\(1, 3\) of 'out'"),
    "a larger mask": (
        lambda x: (x, tg.zeros(3), np.ones((2, 3), bool)), ValueError, r"\(2, 3\) does not broadcast to .*\(3,\) of",
    ),
    "a mask of numbers": (lambda x: (x, None, np.ones(3)), TypeError, "'where' must be of booleans, not of float64"),
    "a mask of Tensors": (lambda x: (x, None, x), TypeError, "'where' must be of booleans"),
    "a list": (lambda x: (x, [0.0] * 3), TypeError, "'out' must be a Tensor or an array, not list"),
    "two": (lambda x: (x, (tg.zeros(3), None)), ValueError, "'out' has 2 entries"),
    "records": (lambda x: (x.detach(), np.zeros(3).view(WithArithmetic)), TypeError, "arithmetic of its own"),
    "read only": (lambda x: (x, tg.broadcast_to(tg.zeros(()), 3)), ValueError, "read-only"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    arguments, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        deliver(*arguments(tg.tensor([1.0, 2.0, 3.0])), name="numpy.f")


def test_a_recording_refuses_what_a_replay_would_not_write():
    outside = tg.zeros(3)
    for out, message in ((np.zeros(3), "numpy.f: 'out' is a plain array"), (outside, "from outside")):
        with pytest.raises((UnsupportedError, RuntimeError), match=message):
            tg.jit(lambda x, out=out: deliver(x * 2, out, name="numpy.f"))(np.ones(3))
