"""Keys of every kind, each against NumPy: values, shapes, views or copies, writes, gradients, and errors."""

import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from helpers.daily import examples


class Labels:
    """Object with ``__array__``, as an index of pandas has."""

    def __init__(self, *labels):
        self._labels = np.array(labels)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._labels, dtype)


class Number:
    """Object with ``__index__``."""

    def __init__(self, number):
        self._number = number

    def __index__(self):
        return self._number


class Run(Sequence):
    """A sequence that is no list."""

    def __init__(self, *numbers):
        self._numbers = numbers

    def __len__(self):
        return len(self._numbers)

    def __getitem__(self, k):
        return self._numbers[k]


class Pair(tuple):
    """A tuple of a class of its own."""


ROWS, COLUMN = np.array([[True, False, True, False]] * 3), np.array([True, False, True])
KEYS = {
    "number": 1,
    "negative number": -2,
    "numbers": (1, -1),
    "NumPy's numbers": (np.int64(1), np.uint8(2)),
    "slice": slice(1, None),
    "slices": np.s_[::-1, 1:3],
    "slice by NumPy's numbers": slice(np.int64(0), np.array(2), np.int8(1)),
    "slice by numbers of others": slice(Number(1), Number(3)),
    "slices with long steps": np.s_[::100, 3::-50],
    "empty slice": np.s_[2:1],
    "ellipsis": ...,
    "ellipsis and a number": (..., 1),
    "ellipsis that stands for nothing": (1, ..., 2),
    "nothing": (),
    "new axis": None,
    "new axes": (None, 1, None, ..., None),
    "number of another": Number(1),
    "numbers of others": (Number(-1), slice(None)),
    "array of no dimension": np.asarray(1),
    "arrays of no dimension": (np.asarray(1), np.asarray(-1, np.int8)),
    "array of no dimension and a slice": (np.asarray(1), slice(1, 3)),
    "array of no dimension and a number": (np.asarray(1), 2),
    "array of no dimension and a new axis": (None, np.asarray(1)),
    "list": [2, 0],
    "list with repetitions": [1, 1, -2],
    "list of lists": [[0, 1], [2, 0]],
    "list of Python's truths": [True, False, True],
    "empty list": [],
    "empty list of lists": [[]],
    "lists": ([0, 2], [1, 3]),
    "lists that broadcast": ([[0], [2]], [1, 3]),
    "list of NumPy's numbers": [np.int32(0), np.int64(2)],
    "list of arrays": [np.array(0), np.array(2)],
    "tuple inside": (slice(None), (0,)),
    "tuple before a slice": ((0, 1), slice(None)),
    "tuple after an ellipsis": (..., (0,)),
    "tuple in a tuple": ((0, 1),),
    "tuples": ((0, 1), (2, 3)),
    "tuples of tuples": (((0, 1), (1, 2)),),
    "empty tuple inside": ((),),
    "tuple of truths": ((True, False, True),),
    "tuple and a number": ((0, 2), 1),
    "tuple and a new axis": ((0, 2), None, 1),
    "tuple of numbers of others": ((Number(0), Number(2)),),
    "tuple of another class": Pair((1, 2)),
    "tuple of another class inside": (slice(None), Pair((1, 2))),
    "range": range(2),
    "ranges": (range(2), range(1, 3)),
    "range backwards": (slice(None), range(3, -1, -2)),
    "empty range": range(0),
    "array": np.array([0, 2]),
    "small integers": np.array([2, 0], np.uint8),
    "array of the other byte order": np.array([2, 0], ">i4"),
    "array with strides": np.arange(4)[::2],
    "empty array of integers": np.array([], int),
    "array of two dimensions": (np.array([[0, 1], [2, 2]]), 1),
    "arrays around a slice": (np.array([0, 1]), slice(None), np.array([1])),
    "array, slice, number": (np.array([0, 1]), slice(1, 3)),
    "array that says itself": Labels(2, 0),
    "array that says itself, of truths": Labels(True, False, True),
    "array that says itself, and a slice": (slice(None), Labels(1, 3)),
    "sequence": Run(1, 2),
    "memory": memoryview(np.array([0, 2])),
    "mask": ROWS,
    "mask of rows": COLUMN,
    "mask of columns": (slice(None), ROWS[0]),
    "masks": (COLUMN, [True, False, False, True]),
    "mask and numbers": (COLUMN, [1, 3]),
    "mask and a number": (COLUMN, 1),
    "mask and a new axis": (COLUMN, None),
    "mask of nothing": np.zeros((3, 4), bool),
    "true": True,
    "false": False,
    "NumPy's true": np.True_,
    "true of no dimension": np.array(True),
    "truths and numbers": (True, 1),
    "truths and new axes": (True, None, False, ...),
    "truth, slice, list": (True, slice(1, None), [0, 1]),
    # errors
    "beyond the end": 3,
    "beyond the beginning": -4,
    "beyond the end in a list": [0, 3],
    "beyond the end in a tuple": (slice(None), (4,)),
    "beyond any number": 2**70,
    "beyond any number in a list": [2**70],
    "beyond any number in a tuple": (slice(None), (-(2**63),)),
    "too many": (0, 0, 0),
    "too many lists": ([0], [0], [0]),
    "two ellipses": (..., ...),
    "float": 1.0,
    "NumPy's float": np.float64(1),
    "floats": [0.0, 1.0],
    "array of floats": np.array([0.0]),
    "empty array of floats": np.array([]),
    "tuple of floats": (slice(None), (0.5,)),
    "text": "a",
    "list of text": ["a", "b"],
    "object": object(),
    "complex": 1j,
    "mask of another length": np.array([True, False]),
    "mask of too many": np.ones((3, 4, 1), bool),
    "lists that do not broadcast": ([0, 1], [0, 1, 2]),
    "ragged list": [[0], [1, 2]],
    "list with a slice": [slice(0, 1)],
    "slice by a float": slice(0.5, None),
    "step of zero": np.s_[::0],
}
ARRAY = np.arange(12.0).reshape(3, 4) + 0.5
LAYOUTS = {
    "contiguous": lambda a: a.copy(),
    "transposed": lambda a: a.T.copy().T,
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
}


