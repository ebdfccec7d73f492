"""Handler of XLA's foreign function interface: JAX calls compiled functions without Python.

XLA hands a call frame to a C function: arrays for arguments and results, and extensions in which it asks for versions.
Its layout is that of ``xla/ffi/api/c_api.h`` of the version below; with others functions are called by callback.
"""

import ctypes
import functools
import re
import secrets
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types

from tapegrad.engine.codegen.machine.interrupts import uninterrupted
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    load_f32,
    load_i32,
    load_i64,
    stack_i64,
    store_f32,
    store_i32,
    store_i64,
)
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED, OUT_OF_MEMORY
from tapegrad.engine.sweep.replays.handle_fields import NAN_ENTRY
from tapegrad.transforms.compiled.compiled import Compiled

_TARGET = "tapegrad_value_and_gradient"
_VERSION = 0, 3  # XLA_FFI_API_MAJOR and _MINOR, whose layout this is
# Positions in structs, in units of the field's size.
_EXTENSION, _STAGE, _ARGUMENTS, _RESULTS, _API = 1, 8, 9, 14, 2  # of a call frame; the stage is 4 bytes
_TYPE, _METADATA = 2, 3  # of an extension; the type is 4 bytes
_MAJOR, _MINOR = 6, 7  # of metadata, of 4 bytes
_DTYPE, _DATA, _RANK, _DIMS = 4, 3, 4, 5  # of a buffer; the dtype is 4 bytes
_ERROR_CREATE = 6  # of the API
_METADATA_TYPE, _EXECUTE, _F32 = 1, 3, 11  # an extension's type, a stage, a dtype
_PRECONDITION = 9  # XLA_FFI_Error_Code_FAILED_PRECONDITION

# Executables of XLA may be kept on disk: what they pass says which process it is of.
_TOKEN = secrets.randbits(62) | 1
_MESSAGE = ctypes.create_string_buffer(
    b"tapegrad.interop.jax: the function took a branch that no example took (or a custom op of it failed): pass an"
    b" example of the branch, tg.interop.jax(f, x0, ways=[x1]), or write tg.where in place of it"
)
_STALE = ctypes.create_string_buffer(
    b"tapegrad.interop.jax: the executable is of another process, from JAX's cache on disk. Functions of tapegrad"
    b" cannot be kept there: switch jax_compilation_cache_dir off for them"
)
_MESSAGE_AT, _STALE_AT = ctypes.addressof(_MESSAGE), ctypes.addressof(_STALE)
# As long as XLA, which may keep executables with their addresses.
_alive: list[Any] = []


@numba.njit
def _error(api: int, message: int) -> int:
    """Return a new error of XLA's."""
    arguments = stack_i64(4)
    store_i64(arguments, 0, 32)
    store_i64(arguments, 1, 0)
    store_i64(arguments, 2, message)
    store_i64(arguments, 3, _PRECONDITION)
    return call_kernel(load_i64(api, _ERROR_CREATE), arguments, 0)  # type: ignore[no-any-return]


@numba.njit
def _run_double(handle: int, x: int, value: int, gradient: int) -> int:
    fields = stack_i64(3)
    store_i64(fields, 0, x)
    store_i64(fields, 1, value)
    store_i64(fields, 2, gradient)
    return call_kernel(load_i64(handle, NAN_ENTRY), handle, fields)  # type: ignore[no-any-return]


@numba.njit
def _run_single(handle: int, x: int, value: int, gradient: int, size: int) -> int:
    """Run the function, which is of float64, with arrays of float32."""
    wide = np.empty(2 * size + 1)
    for k in range(size):
        wide[k] = load_f32(x, k)
    status = _run_double(handle, wide.ctypes.data, wide[2 * size :].ctypes.data, wide[size:].ctypes.data)
    store_f32(value, 0, np.float32(wide[2 * size]))
    for k in range(size):
        store_f32(gradient, k, np.float32(wide[size + k]))
    return status  # type: ignore[no-any-return]


def _handle_call(frame: int) -> int:
    """Answer a call of XLA's. Return the address of an error, or 0."""
    extension = load_i64(frame, _EXTENSION)
    if extension != 0 and load_i32(extension, _TYPE) == _METADATA_TYPE:
        metadata = load_i64(extension, _METADATA)
        store_i32(metadata, _MAJOR, np.int32(_VERSION[0]))
        store_i32(metadata, _MINOR, np.int32(_VERSION[1]))
        return 0
    if load_i32(frame, _STAGE) != _EXECUTE:
        return 0
    arguments, results = load_i64(frame, _ARGUMENTS), load_i64(frame, _RESULTS)
    x, called = load_i64(arguments, 0), load_i64(load_i64(arguments, 1), _DATA)
    value, gradient = load_i64(load_i64(results, 0), _DATA), load_i64(load_i64(results, 1), _DATA)
    count, rank, dims = 1, load_i64(x, _RANK), load_i64(x, _DIMS)
    for d in range(rank - 1):
        count *= load_i64(dims, d)
    size = load_i64(dims, rank - 1)
    single = load_i32(x, _DTYPE) == _F32
    width = 4 if single else 8
    if count == 0:  # `called` has no elements either
        return 0
    if load_i64(called, 0) != _TOKEN:
        return _error(load_i64(frame, _API), _STALE_AT)  # type: ignore[no-any-return]
    first, handle = load_i64(x, _DATA), load_i64(called, 1)
    for k in range(count):
        at = k * size * width
        if single:
            status = _run_single(handle, first + at, value + k * width, gradient + at, size)
        else:
            status = _run_double(handle, first + at, value + k * width, gradient + at)
        if status in (GUARD_FAILED, CALL_FAILED, OUT_OF_MEMORY):
            return _error(load_i64(frame, _API), _MESSAGE_AT)  # type: ignore[no-any-return]
    return 0


@functools.cache
def registered(package: Any) -> bool:
    """Register the handler with JAX; return whether it has the interface in the version that is known here."""
    ffi = getattr(package, "ffi", None)
    if ffi is None or _version(ffi) != _VERSION:
        return False
    with uninterrupted:
        handler = numba.cfunc(types.int64(types.int64))(_handle_call)
    _alive.append(handler)
    ffi.register_ffi_target(_TARGET, ffi.pycapsule(ctypes.c_void_p(handler.address)), platform="cpu")
    return True


def _version(ffi: Any) -> tuple[int, int] | None:
    """Return the version of the interface that JAX's library was built with; `None` if its header is not there."""
    header = Path(ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    if not header.exists():
        return None
    text = header.read_text()
    found = [re.search(rf"#define XLA_FFI_API_{name} (\d+)", text) for name in ("MAJOR", "MINOR")]
    return None if None in found else (int(found[0][1]), int(found[1][1]))  # type: ignore[index]


def caller(package: Any, compiled: Compiled) -> Any:
    """Return the function of JAX's arrays that computes value and gradient of a vector by the handler."""
    _alive.append(compiled)
    called = np.array([_TOKEN, compiled.handle.address], np.int64).view(np.uint8)

    def call(x: Any, shapes: Any) -> Any:
        return package.ffi.ffi_call(_TARGET, shapes, vmap_method="broadcast_all")(x, called)

    return call
