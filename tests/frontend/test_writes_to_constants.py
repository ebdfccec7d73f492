"""Writes into booleans and integers: each case on Tensors, eager and recorded, against NumPy with a complex step.

A case computes from floats `x`, integers `k` and the namespace `np`. A recording must follow both to other numbers.
"""

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.errors import TracedValueError, UnsupportedError

STEP = 1e-30
INPUTS = [
    (np.array([1.0, -2.0, 2.75, 0.5]), np.array([1, 2, 0, 3])),
    (np.array([-1.0, 2.0, 3.5, 0.25]), np.array([4, 0, 6, 2])),
    (np.array([4.0, -2.0, -3.0, -0.5]), np.array([0, 0, 2, 1])),
]


def case_element(x, k, np):
    m = np.asarray(x > 0)
    m[0] = False
    return np.sum(np.where(m, x * x, 0))


def case_slice(x, k, np):
    m = np.asarray(x > 0)
    m[1:3] = True
    return np.sum(np.where(m, x * x, x))


def case_mask(x, k, np):
    m = np.asarray(x > 0)
    m[x > 2.5] = False
    return np.sum(np.where(m, x * x, 0))


def case_view(x, k, np):
    m = np.asarray(x > 0)
    part = m[1:][::2]
    part[0] = False
    m[3] = True
    return np.sum(np.where(m, x * x, 0)) + np.sum(np.where(part, x[:2], 3))


def case_reshaped(x, k, np):
    m = np.asarray(x > 0)
    square = m.reshape((2, 2))
    square[0] = square[1]
    square.T[0, 1] = True
    return np.sum(np.where(m, x * x, 0))


def case_used_before(x, k, np):
    m = np.asarray(x > 0)
    before = np.where(m, x, 0)
    m[...] = k > 1
    return np.sum(before * 10 + np.where(m, x * x, 0))


def case_integers(x, k, np):
    k = k + 0
    k[0] = 7
    k[[1, 2]] = k[[2, 3]]
    return np.sum(x * k)


def case_view_of_integers(x, k, np):
    k = k * 1
    k[::2][1] = 5
    return np.sum(x * k + x)


def case_zeros(x, k, np):
    z, m = np.zeros(4, dtype=int), np.zeros(4, dtype=bool)
    z[:3] = k[1:]
    m[1:] = x[1:] > 0
    m[0] = k[0]
    return np.sum(np.where(m, x * z, x))


def case_matrix(x, k, np):
    z = np.zeros((2, 4), dtype=int)
    z[:, (0, 2)] = k[:2]
    z[1] = k
    z[..., 1] = 9
    return np.sum(z * x)


def case_small_integers(x, k, np):
    z, u = np.zeros(4, dtype="i4"), np.ones(4, dtype="u1")
    z[1:] = k[1:]
    u[k > 1] = 3
    u[0] += 1
    return np.sum(x * z + x * x * u)


def case_integers_as_truths(x, k, np):
    m, z = np.zeros(4, dtype=bool), np.zeros(4, dtype=int)
    m[...] = k
    z[...] = x > 0
    return np.sum(np.where(m, x, 0) * z)


def case_floats_as_truths(x, k, np):
    m = np.zeros(4, dtype=bool)
    m[...] = np.maximum(x, 0.0)
    return np.sum(np.where(m, x * x, 0))


def case_copies(x, k, np):
    m = np.asarray(x > 0)
    other, seen = m.copy(), m
    m[0], m[2] = True, False
    return np.sum(np.where(other, x, 0)) + np.sum(np.where(seen, x * x, 0))


def case_converted(x, k, np):
    m = np.asarray(x > 0)
    n = m.astype(int)
    m[1] = True
    n[2] = 4
    return np.sum(n * x) + np.sum(m.astype(float) * x * x) + np.sum(np.where(k.astype(bool), x, 0))


def case_key(x, k, np):
    m = np.asarray(x > 0)
    m[0] = True
    rows = k * 0
    rows[1] = 3
    return np.sum(x[m] * 2) + np.sum(x[rows] * x)


def case_column_as_key(x, k, np):
    m = np.reshape(x, (2, 2)) > 0
    m = np.asarray(m)
    m[0, 1] = True
    return np.sum(x.reshape((2, 2))[m[:, 1]])


