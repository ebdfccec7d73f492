"""The table's texts evaluated by NumPy: for operands that no kernel takes, and as a reference for kernels.

Functions that neither NumPy nor SciPy has are computed by their kernels.
"""

import ctypes
import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, STRIDE, Y_STRIDE, X, Y
from tapegrad.engine.kernels.language.library import (
    COMPILED,
    COMPLEX_SCIPY,
    MAX_DEGREE,
    OF_DEGREE,
    RESULTS,
    SCIPY,
)
from tapegrad.engine.runtime import library_loops
from tapegrad.engine.runtime.library_loops import ufunc
from tapegrad.ops import BY_NAME, CODES, CONSTANTS, PRIMALS, Op, evaluate, names_in

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def _forward(row: Op) -> Any:
    return _KERNEL(kernel_table.load_code(CODES[row.name], 0, 0))


def compute(row: Op, operands: Sequence[Any]) -> np.ndarray:
    """Compute the primal in float64; operands broadcast."""
    kinds = [bool if j in row.boolean_operands else np.float64 for j in range(row.arity)]
    arrays = [np.asarray(x, kind) for x, kind in zip(operands, kinds, strict=True)]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    arrays = [np.ascontiguousarray(np.broadcast_to(x, shape)) for x in arrays]
    result = np.empty(shape)
    frame = np.zeros(FIELDS, np.int64)
    frame[[COUNT, Y, Y_STRIDE]] = result.size, result.ctypes.data, result.itemsize
    for j, x in enumerate(arrays):
        frame[[X + j, STRIDE + j]] = x.ctypes.data, x.itemsize
    _forward(row)(frame.ctypes.data, library_loops.table())
    return result


class _NumPyNames(dict[str, Any]):
    """NumPy's functions by name, SciPy's under ours, and the rows that neither of them has."""

    def __missing__(self, name: str) -> Any:
        if name == "log1p":
            self[name] = _log1p
        elif name in RESULTS:
            self[name] = functools.partial(_result_of, name)
        elif name in OF_DEGREE:
            self[name] = functools.partial(_of_degree, name)
        elif COMPLEX_SCIPY.get(name) != SCIPY.get(name) and name in COMPLEX_SCIPY:
            self[name] = functools.partial(_by_dtype, name)
        elif name in SCIPY:
            self[name] = ufunc(name)
        elif name in COMPILED:
            self[name] = functools.partial(_compute_alike, BY_NAME[name])
        elif name in _BRANCHES:
            self[name] = functools.partial(_lambertw, _BRANCHES[name])
        else:
            self[name] = getattr(np, name) if hasattr(np, name) else _function(BY_NAME[name])
        return self[name]


def _compute_alike(row: Op, *operands: Any) -> Any:
    """Compute the primal in float64, and round it to the dtype that NumPy would compute in."""
    return compute(row, operands).astype(np.result_type(*operands, 1.0))


def _log1p(x: Any) -> Any:
    """Call NumPy's function, of complex numbers SciPy's: that of NumPy has no digits of small ones."""
    return import_module("scipy.special").log1p(x) if np.iscomplexobj(x) else np.log1p(x)


def _by_dtype(name: str, *operands: Any) -> Any:
    """Call SciPy's function, which is another one for complex operands, or is complex of real ones as well."""
    return ufunc(name, name not in SCIPY or np.iscomplexobj(operands[-1]))(*operands)


def _result_of(name: str, *operands: Any) -> Any:
    """Return one result of SciPy's function."""
    return ufunc(name)(*operands)[RESULTS[name]]


def _of_degree(name: str, *operands: Any) -> Any:
    """Call SciPy's function of whole numbers in float64, and round the result to the dtype of the operands."""
    arrays: list[Any] = [np.asarray(x, np.float64) for x in operands]
    is_whole: Any = True
    for j in (j for j, code in enumerate(OF_DEGREE[name]) if code == "l"):
        is_whole = is_whole & (arrays[j] > -0.5) & (arrays[j] < MAX_DEGREE)
        arrays[j] = np.where(is_whole, np.rint(arrays[j]), 0).astype(int)
    return np.where(is_whole, ufunc(name)(*arrays), np.nan).astype(np.result_type(*operands, 1.0))


def _lambertw(k: int, x: Any) -> Any:
    """Return a branch of Lambert's W where it is real; nan elsewhere."""
    found = import_module("scipy.special").lambertw(x, k)
    return np.where(found.imag == 0, found.real, np.nan).astype(np.asarray(x).dtype)


_BRANCHES = {"lambertw0": 0, "lambertwm1": -1}


def _function(row: Op) -> Any:
    """Return the primal of a row as a function of NumPy arrays."""
    return lambda *operands: evaluate_numpy(row.primal, **{f"x{j}": x for j, x in enumerate(operands)})


_NUMPY = _NumPyNames()


def evaluate_numpy(text: str, **values: Any) -> Any:
    """Value of `text` with NumPy's functions; floating-point warnings are silent."""
    functions = names_in(text) - PRIMALS - CONSTANTS.keys()
    with np.errstate(all="ignore"):
        return evaluate(text, {name: _NUMPY[name] for name in functions}, **values)
