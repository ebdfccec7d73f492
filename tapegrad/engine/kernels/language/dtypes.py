"""Dtypes of kernels: constants that represent a dtype, and entry points made of a kernel and a constant.

A kernel of several dtypes is written once, as ``kernel(frame, loops, constant)``. The name of its last argument
is a key of `CONSTANTS`, which holds the constant of each dtype.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language import lapack, matmul


class FloatBits(NamedTuple):
    """A float's bits as an integer: the mask of all but the sign, the bits of inf, and a zero of that integer."""

    magnitude: int
    infinity: int
    integer: Any
    zero: Any


class Keys(NamedTuple):
    """Keys of a sort: whether elements are integers, which are their own keys, and a zero of the dtype."""

    are_integers: bool
    zero: Any


_ZEROS = {
    "f64": np.float64(0),
    "f32": np.float32(0),
    "i64": np.int64(0),
    "b8": np.uint8(0),
    "c128": np.complex128(0),
    "c64": np.complex64(0),
}
CONSTANTS: dict[str, dict[str, Any]] = {
    "zero": _ZEROS,
    "zeros": {x + y: (_ZEROS[x], _ZEROS[y]) for x in ("f64", "f32") for y in ("f64", "f32")},
    # of an integer of the dtype's size: a copy depends on the bits alone
    "bits": _ZEROS | {"f64": np.int64(0), "f32": np.int32(0)},
    "float_bits": {
        "f64": FloatBits(0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000, np.int64(0), np.float64(0)),
        "f32": FloatBits(0x7FFFFFFF, 0x7F800000, np.int32(0), np.float32(0)),
    },
    "keys": {dtype: Keys(dtype == "i64", _ZEROS[dtype]) for dtype in ("f64", "f32", "i64")},
    "products": {"f64": matmul.F64, "f32": matmul.F32, "c128": matmul.C128, "c64": matmul.C64},
    "routines": {"f64": lapack.F64, "f32": lapack.F32, "c128": lapack.C128, "c64": lapack.C64},
}


def entry_point(module: Any, name: str) -> Callable[[int, int], int]:
    """Return the entry point ``name(frame, loops)`` of a module.

    It is a function of the module, or the pair of a function and the dtype at the end of the name.
    """
    found: Callable[[int, int], int] | None = getattr(module, name, None)
    if found is not None:
        return found
    function, _, dtype = name.rpartition("_")
    kernel = getattr(module, function, None)
    if kernel is None:
        raise AttributeError(f"{module.__name__} has no kernel {function}(frame, loops, constant), or {name}")
    constant = CONSTANTS[kernel.py_func.__code__.co_varnames[2]][dtype]

    def entry(frame: int, loops: int) -> int:
        return kernel(frame, loops, constant)

    entry.__module__, entry.__name__, entry.__qualname__ = module.__name__, name, name
    return entry