def case_truths_in_place(x, k, np):
    m = np.asarray(x > 0)
    seen = m[:]
    m &= x < 3
    m |= x > 3.25
    m ^= k > 2
    return np.sum(np.where(seen, x * x, 0))


def case_integers_in_place(x, k, np):
    k = k * 1
    seen = k[:]
    k += 2
    k *= 3
    k -= k[0]
    k **= 2
    return np.sum(seen * x)


def case_overlap(x, k, np):
    k = k * 1
    k[1:] = k[:-1]
    k[::-1] = k
    return np.sum(k * x)


def case_branch_on_what_was_written(x, k, np):
    m = np.asarray(x > 0)
    m[0] = k[0] > 0
    return np.sum(x * x) if m[0] else np.sum(x)


def case_count_of_a_mask(x, k, np):
    m = np.asarray(x > 0)
    m[3] = False
    return np.sum(x * x) / (1.0 + np.sum(m.astype(float)))


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}
NAMES = pytest.mark.parametrize("name", CASES)


def gradient(case, x, k):
    """The gradient by a complex step."""
    found = np.zeros_like(x)
    for place in range(x.size):
        moved = x.astype(complex)
        moved[place] += STEP * 1j
        found[place] = case(moved, k.copy(), np).imag / STEP
    return found


@NAMES
def test_eager(name):
    for array, k in INPUTS:
        x = tg.tensor(array)
        result = CASES[name](x, tg.tensor(k), tg)
        result.backward()
        assert np.isclose(result.item(), CASES[name](array, k.copy(), np), rtol=1e-14)
        assert np.allclose(x.grad, gradient(CASES[name], array, k), rtol=1e-14)


@NAMES
def test_recorded(name):
    f = tg.jit(lambda x, k: CASES[name](x, k, tg))
    for array, k in INPUTS * 2:
        given = k.copy()
        assert np.isclose(f(array, given), CASES[name](array, k.copy(), np), rtol=1e-14)
        assert np.allclose(tg.grad(f)(array, given), gradient(CASES[name], array, k), rtol=1e-14)
        assert np.array_equal(given, k), "a replay writes to its own copy of an argument"


@NAMES
def test_tangents_and_second_derivatives(name):
    (x, k), v = INPUTS[0], np.array([1.0, 2.0, -1.0, 0.5])
    f = tg.jit(lambda x: CASES[name](x, tg.tensor(k), tg))
    _, tangent = tg.jvp(f, (x,), (v,))
    assert np.isclose(tangent, gradient(CASES[name], x, k) @ v, rtol=1e-13)
    moved = [gradient(CASES[name], x + s * 1e-4 * v, k) for s in (1, -1)]
    assert np.allclose(tg.hvp(f)(x, v), (moved[0] - moved[1]) / 2e-4, atol=1e-6)


def test_results_that_were_written():
    def f(x, k):
        m = x > 0
        m[0] = False
        k[1] = 9
        return m, k, m[1:], k[::2], k, x * 2

    recorded = tg.jit(f)
    for x, k in INPUTS * 2:
        expected = f(x, k.copy())
        for found, value in zip(recorded(x, k), expected, strict=True):
            assert found.dtype == value.dtype
            assert np.array_equal(found, value)
        primals, tangents = tg.jvp(lambda x, k=k: recorded(x, k), (x,), (np.ones(4),))
        assert np.array_equal(primals[1], expected[1])
        assert np.array_equal(tangents[5], np.full(4, 2.0))
        assert not any(np.any(tangent) for tangent in tangents[:5])


# --- what was recorded from the old contents -----------------------------------------------------------------------


def change(mask):
    mask[0] = False