def outcome(function, *args):
    """Return the result of a function, or the type of the exception that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return type(error)


def agree(found, expected):
    """Check that both raised the same exception, or returned the same numbers in the same shape."""
    if isinstance(found, type) or isinstance(expected, type):
        assert found is expected
    else:
        assert found.shape == np.shape(expected)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def numbered(shape):
    return 1.0 + np.arange(np.prod(shape, dtype=int)).reshape(shape)


def check_read(array, key):
    """Values, shapes, views or copies, and the gradient: numbers sent back to where the elements came from."""
    x = tg.tensor(array)
    taken, expected = outcome(lambda: x[key]), outcome(lambda: array[key])
    if isinstance(taken, type):
        agree(taken, expected)
        return
    agree(taken.data, np.asarray(expected))
    is_view = isinstance(expected, np.ndarray) and np.shares_memory(expected, array) and expected.size > 0
    if expected.size and expected.shape:
        assert np.shares_memory(taken.data, x.data) == is_view
        assert (taken.base is x) == is_view
    back = np.zeros_like(array)
    np.add.at(back, key, numbered(expected.shape))
    tg.sum(taken * numbered(expected.shape)).backward()
    agree(x.grad, back)


def check_write(array, key, value):
    """A write by NumPy's rules, and its gradients by what was there and by what is written."""

    def written(into):
        into[key] = value
        return into

    expected, x = outcome(written, array.copy()), tg.tensor(array)
    found = outcome(written, x * 1.0 if array.dtype.kind == "f" else tg.tensor(array))
    agree(found.data if isinstance(found, tg.Tensor) else found, expected)
    if isinstance(expected, type) or array.dtype.kind != "f":
        return
    tg.sum(found * numbered(array.shape)).backward()
    kept = np.ones_like(array)
    kept[key] = 0
    agree(x.grad, kept * numbered(array.shape).astype(array.dtype))


def check_recorded(array, key, value):
    """Reading and writing in a recording, with numbers that are not those it was recorded with."""

    def read_and_written(x):
        y = x * 2
        y[key] = value * x[-1, -1] if y.dtype.kind == "f" else value
        return tg.sum(y * numbered(y.shape)) + tg.sum(x[key] * 3)

    def oracle(x):
        y = x * 2
        y[key] = value * x[-1, -1] if y.dtype.kind == "f" else value
        return np.sum(y * numbered(y.shape)) + np.sum(x[key] * 3)

    if isinstance(outcome(oracle, array), type):
        return
    f = tg.jit(read_and_written)
    for numbers in (array, array + 1):
        assert np.isclose(f(numbers), oracle(numbers), rtol=1e-14)
    if array.dtype.kind == "f":
        assert np.allclose(tg.grad(f)(array), tg.grad(read_and_written)(array), rtol=1e-14)


@pytest.mark.parametrize("name", KEYS)
def test_read(name):
    for layout in LAYOUTS.values():
        check_read(layout(ARRAY), KEYS[name])
    for shape in [(), (3,), (0,), (3, 0), (3, 4, 2)]:
        check_read(np.array(numbered(shape)), KEYS[name])


@pytest.mark.parametrize("name", KEYS)
def test_read_of_constants(name):
    for dtype in ("i8", "i4", "u1", "?"):
        array = ARRAY.astype(dtype)
        x = tg.tensor(array)
        found, expected = outcome(lambda x=x: x[KEYS[name]]), outcome(lambda array=array: array[KEYS[name]])
        agree(found if isinstance(found, type) else found.data, expected)


