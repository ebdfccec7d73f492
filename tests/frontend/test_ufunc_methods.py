"""Methods of ufuncs, where the table of oracles cannot say it: outputs, constants, ties, refusals."""

import numpy as np
import pytest

import tapegrad as tg

X = np.array([[1.5, 0.25, 3.0], [0.5, 2.0, 0.75]])
MASK = np.array([[True, False, True], [False, True, True]])

WITH_OUTPUTS = {
    "reduce": lambda n, x, out: n.add.reduce(x, axis=1, out=out[0, :2]),
    "reduce by halves": lambda n, x, out: n.logaddexp.reduce(x, out=(out[0],)),
    "reduce in order": lambda n, x, out: n.subtract.reduce(x, axis=1, dtype=np.float32, out=out[0, :2]),
    "accumulate": lambda n, x, out: n.maximum.accumulate(x, axis=1, out=out),
    "reduceat": lambda n, x, out: n.add.reduceat(x, [0, 2], axis=1, out=out[:, :2]),
    "outer": lambda n, x, out: n.multiply.outer(x[0, :2], x[1], out=out),
    "outer masked": lambda n, x, out: n.multiply.outer(x[0, :2], x[1], out=out, where=MASK),
}


@pytest.mark.parametrize("way", WITH_OUTPUTS)
def test_results_are_written(way):
    expected = np.full((2, 3), 7.0)
    WITH_OUTPUTS[way](np, X, expected)
    for n in (np, tg):
        x, out = tg.tensor(X), tg.full((2, 3), 7.0)
        WITH_OUTPUTS[way](n, x, out)
        np.testing.assert_allclose(out.data, expected, rtol=1e-6)
        out.backward()
        assert x.grad.any()


CONSTANT = {
    "reduce": lambda n, k: n.add.reduce(k, axis=1),
    "reduce in another dtype": lambda n, k: n.add.reduce(k, axis=None, dtype=np.int8),
    "reduce as floats": lambda n, k: n.add.reduce(k, dtype=np.float32),
    "gcd": lambda n, k: n.gcd.reduce(k, axis=1),
    "and": lambda n, k: n.bitwise_and.reduce(k, axis=0, keepdims=True),
    "maximum": lambda n, k: n.maximum.reduce(k, initial=3, where=k > 1),
    "accumulate": lambda n, k: n.multiply.accumulate(k, axis=1),
    "reduceat": lambda n, k: n.add.reduceat(k, [0, 1], axis=1),
    "outer": lambda n, k: n.lcm.outer(k[0], k[1]),
    "logical": lambda n, k: n.logical_or.reduce(k > 2, axis=1),
}


@pytest.mark.parametrize("way", CONSTANT)
def test_integers_are_constants(way):
    k = np.array([[1, 2, 4], [3, 6, 12]])
    expected = CONSTANT[way](np, k)
    for n in (np, tg):
        found = CONSTANT[way](n, tg.tensor(k))
        plain = found.data if isinstance(found, tg.Tensor) else np.asarray(found)
        np.testing.assert_array_equal(plain, expected)
        assert plain.dtype == expected.dtype
    replayed = tg.jit(lambda x, k: tg.sum(x) * tg.sum(CONSTANT[way](tg, k)))
    for given in (k, k[::-1] + 1):
        assert replayed(X, given) == pytest.approx(X.sum() * CONSTANT[way](np, given).sum())


def test_integers_are_changed_in_place():
    k, plain = tg.tensor([1, 2, 3]), np.array([1, 2, 3])
    np.add.at(k, [0, 0, 2], 5)
    np.add.at(plain, [0, 0, 2], 5)
    np.testing.assert_array_equal(k.data, plain)
    np.add.at(plain, [1], tg.tensor(4))
    np.testing.assert_array_equal(plain, [11, 6, 8])
    with tg.no_grad():
        x = tg.tensor(X[0])
        np.multiply.at(x, [0, 0], 2.0)
    np.testing.assert_array_equal(x.data, [6.0, 0.25, 3.0])


def test_a_leaf_of_the_program_is_changed_in_place():
    """Values computed from the leaf before the write keep the old values, and their gradient."""
    x = tg.tensor(X[0])
    y = x * 2.0
    before = y * y
    np.add.at(y, [0, 0], x[1:])
    (before.sum() + (y * 10.0).sum()).backward()
    np.testing.assert_allclose(x.grad, [8 * X[0, 0] + 20, 8 * X[0, 1] + 30, 8 * X[0, 2] + 30])