CHANGES = {
    "element": change,
    "all": lambda m: m.__setitem__(..., False),
    "mask": lambda m: m.__setitem__(np.array([True, False, True]), False),
    "rows": lambda m: m.__setitem__([0, 0], False),
    "view": lambda m: change(m[:2]),
    "in place": lambda m: m.__iand__(np.array([False, True, True])),
    "without gradients": tg.no_grad()(change),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("entered", ["a view", "itself"])
def test_reverse_sweeps_see_what_was_there(name, entered):
    x, mask = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([True, False, True])
    view = mask[:] if entered == "a view" else mask
    y = tg.where(view, x * x, 0)
    CHANGES[name](mask)
    z = tg.where(view, x * x, 0)
    y.backward()
    assert x.grad.tolist() == [2.0, 0.0, 6.0]
    x.null_grad()
    z.backward()
    assert np.array_equal(x.grad, np.where(mask.data, [2.0, 4.0, 6.0], 0))


def test_second_derivatives_see_what_was_there():
    x, mask = tg.tensor([1.0, 2.0]), tg.tensor([True, True])
    y = tg.where(mask, x**3, x)
    change(mask)
    y.backward(create_graph=True)
    first = x.grad
    change(mask[1:])
    assert first.data.tolist() == [3.0, 12.0]
    x.null_grad()
    first.backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_operands_of_other_kinds_keep_their_own():
    """Integers that a product, a gather or a condition has read may be written to."""
    for dtype in (int, "i4", "u1", bool):
        x, k = tg.tensor([1.0, 2.0]), tg.tensor([1, 0], dtype=dtype)
        y = x * k + tg.where(k, x, 0) + x[k]
        expected = tg.grad(lambda x, k=k: tg.sum(x * k + tg.where(k, x, 0) + x[k]))(x.data)
        k[...] = 1 - k.data if dtype is not bool else ~k.data
        y.backward()
        assert np.array_equal(x.grad, expected)


def test_no_version_without_need():
    """A value that no reverse sweep reads is written in its own memory, without a new version."""
    mask, x = tg.tensor([True, False]), tg.tensor([1.0, 2.0])
    for _ in range(3):
        tg.where(mask, x, 0).backward()
        change(mask)
    assert mask._version == 1, "the first write, after which elements are read as copies"
    kept = mask.data
    y = tg.where(mask, x, 0)
    mask[...] = True
    assert np.shares_memory(kept, mask.data)
    assert kept.all()
    y.backward()


# --- NumPy's rules -------------------------------------------------------------------------------------------------

VALUES = [3, -1, 300, 2**70, True, 1.5, np.float64(-2.5), np.array([1.0, 2.0, 3.0]), [1, 0, 2], np.int8(-3)]
WRONG = [np.array([1, 2]), [[1, 2, 3], [4, 5, 6]], float("nan"), "a", None, 1j, np.arange(4)]


@grouped("value")
@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "?"])
@pytest.mark.parametrize("value", VALUES + WRONG, ids=repr)
def test_conversions_are_numpys(value, dtype):
    def written(target):
        try:
            target[:] = value
        except Exception as error:
            return type(error)
        return np.asarray(target)

    expected = written(np.zeros(3, dtype))
    for found in (written(tg.zeros(3, dtype)), written(tg.zeros((2, 3), dtype)[1])):
        assert found is expected if isinstance(expected, type) else np.array_equal(found, expected)

    def recorded(x):
        target = tg.zeros(3, dtype)
        target[:] = value
        return tg.sum(x * target)

    if isinstance(expected, type):
        with pytest.raises(expected):
            tg.jit(recorded)(np.ones(3))
    else:
        assert tg.jit(recorded)(np.ones(3)) == expected.sum()


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "u1", "u8"])
def test_operators_in_place_keep_the_dtype(dtype):
    array, k = np.array([1, 2, 3], dtype), tg.tensor([1, 2, 3], dtype=dtype)
    seen = k[1:]
    for target in (array, k):
        target += 2
        target *= 3
        target -= 1
    assert k.dtype == array.dtype
    assert np.array_equal(seen.data, array[1:])


@pytest.mark.parametrize(
    "update", [lambda k: k.__iadd__(0.5), lambda k: k.__itruediv__(2), lambda k: k.__imul__(np.ones(3))]
)
def test_operators_in_place_refuse_floats(update):
    for function in (update, tg.jit(lambda x, k: update(k))):
        arguments = (tg.tensor([1, 2, 3]),) if function is update else (np.ones(3), np.array([1, 2, 3]))
        with pytest.raises(TypeError, match="cannot write float64 into int64"):
            function(*arguments)


