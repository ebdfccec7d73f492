"""NumPy arrays on the memory of slots: their primals and their cotangents."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.codegen.python_calls import memory_arrays
from tapegrad.engine.codegen.translator.compiler import make_ready
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape import memory
from tapegrad.engine.tape.memory import D_ADDRESS, D_BUFFER, D_DTYPE, D_GEOMETRY, D_NDIM, D_READ_ONLY
from tapegrad.engine.tape.tape import DTYPES, Tape


class _ArrayOwner(Uncopied):
    """Owner of a NumPy array, kept alive by another array on a part of its memory."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: np.ndarray, interface: dict[str, Any]) -> None:
        self._owner = owner
        self.__array_interface__ = interface


def borrowed(owner: np.ndarray, address: int, bytes_: int) -> np.ndarray:
    """Return the bytes from an address inside an array's memory on; they keep the array alive."""
    interface = {"data": (address, True), "shape": (bytes_,), "typestr": "|b1", "version": 3}
    return np.asarray(_ArrayOwner(owner, interface))


def show(tape: Tape, slot: int, cotangent: bool) -> np.ndarray | None:
    """Return a NumPy array on the primal or the cotangent of a slot; `None` if there is none."""
    shown: Any = _array_maker()(tape.header, slot, cotangent)
    if type(shown) is np.ndarray:
        return shown
    return None if shown == memory.NOTHING else _show_borrowed(tape, slot)


@functools.cache
def _array_maker() -> Callable[..., Any]:
    make_ready(memory.hold_to_show, memory.release)
    return memory_arrays.array_maker(memory.hold_to_show, memory.release, DTYPES)


def _show_borrowed(tape: Tape, slot: int) -> np.ndarray:
    """Return an array by NumPy's array interface, on memory that another array owns."""
    fields = memory.describe(tape.header, slot, False)
    end = D_GEOMETRY + fields[D_NDIM]
    owner = tape.owners[fields[D_BUFFER]]
    interface = {
        "data": (fields[D_ADDRESS], bool(fields[D_READ_ONLY]) or not owner.flags.writeable),
        "shape": fields[D_GEOMETRY:end],
        "strides": fields[end:],
        "typestr": DTYPES[fields[D_DTYPE]].str,
        "version": 3,
    }
    return np.asarray(_ArrayOwner(owner, interface))
