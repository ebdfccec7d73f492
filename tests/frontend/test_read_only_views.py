"""A view is read-only exactly where NumPy's is, and so are views of it."""

import numpy as np
import pytest
from numpy.lib import stride_tricks

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

_SHAPE = (3, 3, 2)


def _frozen(array):
    array.flags.writeable = False
    return array


# Of each function of a namespace and an array, what it makes.
MAKERS = {
    "itself": lambda m, x: x,
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, *x.shape)),
    "broadcast_to its own shape": lambda m, x: m.broadcast_to(x, x.shape),
    "broadcast_to no element": lambda m, x: m.broadcast_to(x[:, :0], (2, 3, 0, 2)),
    "broadcast_to by key": lambda m, x: m.broadcast_to(x[:, None, :1], (3, 2, 4, 2)),
    "diagonal": lambda m, x: m.diagonal(x, 1),
    "diagonal method": lambda m, x: x.diagonal(0, 1, 0),
    "diag": lambda m, x: m.diag(x[0]),
    "linalg.diagonal": lambda m, x: np.linalg.diagonal(x),
    "sliding_window_view": lambda m, x: stride_tricks.sliding_window_view(x, 2, axis=0),
    "slice": lambda m, x: x[1:],
    "row": lambda m, x: x[1],
    "key": lambda m, x: x[..., None, ::-1],
    "elements": lambda m, x: x[[0, 1]],
    "transposed": lambda m, x: x.T,
    "transpose": lambda m, x: m.transpose(x, (1, 0, 2)),
    "matrix_transpose": lambda m, x: m.matrix_transpose(x),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, 2),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, 1),
    "moveaxis of several": lambda m, x: m.moveaxis(x, (0, 1), (1, 2)),
    "rollaxis": lambda m, x: m.rollaxis(x, 1),
    "expand_dims": lambda m, x: m.expand_dims(x, 1),
    "squeeze": lambda m, x: m.squeeze(x[:, :1]),
    "reshape": lambda m, x: m.reshape(x, (x.shape[0], -1)),
    "ravel": lambda m, x: m.ravel(x),
    "flip": lambda m, x: m.flip(x),
    "rot90": lambda m, x: m.rot90(x),
    "atleast_3d": lambda m, x: m.atleast_3d(x[0]),
    "split": lambda m, x: m.split(x, [1], axis=1)[1],
    "array_split": lambda m, x: m.array_split(x, 2)[0],
    "real": lambda m, x: m.real(x),
    "copy": lambda m, x: x.copy(),
    "array": lambda m, x: m.array(x),
}
# What is made of that: a view, or a copy where NumPy makes one.
THEN = {
    "itself": lambda m, y: y,
    "rest": lambda m, y: y[1:],
    "row": lambda m, y: y[0, ...],
    "reversed": lambda m, y: y[::-1],
    "new axis": lambda m, y: y[None],
    "transposed": lambda m, y: y.T,
    "reshaped and transposed": lambda m, y: y.reshape(y.shape[0], -1).T,
    "ravel": lambda m, y: m.ravel(y),
    "swapaxes": lambda m, y: m.swapaxes(y, 0, -1),
    "expand_dims": lambda m, y: m.expand_dims(y, 0),
    "squeeze": lambda m, y: m.squeeze(y),
    "broadcast": lambda m, y: m.broadcast_to(y, (2, *y.shape))[1],
    "rows of rows": lambda m, y: y[0:][..., 0:],
    "copy": lambda m, y: m.array(y),
}
# Tensors, and what is written to before views of views are taken.
SORTS = {
    "leaf": lambda a: tg.tensor(a.copy()),
    "on an array": lambda a: tg.asarray(a.copy()),
    "on a read-only array": lambda a: tg.asarray(_frozen(a.copy())),
    "used": lambda a: _used(tg.asarray(_frozen(a.copy()))),
    "computed": lambda a: tg.tensor(a) * 1.0,
    "float32": lambda a: tg.tensor(a, dtype=np.float32) * 1.0,
    "integers": lambda a: tg.tensor(a.astype(int)),
}


def _used(x):
    _ = x * x
    return x


