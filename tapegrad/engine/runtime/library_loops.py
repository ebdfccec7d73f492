"""The table of library loops: NumPy's and SciPy's own inner loops, SciPy's BLAS and LAPACK, by address.

A ufunc object holds an array of loops and one of the data that they are given; the layout of its head
is part of NumPy's C interface (``PyUFuncObject`` in ``numpy/ufuncobject.h``) and the same in NumPy 1
and 2. Every entry is tried on a few numbers before it is used, so that a loop of another kind is found
out here and not in a result.
"""

import ctypes
import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.library import (
    COMPLEX_SCIPY,
    COMPLEX_SIGNATURES,
    FORTRAN,
    OF_DEGREE,
    SCIPY,
    SIGNATURES,
    SIZE,
    TRANSFORMS,
    entry,
)
from tapegrad.engine.runtime.object_layouts import UFUNC_DATA, UFUNC_FUNCTIONS, capsule_pointer, ensure_known

_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)

_table = np.zeros(2 * SIZE, np.int64)
_present: set[str] = set()


class LibraryError(ImportError):
    """Raised for a loop that this version of NumPy or SciPy lacks, or whose results are wrong."""


def table() -> int:
    """Return the address of the table ``[function, data]`` by entry; entries that were not ensured are 0."""
    return int(_table.ctypes.data)


def ensure(names: Iterable[str]) -> None:
    """Fill the entries of the library loops and the functions of BLAS and LAPACK `names`, for each element type."""
    for name in names:
        if name not in _present:
            if name in FORTRAN:
                _fill_function(name)
            elif name in TRANSFORMS:
                _fill_transforms(name)
            else:
                _fill_loops(name)
            _present.add(name)


def enter(name: str, address: int, dtype: str = "d", data: int = 0) -> None:
    """Fill the entry of a function with an address from elsewhere."""
    at = 2 * entry(name, dtype)
    _table[at : at + 2] = address, data


def ufunc(name: str, is_complex: bool = False) -> np.ufunc:
    """Return the ufunc of library loop `name`, over real or complex numbers."""
    names = COMPLEX_SCIPY if is_complex else SCIPY
    if name not in names:
        return getattr(np, name)
    # It is slow to import and few programs need it. Under SCIPY_ARRAY_API, `scipy.special` has functions around these.
    from scipy.special import _ufuncs

    if hasattr(_ufuncs, names[name]):
        return getattr(_ufuncs, names[name])
    from scipy.stats import _boost  # where SciPy before 1.15 has the densities of Boost's

    return getattr(_boost, names[name])


def _fill_function(name: str) -> None:
    functions = importlib.import_module(f"scipy.linalg.{FORTRAN[name]}").__pyx_capi__
    _table[2 * entry(name)] = capsule_pointer(functions[name])


def _fill_loops(name: str) -> None:
    for dtype in element_types(name):
        address, data = loop_of(name, dtype)
        enter(name, address, dtype, data)


def element_types(name: str) -> str:
    """Return the element types of library loop `name`: of "d", "f", "D" and "F" those that it has."""
    return "df" * (name in SIGNATURES) + "DF" * (name in COMPLEX_SIGNATURES)


def loop_of(name: str, dtype: str) -> tuple[int, int]:
    """Return the addresses of the inner loop of a ufunc's element type, with all results, and of its data."""
    is_complex = dtype in "DF"
    function = ufunc(name, is_complex)
    types = (COMPLEX_SIGNATURES if is_complex else SIGNATURES)[name]
    types += types[-1] * (function.nout - 1)
    if dtype in "fF":
        types = types.replace("d", "f").replace("D", "F")
    fields = _loop(function, types)
    _check(function, types, fields)
    return fields


def loop_of_degree(name: str) -> tuple[int, int]:
    """Return the addresses of a ufunc's loop of which operands are integers, and of its data."""
    function = ufunc(name)
    types = next(
        (each for code in "lqp" if (each := OF_DEGREE[name].replace("l", code)) in function.types), ""
    )
    fields = _loop(function, types)
    _check(function, types, fields)
    return fields


