"""A replay computes in the dtypes of the function itself: as NumPy does with the same arguments."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
VALUES = {
    **{f"array {np.dtype(t)}": np.array([1, 2, 100], t) for t in [*INTEGERS, np.float32, np.float64]},
    **{f"0-d {np.dtype(t)}": np.array(100, t) for t in [np.int8, np.int64, np.uint64, np.float32, np.float64]},
    **{f"scalar {np.dtype(t)}": t(100) for t in [np.int8, np.uint8, np.int64, np.float32, np.float64]},
    "array bool": np.array([True, False, True]), "scalar bool": np.True_,
    "large": np.array([1, 2**63, 2**64 - 1], np.uint64),
    "float": 2.5, "int": 3, "True": True,
}  # fmt: skip
FLOATS = {
    "float64": np.array([1.5, -2.0, 3.0]),
    "float32": np.array([1.5, -2.0, 3.0], np.float32),
    "float": 2.5,
}
FUNCTIONS = {
    "product": lambda x, n: x * n,
    "sum": lambda x, n: n + x,
    "arithmetic of its own": lambda x, n: x * (n + n),
    "negative": lambda x, n: x - (-n * 2),
    "part": lambda x, n: x * (n[1:][0] if np.ndim(n) else n),
    "reversed": lambda x, n: x * (n[::-1] if np.ndim(n) else n),
    "where": lambda x, n: tg.where(n > 50, x, n),
    "function": lambda x, n: tg.multiply(x, n),
    "comparison": lambda x, n: tg.where(x > n, x, 1.0),
    "square": lambda x, n: x * n**2,
    "branch": lambda x, n: x * 2 if np.all(n > 50) else x * n,
}
OF_NUMPY = {**FUNCTIONS}
OF_NUMPY["where"] = lambda x, n: np.where(n > 50, x, n)
OF_NUMPY["function"] = lambda x, n: np.multiply(x, n)
OF_NUMPY["comparison"] = lambda x, n: np.where(x > n, x, 1.0)
BOOLEAN_ARITHMETIC = {"arithmetic of its own", "negative", "square"}  # NumPy's own rules, or its own refusals


@grouped("name")
@daily("kind")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("number", VALUES)
@pytest.mark.parametrize("kind", FLOATS)
def test_as_numpy(name, number, kind):
    x, n = FLOATS[kind], VALUES[number]
    if name in BOOLEAN_ARITHMETIC and np.asarray(n).dtype == bool:
        pytest.skip("arithmetic of booleans")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.asarray(OF_NUMPY[name](x, n))
        found = tg.jit(FUNCTIONS[name])(x, n)
    if expected.dtype.kind != "f" or expected.dtype == np.float16:
        pytest.skip("no floats")
    assert np.asarray(found).dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if expected.dtype == np.float32 else 1e-15)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
def test_integers_of_64_bits(numbers):
    n = np.array(numbers, np.uint64)
    np.testing.assert_array_equal(REPLAYED(1.0, n), n * 1.0)
    assert WHOLE(1.0, n).tolist() == numbers


REPLAYED = tg.jit(lambda x, n: x * n, memory=2**22)
WHOLE = tg.jit(lambda x, n: n)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_computed_anew(dtype):
    recordings = []
    f = tg.jit(lambda x, n: (recordings.append(1), tg.sum(x * n[1:]) + tg.sum(x[n]), n)[1:])
    for k in range(4):
        n = np.array([0, k % 3, 2], dtype)
        x = np.arange(3.0)
        value, same = f(x[:2], n) if False else tg.jit(lambda x, n: (tg.sum(x * n), n))(x, n)
        assert value == np.sum(x * n)
        assert same.dtype == dtype
    g = tg.jit(lambda x, n: (recordings.append(1), tg.sum(x * n[::-1]))[1])
    for k in range(5):
        n = np.array([k, 1, 2], dtype)
        assert g(np.arange(3.0), n) == np.sum(np.arange(3.0) * n[::-1])
    assert len(recordings) == 1


class Labelled(np.ndarray):
    pass


REFUSED = {
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [False, True]),
    "matrix": lambda: np.asmatrix([1.0, 2.0]),
}
PLACES = {
    "argument": lambda a: tg.jit(lambda x: x)(a),
    "gradient": lambda a: tg.grad(lambda x: tg.sum(x))(a),
    "Jacobian": lambda a: tg.jacobian(lambda x: x)(a),
    "closure": lambda a: tg.jit(lambda x: tg.sum(x * a))(1.0),
    "tensor": tg.tensor,
    "asarray": tg.asarray,
    "elementwise": tg.sin,
    "binary": lambda a: tg.multiply(1.0, a),
    "operator": lambda a: tg.tensor([1.0, 2.0]) * a,
    "reduction": tg.sum,
    "joining": lambda a: tg.stack([a, a]),
    "matmul": lambda a: tg.tensor([1.0, 2.0]) @ a,
    "shape": lambda a: tg.reshape(a, -1),
    "where": lambda a: tg.where(True, a, 1.0),
    "write": lambda a: tg.tensor([1.0, 2.0]).__setitem__(slice(None), a),
    "cotangent": lambda a: tg.tensor([1.0, 2.0]).backward(a),
    "like": tg.zeros_like,
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", REFUSED)
def test_classes_with_an_arithmetic_of_their_own_are_refused(name, place):
    with pytest.raises(
        tg.UnsupportedError, match=r"has an arithmetic of its own|of a masked array are masked"
    ):
        PLACES[place](REFUSED[name]())


def test_other_subclasses_are_arrays():
    a = np.ones(2).view(Labelled)
    assert tg.jit(tg.sum)(a) == tg.sum(a).item() == 2
