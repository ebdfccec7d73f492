"""The wrappers by which Python calls compiled code: what they take, and what they refuse."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.tape import slots
from tapegrad.frontend.tensor.modes import EAGER

KEPT = tg.tensor(np.arange(3.0))


@pytest.fixture
def slot() -> int:
    slots.dtype_of(EAGER.header, KEPT._slot)  # from now on the compiled function has its name
    return int(KEPT._slot)


def test_integers_are_what_says_that_it_is_one(slot: int) -> None:
    for number in (slot, np.int64(slot), np.uint8(slot) if slot < 256 else slot):
        assert slots.dtype_of(EAGER.header, number) == 0


@pytest.mark.parametrize("wrong", [1.0, "1", None, np.float64(1.0)], ids=repr)
def test_nothing_else_is_taken_for_an_integer(slot: int, wrong: object) -> None:
    with pytest.raises(TypeError, match="integer"):
        slots.dtype_of(EAGER.header, wrong)


def test_an_integer_that_is_too_large(slot: int) -> None:
    with pytest.raises(OverflowError):
        slots.dtype_of(EAGER.header, 2**63)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_number_of_arguments_is_checked(slot: int, count: int) -> None:
    with pytest.raises(TypeError, match="takes 2 arguments"):
        slots.dtype_of(*[slot] * count)


def test_floats_are_taken_where_they_are_meant() -> None:
    x = tg.tensor(np.arange(3.0))
    for number in (2, 2.0, np.float64(2.0), True):
        dropped = slots.number(EAGER.header, number, 0)
        slots.drop(EAGER.header, dropped)
    with pytest.raises(TypeError):
        slots.number(EAGER.header, "2", 0)
    with pytest.raises(OverflowError):
        x + 10**400


@pytest.mark.parametrize("wrong", [5, [2, 3], "23", None, (2, 3.0), (2, "3"), ("2", None)], ids=repr)
def test_tuples_are_of_integers(wrong: object) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="integer"):
            slots.allocate(EAGER.header, 0, wrong, False)
    with pytest.raises(OverflowError):
        slots.allocate(EAGER.header, 0, (1, 2**64), False)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (np.int64(2), True, 3), tuple(range(1, 6))], ids=repr)
def test_tuples_are_taken_and_returned(shape: tuple[int, ...]) -> None:
    slot = slots.allocate(EAGER.header, 0, shape, False)
    found = slots.shape_of(EAGER.header, slot)
    slots.drop(EAGER.header, slot)
    assert type(found) is tuple
    assert found == shape


def test_more_dimensions_than_there_can_be() -> None:
    assert slots.allocate(EAGER.header, 0, (1,) * 33, False) < 0
    assert slots.allocate(EAGER.header, 0, (1,) * 10_000, False) < 0