@pytest.mark.parametrize("name", KEYS)
def test_write(name):
    for dtype in ("f8", "f4", "i8", "i4", "u1", "?"):
        check_write(ARRAY.astype(dtype), KEYS[name], 7)


@pytest.mark.parametrize("name", KEYS)
def test_recorded(name):
    for array in (ARRAY, ARRAY.astype("f4"), ARRAY.astype(int)):
        check_recorded(array, KEYS[name], 7)


@pytest.mark.parametrize(
    "key",
    [
        lambda make: make(1),
        lambda make: make([2, 0]),
        lambda make: make([[1], [2]]),
        lambda make: (slice(None), make([1, 3])),
        lambda make: (make([0, 1]), make([1, 3])),
        lambda make: (make(1), slice(1, 3)),
        lambda make: slice(make(1), None),
        lambda make: make([True, False, True]),
        lambda make: make([1]),
        lambda make: [make(0), make(2)],
        lambda make: make(np.zeros(0, int)),
        lambda make: make([5]),
        lambda make: make([0.5]),
        lambda make: make(np.ones((1, 1), int)),
    ],
)
def test_tensors_as_keys(key):
    """A Tensor of integers or booleans names what its array names."""
    x, ours, theirs = tg.tensor(ARRAY), key(tg.tensor), key(np.asarray)
    found, expected = outcome(lambda: x[ours].data), outcome(lambda: ARRAY[theirs])
    agree(found, expected)

    def written(into, key):
        into[key] = 9.0
        return into

    found, expected = outcome(written, x, ours), outcome(written, ARRAY.copy(), theirs)
    agree(found if isinstance(found, type) else found.data, expected)


@pytest.mark.parametrize("number", [1, True, [1], [True], [[1]], [1, 2], 1.0, np.uint8(2)], ids=repr)
def test_tensors_as_keys_of_others(number):
    """Lists and arrays accept a Tensor as a key like an array."""
    for target in ([5, 6, 7], ARRAY):
        ours, theirs = tg.tensor(number), np.asarray(number)
        found = outcome(lambda target=target, key=ours: np.asarray(target[key]))
        if theirs.dtype.kind == "f" and target is ARRAY:
            assert issubclass(found, IndexError | TypeError)
        else:
            agree(found, outcome(lambda target=target, key=theirs: np.asarray(target[key])))


def test_a_key_of_floats_says_so():
    with pytest.raises(IndexError, match="integer"):
        tg.tensor(ARRAY)[tg.tensor([0.0, 1.0])]


def test_an_element_is_no_view():
    """NumPy copies where an array names a single element, and so the gradient is not the base's."""
    x = tg.tensor(ARRAY)
    assert x[np.asarray(1)].base is None
    assert x[1].base is x


def test_arrays_inside_keys_may_change():
    """The function is recorded anew if the contents of any part of a key change."""
    number, rows, truths = np.array(1), np.array([0, 2]), np.array([True, False, True])
    keys = [lambda: slice(number), lambda: [number, 2], lambda: (rows, (1, number)), lambda: truths]
    recorded = [tg.jit(lambda x, key=key: tg.sum(x[key()] ** 2)) for key in keys]
    for _ in range(2):
        for f, key in zip(recorded, keys, strict=True):
            assert f(ARRAY) == np.sum(ARRAY[key()] ** 2)
        number[...], rows[0], truths[1] = 2, 1, True


# --- keys by chance ----------------------------------------------------------------------------------------------

NUMBERS = st.integers(-4, 4)
LISTS = st.lists(st.integers(-3, 2), max_size=3)
ARRAYS = st.one_of(LISTS, st.lists(LISTS, max_size=2), st.lists(st.booleans(), min_size=1, max_size=4))
SLICES = st.slices(4)
PARTS = st.one_of(
    NUMBERS,
    NUMBERS.map(np.int32),
    NUMBERS.map(np.asarray),
    NUMBERS.map(Number),
    SLICES,
    st.none(),
    st.just(...),
    st.booleans(),
    st.booleans().map(np.array),
    ARRAYS,
    LISTS.map(tuple),
    LISTS.map(lambda numbers: Labels(*numbers)),
    LISTS.map(lambda numbers: np.array(numbers, int)),
    st.builds(range, st.integers(0, 3)),
    st.lists(st.booleans(), min_size=12, max_size=12).map(lambda truths: np.array(truths).reshape(3, 4)),
)
CHANCE = st.one_of(PARTS, st.lists(PARTS, max_size=4).map(tuple))


@examples(300)
@given(CHANCE)
def test_keys_by_chance(key):
    check_read(ARRAY, key)
    check_write(ARRAY, key, 7)
    check_write(ROWS, key, False)


@examples(60)
@given(CHANCE)
def test_recorded_keys_by_chance(key):
    check_recorded(ARRAY, key, 7)