def test_floats_that_are_differentiated_are_not_written_into_integers():
    k, x = tg.zeros(3, dtype=int), tg.tensor([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="gradient"):
        k[...] = x
    k[...] = x.detach()
    assert k.data.tolist() == [1, 2, 3]


# --- recordings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"])
def test_recorded_floats_are_not_frozen_into_integers(dtype):
    def f(x):
        k = tg.zeros(3, dtype)
        k[0] = x[0]
        return tg.sum(k * x)

    with pytest.raises((TracedValueError, UnsupportedError), match="record"):
        tg.jit(f)(np.ones(3))


@pytest.mark.parametrize("dtype", ["?", "i8", "i4"])
@pytest.mark.parametrize("entered", [False, True])
@pytest.mark.parametrize("view", [False, True])
def test_tensors_from_outside_are_not_written_to(dtype, entered, view):
    outside = tg.tensor([1, 0, 1], dtype=dtype)
    if entered:
        tg.where(outside, tg.ones(3), 0)

    def f(x):
        target = outside[1:] if view else outside
        target[0] = 0
        return tg.sum(tg.where(outside, x, 0))

    with pytest.raises(RuntimeError, match="from outside"):
        tg.jit(f)(np.ones(3))
    assert outside.data.tolist() == [1, 0, 1]


USES = {
    "condition": lambda x, m: tg.where(m, x, 0),
    "factor": lambda x, m: x * m,
    "key": lambda x, m: x[m],
    "copy": lambda x, m: x * m.copy(),
    "conversion": lambda x, m: x * m.astype(float) + x * m.astype("i4") + tg.where(m.astype(bool), x, 0),
    "sum": lambda x, m: x * tg.sum(m),
    "joined": lambda x, m: x * tg.concatenate([m[1:], m[:1]]),
    "column": lambda x, m: x * tg.stack([m, m], 1)[:, 0],
    "part": lambda x, m: x * m[[0, 2, 1]],
    "written": lambda x, m: written_with(x, m),
}


def written_with(x, m):
    y, n = x * 1, tg.zeros(3, dtype=int)
    y[1:] = m[:2]
    n[:2] = m[1:]
    return y * n


@pytest.mark.parametrize("dtype", ["?", "i8", "i4", "u1"])
@pytest.mark.parametrize("name", USES)
def test_changes_outside_are_seen(name, dtype):
    """Integers and booleans that a function closes over, as Tensors or as arrays, are never frozen."""
    x = np.array([1.0, 2.0, 3.0])
    tensor, array = tg.tensor([1, 0, 1], dtype=dtype), np.array([1, 0, 1], dtype)
    functions = [lambda x: tg.sum(USES[name](x, tensor)), lambda x: tg.sum(USES[name](x, tg.asarray(array)))]
    for f, outside in zip(functions, (tensor, array), strict=True):
        recorded = tg.jit(f)
        for numbers in ([1, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]):
            outside[...] = numbers
            assert recorded(x) == f(tg.tensor(x)).item()


def test_what_is_computed_from_arrays_outside_is_seen():
    """A mask of a closed-over array is computed at each replay, and so are guards on it."""
    c, x = np.array([1.0, -1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    functions = [
        lambda x: tg.sum(x[tg.asarray(c) > 0]),
        lambda x: tg.sum(tg.where((tg.asarray(c) > 0).astype(int), x, 0)),
        lambda x: tg.sum(x * tg.tensor(tg.asarray(c) > 0).astype(float)),
        lambda x: tg.sum(x) * tg.sum(tg.asarray(c).astype(int)).item(),
    ]
    recorded = [tg.jit(f) for f in functions]
    for numbers in ([1.0, -1.0, 2.0], [1.0, 1.0, 2.0], [-1.0, 1.0, -2.0]):
        c[...] = numbers
        for f, g in zip(functions, recorded, strict=True):
            assert g(x) == f(tg.tensor(x)).item()


def test_recorded_writes_are_instructions():
    def f(x):
        m = x > 0
        m[0] = False
        m[[1, 2]] = True
        return tg.where(m, x, 0)

    names = str(tg.jit(f).tape(np.ones(3)))
    assert "write(" in names
    assert "scatter_write(" in names
    assert "guard" not in names


def test_a_tensor_of_a_recording_that_has_ended_is_not_written_to():
    kept = []
    tg.jit(lambda x: (kept.append(x > 0), tg.sum(x))[1])(np.ones(3))
    with pytest.raises(TracedValueError, match="ended"):
        kept[0][0] = False
