"""NumPy arrays on counted blocks of memory, made in C: a capsule under each drops the block's reference.

That takes a quarter of the time of an array with Numba's owner of memory, and a tenth of NumPy's array interface.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.python_calls.array_fields import (
    BLOCK,
    DATA,
    DTYPE,
    FIELDS,
    GEOMETRY,
    NDIM,
    WRITEABLE,
)
from tapegrad.engine.codegen.python_calls.fast_calls import address_of, python_function
from tapegrad.engine.codegen.python_calls.python_code import NULL, Code, Module

_WRITEABLE_FLAG = 0x400  # NPY_ARRAY_WRITEABLE
_MODULE = Module("memory_arrays", "hold", "release", "dtypes", array=np.ndarray, TypeError=TypeError)


def array_maker(hold: Any, release: Any, dtypes: Sequence[np.dtype[Any]]) -> Callable[..., Any]:
    """Return the Python function ``show(header, slot, cotangent)``, which makes an array on memory of the engine.

    Parameters
    ----------
    hold
        Entry point, compiled, that returns a tuple: it adds a reference to a block and writes the fields of an array.
        Where it returns a negative number, `show` returns that.
    release
        Entry point, compiled, that drops a reference to a block.
    dtypes
        The dtypes by their numbers.
    """
    given = {"hold": address_of(hold), "release": address_of(release), "dtypes": tuple(dtypes)}
    addresses = _MODULE.addresses(**given)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_MODULE))  # for arrays that live on at interpreter exit
    return python_function("show", addresses["show"], addresses["forget"])


@_MODULE.exported
def _show(code: Code, fixed: Value, arguments: Value, given: Value) -> None:
    """``PyObject *show(PyObject *fixed, PyObject *const *arguments, Py_ssize_t count)``."""
    with code.where(given.unequal(3)):
        code.fail("TypeError", "it takes 3 arguments")
    header, slot, cotangent = (code.call("PyLong_AsLongLong", code.load(arguments, k)) for k in range(3))
    with code.where(code.call("PyErr_Occurred").unequal(NULL)):
        code.ret(NULL)
    hold, fields = code.call("PyLong_AsLongLong", code.outside("hold")), code.room(FIELDS)
    _, found = code.call_compiled(hold, header, slot, cotangent, fields, releases_gil=False)
    with code.where(found < 0):
        code.ret(code.call("PyLong_FromLongLong", found))
    code.ret(code.call("array_on", fields, code.call("PyLong_AsLongLong", fixed)))


@_MODULE.internal
def _array_on(code: Code, fields: Value, forget: Value) -> None:
    """``array_on(fields, forget)``: an array that takes over the reference to its block; null with an exception.

    NumPy lets users make an array writeable again only if its base is: that of a writeable array is another one.
    """
    block = code.load(fields, BLOCK)
    owner = code.call("PyCapsule_New", block, NULL, forget)
    with code.where_null(owner):
        code.call("release", block)
        code.ret(NULL)
    made = code.call("with_base", fields, owner)
    with code.where_null(made * code.load(fields, WRITEABLE)):
        code.ret(made)
    code.ret(code.call("with_base", fields, made))


@_MODULE.internal
def _with_base(code: Code, fields: Value, base: Value) -> None:
    """``with_base(fields, base)``: an array that takes over a reference to its base; null with an exception."""
    ndim, extents = code.load(fields, NDIM), code.load(fields, GEOMETRY)
    dtype = code.load(code.items_of(code.outside("dtypes")), code.load(fields, DTYPE))
    made = code.call(
        "PyArray_NewFromDescr", code.outside("array"), code.new_reference(dtype), ndim, extents, extents + ndim * 8,
        code.load(fields, DATA), code.load(fields, WRITEABLE) * _WRITEABLE_FLAG, NULL,
    )  # fmt: skip
    with code.where_null(made):
        code.drop(base)
        code.ret(NULL)
    failed = code.call("PyArray_SetBaseObject", made, base)
    with code.where(failed.unequal(0)):
        code.drop(made)
        code.ret(NULL)
    code.ret(made)


@_MODULE.internal
def _release(code: Code, block: Value) -> None:
    """``release(block)``: drop a reference."""
    address = code.call("PyLong_AsLongLong", code.outside("release"))
    code.call_compiled(address, block, releases_gil=False)
    code.ret(0)


@_MODULE.exported
def _forget(code: Code, owner: Value) -> None:
    """``void forget(PyObject *owner)``, the destructor of a capsule."""
    code.call("release", code.call("PyCapsule_GetPointer", owner, NULL))
    code.ret(0)
