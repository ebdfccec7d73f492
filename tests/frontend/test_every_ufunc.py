"""Every ufunc in NumPy's namespace: special values as NumPy has them, eagerly and recorded, or NumPy's own refusal."""

import itertools
import math
import operator

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

NAMES = [
    name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and not getattr(np, name).signature
]
# What NumPy itself has for dates only.
OF_DATES = {"isnat"}
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, np.inf, -np.inf, np.nan, 1e300, 5e-324, -1e-310]
INTEGERS = [0, 1, -1, 5, -7, 3]
# Of these the sign of a zero result depends on the order of comparisons inside of NumPy.
UNSIGNED = {"maximum", "minimum", "fmax", "fmin"}


def operands(name, dtype):
    values = FLOATS if np.dtype(dtype).kind == "f" else INTEGERS
    with np.errstate(all="ignore"):
        columns = list(
            np.array(list(itertools.product(values, repeat=getattr(np, name).nin))).T.astype(dtype)
        )
    if name == "ldexp":
        columns[1] = np.nan_to_num(columns[1], posinf=2000, neginf=-2000).clip(-3000, 3000).astype(int)
    if name in ("power", "pow") and np.dtype(dtype).kind == "i":
        columns[1] = abs(columns[1])
    return columns


def check_same(name, found, expected):
    given, wanted = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    for a, b in zip(given, wanted, strict=True):
        a = a.data if isinstance(a, tg.Tensor) else np.asarray(a)
        assert a.dtype == b.dtype
        if b.dtype.kind != "f":
            np.testing.assert_array_equal(a, b)
            continue
        eps = np.finfo(b.dtype).eps
        np.testing.assert_allclose(a, b, rtol=4 * eps, atol=0)
        if name not in UNSIGNED:
            number = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a)[number], np.signbit(b)[number])


def numpys(name, arrays):
    """NumPy's results, or None where it refuses the dtypes."""
    with np.errstate(all="ignore"):
        try:
            return getattr(np, name)(*arrays)
        except TypeError:
            return None


@grouped("name")
@daily(among=lambda dtype: dtype != "f4")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_numpys(name, dtype):
    arrays = operands(name, dtype)
    expected = numpys(name, arrays)
    for function in (getattr(np, name), getattr(tg, name, getattr(np, name))):
        if expected is None:
            with pytest.raises(TypeError, match=name if dtype[0] == "i" else "."):
                function(*map(tg.tensor, arrays))
        else:
            check_same(name, function(*map(tg.tensor, arrays)), expected)


@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_replayed(name):
    arrays = operands(name, "f8")
    expected = numpys(name, arrays)
    if expected is None:
        return
    recorded = tg.jit(lambda *xs: getattr(np, name)(*xs))
    recorded(*[x[::-1].copy() for x in arrays])
    found = recorded(*arrays)
    if name == "frexp":
        found = found[0], found[1].astype(np.intc, casting="same_kind")
    check_same(name, found, expected)


def test_all_are_in_the_namespace():
    assert [name for name in NAMES if not hasattr(tg, name)] == []


# --- operators ---------------------------------------------------------------------------------------------------

X = np.array([[5.5, -5.5, 0.25], [-0.75, 3.0, 7.5]])
OPERATORS = {
    "%": operator.mod, "//": operator.floordiv, "divmod": divmod, "+": operator.add, "-": operator.sub,
    "*": operator.mul, "/": operator.truediv, "**": operator.pow,
}  # fmt: skip
OTHERS = [
    2,
    -1.5,
    np.float64(2.5),
    np.float32(1.5),
    np.array([2.0, -3.0, 0.5]),
    np.array(2, np.float32),
    True,
]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_numpys(name, dtype):
    array, operate = abs(X).astype(dtype) + (dtype == "i8"), OPERATORS[name]
    for other in OTHERS:
        check_same(name, operate(tg.tensor(array), other), operate(array, other))
        check_same(name, operate(other, tg.tensor(array)), operate(other, array))
        if isinstance(other, np.ndarray):
            check_same(name, operate(tg.tensor(array), tg.tensor(other)), operate(array, other))


