"""Functions of shape: which results share memory, where results are written, what is refused, and `flat`."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped

MATRIX = np.arange(1.0, 7.0).reshape(2, 3)


def plain(value):
    return value.data if isinstance(value, tg.Tensor) else np.asarray(value)


# --- memory ----------------------------------------------------------------------------------------------------

VIEWS = {
    "flip": lambda xp, x: xp.flip(x),
    "fliplr": lambda xp, x: xp.fliplr(x),
    "flipud": lambda xp, x: xp.flipud(x),
    "rot90": lambda xp, x: xp.rot90(x),
    "rot90 by no angle": lambda xp, x: xp.rot90(x, 0),
    "rollaxis": lambda xp, x: xp.rollaxis(x, 1),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "mT": lambda xp, x: x.mT,
    "atleast_3d": lambda xp, x: xp.atleast_3d(x),
    "split": lambda xp, x: xp.split(x, 3, axis=1)[1],
    "array_split": lambda xp, x: xp.array_split(x, 2, axis=1)[0],
    "hsplit": lambda xp, x: xp.hsplit(x, 3)[2],
    "vsplit": lambda xp, x: xp.vsplit(x, 2)[1],
    "unstack": lambda xp, x: xp.unstack(x, axis=1)[2],
    "trim_zeros": lambda xp, x: xp.trim_zeros(x),
    "view": lambda xp, x: x.view(),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], sparse=True, copy=False)[0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_pass_on_writes_with_their_gradient(name):
    if name == "unstack" and not hasattr(np, "unstack"):
        pytest.skip("NumPy has no unstack() yet")
    view = VIEWS[name]
    array = MATRIX.copy()
    view(np, array)[...] = -1.0
    x = tg.tensor(MATRIX)
    shown = x * 1.0
    seen = view(tg, shown)
    assert seen.base is shown
    seen[...] = -1.0
    np.testing.assert_array_equal(shown.data, array)
    tg.sum(shown * MATRIX).backward()
    np.testing.assert_array_equal(x.grad, np.where(array == -1.0, 0.0, MATRIX))


@pytest.mark.parametrize("name", VIEWS)
def test_the_gradient_of_a_view_is_that_view_of_the_gradient(name):
    x = tg.tensor(MATRIX)
    seen = VIEWS[name](tg, x)
    tg.sum(x * x).backward()
    if name != "trim_zeros" and not (name == "unstack" and not hasattr(np, "unstack")):
        np.testing.assert_array_equal(seen.grad, VIEWS[name](np, 2 * MATRIX))


@pytest.mark.parametrize(
    "show",
    [
        lambda x: tg.diagonal(x),
        lambda x: tg.diag(x),
        lambda x: x.diagonal(1),
        lambda x: tg.broadcast_arrays(x, np.zeros((3, 3)))[0],
    ],
)
def test_views_that_numpy_lets_nobody_write_to(show):
    seen = show(tg.tensor(MATRIX[:1] if show.__code__.co_names[0] == "tg" else MATRIX))
    with pytest.raises(ValueError, match="read-only"):
        seen[...] = 0.0


COPIES = {
    "tile": lambda x: tg.tile(x, 1),
    "repeat": lambda x: tg.repeat(x, 1, axis=0),
    "roll": lambda x: tg.roll(x, 0, axis=0),
    "roll of all": lambda x: tg.roll(x, 6),
    "resize": lambda x: tg.resize(x, (2, 3)),
    "pad": lambda x: tg.pad(x, 0, "edge"),
    "pad with numbers": lambda x: tg.pad(x, 0, constant_values=1.0),
    "tril": lambda x: tg.tril(x, 5),
    "concatenate": lambda x: tg.concatenate([x]),
    "hstack": lambda x: tg.hstack([x]),
    "block": lambda x: tg.block(x),
    "meshgrid": lambda x: tg.meshgrid(x[0])[0],
    "append": lambda x: tg.append(x, tg.zeros((0, 3)), 0),
    "flat": lambda x: x.flat[:],
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_have_memory_of_their_own(name):
    x = tg.tensor(MATRIX)
    copied = COPIES[name](x)
    assert not np.shares_memory(copied.data, x.data)
    copied[...] = 0.0
    np.testing.assert_array_equal(x.data, MATRIX)


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "axes permuted": lambda x: x.transpose(1, 0, 2),
    "backwards": lambda x: x[::-1],
    "gaps": lambda x: x.transpose(2, 0, 1)[::-1, :, ::2],
    "one row": lambda x: x[:, :1],
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_elements_are_read_in_any_order(name, order):
    lay, cube, x = (
        LAYOUTS[name],
        np.arange(24.0).reshape(2, 3, 4),
        tg.tensor(np.arange(24.0).reshape(2, 3, 4)),
    )
    for read in (lambda a: a.ravel(order), lambda a: a.flatten(order), lambda a: np.ravel(a, order=order)):
        np.testing.assert_array_equal(read(lay(x)).data, read(lay(cube)))
    tg.sum(lay(x).ravel(order) ** 2).backward()
    np.testing.assert_array_equal(x.grad, np.where(np.isin(cube, lay(cube)), 2 * cube, 0.0))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_copies_are_made_in_the_order_that_is_asked_for(name, order):
    x = LAYOUTS[name](tg.tensor(np.arange(24.0).reshape(2, 3, 4)))
    for copied in (x.copy(order), x.astype("f4", order), x.astype(float, order), tg.array(x, order=order)):
        assert copied.data.flags[order]
        assert not np.shares_memory(copied.data, x.data)
        np.testing.assert_array_equal(copied.data, x.data)
    same = tg.asarray(x, order=order)
    assert (same is x) == bool(x.data.flags[order])
    with pytest.raises(ValueError, match="'C', 'F', 'A' and 'K'"):
        x.copy("R")


# --- integers and booleans -------------------------------------------------------------------------------------

OF_INTEGERS = {
    "concatenate": lambda xp, x: xp.concatenate([x, x]),
    "with a list": lambda xp, x: xp.concatenate([x, [[7, 8, 9]]]),
    "stack": lambda xp, x: xp.stack([x, x], axis=1),
    "hstack": lambda xp, x: xp.hstack([x, x]),
    "tile": lambda xp, x: xp.tile(x, 2),
    "repeat": lambda xp, x: xp.repeat(x, [1, 2, 0], axis=1),
    "roll": lambda xp, x: xp.roll(x, 1, axis=1),
    "flip": lambda xp, x: xp.flip(x),
    "diag": lambda xp, x: xp.diag(x[0]),
    "diagonal": lambda xp, x: xp.diagonal(x),
    "tril": lambda xp, x: xp.tril(x),
    "pad": lambda xp, x: xp.pad(x, 1),
    "pad with numbers": lambda xp, x: xp.pad(x, 1, constant_values=5),
    "pad at the edge": lambda xp, x: xp.pad(x, ((1, 0), (0, 2)), "edge"),
    "pad with means": lambda xp, x: xp.pad(x, 1, "mean"),
    "pad by reflection": lambda xp, x: xp.pad(x, ((0, 0), (1, 1)), "reflect", reflect_type="odd"),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[1])[1],
    "resize": lambda xp, x: xp.resize(x, (2, 5)),
    "split": lambda xp, x: xp.split(x, 3, axis=1)[1],
    "block": lambda xp, x: xp.block([[x], [x]]),
    "mixed with floats": lambda xp, x: xp.concatenate([x, x * 0.5]),
}


@grouped("name")
@pytest.mark.parametrize("dtype", ["int64", "bool", "int16"])
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_and_booleans_are_constants_of_numpys_dtype(name, dtype):
    call, array = OF_INTEGERS[name], (MATRIX % 2).astype(dtype)
    try:
        expected = call(np, array)
    except TypeError:
        pytest.skip("NumPy does not do it of booleans")
    for found in (call(tg, tg.tensor(array)), call(tg, array), tg.jit(lambda x: call(tg, x))(array)):
        np.testing.assert_array_equal(plain(found), expected, strict=True)
    assert call(tg, tg.tensor(array)).constant


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize(
    "name",
    [
        "concatenate",
        "with a list",
        "stack",
        "hstack",
        "tile",
        "repeat",
        "roll",
        "flip",
        "resize",
        "block",
        "diag",
        "diagonal",
        "pad",
        "pad with numbers",
        "pad at the edge",
        "meshgrid",
    ],
)
def test_one_recording_serves_other_integers(name, dtype):
    recorded = []

    def function(x):
        recorded.append(1)
        return OF_INTEGERS[name](tg, x)

    replayed = tg.jit(function)
    for array in (MATRIX % 2, MATRIX % 3, MATRIX):
        given = array.astype(dtype)
        np.testing.assert_array_equal(replayed(given), OF_INTEGERS[name](np, given), strict=True)
    assert len(recorded) == 1


# --- arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [tg.stack, tg.concatenate, np.stack, np.concatenate],
    ids=lambda function: f"{function.__module__.partition('.')[0]}.{function.__name__}",
)
def test_joined_into_out_with_the_gradient(function):
    def joined(x, y):
        out = tg.zeros((2, 3) if "stack" in function.__name__ else (6,))
        assert function([x, y], out=out) is out
        return tg.sum(out * out)

    for transform in (lambda f: f, tg.jit):
        gradients = tg.grad(transform(joined), (0, 1))(MATRIX[0], MATRIX[1])
        np.testing.assert_array_equal(gradients, 2 * MATRIX)


def test_joined_in_a_dtype():
    x = tg.tensor(MATRIX)
    for made in (
        tg.concatenate([x, x], dtype=np.float32),
        tg.stack([x], dtype="f4"),
        tg.vstack([x], dtype="f4"),
    ):
        assert made.dtype == np.float32
    assert tg.concatenate([tg.tensor([1]), x[0]]).dtype == np.float64
    with pytest.raises(TypeError, match="cannot convert"):
        tg.hstack([x], dtype=np.int64)
    with pytest.raises(TypeError, match="'out' or 'dtype'"):
        tg.concatenate([x], out=tg.zeros((2, 3)), dtype=float)


def test_a_triangle_at_a_diagonal_that_is_a_tensor_is_guarded():
    replayed = tg.jit(lambda x, k: tg.tril(x, k) + tg.triu(x, k))
    for k in (0, 1, 0):
        np.testing.assert_array_equal(replayed(MATRIX, np.array(k)), np.tril(MATRIX, k) + np.triu(MATRIX, k))


def test_counts_that_are_tensors_are_guarded():
    recorded = []

    def function(x, counts):
        recorded.append(1)
        return tg.repeat(x, counts)

    replayed = tg.jit(function)
    for counts in ([1, 2, 0], [1, 2, 0], [2, 2, 2]):
        np.testing.assert_array_equal(replayed(MATRIX[0], np.array(counts)), np.repeat(MATRIX[0], counts))
    assert len(recorded) == 2


def test_trimmed_zeros_are_guarded_by_their_place():
    recorded = []

    def function(x):
        recorded.append(1)
        return tg.trim_zeros(x) * 2.0

    replayed = tg.jit(function)
    for x in ([0.0, 1, 2, 0], [0.0, 3, 4, 0], [1.0, 0, 0, 0]):
        np.testing.assert_array_equal(replayed(np.array(x)), 2.0 * np.trim_zeros(np.array(x)))
    assert len(recorded) == 2


@pytest.mark.parametrize("trim", ["f", "b", "fb"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, -1)])
def test_zeros_are_trimmed_from_a_box(trim, axis):
    box = np.zeros((4, 5))
    box[1:3, 2:4] = [[1.0, 0.0], [0.0, 2.0]]
    found = tg.trim_zeros(tg.tensor(box), trim, axis)
    np.testing.assert_array_equal(
        found.data, trimmed(box, trim, (0, 1) if axis is None else np.ravel(axis) % 2)
    )


def trimmed(box, trim, axes):
    key = [slice(None), slice(None)]
    for axis in axes:
        begin, end = ((1, 3), (2, 4))[axis]
        key[axis] = slice(begin if "f" in trim else None, end if "b" in trim else None)
    return box[tuple(key)]


ERRORS = {
    "flip of no axis": (np.exceptions.AxisError, lambda xp, x: xp.flip(x, 2)),
    "fliplr of a vector": (ValueError, lambda xp, x: xp.fliplr(x[0])),
    "flipud of a number": (ValueError, lambda xp, x: xp.flipud(x[0, 0])),
    "rot90 of a vector": (ValueError, lambda xp, x: xp.rot90(x[0])),
    "rot90 of one axis": (ValueError, lambda xp, x: xp.rot90(x, axes=(0, 0))),
    "matrix_transpose of a vector": (ValueError, lambda xp, x: xp.matrix_transpose(x[0])),
    "mT of a vector": (ValueError, lambda xp, x: x[0].mT),
    "broadcast_arrays": (ValueError, lambda xp, x: xp.broadcast_arrays(x, x.T)),
    "unequal split": (ValueError, lambda xp, x: xp.split(x, 2, axis=1)),
    "hsplit of a number": (ValueError, lambda xp, x: xp.hsplit(x[0, 0], 1)),
    "dsplit of a matrix": (ValueError, lambda xp, x: xp.dsplit(x, 1)),
    "no sections": (ValueError, lambda xp, x: xp.array_split(x, 0)),
    "diagonal of a vector": (ValueError, lambda xp, x: xp.diagonal(x[0])),
    "diagonal of one axis": (ValueError, lambda xp, x: xp.diagonal(x, 0, 1, 1)),
    "diag of a cube": (ValueError, lambda xp, x: xp.diag(x[None])),
    "resize to less than nothing": (ValueError, lambda xp, x: xp.resize(x, (2, -1))),
    "repeat by less than nothing": (ValueError, lambda xp, x: xp.repeat(x, -1)),
    "repeat by wrong counts": (ValueError, lambda xp, x: xp.repeat(x, [1, 2], axis=1)),
    "repeat along no axis": (np.exceptions.AxisError, lambda xp, x: xp.repeat(x, 2, axis=2)),
    "tile by less than nothing": (ValueError, lambda xp, x: xp.tile(x, -1)),
    "roll along no axis": (np.exceptions.AxisError, lambda xp, x: xp.roll(x, 1, axis=2)),
    "tile by parts": (TypeError, lambda xp, x: xp.tile(x, 1.5)),
    "triangle at half a place": (TypeError, lambda xp, x: xp.diag(x[0], 0.5)),
    "roll by too many": (ValueError, lambda xp, x: xp.roll(x, (1, 2, 3), axis=(0, 1))),
    "concatenate nothing": (ValueError, lambda xp, x: xp.concatenate([])),
    "concatenate numbers": (ValueError, lambda xp, x: xp.concatenate([x[0, 0], x[0, 1]])),
    "concatenate a generator": (TypeError, lambda xp, x: xp.concatenate(row for row in x)),
    "stack a generator": (TypeError, lambda xp, x: xp.hstack(row for row in x)),
    "stack of shapes": (ValueError, lambda xp, x: xp.stack([x, x[0]])),
    "vstack of shapes": (ValueError, lambda xp, x: xp.vstack([x, x[0, :2]])),
    "append along an axis": (ValueError, lambda xp, x: xp.append(x, x[0], axis=0)),
    "block of a tuple": (TypeError, lambda xp, x: xp.block((x, x))),
    "block of an empty list": (ValueError, lambda xp, x: xp.block([[x], []])),
    "block of depths": (ValueError, lambda xp, x: xp.block([[x], x])),
    "meshgrid": (ValueError, lambda xp, x: xp.meshgrid(x[0], indexing="yx")),
    "pad by less than nothing": (ValueError, lambda xp, x: xp.pad(x, -1)),
    "pad by parts": (TypeError, lambda xp, x: xp.pad(x, 0.5)),
    "pad by three": (ValueError, lambda xp, x: xp.pad(x, (1, 2, 3))),
    "pad by a mode": (ValueError, lambda xp, x: xp.pad(x, 1, "mirror")),
    "pad with an argument": (ValueError, lambda xp, x: xp.pad(x, 1, "edge", constant_values=1)),
    "pad of nothing": (ValueError, lambda xp, x: xp.pad(x[:, :0], 1, "edge")),
    "pad with statistics of nothing": (ValueError, lambda xp, x: xp.pad(x, 1, "maximum", stat_length=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_what_numpy_refuses_is_refused(name):
    error, call = ERRORS[name]
    if hasattr(np, "matrix_transpose"):
        with pytest.raises((ValueError, TypeError)):
            call(np, MATRIX.copy())
    for transform in (lambda f: f, tg.jit):
        with pytest.raises(error):
            transform(lambda x: call(tg, x))(tg.tensor(MATRIX))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: tg.pad(x, 1, "median"), "numpy.pad: mode='median'"),
        (lambda x: tg.pad(x, 1, lambda *args: None), "concatenate"),
        (lambda x: x.resize(3), r"tapegrad\.pad"),
        (lambda x: x.view(np.int64), "astype"),
        (lambda x: x.view(type=np.ndarray), r"\.data"),
    ],
)
def test_what_is_not_supported_says_what_to_write(call, said):
    with pytest.raises(tg.UnsupportedError, match=said):
        call(tg.tensor(MATRIX))


# --- flat --------------------------------------------------------------------------------------------------------

WRITES = {
    "all": lambda x, v: x.flat.__setitem__(..., v[0]),
    "by assignment": lambda x, v: setattr(x, "flat", v),
    "one": lambda x, v: x.flat.__setitem__(4, v[1]),
    "a diagonal": lambda x, v: x.flat.__setitem__(slice(None, None, 4), v[0]),
    "by numbers": lambda x, v: x.flat.__setitem__([1, 5], v),
    "again and again": lambda x, v: x.flat.__setitem__(slice(1, 6), v),
    "nothing": lambda x, v: x.flat.__setitem__(..., v[:0]),
    "the first of them": lambda x, v: x.flat.__setitem__(slice(0, 1), v),
}


@pytest.mark.parametrize("lay", [lambda x: x, lambda x: x.T, lambda x: x[:, ::-1]], ids=["C", "F", "back"])
@pytest.mark.parametrize("write", WRITES)
def test_elements_are_written_through_flat(write, lay):
    array, values = MATRIX.copy(), np.array([10.0, 20.0])
    WRITES[write](lay(array), values)

    def written(x, v):
        shown = x * 1.0
        WRITES[write](lay(shown), v)
        return shown

    for transform in (lambda f: f, tg.jit):
        np.testing.assert_array_equal(plain(transform(written)(tg.tensor(MATRIX), tg.tensor(values))), array)
    weights = np.arange(1.0, 7.0).reshape(2, 3)
    gradients = tg.grad(lambda x, v: tg.sum(written(x, v) * weights), (0, 1))(MATRIX, values)
    np.testing.assert_array_equal(gradients[0], np.where(array < 10, weights, 0.0))
    expected = [np.sum(np.where(array == value, weights, 0.0)) for value in values]
    np.testing.assert_array_equal(gradients[1], expected)


def test_elements_are_read_through_flat():
    x = tg.tensor(MATRIX)
    flat = x.T.flat
    wanted = MATRIX.T.ravel()
    assert len(flat) == 6
    assert [each.item() for each in flat] == wanted.tolist()
    assert flat[3].item() == wanted[3]
    np.testing.assert_array_equal(flat[1::2].data, wanted[1::2])
    np.testing.assert_array_equal(flat[[0, -1]].data, wanted[[0, -1]])
    tg.sum(flat.copy() * np.arange(6.0)).backward()
    np.testing.assert_array_equal(x.grad, np.arange(6.0).reshape(3, 2).T)
    constant = tg.tensor(MATRIX, constant=True).flat
    np.testing.assert_array_equal(np.asarray(constant), MATRIX.ravel())


# --- in place: shape and flags -------------------------------------------------------------------------------------

SIX = np.linspace(0.1, 1.0, 6)
OWNERS = {
    "computed": lambda x: x * 1.0,
    "a view": lambda x: (x * 1.0)[:],
    "a part": lambda x: np.append(x, x)[3:9],
}


def in_shapes(owner):
    """A loss of what gets one shape after the other, is written to, and has views from before."""

    def loss(p):
        x = OWNERS[owner](p)
        before, first = x[1:3], np.sum(x * x)
        x.shape = (2, 3)
        x[0] = np.array([5.0, 6.0, 7.0]) * x[1]
        x += 1.0
        second = np.sum(x * np.arange(6.0).reshape(2, 3)) + np.sum(before)
        x.shape = -1
        x[::2] *= 3.0
        x.shape = (3, -1)
        return first + second + np.sum(x.T @ x) + np.sum(before * before)

    return loss


@pytest.mark.parametrize("owner", OWNERS)
def test_a_shape_is_set_in_place(owner):
    loss = in_shapes(owner)
    expected = [loss(SIX + 1e-30j * d).imag * 1e30 for d in np.eye(6)]
    for transform in (lambda f: f, tg.jit):
        np.testing.assert_allclose(plain(transform(loss)(tg.tensor(SIX))), loss(SIX), rtol=1e-14)
        np.testing.assert_allclose(tg.grad(transform(loss))(SIX), expected, rtol=1e-12)


def test_the_gradient_of_a_leaf_has_its_shape():
    x = tg.tensor(np.arange(6.0))
    x.register_hook(lambda g: 2 * g)
    (x * x).backward()
    x.shape = (2, 3)
    assert x.base is None
    np.testing.assert_array_equal(x.grad, 4 * np.arange(6.0).reshape(2, 3))
    (x * x).backward()
    np.testing.assert_array_equal(x.grad, 8 * np.arange(6.0).reshape(2, 3))
    counts = tg.array([1, 2, 3, 4])
    counts.shape = (2, -1)
    np.testing.assert_array_equal(counts.data, [[1, 2], [3, 4]])


@pytest.mark.parametrize("shape", [4, (5, -1), "a", (2, 3, 0), (-1, -1)])
def test_shapes_that_do_not_fit_change_nothing(shape):
    for x in (tg.tensor(np.arange(6.0)), tg.arange(6), np.arange(6.0)):
        with pytest.raises((ValueError, TypeError)):
            x.shape = shape
        assert x.shape == (6,)
    for x in (tg.tensor(MATRIX).T, MATRIX.T):
        with pytest.raises(AttributeError, match="reshape"):
            x.shape = -1


def test_a_tensor_from_outside_keeps_its_shape_while_recording():
    outside = tg.tensor(np.arange(6.0))

    def f(x):
        outside.shape = (2, 3)
        return x * 2

    with pytest.raises(RuntimeError, match=r"t = t.reshape\(shape\)"):
        tg.jit(f)(1.0)
    assert outside.shape == (6,)


@pytest.mark.parametrize("make", [tg.tensor, lambda a: tg.tensor(a) * 1, lambda a: tg.tensor(a.astype(int))])
def test_what_is_read_only_is_not_written_to_by_any_view(make):
    """Views from before may be written to, as NumPy's."""
    x, array = make(np.arange(6.0)), np.arange(6.0)
    for each in (x, array):
        before = each[4:]
        each.setflags(write=False)
        assert not each.flags.writeable
        for part in (each, each[1:], each[1:][1:], each.reshape(2, 3), each[2, ...]):
            for write in (lambda part=part: part.fill(9), lambda part=part: part.__setitem__(..., 9)):
                with pytest.raises(ValueError, match="read-only"):
                    write()
        before[0] = 7
        each.setflags(write=True)
        each[0] = 5
    np.testing.assert_array_equal(x.data, array)


# --- dimensions that are not there ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, -1, 1, -2, None])
@pytest.mark.parametrize("repeats", [3, [3], 0, [2, 1]])
def test_what_has_no_dimensions_is_repeated_as_a_vector_of_one(axis, repeats):
    array = np.array(2.0)
    try:
        expected = np.repeat(array, repeats, axis)
    except ValueError as error:
        for function in (tg.repeat, tg.jit(lambda x, r, a: tg.repeat(x, r, a))):
            with pytest.raises(type(error)):
                function(tg.tensor(2.0), repeats, axis)
        return
    for x in (tg.tensor(array), tg.array(2)):
        np.testing.assert_array_equal(plain(np.repeat(x, repeats, axis)), expected)
    f = lambda x: tg.sum(x.repeat(repeats, axis) * 2.0)  # noqa: E731
    assert [tg.grad(f)(2.0), tg.grad(tg.jit(f))(2.0)] == [2.0 * expected.size] * 2
