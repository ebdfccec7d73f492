"""Integer arrays in few bytes have the same numbers again, and objects with such arrays give them to whoever asks."""

import copy
import sys
import threading

import numpy as np
import pytest

from tapegrad.engine.inspection.narrow_columns import MIN_ENTRIES, NarrowArray, RarelyRead

COUNT = 5000
NUMBERS = np.arange(COUNT)
INT64 = np.iinfo(np.int64)


def drawn(seed: int, lowest: int, stop: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(lowest, stop, COUNT)


ARRAYS = {
    "constant": np.full(COUNT, -7),
    "small": drawn(0, -100, 100),
    "of 32 bits": drawn(1, -(1 << 31), 1 << 31),
    "addresses": (drawn(2, 1, 5) << 48) + 64 * NUMBERS,
    "addresses below zero": (drawn(3, -3, 3) << 40) + (1 << 33) * (NUMBERS % 3) + NUMBERS,
    "of all bits": drawn(4, INT64.min, INT64.max),
    "ends": np.where(NUMBERS % 2, INT64.min, INT64.max),
    "one number": np.array([1 << 40]),
    "frames": np.stack([NUMBERS % 3, (1 << 48) + 8 * NUMBERS, np.zeros_like(NUMBERS), NUMBERS << 45], 1),
    "two steps": np.arange(2 * COUNT)[::2],
    "no columns": np.zeros((COUNT, 0), np.int64),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_numbers_come_back(name: str) -> None:
    found = NarrowArray(ARRAYS[name]).array()
    np.testing.assert_array_equal(found, ARRAYS[name], strict=True)
    assert found.flags.c_contiguous
    assert found.flags.writeable


def _bytes(stored: NarrowArray) -> int:
    parts = [part for column in stored._columns for part in vars(column).values()]
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@pytest.mark.parametrize(
    ("name", "most"), [("constant", 0), ("small", 1), ("addresses", 5.1), ("of 32 bits", 4)]
)
def test_bytes_of_a_number(name: str, most: float) -> None:
    assert _bytes(NarrowArray(ARRAYS[name])) <= most * COUNT


class Columns(RarelyRead):
    def __init__(self) -> None:
        self.long, self.short = np.arange(2 * MIN_ENTRIES), np.arange(3)
        self.mask, self.text = np.ones(MIN_ENTRIES, np.bool_), "text"


def test_long_arrays_are_there_again_when_they_are_read() -> None:
    columns = Columns()
    own = columns.long
    columns.narrow()
    assert "long" not in vars(columns)
    assert {"short", "mask", "text"} <= vars(columns).keys()
    np.testing.assert_array_equal(copy.copy(columns).long, own)
    np.testing.assert_array_equal(columns.long, own)
    assert columns.long is columns.long
    columns.long[0] = -1
    columns.narrow()
    assert columns.long[0] == -1  # of what was changed meanwhile


def test_other_names_are_missing() -> None:
    columns = Columns()
    for _ in range(2):
        with pytest.raises(AttributeError, match="'Columns' object has no attribute 'longer'"):
            _ = columns.longer
        columns.narrow()


def test_threads_that_read_while_others_narrow() -> None:
    columns, own, wrong = Columns(), np.arange(2 * MIN_ENTRIES), list[object]()

    def work() -> None:
        try:
            for k in range(200):
                if k % 3 == 0:
                    columns.narrow()
                if not np.array_equal(columns.long, own):
                    wrong.append(k)
        except AttributeError as error:
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
