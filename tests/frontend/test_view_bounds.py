"""No view is made whose memory does not lie inside its base's, whatever array it is to be made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tapegrad as tg
from helpers.daily import examples
from helpers.table_loops import grouped
from tapegrad.engine.status import raise_for
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.layout import E_OUTSIDE, F64
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.tensor.modes import EAGER
from tapegrad.frontend.tensor.tensor import view_of

BEYOND = "reaches outside of the memory"


def on_own_memory():
    return tg.tensor(np.arange(6.0))


def on_a_part_of_an_array():
    """The memory around the part belongs to the same array, but not to the Tensor."""
    return tg.asarray(np.arange(18.0)[6:12])


def on_every_second_element():
    return tg.asarray(np.arange(36.0)[12:24:2])


def on_reversed_memory():
    return tg.asarray(np.arange(18.0)[11:5:-1])


def on_a_view():
    return tg.tensor(np.arange(6.0))[1:][::-1]


def after_a_write():
    x = tg.tensor(np.arange(6.0))
    x[0] = tg.sum(x * x)
    return x


BASES = [
    on_own_memory,
    on_a_part_of_an_array,
    on_every_second_element,
    on_reversed_memory,
    on_a_view,
    after_a_write,
]
HUGE = 1 << 58
TRICKS = {
    "one more": lambda a: as_strided(a, (a.size + 6,), (8,)),
    "backwards": lambda a: as_strided(a, (20,), (-8,)),
    "one dimension of two": lambda a: as_strided(a, (2, 4), (-64, 8)),
    "far away": lambda a: as_strided(a, (2,), (HUGE,)),
    "so far that it comes round again": lambda a: as_strided(a, (5,), (1 << 62,)),
    "so many that they come round again": lambda a: as_strided(a, (HUGE, 2), (64, 8)),
    "steps that cancel": lambda a: as_strided(a, (100, 100), (800, -800)),
    "a copy": lambda a: a.copy(),
    "another array": lambda a: np.ones(3),
    "a read-only array": lambda a: np.frombuffer(bytes(48), float),
    "nowhere": lambda a: np.ndarray((2,), float, np.empty(4), 8),
}


@grouped("name")
@pytest.mark.parametrize("make", BASES)
@pytest.mark.parametrize("name", TRICKS)
def test_tricks(name, make):
    x = make()
    x._slot_on(EAGER)
    before = len(EAGER), EAGER.column("refs").sum()
    with pytest.raises(ValueError, match=BEYOND):
        view_of(x, TRICKS[name](x.data))
    assert (len(EAGER), EAGER.column("refs").sum()) == before
    assert slots.offset_in(EAGER.header, x._slot_on(EAGER), id(TRICKS[name](x.data)), F64) == E_OUTSIDE


@pytest.mark.parametrize("make", BASES)
def test_what_lies_inside_is_a_view(make):
    x = make()
    inside = [
        x.data[::-2],
        x.data[2:2],
        x.data[::100],
        x.data[:1][::-100],
        as_strided(x.data, (1, 2, 1), (1 << 62, x.data.strides[0], -(1 << 63))),
        as_strided(x.data, (0, 1 << 40), (1 << 60, 8)),
        x.data[:, None].T,
        np.broadcast_to(x.data, (1 << 40, x.size)),
    ]
    for array in inside:
        view = view_of(x, array)
        assert view.shape == array.shape
        assert np.shares_memory(view.data, x.data) == (array.size > 0)


def test_before_a_tensor_is_on_a_tape():
    """The check is made where the view enters a tape."""
    mask = tg.tensor([True, False, True])
    view = view_of(mask, np.zeros(3, bool))
    with pytest.raises(ValueError, match=BEYOND):
        tg.where(view, tg.ones(3), 0)


def test_in_a_recording():
    def f(x):
        return tg.sum(view_of(x, np.zeros(3)))

    with pytest.raises(ValueError, match=BEYOND):
        tg.jit(f)(np.ones(3))


def test_geometries_in_numbers():
    x = on_own_memory()
    for offset, fields in [(0, [7, 8]), (8, [6, 8]), (-8, [2, 8]), (0, [2, 1 << 62]), (40, [2, 4, -8, -16])]:
        geometry = np.array(fields, np.int64)
        assert (
            slots.view_geometry(EAGER.header, x._slot, offset, id(geometry), DTYPE_CODES[x.dtype])
            == E_OUTSIDE
        )
    assert slots.view_again(EAGER.header, x._slot, tg.ones(5)._slot_on(EAGER)) == E_OUTSIDE


def test_the_error_names_op_and_shape():
    with pytest.raises(ValueError, match=r"^reshape: an array of shape \(3, 4\) reaches outside"):
        raise_for(E_OUTSIDE, "reshape", [(3, 4)])


PAIRS = st.tuples(st.integers(0, 6), st.integers(-5, 5))


@examples(300)
@given(st.integers(0, 11), st.lists(PAIRS, max_size=3))
def test_geometries_by_chance(first, pairs):
    """Exactly what lies inside is a view."""
    memory = np.arange(12.0)
    x = tg.asarray(memory[3:9])
    array = as_strided(memory[first:], [e for e, _ in pairs], [8 * s for _, s in pairs])
    touched = [
        first + sum(k * s for k, (_, s) in zip(at, pairs, strict=True)) for at in np.ndindex(array.shape)
    ]
    if all(3 <= place < 9 for place in touched):
        view = view_of(x, array)
        assert view.data.tolist() == array.tolist()
    else:
        with pytest.raises(ValueError, match=BEYOND):
            view_of(x, array)
