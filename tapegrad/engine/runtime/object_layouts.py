"""Memory layouts of Python's and NumPy's objects: the offsets that compiled code reads, checked on live objects.

Offsets are in bytes from the address of an object, which is its `id`. They are those of public C structures: they
follow from the size of an object's head, and have been the same in all versions of CPython and NumPy that are
supported. A version that lays an object out in another way is refused before anything is read from it by compiled code.
"""

import ctypes
import functools
import os
import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

_HEAD = object.__basicsize__
TYPE = _HEAD - 8
FLOAT_VALUE = _HEAD
TUPLE_ITEMS = tuple.__basicsize__
SLICE_LIMITS = _HEAD  # start, stop and step
# ``PyTypeObject``: the function that calls an instance, behind the size of a variable head and thirteen fields.
TYPE_CALL = _HEAD + 8 + 13 * 8
# ``PyArrayObject_fields``
ARRAY_DATA, ARRAY_NDIM, ARRAY_EXTENTS, ARRAY_STRIDES = _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 24
ARRAY_DESCR, ARRAY_FLAGS = _HEAD + 40, _HEAD + 48
# ``PyArray_Descr``: its kind, its letter, its byte order, a byte, and the number of its type in 32 bits.
DESCR_KIND = _HEAD + 8
# ``PyUFuncObject``: the addresses of its loops, and of the data that each is given.
UFUNC_FUNCTIONS, UFUNC_DATA = _HEAD + 16, _HEAD + 24
# NumPy's table of functions, by index; a version of the table promises their indices.
NUMPY_TABLE_VERSION = 0x2000000
NUMPY_FUNCTIONS = {
    "PyArray_Return": 76, "PyArray_NewFromDescr": 94, "PyArray_Empty": 184, "PyArray_SetBaseObject": 282,
    "PyDataMem_SetHandler": 304,
}  # fmt: skip


def capsule_pointer(capsule: Any) -> int:
    """Return the address in a capsule of Python's."""
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(pointer(capsule, name(capsule)))


def numpy_table() -> int:
    """Return the address of NumPy's table of functions."""
    return capsule_pointer(import_module("numpy._core._multiarray_umath")._ARRAY_API)


def numpy_function(name: str) -> int:
    """Return the address of a function of NumPy's table."""
    return ctypes.c_int64.from_address(numpy_table() + 8 * NUMPY_FUNCTIONS[name]).value


class UnknownLayoutError(ImportError):
    """Raised for a version of Python or NumPy with an unknown memory layout of objects."""


@functools.cache
def ensure_known() -> None:
    """Check all layouts, once; to be called before anything is read by compiled code.

    Raises
    ------
    UnknownLayoutError
        If an object has another layout.
    """
    found = unknown()
    if found:
        raise UnknownLayoutError(
            f"tapegrad reads objects of Python and NumPy by offset, and numpy {np.__version__} has another place for"
            f" {', '.join(found)}; install a version of numpy that `pip install tapegrad` would choose"
        )


def unknown() -> list[str]:
    """Return the names of fields that are not at their expected offsets in sample objects.

    It never reads an unmapped address.
    """
    with _Memory() as memory:
        return [name for check in _CHECKS for name, holds in check(memory) if not holds]


class _Memory:
    """Memory read through a pipe: for an address that is not mapped the system returns an error, and does not fault."""

    def __enter__(self) -> "_Memory":
        self._out, self._in = os.pipe()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)

    def bytes(self, address: int, count: int) -> bytes:
        """Return as many bytes as can be read, up to `count`."""
        try:
            os.write(self._in, (ctypes.c_char * count).from_address(address % 2**64))
        except OSError:
            return b""
        return os.read(self._out, count)

    def fields(self, address: int, count: int) -> list[int]:
        """Return integers of 64 bits; -1 for those that cannot be read."""
        found = self.bytes(address, 8 * count)
        return (
            [field for (field,) in struct.iter_unpack("=q", found)]
            if len(found) == 8 * count
            else [-1] * count
        )

    def field(self, address: int) -> int:
        return self.fields(address, 1)[0]

    def ints(self, address: int, count: int) -> list[int]:
        """Return integers of 32 bits; nothing if they cannot be read."""
        found = self.bytes(address, 4 * count)
        return [number for (number,) in struct.iter_unpack("=i", found)] if len(found) == 4 * count else []


