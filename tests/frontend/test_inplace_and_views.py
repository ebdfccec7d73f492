"""In-place writes and views, each against the same computation on complex NumPy arrays by a complex step.

A case is a function of an array-like and of the namespace that computes with it; NumPy's own views and
in-place writes are the oracle.
"""

import itertools
import operator

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from tapegrad.engine.tape.fields.layout import HISTORIES
from tapegrad.frontend.tensor.modes import EAGER
from tapegrad.frontend.tensor.tensor import view_of

STEP = 1e-30
# Steps and coefficients of a central difference that is exact for polynomials up to degree 4
DIFFERENCES = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))


def leaf_of_own(x):
    """A value of the program that may be written to: the leaf itself keeps its gradient."""
    return x * 1.0


def case_basic(x, np):
    y = leaf_of_own(x)
    y[1:, ::2] = x[:-1, 1::2] * 3
    return np.sum(y * y)


def case_element(x, np):
    y = leaf_of_own(x)
    y[1, 2] = y[0, 0] * y[1, 1]
    y[0, 0] = 5.0
    return np.sum(y * x)


def case_whole(x, np):
    y = leaf_of_own(x)
    z = np.sin(y)
    y[...] = z * y
    return np.sum(y * z)


def case_rows(x, np):
    y = leaf_of_own(x)
    y[[2, 0]] = x[[0, 1]] * 2
    return np.sum(y * y)


def case_repeated_rows(x, np):
    """Several writes to one element: the last one counts."""
    y = leaf_of_own(x)
    y[[0, 0, 1]] = x * 2
    return np.sum(y * y * x)


def case_pairs(x, np):
    y = leaf_of_own(x)
    y[[0, 1, 2], [3, 1, 3]] = x[:, 0] * x[:, 1]
    return np.sum(y * y)


def case_mask(x, np):
    y = leaf_of_own(x)
    mask = np.greater(x, 0.5)
    y[mask] = y[mask] ** 2
    return np.sum(y * x)


def case_mixed_key(x, np):
    y = leaf_of_own(x)
    y[..., [1, 0]] = x[:, None, 2] * 2
    y[1, [0, 3]] *= 3
    return np.sum(y * y)


def case_view(x, np):
    y = leaf_of_own(x)
    row = y[1]
    row[:2] = x[0, 2:]
    return np.sum(y * y) + np.sum(row * 3)


def case_view_of_view(x, np):
    y = leaf_of_own(x)
    corner = y.T[1:][::-1, :2]
    corner[0] = x[0, :2] * x[1, :2]
    corner[1:] += 1.5
    return np.sum(y * y * x)


def case_reshaped(x, np):
    y = leaf_of_own(x)
    flat = y.reshape(-1)
    flat[::5] = flat[::5] * 4
    y[0] = 2 * y[1]
    return np.sum(flat * flat)


def case_alias(x, np):
    y = leaf_of_own(x)
    a, b = y[:], y[:2]
    a[0] = b[1] * 2
    b[1] = a[0] * y[2]
    return np.sum(y * y) + np.sum(a * b[0])


def case_base_changes_view(x, np):
    y = leaf_of_own(x)
    view = y[1:]
    before = np.sum(view * view)
    y[...] = x * x
    return before + np.sum(view * 3)


def case_view_made_before_use(x, np):
    y = leaf_of_own(x)
    view = y[:, 1]
    s = np.sum(view)
    view[...] = x[:, 0] * s
    return np.sum(y * y)


def case_augmented(x, np):
    y = leaf_of_own(x)
    y += x
    y *= x
    y -= 0.5
    y /= 2 + x * x
    y **= 2
    return np.sum(y)


def case_augmented_on_itself(x, np):
    y = leaf_of_own(x)
    y *= y
    y += y
    y[0] *= y[1]
    y[1] -= y[1]
    return np.sum(y * x)


def case_augmented_part(x, np):
    y = leaf_of_own(x)
    y[1:, 1] += x[:-1, 0]
    y[[0, 2]] *= x[[1, 1]]
    return np.sum(y * y)


def case_after_exp(x, np):
    """exp keeps its result, multiply its operands: the write comes after they were kept."""
    y = np.exp(x)
    z = y * y
    y[0] = 7.0
    y[1] *= z[0]
    return np.sum(z) + np.sum(y * x)


