"""Arguments of ufuncs besides operands: each call on Tensors, by tapegrad and by NumPy, against NumPy on arrays."""

import inspect

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.ops import ELEMENTWISE

X = np.array([[1.5, 0.25, 3.0], [0.5, 2.0, 0.75]])
MASK = np.array([[True, False, True], [False, False, True]])
UFUNCS = [
    "add",
    "power",
    "hypot",
    "remainder",
    "sqrt",
    "absolute",
    "less",
    "isfinite",
    "logical_and",
    "sinh",
]


def call(xp, name, x, *rest, **options):
    """The function of one or two operands, the second of which has one axis."""
    function = getattr(xp, name)
    return function(*(x, x[-1])[: getattr(np, name).nin], *rest, **options)


def values(result):
    return result.data if isinstance(result, tg.Tensor) else result


WAYS = {
    "by name": lambda xp, name, x, out: call(xp, name, x, out=out),
    "by position": lambda xp, name, x, out: call(xp, name, x, out),
    "in a tuple": lambda xp, name, x, out: call(xp, name, x, out=(out,)),
    "masked": lambda xp, name, x, out: call(xp, name, x, out=out, where=MASK),
    "a mask of one row": lambda xp, name, x, out: call(xp, name, x, out=out, where=[True, False, True]),
    "broadcast": lambda xp, name, x, out: call(xp, name, x[:1], out=out, where=MASK),
    "into a view": lambda xp, name, x, out: call(xp, name, x[:, ::2], out=out[::-1, 1:]),
    "in another order": lambda xp, name, x, out: call(xp, name, x, out=out, order="F", subok=False),
    "cast": lambda xp, name, x, out: call(xp, name, x, out=out, casting="unsafe", where=MASK),
}


