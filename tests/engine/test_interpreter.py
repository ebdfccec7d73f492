"""Offsets inside Python's and NumPy's objects follow from their heads, and other interpreters are refused."""

import ctypes
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tapegrad.engine.runtime import cache, library_loops
from tapegrad.engine.runtime.interpreter import Interpreter, check
from tapegrad.engine.tape import geometry

RUNNING = Interpreter("cpython", 64, "little", True)


class Array(ctypes.Structure):
    """The head of ``PyArrayObject_fields``; that of any object is as long as `object` says."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int),
        ("extents", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("base", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


class Descr(ctypes.Structure):
    """The head of ``PyArray_Descr``."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("type", ctypes.c_void_p),
        ("kind", ctypes.c_char),
        ("letter", ctypes.c_char),
        ("byteorder", ctypes.c_char),
        ("flags", ctypes.c_char),
        ("number", ctypes.c_int),
    )


class Ufunc(ctypes.Structure):
    """The head of ``PyUFuncObject``."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


OFFSETS = [
    (Array.data, 8 * geometry.ARRAY_DATA),
    (Array.ndim, 4 * geometry.ARRAY_NDIM),
    (Array.extents, 8 * geometry.ARRAY_EXTENTS),
    (Array.strides, 8 * geometry.ARRAY_STRIDES),
    (Array.descr, 8 * geometry.ARRAY_DESCR),
    (Array.flags, 4 * geometry.ARRAY_FLAGS),
    (Descr.kind, 8 * geometry.DESCR_KIND),
    (Ufunc.functions, library_loops._FUNCTIONS),
    (Ufunc.data, library_loops._DATA),
]


@pytest.mark.parametrize(("field", "offset"), OFFSETS)
def test_offsets_are_those_of_the_c_structures(field, offset):
    assert field.offset == offset


def test_the_c_structures_are_those_of_numpy():
    array = np.arange(24.0).reshape(2, 3, 4)[:, ::2, ::-1]
    head = Array.from_address(id(array))
    assert head.data == array.ctypes.data
    assert (head.ndim, head.extents[:3], head.strides[:3]) == (3, list(array.shape), list(array.strides))
    assert head.descr == id(array.dtype)
    assert head.flags & 0x501 == 0x500  # writeable, aligned, not contiguous
    dtype = np.dtype(">f4")
    descr = Descr.from_address(id(dtype))
    assert (descr.kind, descr.letter, descr.byteorder, descr.number) == (b"f", b"f", b">", dtype.num)
    add = Ufunc.from_address(id(np.add))
    assert (add.nin, add.nout, add.nargs) == (2, 1, 3)
    assert (
        library_loops._loop(np.add, "dd->d")[0]
        == ctypes.c_void_p.from_address(add.functions + 8 * np.add.types.index("dd->d")).value
    )


def test_the_cache_is_not_shared_by_interpreters_with_other_heads(monkeypatch):
    own = cache.digest()
    monkeypatch.setattr(cache, "object", SimpleNamespace(__basicsize__=32), raising=False)
    assert cache.digest.__wrapped__() != own


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"implementation": "pypy"}, "this is pypy"),
        ({"bits": 32}, "32 bits"),
        ({"byteorder": "big"}, "big-endian"),
        ({"locked": False}, "PYTHON_GIL=1"),
    ],
)
def test_other_interpreters_are_refused(change, fault):
    with pytest.raises(ImportError, match=f"tapegrad needs CPython.*{fault}"):
        check(RUNNING._replace(**change))


def test_this_one_is_not():
    assert Interpreter.running() == RUNNING
    check(RUNNING)


def test_the_interpreter_is_checked_before_the_rest_is_imported():
    program = "import sys, tapegrad; print(*(name for name in sys.modules if name.startswith('tapegrad')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    first = modules.index("tapegrad.engine.runtime.interpreter")
    packages = {"tapegrad", "tapegrad.engine", "tapegrad.engine.runtime"}
    assert {*modules[:first]} <= packages
