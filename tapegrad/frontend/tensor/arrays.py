"""NumPy arrays on the memory of slots: their primals and their cotangents."""

from typing import Any

import numpy as np

from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.eager import export
from tapegrad.engine.tape import memory
from tapegrad.engine.tape.fields.layout import DTYPE_COUNT, F32, F64
from tapegrad.engine.tape.memory import (
    D_ADDRESS,
    D_BUFFER,
    D_DTYPE,
    D_EXTERNAL,
    D_GEOMETRY,
    D_NDIM,
    D_OFFSET,
    D_READ_ONLY,
)
from tapegrad.engine.tape.tape import DTYPES, Tape


class BufferOwner(Uncopied):
    """Owner of a block of the engine's memory, kept alive by the NumPy array on it."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, block: int, interface: dict[str, Any]) -> None:
        self._block = block
        self.__array_interface__ = interface

    def __del__(self) -> None:
        block = getattr(self, "_block", None)  # unset if `__init__` was interrupted
        if block is not None:
            memory.release(block)


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
    kind = export.hold_to_show(tape.header, slot, cotangent)
    name = _SHOWN.get(kind)
    if name is not None:
        shown: np.ndarray = getattr(export, name)(tape.header, slot, cotangent, _destructor())
        return shown
    if kind == export.NOTHING:
        return None
    return _show_by_interface(tape, slot, cotangent)


# Entry points by the result of `hold_to_show`: ndim and dtype code.
_SHOWN = {
    ndim * DTYPE_COUNT + code: f"show_{name}_{ndim}"
    for ndim in range(3)
    for code, name in ((F64, "f64"), (F32, "f32"))
}
_destructors: list[int] = []


def _destructor() -> int:
    """Address of the function that releases a block."""
    if not _destructors:
        _destructors.append(compiler.compile_c_function(export.release_exported))
    return _destructors[0]


def _show_by_interface(tape: Tape, slot: int, cotangent: bool) -> np.ndarray:
    """Make an array by NumPy's array interface, on memory held for it or owned by another array."""
    fields = memory.describe(tape.header, slot, cotangent)
    end = D_GEOMETRY + fields[D_NDIM]
    shape, strides = fields[D_GEOMETRY:end], fields[end:]
    owner = tape.owners[fields[D_BUFFER]] if fields[D_EXTERNAL] else None
    read_only = not cotangent and bool(fields[D_READ_ONLY])
    interface = {
        "data": (fields[D_ADDRESS], read_only or (owner is not None and not owner.flags.writeable)),
        "shape": shape,
        "strides": strides,
        "typestr": DTYPES[fields[D_DTYPE]].str,
        "version": 3,
    }
    compiler.make_ready(memory.release)
    if owner is not None:
        return np.asarray(_ArrayOwner(owner, interface))
    return np.asarray(BufferOwner(fields[D_ADDRESS] - fields[D_OFFSET], interface))