_Checked = Iterator[tuple[str, bool]]


def _check_python(memory: _Memory) -> _Checked:
    number, items = 1.25, (object(), object())
    yield (
        "the type of an object",
        all(memory.field(id(each) + TYPE) == id(type(each)) for each in (number, items)),
    )
    yield "the number in a float", memory.bytes(id(number) + FLOAT_VALUE, 8) == struct.pack("=d", number)
    yield "the function that calls an instance of a class", _is_call_slot(memory)
    limits = slice(*(object() for _ in range(3)))
    expected = [id(each) for each in (limits.start, limits.stop, limits.step)]
    yield "the limits of a slice", memory.fields(id(limits) + SLICE_LIMITS, 3) == expected
    yield "the items of a tuple", memory.fields(id(items) + TUPLE_ITEMS, 2) == [id(each) for each in items]


def _is_call_slot(memory: _Memory) -> bool:
    """Compare classes that have a method `__call__` with those that inherit a function of C, and one of neither."""
    by_method = [type("", (), {"__call__": lambda self: None}) for _ in range(2)]
    first, second = (memory.field(id(cls) + TYPE_CALL) for cls in by_method)
    inherited = memory.field(id(type("", (type,), {})) + TYPE_CALL)
    is_c = memory.field(id(type) + TYPE_CALL) == inherited not in (0, -1, first)
    return is_c and first == second not in (0, -1) and memory.field(id(object) + TYPE_CALL) == 0


def _check_array(memory: _Memory) -> _Checked:
    array = np.arange(24.0).reshape(2, 3, 4)[:, ::2, ::-1]
    at = id(array)
    yield "the type of an array", memory.field(at + TYPE) == id(np.ndarray)
    yield "the data of an array", memory.field(at + ARRAY_DATA) == array.__array_interface__["data"][0]
    yield "the number of dimensions of an array", memory.ints(at + ARRAY_NDIM, 1) == [array.ndim]
    for name, offset, expected in (
        ("the shape of an array", ARRAY_EXTENTS, array.shape),
        ("the strides of an array", ARRAY_STRIDES, array.strides),
    ):
        yield name, memory.fields(memory.field(at + offset), array.ndim) == list(expected)
    yield "the dtype of an array", memory.field(at + ARRAY_DESCR) == id(array.dtype)
    yield "the flags of an array", memory.ints(at + ARRAY_FLAGS, 1) == [array.flags.num]


def _check_dtype(memory: _Memory) -> _Checked:
    dtype = np.dtype(np.float32).newbyteorder(">")
    letters = (dtype.kind + dtype.char + dtype.byteorder).encode()
    yield "the kind of a dtype", memory.bytes(id(dtype) + DESCR_KIND, 3) == letters
    yield "the number of a dtype", memory.ints(id(dtype) + DESCR_KIND + 4, 1) == [dtype.num]


def _check_ufunc(memory: _Memory) -> _Checked:
    """Two ufuncs around Python functions have one loop, which is given the function."""
    functions: list[Any] = [abs, len]
    ufuncs = [np.frompyfunc(function, 1, 1) for function in functions]
    loops = [memory.field(memory.field(id(each) + UFUNC_FUNCTIONS)) for each in ufuncs]
    given = [memory.field(memory.field(id(each) + UFUNC_DATA)) for each in ufuncs]
    yield "the loops of a ufunc", loops[0] == loops[1] != -1 and len(memory.bytes(loops[0], 1)) == 1
    called = [memory.field(address + 8) for address in given]  # behind two integers of 32 bits
    yield "the data of a ufunc's loops", called == [id(function) for function in functions]


def _check_numpy_table(memory: _Memory) -> _Checked:
    """Check NumPy's table.

    Its first function returns the version; it is called only if the types beside it are there.
    """
    table = numpy_table()
    is_table = memory.fields(table + 8 * 2, 2) == [id(np.ndarray), id(np.dtype)]
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(memory.field(table))() if is_table else None
    yield "NumPy's table of functions", version == NUMPY_TABLE_VERSION


_CHECKS: tuple[Callable[[_Memory], _Checked], ...] = (
    _check_python,
    _check_array,
    _check_dtype,
    _check_ufunc,
    _check_numpy_table,
)