def _fill_transforms(name: str) -> None:
    function: np.ufunc = getattr(importlib.import_module("numpy.fft._pocketfft_umath"), name)
    for dtype, suffix in (("d", ""), ("f", "f")):
        types = TRANSFORMS[name].replace("d", dtype).replace("D", "F" if suffix else "D")
        fields = _loop(function, types)
        _check_transform(function, types, fields)
        enter(name, fields[0], dtype, fields[1])


def _check_transform(function: np.ufunc, types: str, fields: tuple[int, int]) -> None:
    """Call the loop on two lines, with strides of their elements, and compare with the ufunc."""
    length = 7 if function.__name__.endswith("odd") else 6
    lines = (np.arange(2.0 * length).reshape(2, length) ** 2 % 11 + (1j if types[0] in "DF" else 0)).astype(
        types[0]
    )
    factor = np.array(0.5, types[1])
    wide = (
        length if types[0] in "DF" and types[-1] in "DF" else (10 if types[-1] in "df" else length // 2 + 1)
    )
    expected = function(lines, factor, out=np.zeros((2, wide), types[-1]))
    result = np.zeros_like(expected)
    arrays = (lines, factor, result)
    pointers = (ctypes.c_void_p * 3)(*[array.ctypes.data for array in arrays])
    counts = (ctypes.c_ssize_t * 3)(2, length, wide)
    strides = (ctypes.c_ssize_t * 5)(
        lines.strides[0], 0, result.strides[0], lines.strides[1], result.strides[1]
    )
    _LOOP(fields[0])(*(ctypes.addressof(block) for block in (pointers, counts, strides)), fields[1])
    if not np.array_equal(result, expected):
        raise LibraryError(
            f"numpy {np.__version__}: loop {types!r} of {function.__name__!r} is not as expected"
        )


def _loop(function: np.ufunc, types: str) -> tuple[int, int]:
    """Return the addresses of the inner loop of `function` for `types` and of its data."""
    if types not in function.types:
        raise LibraryError(f"numpy {np.__version__}: ufunc {function.__name__!r} has no loop {types!r}")
    ensure_known()
    index = function.types.index(types)
    loops, data = (_pointer(id(function) + offset) for offset in (UFUNC_FUNCTIONS, UFUNC_DATA))
    address = _pointer(loops + 8 * index) if loops else 0
    if not address:
        raise LibraryError(f"numpy {np.__version__}: ufunc {function.__name__!r} holds no loop {types!r}")
    return address, _pointer(data + 8 * index) if data else 0


def _pointer(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _check(function: np.ufunc, types: str, fields: tuple[int, int]) -> None:
    """Call the loop on a few numbers and compare with the ufunc."""
    operands: list[Any] = [np.array([0.5, 0.25, 0.75]).astype(code) for code in types[: function.nin]]
    if function.nin == 2:  # the first operand may be an order, of which some functions want whole numbers
        operands[0] = np.array([1.0, 2.0, 3.0]).astype(types[0])
    with np.errstate(all="ignore"):
        found = function(*operands)
        expected = found if isinstance(found, tuple) else (found,)
        results = [np.zeros_like(each) for each in expected]
        arrays = [*operands, *results]
        pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
        strides = (ctypes.c_ssize_t * len(arrays))(*[array.strides[0] for array in arrays])
        count = ctypes.c_ssize_t(expected[0].size)
        _LOOP(fields[0])(*(ctypes.addressof(block) for block in (pointers, count, strides)), fields[1])
    if not all(
        np.array_equal(*pair, equal_nan=pair[0].dtype != bool) for pair in zip(results, expected, strict=True)
    ):
        raise LibraryError(
            f"numpy {np.__version__}: loop {types!r} of {function.__name__!r} is not as expected"
        )
