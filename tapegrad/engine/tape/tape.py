"""The tape as Python sees it: the owner of a header, its columns and the arrays that it computes from."""

import ctypes
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape import release
from tapegrad.engine.tape.fields.columns import BUFFER, COLUMNS, HEADER_FIELDS, INSTRUCTION, SLOT
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    BUFFERS,
    FREE_BUFFER,
    FREE_SLOT,
    INSTRUCTIONS,
    NONE,
    ORPHAN,
    SCALAR_CACHE,
    SCALAR_CACHE_ENTRIES,
    SCALAR_CACHE_FIELDS,
    SLOTS,
)

_COUNTS = {INSTRUCTION: INSTRUCTIONS, SLOT: SLOTS, BUFFER: BUFFERS}
_TYPES = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
DTYPES = (
    *(np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)),
    *(np.dtype(np.complex128), np.dtype(np.complex64)),
)
DTYPE_CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
DIFFERENTIABLE_KINDS = "fc"  # kinds of NumPy's dtypes that have derivatives


class Tape(Uncopied):
    """A Wengert tape: columns of instructions, slots and buffers behind one header.

    Parameters
    ----------
    all_live
        Append every instruction, also those that only touch constants, and keep what no replay computes anew: the
        tape of a recording. Memory of all else goes as soon as no Tensor and no reverse rule can ask for it.

    Attributes
    ----------
    header
        Address of the header, the one argument by which compiled code knows a tape.
    owners
        For each buffer on memory of NumPy's, the array that owns it.
    """

    __slots__ = ("__weakref__", "_fields", "_scalars", "header", "owners")
    recording = False  # True for the tape of a function that is being recorded for replay
    # Set by the module that imports the table of ops.
    as_text: ClassVar[Callable[["Tape"], str]] = object.__repr__

    def __init__(self, tables: dict[int, int], all_live: bool = False) -> None:
        self._fields = np.zeros(HEADER_FIELDS, np.int64)
        self.header = int(self._fields.ctypes.data)
        self.owners: dict[int, Any] = {}
        self._scalars = np.zeros(SCALAR_CACHE_ENTRIES * SCALAR_CACHE_FIELDS, np.int64)
        self._fields[SCALAR_CACHE] = self._scalars.ctypes.data
        self._fields[[FREE_SLOT, FREE_BUFFER, ORPHAN]] = NONE
        self._fields[ALL_LIVE] = all_live
        for field, address in tables.items():
            self._fields[field] = address

    def __del__(self) -> None:
        header = getattr(self, "header", None)  # None if the constructor has failed
        if header is not None and not sys.is_finalizing():
            release.close_tape(header)

    def drop_orphans(self) -> None:
        """Release the arrays whose memory no buffer uses any more."""
        if sys.is_finalizing():
            return
        while (buffer := release.next_orphan(self.header)) != NONE:
            owner = self.owners.pop(buffer)
            release.reuse_orphan(self.header, buffer)
            del owner  # may run anything, tapes included

    def __len__(self) -> int:
        return int(self._fields[INSTRUCTIONS])

    def __str__(self) -> str:
        return self.as_text()

    @property
    def fields(self) -> np.ndarray:
        """The header's fields."""
        return self._fields

    def column(self, name: str) -> np.ndarray:
        """Return a copy of a column's used entries."""
        column = COLUMNS[name]
        count = self._fields[_COUNTS[column.kind]]
        return fields_at(int(self._fields[column.field]), int(count), _TYPES[column.bytes]).copy()

    def entry(self, name: str, number: int) -> int:
        """Return one entry of a column."""
        column = COLUMNS[name]
        address = int(self._fields[column.field]) + number * column.bytes
        return int(fields_at(address, 1, _TYPES[column.bytes])[0])


def fields_at(address: int, count: int, dtype: Any = np.int64) -> np.ndarray:
    """Return an array on the `count` fields of 64 bits at an address."""
    if count == 0:
        return np.empty(0, dtype)
    item = np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * (count * item)).from_address(address), dtype)
