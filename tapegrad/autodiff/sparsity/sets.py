"""Sets of inputs by number: the pool that they are kept in, with arrays that grow."""

from typing import Any

import numpy as np

from tapegrad.engine.sweep.sparsity import sets
from tapegrad.errors import DensePatternError

EMPTY = 0  # number of the set without inputs
_MEMO_ENTRIES = 1 << 14
_MIN_SETS, _MIN_ENTRIES = 1 << 10, 1 << 12
MAX_ENTRIES = 1 << 27  # 1 GiB of them


class SetPool:
    """Sets of inputs, of which equal ones have the same number.

    Set 0 is empty, and the sets behind it have one input each.

    Parameters
    ----------
    inputs
        Number of inputs.
    most_entries
        Entries of all sets together; `None` for as many as memory is spent on.
    """

    def __init__(self, inputs: int, most_entries: int | None = None) -> None:
        self.inputs = inputs
        self._most_entries = MAX_ENTRIES if most_entries is None else most_entries
        # Unions by where their operands lie, which are kept alive
        self._known: dict[Any, tuple[tuple[np.ndarray, np.ndarray], np.ndarray]] = {}
        self._fields = np.zeros(sets.POOL_FIELDS, np.int64)
        self._arrays: dict[int, np.ndarray] = {}
        self._put(sets.STAMPS, np.zeros(inputs, np.int64))
        self._put(sets.MEMO, np.full(3 * _MEMO_ENTRIES, -1, np.int64))
        self._fields[sets.MEMO_MASK] = _MEMO_ENTRIES - 1
        self._fields[[sets.INPUTS, sets.STAMPED]] = inputs, -1
        self._make_room(max(4 * inputs, _MIN_SETS), max(8 * inputs, _MIN_ENTRIES))
        sets.begin(self._fields.ctypes.data)

    def _put(self, field: int, array: np.ndarray) -> None:
        self._arrays[field] = array
        self._fields[field] = array.ctypes.data

    def _make_room(self, most_sets: int, most_entries: int) -> None:
        """Let the arrays have room for so many sets and entries."""
        for field, size in (
            (sets.STARTS, most_sets + 1),
            (sets.HASHES, most_sets),
            (sets.SUMS, most_sets),
            (sets.SEEN, most_sets),
            (sets.ENTRIES, most_entries),
        ):
            known = self._arrays.get(field, np.zeros(0, np.int64))
            grown = np.zeros(size, np.int64)
            grown[: len(known)] = known
            self._put(field, grown)
        self._fields[[sets.MAX_SETS, sets.MAX_ENTRIES]] = most_sets, most_entries
        self._fill_table()

    def _fill_table(self) -> None:
        """Enter all sets into a table of twice as many entries as there may be sets."""
        size = 1 << (2 * int(self._fields[sets.MAX_SETS])).bit_length()
        self._put(sets.TABLE, np.full(size, -1, np.int64))
        self._fields[sets.MASK] = size - 1
        sets.fill_table(self._fields.ctypes.data)

    def _grow(self) -> None:
        """Double what there is room for.

        Raises
        ------
        DensePatternError
            If the sets have more entries than memory is spent on.
        """
        most_sets, most_entries = self._fields[[sets.MAX_SETS, sets.MAX_ENTRIES]].tolist()
        if most_entries > self._most_entries:
            raise DensePatternError(
                f"sparse=True: the derivative is not sparse, its elements depend on more than {self._most_entries:,}"
                " inputs together; use sparse=False, or pass pattern= if fewer entries are known to differ from zero"
            )
        self._make_room(2 * most_sets, 2 * most_entries + self.inputs)

    # --- unions --------------------------------------------------------------------------------------------------

    def unite(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the unions of pairs of sets, for arrays of their numbers that broadcast to one shape.

        The arrays stay as they are from now on: unions of the same ones are remembered by where they lie.
        """
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = (np.broadcast_to(each, shape) for each in (a, b))
        key = place_of(a), place_of(b)
        if key not in self._known:
            self._known[key] = (a, b), a if key[0] == key[1] else self._united(a, b)
        return self._known[key][1]

    def _united(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        first, second = (np.ascontiguousarray(each) for each in (a, b))
        found, done = np.empty(a.shape, np.int64), 0
        lists = first.ctypes.data, second.ctypes.data, found.ctypes.data
        while (done := sets.unite_pairs(self._fields.ctypes.data, *lists, done, found.size)) < found.size:
            self._grow()
        return found

    def unite_lines(self, numbers: np.ndarray) -> np.ndarray:
        """Return the union of each line along the last axis."""
        lines, length = numbers.shape[:-1], numbers.shape[-1]
        count = int(np.prod(lines, dtype=np.int64))
        return self._groups(np.arange(count + 1) * length, numbers.reshape(-1)).reshape(lines)

    def unite_listed(self, numbers: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
        """Return for each of `count` groups the union of the sets that are listed with its number."""
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(count + 1))
        return self._groups(starts, numbers[order])

    def _groups(self, starts: np.ndarray, members: np.ndarray) -> np.ndarray:
        count, done = len(starts) - 1, 0
        starts, members = (np.ascontiguousarray(each, np.int64) for each in (starts, members))
        found = np.empty(count, np.int64)
        lists = starts.ctypes.data, members.ctypes.data, found.ctypes.data
        while (done := sets.unite_groups(self._fields.ctypes.data, *lists, done, count)) < count:
            self._grow()
        return found

    # --- contents ------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of sets."""
        return int(self._fields[sets.SETS])

    @property
    def starts(self) -> np.ndarray:
        """Places where the entries of each set begin, and the end of the last."""
        return self._arrays[sets.STARTS][: self.count + 1]

    @property
    def entries(self) -> np.ndarray:
        """The entries of all sets, one after another."""
        return self._arrays[sets.ENTRIES][: int(self._fields[sets.USED])]

    def united_bits(self, of_input: np.ndarray) -> np.ndarray:
        """Return the bits of all inputs of each set, (sets, words) uint64, given those of each input."""
        words = of_input.shape[1]
        given, found = np.ascontiguousarray(of_input), np.empty((self.count, words), np.uint64)
        sets.unite_bits(self._fields.ctypes.data, given.ctypes.data, found.ctypes.data, words)
        return found


def place_of(numbers: np.ndarray) -> tuple[Any, ...]:
    """Return where an array lies."""
    return numbers.ctypes.data, numbers.shape, numbers.strides