def test_ties_share_a_derivative_of_one():
    """Each comparison shares equally: what the elements get together is what one would get."""
    for reduce in (np.maximum.reduce, np.fmax.reduce, np.minimum.reduce):
        x = tg.tensor([2.0, 2.0, 2.0, 2.0])
        reduce(x).backward()
        np.testing.assert_array_equal(x.grad, [0.25] * 4)
    x = tg.tensor([1.0, 3.0, 3.0, 2.0])
    np.maximum.accumulate(x).backward()
    assert x.grad.sum() == 4.0
    assert (x.grad[[0, 3]] == [1.0, 0.0]).all()
    x = tg.tensor([1.0, np.nan, 3.0])
    y = np.maximum.accumulate(x)
    np.testing.assert_array_equal(y.data, [1.0, np.nan, np.nan])


REFUSED = {
    "no identity": (lambda x: np.fmax.reduce(x[:0]), ValueError, "fmax.*identity"),
    "no identity with where": (lambda x: np.fmax.reduce(x, where=MASK), ValueError, r"numpy\.fmax\.reduce.*'initial'"),
    "several axes in no order": (lambda x: np.subtract.reduce(x, axis=None), ValueError, "reorderable"),
    "an axis": (lambda x: np.add.reduce(x, axis=2), np.exceptions.AxisError, "axis 2"),
    "an axis to accumulate": (lambda x: np.hypot.accumulate(x, axis=2), np.exceptions.AxisError, "axis 2"),
    "one operand": (lambda x: tg.sin.reduce(x), ValueError, r"numpy\.sin\.reduce: .*two operands"),
    "one operand of NumPy's": (lambda x: np.sin.reduce(x), ValueError, "only supported for binary functions"),
    "an index to reduce from": (lambda x: np.add.reduceat(x, [0, 2]), IndexError, "2 out-of-bounds"),
    "an index": (lambda x: np.add.at(x, [0, 2], 1.0), IndexError, "2 is out of bounds"),
    "a value": (lambda x: np.add.at(x, [0], [1.0, 2.0]), ValueError, "broadcast"),
    "an array": (lambda x: np.add.at(np.ones(3), [0], x[0, 0]), TypeError, r"numpy\.add\.at: a plain array"),
    "integers": (lambda x: np.add.at(tg.tensor([1, 2]), [0], x[0, 0]), TypeError, r"numpy\.add\.at: .* integers"),
    "an integer dtype": (lambda x: np.add.reduce(x, dtype=int), TypeError, r"numpy\.add\.reduce: .*int64.*gradient"),
    "matrix products": (lambda x: np.matmul.reduce(x), RuntimeError, "signature"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    function, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        function(tg.tensor(X))


def test_functions_say_what_ufuncs_say():
    for name in ("add", "sin", "logaddexp", "less", "gcd", "ldexp"):
        ufunc, function = getattr(np, name), getattr(tg, name)
        for attribute in ("nin", "nout", "nargs", "identity"):
            assert getattr(function, attribute) == getattr(ufunc, attribute)


FOLDED = (
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.hypot, np.subtract, np.divide,
    np.power, np.arctan2,
)  # fmt: skip
OF_ONE_ROW = {
    "reduce": lambda ufunc, rows: ufunc.reduce(rows, axis=0),
    "reduce along no axis": lambda ufunc, rows: ufunc.reduce(rows, axis=()),
    "reduce with dimensions": lambda ufunc, rows: ufunc.reduce(rows, axis=0, keepdims=True),
    "accumulate": lambda ufunc, rows: ufunc.accumulate(rows, axis=0),
    "reduceat": lambda ufunc, rows: ufunc.reduceat(rows, [0], axis=0),
}


@pytest.mark.parametrize("way", OF_ONE_ROW)
def test_results_of_one_row_have_memory_of_their_own(way):
    """A later write to the result does not reach the operand."""
    offenders = []
    for ufunc in FOLDED:

        def written(x, ufunc=ufunc):
            rows = x[None] * 1.0
            folded = OF_ONE_ROW[way](ufunc, rows)
            folded[...] = folded * 3.0
            return np.sum(rows * x) + np.sum(folded)

        x = np.array([0.5, 2.0])
        values, gradients = [2 * x + 3.0] * 2, (tg.grad(written)(x), tg.jit(tg.grad(written))(x))
        if not np.array_equal(values, gradients) or written(tg.tensor(x)).item() != written(x):
            offenders.append(f"{ufunc.__name__}: {gradients}")
    assert not offenders, "\n".join(offenders)


def test_folds_along_axes_of_nothing():
    for way, shape in ((np.fmax.reduce, (1, 0)), (np.subtract.reduce, (2, 0))):
        assert way(tg.ones(shape), axis=0).shape == way(np.ones(shape), axis=0).shape == (0,)