@grouped("name")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_written_as_numpys(name, way, dtype):
    expected = np.full((2, 3), 7, dtype)
    WAYS[way](np, name, X, expected)
    for xp in (tg, np):
        for operand in (tg.tensor(X), X):
            out = tg.full((2, 3), 7.0, dtype)
            result = WAYS[way](xp, name, operand, out)
            assert result is out or way == "into a view"
            assert out.dtype == dtype
            np.testing.assert_allclose(out.data, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", UFUNCS)
def test_recorded_as_they_are(name):
    def function(x, xp):
        out = xp.ones_like(x)
        call(xp, name, x, out=out, where=x > 0.6)
        return out

    replayed = tg.jit(lambda x: function(x, tg))
    for x in (X, X[:, ::-1], X * 0.5):
        np.testing.assert_allclose(replayed(x), function(x, np), rtol=1e-14)


def test_gradients_go_to_operands_and_to_what_is_kept():
    x, y, before = tg.tensor(X), tg.tensor(X[0]), tg.tensor(X * 0.5)
    out = before * 3
    np.multiply(x, y, out=out, where=MASK)
    out.backward()
    np.testing.assert_allclose(x.grad, np.where(MASK, X[0], 0))
    np.testing.assert_allclose(y.grad, np.where(MASK, X, 0).sum(0))
    np.testing.assert_allclose(before.grad, np.where(MASK, 0, 3))


def test_an_operand_may_be_the_output():
    x = tg.tensor(X)
    y = x * 1.0
    np.exp(y, out=y)
    np.multiply(y, y, out=y)
    y.backward()
    np.testing.assert_allclose(x.grad, 2 * np.exp(2 * X), rtol=1e-14)


# --- dtypes ----------------------------------------------------------------------------------------------------

DTYPES = ["f8", "f4", "i8", "i1", "?"]


@grouped("name")
@pytest.mark.parametrize("casting", ["same_kind", "safe", "unsafe", "no", "equiv"])
@pytest.mark.parametrize("name", ["add", "divide", "sqrt", "less", "power"])
@pytest.mark.parametrize("asked", [None, *DTYPES, "f2"])
def test_dtypes_are_asked_for_as_numpys(name, asked, casting):
    for given in DTYPES:
        array = np.ones((2, 3), given)
        try:
            expected = call(np, name, array, dtype=asked, casting=casting)
        except TypeError:
            with pytest.raises(TypeError):
                call(tg, name, tg.tensor(array), dtype=asked, casting=casting)
            continue
        lost = array.dtype.kind == "f" and expected.dtype.kind != "f" and name != "less"
        if lost or asked == "f2":
            with pytest.raises(tg.UnsupportedError, match=f"numpy.{name}.*(float16|gradient)"):
                call(tg, name, tg.tensor(array), dtype=asked, casting=casting)
            continue
        found = values(call(tg, name, tg.tensor(array), dtype=asked, casting=casting))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == (np.float64 if expected.dtype == np.float16 else expected.dtype)


def test_a_function_computes_in_the_dtype_that_is_asked_for():
    x = tg.tensor(X)
    for y in (
        np.sin(x, dtype=np.float32),
        tg.sin(x, dtype="f4"),
        np.sin(x, signature="f->f"),
        tg.erf(x, dtype="f4"),
    ):
        assert y.dtype == np.float32
    np.testing.assert_array_equal(np.sin(x, dtype="f4").data, np.sin(X, dtype="f4"))
    assert tg.add(1, 2, dtype="f4").dtype == np.float32
    assert tg.add([x[0, 0], 1.0], 2, dtype="f4").dtype == np.float32
    y = np.multiply(x, x, dtype="f4")
    y.backward()
    assert x.grad.dtype == np.float64
    np.testing.assert_allclose(x.grad, 2 * X, rtol=1e-6)


# --- refusals and signatures -----------------------------------------------------------------------------------

REFUSED = {
    "two outputs": (lambda x: tg.add(x, x, (x, x)), ValueError, "numpy.add: 'out' has 2 entries"),
    "twice": (lambda x: tg.add(x, x, x, out=x), TypeError, "numpy.add: 'out' is given by position and by name"),
    "too many": (lambda x: tg.add(x, x, x, x), TypeError, "numpy.add takes 2 operands and up to 1 outputs, not 4"),
    "too few": (lambda x: tg.add(x), TypeError, "add.* 'x2'"),
    "unknown": (lambda x: tg.add(x, x, axis=1), TypeError, "add.*'axis'"),
    "an unknown casting": (lambda x: np.add(x, x, casting="any"), ValueError, "casting"),
    "an unknown order": (lambda x: np.add(x, x, order="Z"), ValueError, "numpy.add: order must be"),
    "a small output": (lambda x: np.add(x, x, out=tg.zeros(3)), ValueError, r"numpy.add: .*\(2, 3\).*\(3,\) of 'out'"),
    "an array": (lambda x: np.add(x, x, out=np.zeros((2, 3))), TypeError, "numpy.add: 'out' is a plain array"),
    "an array in place": (lambda x: np.ones((2, 3)).__iadd__(x), TypeError, "numpy.add: 'out' is a plain array"),
    "integers": (lambda x: np.add(x, x, out=tg.zeros((2, 3), int)), TypeError, "numpy.add: .*float64.*int64"),
    "a mask of numbers": (lambda x: np.add(x, x, where=X), TypeError, "numpy.add: 'where' must be of booleans"),
    "a list": (lambda x: tg.add(x, x, out=[1.0]), TypeError, "numpy.add: 'out' must be a Tensor or an array"),
    "unknown to clip": (lambda x: np.clip(x, 0, 1, axis=1), TypeError, "clip.*'axis'"),
    "clip cast": (lambda x: np.clip(x, 0, 1, dtype="f4", casting="safe"), TypeError, "numpy.clip: .* float64 to f4"),
    "no gradient": (lambda x: np.add(x, x, dtype=int, casting="unsafe"), TypeError, "numpy.add: .*int64.*astype"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    function, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        function(tg.tensor(X))


def test_constants_are_written_into_arrays():
    out = np.zeros((2, 3))
    assert np.add(tg.asarray(X, constant=True), 1, out=out) is out
    out += tg.asarray(X, constant=True)
    np.testing.assert_array_equal(out, 2 * X + 1)


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.public and op.ufunc], ids=lambda op: op.name)
def test_signatures_are_those_of_ufuncs(op):
    """Signatures are those in the first line of ``numpy.add``'s docstring, but for `signature`."""
    head = getattr(np, op.ufunc).__doc__.partition("\n")[0]
    names = head[head.index("(") + 1 : head.index("[") if "[" in head else head.index(")")]
    assert list(inspect.signature(getattr(tg, op.name)).parameters) == [
        part.partition("=")[0] for part in names.split(", ") if part not in ("/", "*")
    ]
