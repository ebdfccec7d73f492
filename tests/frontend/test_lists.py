"""Lists and nested lists with Tensors in them are arrays: of their shape and dtype, with gradients to each Tensor."""

import operator
import re

import numpy as np
import pytest

import tapegrad as tg

ROW = np.array([0.5, 1.5])
# Nested lists of a number t, a row x and numbers around them.
NESTS = {
    "one": lambda t, x: [t],
    "a number": lambda t, x: [t, 1.0, np.float32(2)],
    "numbers before and behind": lambda t, x: [1.0, 2, True, t, 3.0, 4.0],
    "a matrix": lambda t, x: [[t, -t * t], [2.0, t]],
    "a tuple of lists": lambda t, x: ([t, 0], (0, t)),
    "three levels": lambda t, x: [[[t, 1.0], [2.0, t]], [[3.0, 4.0], [t, t]]],
    "rows": lambda t, x: [x, 2 * x, ROW],
    "rows as lists": lambda t, x: [x, [t, 3.0], [ROW[0], t]],
    "a row reversed": lambda t, x: [x[::-1], [1, 2]],
    "elements": lambda t, x: [x[1], x[0], x[1]],
    "matrices": lambda t, x: [[x], [[t, t]]],
    "a matrix in Fortran order": lambda t, x: [tg.array([x, x + t]).T, [[t, 1.0], [2.0, 3.0]]],
    "of one element": lambda t, x: [x[:1], [t], np.ones(1)],
    "empty rows": lambda t, x: [x[:0], []],
}


def numbers(nest):
    """Return the nested list with numbers in place of Tensors."""
    if isinstance(nest, list | tuple):
        return [numbers(each) for each in nest]
    return nest.data_or_traced() if isinstance(nest, tg.Tensor) else nest


@pytest.fixture(params=NESTS)
def nest(request):
    return NESTS[request.param]


def test_values_shape_and_dtype_are_those_of_numpy(nest):
    t, x = tg.tensor(2.0), tg.tensor(ROW)
    found, wanted = tg.array(nest(t, x)), np.array(numbers(nest(t, x)))
    np.testing.assert_array_equal(found.data, wanted, strict=True)
    assert found.base is None
    assert found.data.flags.c_contiguous


def test_derivatives_of_first_and_second_order_reach_each_tensor(nest):
    def weighted(t, x):
        y = tg.array(nest(t, x))
        return tg.sum(y * y * np.arange(1.0, y.size + 1).reshape(y.shape))

    point = (1.3, ROW + 0.25)
    tg.check_grads(weighted, point, order=2)
    tg.check_grads(tg.jit(weighted), point, order=2)


def test_a_replay_takes_new_values(nest):
    replayed = tg.jit(lambda t, x: tg.array(nest(t, x)) * 1.0)
    for t in (1.0, 2.0):
        np.testing.assert_array_equal(replayed(t, ROW * t), np.array(numbers(nest(t, ROW * t)), float))