def case_after_many(x, np):
    y = leaf_of_own(x)
    kept = [np.sin(y), y * y, np.tanh(y), y / (2 + y * y), y @ y.T]
    y[...] = 3.0
    return sum(np.sum(k * (j + 1)) for j, k in enumerate(kept)) + np.sum(y * x)


def case_overlap_forwards(x, np):
    y = leaf_of_own(x)
    y[1:] = y[:-1]
    y[:, :-1] = y[:, 1:]
    return np.sum(y * x)


def case_overlap_reversed(x, np):
    y = leaf_of_own(x)
    y[...] = y[::-1]
    y[::-1, ::-1] = y * 2
    return np.sum(y * y * x)


def case_overlap_transposed(x, np):
    y = leaf_of_own(x)
    square = y[:, :3]
    square[...] = square.T
    return np.sum(y * x)


def case_overlap_rows(x, np):
    y = leaf_of_own(x)
    y[[0, 1, 2]] = y[[1, 2, 0]] + y[:1]
    return np.sum(y * x)


def case_broadcast_value(x, np):
    y = leaf_of_own(x)
    y[...] = x[0]
    y[:, 1:3] = x[:, :1]
    y[1] = x[1, 1]
    return np.sum(y * y * x)


def case_broadcast_to_rows(x, np):
    y = leaf_of_own(x)
    y[[0, 2]] = x[1]
    y[[1]] = x[2, 2]
    return np.sum(y * y * x)


def case_loop(x, np):
    y = leaf_of_own(x)
    for i in range(1, 3):
        for j in range(1, 4):
            y[i, j] = y[i - 1, j] * 0.5 + np.sin(y[i, j - 1])
    return np.sum(y * y)


def case_written_over(x, np):
    y = leaf_of_own(x)
    y[...] = 1.0
    y[0] = x[1]
    return np.sum(y)


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


class Oracle:
    """NumPy, as the cases call it."""

    sum, sin, exp, tanh = np.sum, np.sin, np.exp, np.tanh

    @staticmethod
    def greater(x, y):
        return x.real > y


def complex_gradient(case, array):
    gradient = np.zeros(array.shape)
    for place in np.ndindex(array.shape):
        moved = array.astype(complex)
        moved[place] += STEP * 1j
        gradient[place] = case(moved, Oracle).imag / STEP
    return gradient


