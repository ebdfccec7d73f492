"""Views that the engine makes from integers are NumPy's: the same elements in the same places, and the same errors."""

import itertools

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.engine.tape import views
from tapegrad.frontend.recording.shape import _by_engine
from tapegrad.frontend.tensor.tensor import view_of

_LAYOUTS = {
    "0-d": lambda a: a.reshape(-1)[7:8].reshape(()),
    "1-d": lambda a: a.reshape(-1),
    "2-d": lambda a: a[0],
    "3-d": lambda a: a,
    "columns": lambda a: a.T,
    "steps": lambda a: a[::-1, :, ::2],
    "repeated": lambda a: np.broadcast_to(a[:, :1], (3, 2, 3, 4)),
    "empty": lambda a: a[:, :0],
}
_LIMITS = (None, 0, 1, 2, -1, -2, 9, -9, 2**62, -(2**62))
_STEPS = (None, 1, 2, -1, -3, 7, 2**62, -(2**63))
_SLICES = [slice(*limits) for limits in itertools.product(_LIMITS, _LIMITS, _STEPS)]
_PARTS = (
    0,
    -1,
    1,
    2,
    -3,
    5,
    np.int64(1),
    None,
    ...,
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(2, 0, -1),
)


def _tensors(layout):
    """An array in a layout, and the Tensor on it, a view of a computed one."""
    x = tg.tensor(np.arange(24.0).reshape(2, 3, 4)) * 1.0
    array = _LAYOUTS[layout](x.data)
    return array, view_of(x, array)


def _check_alike(function, array, x):
    """Check that both give the same view, or errors of the same class."""
    try:
        expected = function(array)
    except Exception as error:
        with pytest.raises(type(error)):
            function(x)
        return
    found = function(x)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.data, expected)
    if expected.size > 1:
        stepped = [k for k, extent in enumerate(expected.shape) if extent > 1]
        assert [found.data.strides[k] for k in stepped] == [expected.strides[k] for k in stepped]


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_slices(layout):
    array, x = _tensors(layout)
    for part in _SLICES:
        _check_alike(lambda a, part=part: a[part], array, x)


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_keys_of_several_parts(layout):
    array, x = _tensors(layout)
    rng = np.random.default_rng(3)
    for count in (0, 1, 2, 3, 4, 5):
        for _ in range(40 if count else 1):
            key = tuple(_PARTS[k] for k in rng.integers(len(_PARTS), size=count))
            _check_alike(lambda a, key=key: a[(*key, ...)] if ... not in key else a[key], array, x)


_FUNCTIONS = {
    "transpose": [
        (np.transpose, ()),
        *((np.transpose, (axes,)) for axes in ((0, 2, 1), [1, 0], (0, -1), (0, 0, 1), (), (0,))),
    ],
    "swapaxes": [(np.swapaxes, axes) for axes in itertools.product((0, 1, -1, 2, 5, -4), repeat=2)],
    "moveaxis": [(np.moveaxis, axes) for axes in itertools.product((0, 1, -1, -3, 3), repeat=2)],
    "expand_dims": [
        (np.expand_dims, (axis,)) for axis in (0, 1, -1, 3, -4, 7, (0, 1), (0, -1), (0, 0), (), (2, 5))
    ],
    "squeeze": [(np.squeeze, (axis,)) for axis in (None, 0, -1, (0,), (0, 1), (), 9, (0, 0))],
    "broadcast_to": [
        (np.broadcast_to, (shape,))
        for shape in (
            4,
            (3, 4),
            (2, 3, 4),
            (5, 2, 3, 4),
            (2, 3, 1),
            (),
            (1, -4),
            (0,),
            (2**40, 2**40),
            (2, 3, 3, 4),
            (7, 1),
        )
    ],
    "reshape": [
        (np.reshape, (shape,))
        for shape in (
            -1,
            24,
            (6, 4),
            (2, -1),
            (-1, 1, 1, 3),
            (-1, -1),
            (5, -1),
            (0, -1),
            (),
            (2**62, 2**62),
            (24, 0),
        )
    ],
}


@grouped("name")
@pytest.mark.parametrize("name", _FUNCTIONS)
@pytest.mark.parametrize("layout", [name for name in _LAYOUTS if name != "repeated"])
def test_functions(name, layout):
    array, x = _tensors(layout)
    single, y = array[None], x[None]
    for function, arguments in _FUNCTIONS[name]:
        _check_alike(lambda a, f=function, more=arguments: f(a, *more), array, x)
        _check_alike(lambda a, f=function, more=arguments: f(a, *more), single, y)


@pytest.mark.parametrize(
    "said", [(1.0,), ("2",), (None,), (2**70,), [1], {1}, "12", 1.5, None, np.array([1])], ids=repr
)
def test_the_engine_takes_tuples_of_integers(said):
    x = tg.tensor([[1.0, 2.0]]) * 1.0
    for view in (views.view_shape, views.view_broadcast, views.view_permuted, views.view_expanded):
        assert _by_engine(x, view, said) is None


def test_gradients_flow_through_all_of_them():
    x = tg.tensor(np.arange(24.0).reshape(2, 3, 4))
    y = x * 1.0
    parts = [
        y[1, :, ::-2], y[..., None, 0], y.T[2, 1:], np.swapaxes(y, 0, 2)[3], np.moveaxis(y, 1, 0)[0],
        np.expand_dims(y, 1)[:, 0, 2], np.squeeze(y[:1])[1], np.broadcast_to(y[0, 0], (5, 4)), y.reshape(4, 3, 2)[3, 2],
    ]  # fmt: skip
    tg.sum(tg.concatenate([part.ravel() * (k + 1.0) for k, part in enumerate(parts)])).backward()
    expected = np.zeros((2, 3, 4))
    expected[1, :, ::-2] += 1
    expected[..., 0] += 2
    expected.T[2, 1:] += 3
    np.swapaxes(expected, 0, 2)[3] += 4
    expected[:, 0] += 5
    expected[:, 2] += 6
    expected[0, 1] += 7
    expected[0, 0] += 8 * 5
    expected.reshape(-1)[22:] += 9
    np.testing.assert_array_equal(x.grad, expected)


def test_what_repeats_elements_is_not_written_to():
    for y in (
        tg.broadcast_to(tg.tensor([1.0, 2.0]) * 1.0, (3, 2)),
        tg.broadcast_to(tg.tensor(1.0) * 1.0, (2, 2, 2)),
    ):
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 5.0