def test_a_replay_reads_arrays_in_a_list_again():
    table = np.array([1.0, 2.0])
    replayed = tg.jit(lambda x: tg.array([x, table]))
    replayed(ROW)
    table[0] = 5.0
    assert replayed(ROW).tolist() == [ROW.tolist(), [5.0, 2.0]]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([np.float32(1), np.float32(2)], "float32"),
        ([np.float32(1), 1.0], "float64"),
        ([np.float32(1), 1], "float64"),
        ([np.float32(1), np.int8(1)], "float32"),
        ([np.float32(1), np.float64(1)], "float64"),
        ([1.0, np.int64(2), True], "float64"),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_the_dtype_is_that_of_the_values(values, dtype, transform):
    assert np.array(values).dtype == dtype
    made = transform(lambda first: tg.array([first, *values[1:]]))(tg.tensor(values[0]))
    assert made.dtype == dtype
    assert tg.array([tg.tensor(values[0]), *values[1:]], dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("values", [[1, 2], [[1], [2]], [True, False], [np.int8(1), 2]])
def test_lists_of_integers_and_booleans_are_constants(values):
    made = tg.array([tg.tensor(values[0]), *values[1:]])
    np.testing.assert_array_equal(made.data, np.array(values), strict=True)
    assert made.constant


@pytest.mark.parametrize("ragged", [lambda t, x: [x, t], lambda t, x: [[x], x], lambda t, x: [x, [1, 2, 3]]])
@pytest.mark.parametrize("function", [tg.array, tg.sin, tg.sum, tg.asarray, tg.tensor, tg.reshape])
def test_ragged_lists_are_refused_as_numpy_does(ragged, function):
    arguments = [(1,)] if function is tg.reshape else []
    with pytest.raises(ValueError, match=r": .* inhomogeneous shape"):
        function(ragged(tg.tensor(1.0), tg.tensor(ROW)), *arguments)


@pytest.mark.parametrize("many", [lambda t: (each for each in (t, t)), lambda t: {"t": t}.values()])
def test_what_goes_through_tensors_one_by_one_is_to_be_a_list(many):
    with pytest.raises(TypeError, match=r"list\(x\)"):
        tg.sum(many(tg.tensor(1.0)))


@pytest.mark.parametrize("other", ["text", None, {}])
def test_what_is_no_number_is_refused(other):
    with pytest.raises(TypeError, match=r"array: dtype .* is not supported"):
        tg.array([tg.tensor(1.0), other])


USES = {
    "sum": (lambda t, u: tg.sum([t, u]), lambda t, u: t + u),
    "max of rows": (lambda t, u: tg.max([[t, 0.0], [0.5, u]], axis=1)[1], lambda t, u: u),
    "sin": (lambda t, u: tg.sin([t, u])[1], lambda t, u: np.sin(u)),
    "power": (lambda t, u: tg.power([t, u], 2)[0], lambda t, u: t**2),
    "where": (lambda t, u: tg.where([True, False], [t, t], [u, u])[1], lambda t, u: u),
    "clip": (lambda t, u: tg.clip([t, u], 0.0, 100.0)[1], lambda t, u: u),
    "matmul": (lambda t, u: tg.matmul([[t, u], [u, t]], [1.0, 2.0])[0], lambda t, u: t + 2 * u),
    "dot": (lambda t, u: tg.dot([t, u], [u, t]), lambda t, u: 2 * t * u),
    "reshape": (lambda t, u: tg.reshape([t, u], (2, 1))[1, 0], lambda t, u: u),
    "stack": (lambda t, u: tg.stack([t, u])[1], lambda t, u: u),
    "stack of lists": (lambda t, u: tg.stack([[t, u], [1.0, 2.0]])[0, 1], lambda t, u: u),
    "concatenate": (lambda t, u: tg.concatenate([[t], [u, 1.0]])[1], lambda t, u: u),
    "left operand": (lambda t, u: ([t, u] * tg.tensor(ROW))[1], lambda t, u: ROW[1] * u),
    "right operand": (lambda t, u: (tg.tensor(ROW) - [t, u])[1], lambda t, u: ROW[1] - u),
    "of an array": (lambda t, u: tg.sum(np.float64(2) * tg.array([t, u])), lambda t, u: 2 * (t + u)),
    "matrix product": (lambda t, u: tg.tensor(ROW) @ [t, u], lambda t, u: ROW @ np.stack([t, u])),
    "asarray": (lambda t, u: tg.asarray([t, u])[1], lambda t, u: u),
    "tensor": (lambda t, u: tg.tensor([t, u])[1], lambda t, u: u),
    "over axes": (lambda t, u: tg.apply_over_axes(tg.sum, [[t, u], [u, t]], [-1])[0, 0], lambda t, u: t + u),
    "ndmin": (lambda t, u: tg.array([t, u], ndmin=3)[0, 0, 1], lambda t, u: u),
}  # fmt: skip


@pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("use", USES)
def test_functions_and_operators_take_lists(use, transform):
    function, of_numbers = USES[use]
    t, u = 1.25, 0.75
    value, gradients = tg.value_and_grad(transform(function), argnums=(0, 1))(t, u)
    assert value == pytest.approx(of_numbers(t, u), rel=1e-14)
    h = 1e-6
    wanted = (
        (of_numbers(t + h, u) - of_numbers(t - h, u)) / (2 * h),
        (of_numbers(t, u + h) - of_numbers(t, u - h)) / (2 * h),
    )
    assert gradients == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_custom_ops_take_lists(transform):
    op = tg.custom_op("squared", lambda x: x * x, vjp=lambda y_bar, y, x: 2 * y_bar * x)
    gradient = tg.grad(transform(lambda t, u: tg.sum(op([t, u]) * [1.0, 2.0])), (0, 1))
    assert gradient(1.0, 3.0) == (2.0, 12.0)


@pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_lists_are_written_into_a_tensor(transform):
    def written(t, u):
        y = tg.zeros((2, 2))
        y[0] = [t, u]
        y[:, 1] = (u, 3.0)
        return tg.sum(y * [[1.0, 2.0], [3.0, 4.0]])

    assert tg.grad(transform(written), argnums=(0, 1))(5.0, 7.0) == (1.0, 2.0)


def test_whether_the_result_is_a_constant():
    t, c = tg.tensor(1.0), tg.tensor(2.0, constant=True)
    assert not tg.array([t, c]).constant
    assert tg.array([c, 1.0]).constant
    assert tg.array([t, c], constant=True).constant
    assert not tg.array([c, 1.0], constant=False).constant
    assert not tg.tensor([c, 1.0]).constant  # a leaf, as of numbers
    assert tg.tensor([t, c], constant=True).constant
    with tg.no_grad():
        assert tg.array([t, 1.0]).constant
    with pytest.raises(ValueError, match="always constant"):
        tg.array([tg.tensor(1), 2], constant=False)


def test_an_array_of_one_tensor_is_a_copy_in_its_graph():
    x = tg.tensor(ROW)
    y = tg.array(x)
    y[0] = 9.0
    assert x[0].item() == ROW[0]
    tg.sum(y * y).backward()
    assert x.grad.tolist() == [0.0, 2 * ROW[1]]
    assert tg.array(x, copy=None) is x
    assert tg.array(x, ndmin=2).shape == (1, 2)


def test_a_list_has_to_be_copied():
    with pytest.raises(ValueError, match="copy=False"):
        tg.array([tg.tensor(1.0)], copy=False)


def test_a_list_of_nested_views_sees_the_contents_of_now():
    x = tg.tensor(ROW)
    y = x * 1.0
    row = y[:1]
    y[0] = 4.0
    made = tg.array([row, y[1:]])
    assert made.tolist() == [[4.0], [1.5]]


WAYS_IN = {
    "np.array": lambda t, x: np.array([t, 1.0]),
    "np.array with a dtype": lambda t, x: np.array([t, 1.0], dtype=float),
    "np.array of rows": lambda t, x: np.array([x, x]),
    "np.array of nested lists": lambda t, x: np.array([[t, 1.0], [2.0, t]]),
    "np.asarray": lambda t, x: np.asarray([t]),
    "np.sum": lambda t, x: np.sum([t, t]),
    "np.sum of rows": lambda t, x: np.sum([x, x]),
    "np.linalg.norm": lambda t, x: np.linalg.norm([t, t]),
    "np.sin": lambda t, x: np.sin([t, t]),
    "np.add to an array": lambda t, x: np.add(ROW, [t, t]),
    "np.mean": lambda t, x: np.mean((t, 2.0)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("transform", [None, tg.grad, tg.jit], ids=["eager", "grad", "jit"])
def test_where_numpy_gives_no_way_in_the_error_names_the_way(way, transform):
    def function(t):
        return WAYS_IN[way](t, tg.stack([t, t]))

    name = way.split()[0].replace("np.", "tapegrad.")
    with pytest.raises(TypeError, match=f"{re.escape(name)} takes Tensors, and lists of them"):
        function(tg.tensor(1.0)) if transform is None else transform(function)(1.0)


NESTED = {
    "scalars": lambda x, a: [a(x[0]), a(x[1]), a(x[0])],
    "a matrix": lambda x, a: [[a(x[0]), -a(x[1])], (a(x[1]), a(x[0]))],
    "numbers of either sign and of zero": lambda x, a: [[a(x[0]), 0.0, -0.0], [1, a(x[1]), 2.5]],
    "vectors": lambda x, a: [[a(x), a(x) * 2]],
    "three lists": lambda x, a: [[[a(x[0])]], [[a(x[1])]]],
    "lists of other lengths": lambda x, a: [[a(x[0]), 1.0], [a(x[1])]],
    "a number beside a list": lambda x, a: [[a(x[0])], 1.0],
    "a vector beside a number": lambda x, a: [a(x), 1.0],
    "other shapes": lambda x, a: [a(x), a(x[:1])],
    "as many elements in other shapes": lambda x, a: [a(x), a(x)[:, None]],
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_lists_of_computed_tensors(name):
    """Nested lists go to the engine, or to NumPy, which refuses some."""
    values = np.array([0.5, 2.0])
    x = tg.tensor(values)
    try:
        expected = np.array(NESTED[name](values, lambda v: v * 2.0))
    except ValueError:
        with pytest.raises(ValueError, match="inhomogeneous"):
            tg.array(NESTED[name](x, lambda v: v * 2.0))
        return
    found = tg.array(NESTED[name](x, lambda v: v * 2.0))
    assert found.base is None
    np.testing.assert_array_equal(found.data, expected)
    np.testing.assert_array_equal(np.signbit(found.data), np.signbit(expected))
    weights = np.arange(1.0, expected.size + 1).reshape(expected.shape)
    tg.sum(found * weights).backward()
    step = 0.25
    for k in range(2):
        moved = values.copy()
        moved[k] += step
        rise = np.array(NESTED[name](moved, lambda v: v * 2.0)) - expected
        assert x.grad[k] == pytest.approx(np.sum(rise * weights) / step)


def test_comparisons_take_lists_of_tensors() -> None:
    t = tg.tensor([0.5, 2.0])
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt):
        expected = compare(t.data, np.array([t.data[1], 2.0]))
        np.testing.assert_array_equal(compare(t, [t[1], 2.0]), expected)
        np.testing.assert_array_equal(
            tg.jit(lambda x, compare=compare: compare(x, [x[1], 2.0]))(t.data), expected
        )


@pytest.mark.parametrize(
    ("make", "copies"),
    [
        (lambda p: [p[0], p[1]], 2),
        (lambda p: [1.5, p[0], 2], 3),
        (lambda p: [1.5, 2, p[0], 2.5], 3),  # numbers side by side are one array
        (lambda p: [[1.0, p[0]], [2, p[1]]], 4),
        (lambda p: [p, p[::-1]], 2),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lists_in_recordings(make, copies, dtype):
    """They are joined by one call, as lists of eager Tensors are."""
    given = np.array([0.5, 3.0], dtype)
    f = tg.jit(lambda p: tg.array(make(p)) * 1)
    expected = np.array(make(given))
    for x in (given, given + 1):
        found = f(x)
        np.testing.assert_array_equal(found, np.array(make(x)))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if dtype == np.float64:
        assert f.tape(given).text.count("positive(") == copies
    np.testing.assert_array_equal(tg.jacobian(f)(given), tg.jacobian(lambda p: tg.array(make(p)) * 1)(given))