def _array_like(x):
    """An array that can be written to where the Tensor can."""
    array = x.data.copy()
    array.flags.writeable = x.data.flags.writeable
    return array


def _is_written(view):
    """Return whether a write succeeds; otherwise nothing may be written."""
    before, refusal = _data(view).copy(), ""
    try:
        view[...] = 7
    except ValueError as error:
        refusal = str(error)
    assert refusal in ("", "assignment destination is read-only")
    np.testing.assert_array_equal(_data(view), before if refusal else np.full_like(before, 7))
    return not refusal


def _data(view):
    return view.data if isinstance(view, tg.Tensor) else view


@grouped("maker")
@daily("sort")
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_views_of_views_are_read_only_where_numpys_are(maker, sort):
    make = MAKERS[maker]
    for name, then in THEN.items():
        x = SORTS[sort](np.arange(18.0).reshape(_SHAPE))
        array = _array_like(x)
        expected, found = then(np, make(np, array)), then(tg, make(tg, x))
        assert found.data.flags.writeable == expected.flags.writeable, name
        # Of which no array is made before
        assert _is_written(then(tg, make(tg, x))) == _is_written(expected), name
        np.testing.assert_array_equal(x.data, array)


@pytest.mark.parametrize("maker", MAKERS)
def test_views_after_a_write_to_their_base(maker):
    make = MAKERS[maker]
    x = tg.tensor(np.arange(18.0).reshape(_SHAPE)) * 1.0
    array = x.data.copy()
    views, squares = [make(tg, x), make(np, array)], x * x
    x[0, 0] = 5.0
    array[0, 0] = 5.0
    views[0] = views[0][:]
    assert _is_written(views[0]) == _is_written(views[1][:])
    assert squares.shape == x.shape


def test_broadcast_arrays_are_read_only():
    """NumPy still allows writes, with a warning that it will not."""
    x = tg.tensor(np.ones((2, 3))) * 1.0
    first, _ = tg.broadcast_arrays(x, np.ones((4, 2, 3)))
    for view in (first, first[1:], first[0], first[0, ...].T):
        assert not _is_written(view)


WRITES = {
    "a number": lambda y: y.__setitem__((0,) * y.ndim, 1.0),
    "a Tensor": lambda y: y.__setitem__(slice(1, 2), tg.tensor(1.0)),
    "a mask": lambda y: y.__setitem__(np.ones(y.shape, bool), 1.0),
    "rows": lambda y: y.__setitem__([0], 1.0),
    "in place": lambda y: y.__iadd__(1.0),
    "out": lambda y: np.add(y, 1.0, out=y),
    "where": lambda y: np.multiply(y, 2.0, out=y, where=np.ones(y.shape, bool)),
    "a reduction's out": lambda y: np.sum(np.ones((3, *y.shape)), axis=0, out=y),
    "at": lambda y: np.add.at(y, 0, 1.0),
    "put": lambda y: np.put(y, [0], 1.0),
    "copyto": lambda y: np.copyto(y, 1.0),
    "data": lambda y: setattr(y, "data", np.ones(y.shape)),
}


@pytest.mark.parametrize("recorded", [False, True], ids=["eagerly", "in a recording"])
@pytest.mark.parametrize("write", WRITES)
def test_every_way_to_write_is_refused(write, recorded):
    def function(x):
        y = x * 1.0
        WRITES[write](tg.broadcast_to(y, (2, 3))[1:])
        return y.sum()

    with pytest.raises((ValueError, TypeError)) as error:
        (tg.jit(function) if recorded else function)(tg.tensor([1.0, 2.0, 3.0]))
    if error.type is ValueError and not recorded:
        assert "read-only" in str(error.value)


def test_what_may_be_written_to_again_is():
    array = _frozen(np.ones(3))
    x = tg.asarray(array)
    _ = x * x
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 2.0
    array.flags.writeable = True
    x[0] = 2.0
    x[1:][1] = 3.0
    assert array.tolist() == [2.0, 1.0, 3.0]
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[1:][0] = 4.0
    assert array.tolist() == [2.0, 1.0, 3.0]