LAYOUTS = {
    "contiguous": lambda a: a.copy(),
    "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "negative": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "fortran": lambda a: np.asfortranarray(a),
    "part": lambda a: np.pad(a, 2)[2:-2, 2:-2],
}
NUMBERS = np.random.default_rng(4).uniform(0.2, 1.5, (3, 4))


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    x = tg.tensor(NUMBERS)
    result = CASES[name](x, tg)
    result.backward()
    assert result.item() == pytest.approx(CASES[name](NUMBERS.astype(complex), Oracle).real, rel=1e-13)
    assert np.allclose(x.grad, complex_gradient(CASES[name], NUMBERS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_float32(name):
    x = tg.tensor(NUMBERS, dtype="f4")
    result = CASES[name](x, tg)
    result.backward()
    assert result.dtype == x.grad.dtype == np.float32
    assert np.allclose(x.grad, complex_gradient(CASES[name], NUMBERS), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_on_the_users_memory(name, layout, monkeypatch):
    """Writes to a user's array of any layout agree with the oracle on the same layout."""

    def on_array(given):
        target = LAYOUTS[layout](np.zeros(given.shape, given.dtype))
        target = tg.asarray(target) if isinstance(given, tg.Tensor) else target
        target[...] = given * 1.0
        return target

    monkeypatch.setitem(globals(), "leaf_of_own", on_array)
    x = tg.tensor(NUMBERS)
    CASES[name](x, tg).backward()
    assert np.allclose(x.grad, complex_gradient(CASES[name], NUMBERS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_users_memory_is_used_where_it_lies(layout):
    array = LAYOUTS[layout](NUMBERS)
    x = tg.asarray(array)
    assert np.shares_memory(x.data, array)
    y = x * x
    x[1] = 5.0
    x[[0], [2]] = 7.0
    assert array[1].tolist() == [5.0] * 4
    assert array[0, 2] == 7.0
    y.backward()
    assert np.array_equal(y.data, NUMBERS**2)
    (x * x).backward()
    assert np.array_equal(x.grad, 2 * array)


# --- leaves ---------------------------------------------------------------------------------------------


def test_a_written_leaf_has_the_gradient_of_what_it_is_now():
    x = tg.tensor([1.0, 2.0, 3.0])
    x[0] = x[1] * x[2]
    (x * x).backward()
    assert x.grad.tolist() == [12.0, 4.0, 6.0]


def test_a_constant_takes_part_once_a_variable_is_written_into_it():
    x, c = tg.tensor([1.0, 2.0]), tg.zeros(3, constant=True)
    c[1:] = x * 2
    (c * c).backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_read_only_arrays_are_not_written_to():
    array = np.ones(3)
    array.flags.writeable = False
    x = tg.asarray(array)
    for write in (lambda: x.__setitem__(0, 2.0), lambda: x.__iadd__(1), lambda: x[1:].__setitem__([0], 2)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert array.tolist() == [1.0] * 3


@pytest.mark.parametrize("key", [..., slice(None), (slice(None), None)], ids=str)
@pytest.mark.parametrize("shown", [False, True], ids=["not shown", "shown"])
def test_a_view_that_is_written_to_itself(key, shown):
    """The written value takes a new slot after the write to its base, and the write goes to that slot."""
    x = tg.tensor([1.0, 2.0, 3.0])
    y = x * 1.0
    view = y[1:, None][:, 0]
    assert not shown or view.data.shape == (2,)
    y[0] = 5.0
    view[key] = view if key in (..., slice(None)) else view[:, None]
    (y * y).backward()
    assert y.data.tolist() == [5.0, 2.0, 3.0]
    assert x.grad.tolist() == [0.0, 4.0, 6.0]


# --- under no_grad --------------------------------------------------------------------------------------


def test_update_of_a_leaf():
    x = tg.tensor([1.0, 2.0])
    for _ in range(3):
        x.null_grad()
        (x * x).backward()
        with tg.no_grad():
            x -= 0.25 * x.grad
    assert x.data.tolist() == [0.125, 0.25]
    assert not x.constant


WRITES = {
    "all": lambda x: x.__setitem__(Ellipsis, 9.0),
    "part": lambda x: x.__setitem__(slice(1), 9.0),
    "rows": lambda x: x.__setitem__([1, 1], 9.0),
    "view": lambda x: x[::-1].__setitem__(0, 9.0),
    "augmented": lambda x: x.__iadd__(1.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_leaf_with_an_older_graph(name):
    """A graph recorded before the write is differentiated as recorded, into the leaf's gradient."""
    x = tg.tensor([1.0, 2.0])
    y = x * x
    with tg.no_grad():
        WRITES[name](x)
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    (x * x).backward()
    assert np.array_equal(x.grad, [2.0, 4.0] + 2 * x.data)


@pytest.mark.parametrize("name", WRITES)
def test_result_with_an_older_graph(name):
    x = tg.tensor([1.0, 2.0])
    h = tg.exp(x)
    y = h * h
    kept = h.data.copy()
    with tg.no_grad():
        WRITES[name](h)
    (y.sum() + (h * h * 0.5).sum()).backward()
    assert np.allclose(x.grad, (2 * kept + h.data) * kept, rtol=1e-15)


def test_views_of_an_updated_leaf():
    x = tg.tensor([1.0, 2.0, 3.0])
    view = x[1:]
    y = (view * view).sum()
    with tg.no_grad():
        view *= 10.0
    assert x.data.tolist() == [1.0, 20.0, 30.0]
    y.backward()
    assert x.grad.tolist() == [0.0, 4.0, 6.0]
    assert np.shares_memory(view.grad, x.grad)
    (view * 2).backward()
    assert x.grad.tolist() == [0.0, 6.0, 8.0]


def test_large_operands_that_overlap():
    """Large enough for several threads, which must not add to one element at once."""
    x = tg.tensor(np.random.default_rng(0).standard_normal((700, 700)))
    for _ in range(3):
        x.null_grad()
        (x * x.T + x[::-1] * x).backward()
        expected = 2 * x.data.T + 2 * x.data[::-1]
        assert np.allclose(x.grad, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("join", [tg.stack, tg.concatenate, tg.vstack])
def test_an_empty_result_can_be_written_to(join):
    """An empty result repeats no element, whatever its strides are."""
    x = tg.zeros((0,))
    y = join([x, x])
    y -= 1.0
    y[...] = 2.0
    assert y.data.flags.writeable


# --- what is kept of old contents ------------------------------------------------------------------------


def large_blocks(column, bytes_):
    """Count the buffers of the tape with at least this number of bytes of their own memory."""
    addresses = EAGER.column(column)[EAGER.column("bytes") == bytes_]
    return len(set(addresses.tolist()) - {0})


def recurrence(x, out, np):
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = np.sin(x[i] * out[i - 1])
    return out


def overwriting(x, out, np):
    """Each step overwrites what the one before has read."""
    out[: len(x)] = x
    for i in range(1, len(x) - 1):
        out[i] = out[i - 1] * out[i + 1]
    return out


def by_rows(x, out, np):
    """Index arrays that name an element twice, over what was read."""
    out[: len(x)] = x
    for i in range(1, len(x) - 1):
        out[[i, i + 1, i]] = np.sin(out[[i + 1, i - 1, i]] * out[i])
    return out


LOOPS = {"recurrence": recurrence, "overwriting": overwriting, "by rows": by_rows}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_writes_copies_what_it_overwrites_and_no_more(name):
    n, steps = 5003, 40
    numbers = np.linspace(0.5, 1.2, steps)
    x, out = tg.tensor(numbers), tg.zeros(n)
    result = np.sum(LOOPS[name](x, out, np)[:steps] * 2.0)
    assert large_blocks("primal", 8 * n) == 1
    result.backward(retain_graph=True)
    assert large_blocks("primal", 8 * n) == 1
    assert large_blocks("cotangent", 8 * n) <= 2  # that of `out`, and that of the zeros it began as
    expected = complex_gradient(lambda x, np: 2 * np.sum(LOOPS[name](x, np_zeros(n), np)[:steps]), numbers)
    assert np.allclose(x.grad, expected, rtol=1e-12, atol=1e-12)
    result.backward(accumulate=False)
    assert np.allclose(x.grad, expected, rtol=1e-12, atol=1e-12)
    del result
    assert EAGER.fields[HISTORIES] == 0


def np_zeros(n):
    return np.zeros(n, complex)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 4, 0, 3, 1)])
@pytest.mark.parametrize("gone", [False, True])
def test_values_read_between_writes_are_differentiated_in_any_order(order, gone):
    """Values stay differentiable with the written array, and after it is released."""
    x = tg.tensor(np.arange(1.0, 6.0))
    y, results = tg.zeros(100), []
    for i in range(5):
        y[i] = x[i] * 2
        results.append(np.sum(y * y))
    if gone:
        del y
    for k in order:
        results[k].backward(retain_graph=True, accumulate=False)
        assert x.grad.tolist() == [8 * v if i <= k else 0.0 for i, v in enumerate(x.data)]


@pytest.mark.parametrize("key", [slice(3, 5), slice(None, None, 7), [3, 4], 5])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_elements_of_every_size_are_kept_whole(dtype, key):
    """A write to few elements of a large array keeps these alone; of complex128 they have 16 bytes."""
    values = np.linspace(0.7, 1.9, 200).astype(dtype)
    x, expected = tg.tensor(values * (1 - 0.3j if dtype[0] == "c" else 1)), np.ones(200, dtype)
    expected[key] = 2 * x.data[key].conj()
    w = x * 1.0
    w[key] = w[key] * w[key]
    loss = np.sum(w.real)
    along = tg.jvp(lambda x: _squared_at(x * 1.0, key), (x.data,), (x.data,))[1]
    loss.backward()
    np.testing.assert_allclose(x.grad, expected, rtol=1e-6)
    np.testing.assert_allclose(along, x.data * expected.conj(), rtol=1e-6)


def _squared_at(w, key):
    w[key] = w[key] * w[key]
    return w


def test_a_result_that_is_kept_does_not_make_writes_keep_more_and_more():
    y = tg.ones(200)
    kept = np.sum(y[:100] * y[:100])
    for i in range(2000):
        y[i % 200] = 3.0
    assert EAGER.fields[HISTORIES] == 0
    assert large_blocks("primal", 1600) == 2
    del kept
    assert large_blocks("primal", 1600) == 1


def test_old_contents_are_read_by_second_derivatives_and_tangents():
    def f(x):
        return np.sum(overwriting(x, tg.zeros(300), np)[:8] ** 2)

    def slope(at):
        return complex_gradient(lambda x, np: np.sum(overwriting(x, np_zeros(300), np)[:8] ** 2), at)

    at, direction = np.linspace(0.6, 1.3, 8), np.cos(np.arange(8.0))
    assert np.allclose(tg.grad(f)(at), slope(at), rtol=1e-12)
    assert tg.jvp(f, (at,), (direction,))[1] == pytest.approx(slope(at) @ direction, rel=1e-12)
    difference = (slope(at + 1e-6 * direction) - slope(at - 1e-6 * direction)) / 2e-6
    assert np.allclose(tg.hvp(f)(at, direction), difference, rtol=1e-7)


def _region(x):
    w = np.copy(x[2:8])
    w[1:3] = x[:2] * w[0]
    return w**2


def _rows(x):
    w = np.copy(x[2:8])
    w[[1, 4]] = 0.0
    return w * x[0]


def _parts_of_complex_numbers(x):
    w = np.copy((x * (1.0 + 0.5j))[2:8])
    w.imag[1:3] = x[:2]
    return w.real * w.imag


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_of_tangents_that_are_parts_of_others(dtype, rng):
    """The tangent of a written copy is a view of the argument's tangent, in whose memory others lie."""
    x, v, c = rng.uniform(0.5, 1.5, (3, 10)).astype(dtype)
    rtol = 1e-4 if dtype == np.float32 else 1e-9
    offenders = []
    for f in (_region, _rows, _parts_of_complex_numbers):

        def along(x, v, f=f):
            return np.sum(tg.jvp(f, (x,), (v,))[1] * c[:6])

        def along_by_numpy(x, v, f=f):
            return sum(k * np.sum(f(x + s * 0.1 * v) * c[:6]) for s, k in DIFFERENCES) / 0.1

        for a, way in itertools.product((0, 1), (tg.grad, tg.jacobian, lambda g, a: tg.jit(tg.grad(g, a)))):
            expected = [
                sum(k * along_by_numpy(*np.add([x, v], s * 0.1 * np.eye(20)[10 * a + i].reshape(2, 10)))
                    for s, k in DIFFERENCES) / 0.1
                for i in range(10)
            ]  # fmt: skip
            found = way(along, a)(x, v)
            if found.dtype != dtype or not np.allclose(found, expected, rtol=rtol):
                offenders.append(f"{f.__name__} by argument {a}: {found} for {expected}")
    assert not offenders, "\n".join(offenders)


def test_hooks_and_custom_vjps_see_old_contents():
    seen = []
    x = tg.tensor(np.linspace(0.5, 1.0, 50))
    y = x * 1.0
    z = y[:3] * y[1:4]
    y.register_hook(lambda g: seen.append(g.copy()))
    y[1] = 9.0
    y[2] = z[0] * z[1]
    np.sum(y[:3] * z).backward()
    a = x.data
    expected = complex_gradient(lambda x, np: hooked(x), a)
    assert np.allclose(x.grad, expected, rtol=1e-12)
    assert len(seen) == 1


def hooked(x):
    y = x * 1.0
    z = y[:3] * y[1:4]
    y[1] = 9.0
    y[2] = z[0] * z[1]
    return np.sum(y[:3] * z)


# --- which elements ------------------------------------------------------------------------------------


def test_an_element_that_a_target_shows_twice_is_written_last():
    """Overlapping windows that are writeable: NumPy writes one after the other."""
    x, y = tg.tensor([1.0, 2.0, 3.0, 4.0]), tg.zeros(3)
    windows = view_of(y, np.lib.stride_tricks.as_strided(y.data, (2, 2), (8, 8)))
    windows[...] = np.reshape(x, (2, 2))
    assert y.data.tolist() == [1.0, 3.0, 4.0]
    np.sum(y * y).backward()
    assert x.grad.tolist() == [2.0, 0.0, 6.0, 8.0]


def test_a_part_written_to_itself_is_no_write():
    x = tg.tensor([1.0, 2.0])
    y = x * x
    y[0] += 1.0
    before = len(EAGER)
    y[1:] = y[1:]
    y[...] = y
    assert len(EAGER) == before
    np.sum(y).backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("key", [5, -4, (1, 1), slice(None, None, 0), [3], 1 << 70, ((0, 1),) * 2, "a", 1.5])
def test_refused_keys_write_nothing(key):
    y, array = tg.ones(3) * 1.0, np.ones(3)
    with pytest.raises((IndexError, ValueError, TypeError, OverflowError)) as refused:
        array[key] = 2.0
    with pytest.raises(refused.type):
        y[key] = 2.0
    assert y.data.tolist() == [1.0] * 3


@pytest.mark.parametrize("shape", [(2,), (3, 1), (2, 3)])
def test_values_that_do_not_broadcast_name_both_shapes(shape):
    y = tg.ones(3) * 1.0
    with pytest.raises(ValueError, match=r"setitem: a value of shape .* does not broadcast to .* \(3,\)"):
        y[:] = tg.ones(shape)


KEYS_OF_A_VECTOR = {
    "numbers": np.array([1, 4, 0]),
    "one number": np.array([2]),
    "one of them twice": np.array([3, 1, 3]),
    "from the end": np.array([-1, 0, -2]),
    "narrow numbers": np.array([1, 4], np.int32),
    "every other number": np.array([0, 9, 2, 9, 4, 9])[::2],
    "a mask": np.array([True, False, True, True, False]),
    "a mask of nothing": np.zeros(5, bool),
    "no numbers": np.zeros(0, np.int64),
}
VECTORS = {
    "a vector": lambda x: x * 1.0,
    "a view": lambda x: np.concatenate([x, x])[2:7],
    "every other element": lambda x: np.concatenate([x, x])[::2],
}


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("key", KEYS_OF_A_VECTOR)
def test_listed_elements_of_a_vector(key, vector):
    """Several writes to one element: the last one counts, and only it has a gradient."""
    numbers, weights, start = KEYS_OF_A_VECTOR[key], np.arange(1.0, 6.0), np.linspace(0.5, 1.5, 5)
    count = np.arange(5)[numbers].size
    for value in (np.linspace(5.0, 6.0, count), 7.0, 2, np.float64(3.0), np.array([4.0])):
        x, v = tg.tensor(start), tg.tensor(value) if isinstance(value, np.ndarray) else value
        written, expected = VECTORS[vector](x), VECTORS[vector](start).copy()
        written[numbers] = v
        expected[numbers] = value
        assert np.array_equal(written.data, expected)
        if isinstance(value, np.ndarray) and count:
            owner = np.full(5, -1)
            owner[numbers] = np.arange(count) if value.size == count else 0
            tg.sum(written * weights).backward()
            assert np.array_equal(v.grad, [weights[owner == k].sum() for k in range(value.size)])


@pytest.mark.parametrize("grad", [True, False])
def test_listed_elements_of_a_vector_from_others_of_its_own(grad):
    for key, source in (([1, 2, 0], slice(0, 3)), ([4, 3, 2, 1, 0], slice(None))):
        written, expected = tg.tensor(np.arange(5.0), constant=not grad) * 1.0, np.arange(5.0)
        written[np.array(key)] = written[source]
        expected[np.array(key)] = expected[source]
        assert np.array_equal(written.data, expected)


@pytest.mark.parametrize(
    "key",
    [
        np.array([2, 0, 2]),
        np.array([-1, 1]),
        (np.array([0, 2]), np.array([3, 3])),
        (slice(None), np.array([1, -1])),
        (np.array([[0], [2]]), np.array([0, 2])),
        (1, np.array([0, 3, 3])),
        np.arange(12).reshape(3, 4) % 3 == 0,
        [0, 2],
    ],
    ids=str,
)
def test_listed_elements_of_a_matrix(key):
    start, weights = np.linspace(0.5, 1.5, 12).reshape(3, 4), np.arange(1.0, 13.0).reshape(3, 4)
    given = np.linspace(5.0, 6.0, start[key].size).reshape(start[key].shape)
    for value in (given, given[..., ::-1], 7.0):
        x, v = tg.tensor(start), tg.tensor(value) if isinstance(value, np.ndarray) else value
        written, expected, owner = x * 1.0, start.copy(), np.full((3, 4), -1)
        written[key] = v
        expected[key] = value
        assert np.array_equal(written.data, expected)
        owner[key] = np.arange(given.size).reshape(given.shape)
        tg.sum(written * weights).backward()
        assert np.array_equal(x.grad, np.where(owner < 0, weights, 0.0))
        if isinstance(value, np.ndarray):
            sums = [weights[owner == k].sum() for k in range(given.size)]
            assert np.array_equal(v.grad.reshape(-1), sums)


def test_listed_elements_that_there_are_none_of():
    written = tg.tensor(np.arange(5.0)) * 1.0
    for key, value in (([5], 1.0), ([-6], 1.0), ([0, 1], tg.tensor(np.ones(3))), ([0, 1], np.ones((2, 2)))):
        with pytest.raises((IndexError, ValueError)):
            written[np.array(key)] = value
    assert np.array_equal(written.data, np.arange(5.0))


# --- numbers, which do not change ----------------------------------------------------------------------------------

POINTS = np.array([1.0, 2.0, 3.0])
PARTS = {
    "element": lambda x: x[0],
    "by an integer of NumPy's": lambda x: x[np.int64(1)],
    "from the end": lambda x: x[-1],
    "of a matrix": lambda x: np.outer(x, x)[1, 2],
    "of a row": lambda x: np.outer(x, x)[1][2],
    "of a loop": lambda x: list(x)[1],
    "product": lambda x: 0.5 * x[0],
    "sum": np.sum,
    "largest": lambda x: x.max(),
    "dot": lambda x: x @ x,
    "by an ellipsis": lambda x: x[0, ...],
    "reshaped": lambda x: x[:1].reshape(()),
    "squeezed": lambda x: x[:1].squeeze(),
    "row": lambda x: np.outer(x, x)[1],
}
UPDATES = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.ifloordiv, operator.imod
]  # fmt: skip
OTHERS = {
    "number": lambda x: 2.0,
    "integer": lambda x: 3,
    "element": lambda x: x[1],
    "vector": lambda x: POINTS,
}


def _updated(part, update, other):
    """A loss of what is updated, of what it was taken from, and of a second name for it."""

    def loss(p):
        x = p * 1.0
        before = a = PARTS[part](x)
        a = update(a, OTHERS[other](x))
        return np.sum(a * 1.0) + np.sum(x * POINTS) + np.sum(before * 2.0)

    return loss


@daily(every=2)
@pytest.mark.parametrize("part", PARTS)
def test_in_place_operators_change_arrays_and_no_numbers(part):
    """NumPy's scalars stay: ``a = x[0]; a += v`` binds another value to `a`, which may be a vector, and leaves `x`."""
    offenders = []
    for update, other in itertools.product(UPDATES, OTHERS):
        loss, name = _updated(part, update, other), f"{update.__name__} {other}"
        try:
            expected = loss(POINTS)
        except ValueError:
            with pytest.raises(ValueError, match="does not fit"):
                loss(tg.tensor(POINTS))
            continue
        by_step = None  # not of complex numbers
        if update not in (operator.ifloordiv, operator.imod) and part != "largest":
            by_step = [loss(POINTS + 1e-30j * d).imag * 1e30 for d in np.eye(3)]
        for found in (loss(tg.tensor(POINTS)).data, tg.jit(loss)(POINTS)):
            if not np.allclose(found, expected, rtol=1e-14):
                offenders.append(f"{name}: {found} for {expected}")
        for gradient in (tg.grad(loss)(POINTS), tg.grad(tg.jit(loss))(POINTS)):
            if by_step is not None and not np.allclose(gradient, by_step, rtol=1e-12):
                offenders.append(f"{name}: {gradient} for {by_step}")
    assert not offenders


def test_created_and_written_arrays_of_no_dimensions_change():
    """0-d arrays change in place, as NumPy's ``array(1.0)`` does, for each function that creates them."""
    written = tg.sum(tg.ones(3))
    written[...] = 1.0
    for a in (tg.tensor(1.0), tg.ones(()), tg.array(1.0).copy(), tg.tensor([2.0, 1.0])[1, ...], written):
        other = a
        a += 1.0
        a *= 2.0
        assert other is a
        assert float(a.data) == 4.0
        with pytest.raises(ValueError, match="does not fit"):
            a += POINTS
    counts = tg.array([1, 2])
    count = counts[0]
    count += 1
    assert counts.data.tolist() == [1, 2]
