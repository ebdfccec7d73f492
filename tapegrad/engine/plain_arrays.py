"""An elementwise op on NumPy arrays, by its kernel and past any tape: for constants, that nothing is recorded of."""

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.frame import COUNT, STRIDE, WORDS, Y_STRIDE, X, Y
from tapegrad.engine.runtime import library_loops
from tapegrad.ops import CODES, Op

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def _forward(row: Op) -> Any:
    return _KERNEL(kernel_table.load_code(CODES[row.name], 0, 0))


def compute(row: Op, operands: Sequence[Any]) -> np.ndarray:
    """The primal in float64; of operands that broadcast."""
    kinds = [bool if j in row.boolean_operands else np.float64 for j in range(row.arity)]
    arrays = [np.asarray(x, kind) for x, kind in zip(operands, kinds, strict=True)]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    arrays = [np.ascontiguousarray(np.broadcast_to(x, shape)) for x in arrays]
    result = np.empty(shape)
    frame = np.zeros(WORDS, np.int64)
    frame[[COUNT, Y, Y_STRIDE]] = result.size, result.ctypes.data, result.itemsize
    for j, x in enumerate(arrays):
        frame[[X + j, STRIDE + j]] = x.ctypes.data, x.itemsize
    _forward(row)(frame.ctypes.data, library_loops.table())
    return result