@pytest.mark.parametrize("operate", [operator.imod, operator.ifloordiv, operator.iadd, operator.ipow])
def test_operators_in_place(operate):
    x, plain = tg.tensor(abs(X)), abs(X)
    before = x * 1.0
    y = operate(before, 2.0)
    assert y is before
    np.testing.assert_allclose(y.data, operate(plain, 2.0))
    y.backward()
    slope = {"imod": 1.0, "ifloordiv": 0.0, "iadd": 1.0}.get(operate.__name__, 2 * abs(X))
    np.testing.assert_allclose(x.grad, slope * np.ones_like(X))


@pytest.mark.parametrize(
    "operate", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
)
def test_operators_on_bits(operate):
    array = np.array([5, 6, 1])
    for x, y in ((tg.tensor(array), 2), (2, tg.tensor(array)), (tg.tensor(array), tg.tensor([1, 2, 3]))):
        plain = [each.data if isinstance(each, tg.Tensor) else each for each in (x, y)]
        np.testing.assert_array_equal(operate(x, y), operate(*plain))
    with pytest.raises(TypeError, match="takes integers and booleans, not floats"):
        operate(tg.tensor(X), 2)
    number = tg.jit(lambda x, k: tg.sum(x) * operate(k, 2)[0])
    for first in (array, array + 1):
        assert number(X, first) == X.sum() * operate(first, 2)[0]


def test_bits_of_an_operand_are_moved_in_place():
    k = tg.tensor([1, 2])
    k <<= 1
    np.testing.assert_array_equal(k.data, [2, 4])
    x = tg.tensor([1.0])
    with pytest.raises(TypeError, match=r"numpy\.left_shift takes integers"):
        x <<= 1


def test_rounding_as_python_writes_it():
    x = tg.tensor(2.5)
    for function in (round, math.floor, math.ceil, math.trunc):
        assert function(x) == function(2.5)
        assert type(function(x)) is int
    assert round(x + 0.26, 1).item() == round(2.76, 1)
    np.testing.assert_array_equal(round(tg.tensor(X)).data, np.round(X))
    np.testing.assert_array_equal(round(tg.tensor(X), 1).data, np.round(X, 1))
    f = tg.jit(lambda x: tg.sum(x) * math.floor(x[0]) + round(x[1]))
    for first in (1.25, 2.75, -3.5):
        assert f(np.array([first, 2.0])) == pytest.approx((first + 2.0) * math.floor(first) + 2)


def test_a_tensor_is_real():
    x = tg.tensor(X)
    assert x.real is x
    assert x.conj() is x
    assert x.conjugate() is x
    assert tg.real(x) is x
    assert x.imag.constant
    assert complex(tg.tensor(1.0, constant=True)) == 1.0


def test_what_is_not_finite_is_replaced_in_place():
    x = tg.tensor(X)
    y = tg.where(x > 0, x, np.nan)
    assert tg.nan_to_num(y, copy=False, nan=-1.0) is y
    np.testing.assert_array_equal(y.data, np.where(X > 0, X, -1.0))
    y.backward()
    np.testing.assert_array_equal(x.grad, X > 0)


# --- promotion ---------------------------------------------------------------------------------------------------

PAIRED = [
    2, 2.5, True, np.float64(2.5), np.float32(2.5), np.int64(2), np.int8(2), np.bool_(True), np.array(2.5),
    np.array(2.5, "f4"), np.ones(3, "f8"), np.ones(3, "f4"), np.ones(3, "i8"), np.ones(3, "i4"), np.ones(3, "u1"),
    np.ones(3, bool), [1.0, 2.0, 3.0], [1, 2, 3],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    "name", ["add", "multiply", "power", "maximum", "remainder", "copysign", "heaviside", "hypot"]
)
def test_pairs_promote_as_numpys(name, dtype):
    """Python's numbers are weak; NumPy's scalars are as strong as arrays."""
    array = np.ones(3, dtype)
    tensor, function = tg.tensor(array), getattr(np, name)
    recorded = tg.jit(lambda x, y: function(x, y))
    for other in PAIRED:
        for call in (lambda x, y: function(x, y), lambda x, y: function(y, x)):
            expected = call(array, np.asarray(other) if isinstance(other, list) else other)
            assert call(tensor, other).dtype == expected.dtype, other
            if isinstance(other, np.ndarray):
                assert call(tensor, tg.tensor(other)).dtype == expected.dtype, other
        if not isinstance(other, list):
            assert recorded(array, other).dtype == function(array, other).dtype, other
