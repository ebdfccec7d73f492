"""Which rows of the elementwise table, and in which dtype, the daily selection has through each mode."""

from typing import Any

import numpy as np

from tapegrad.ops import ELEMENTWISE, Op

_FIRST = {op.arity: op for op in reversed(ELEMENTWISE) if not op.predicate and not op.unknown}


def is_first_of_arity(op: Op) -> bool:
    """Return whether a row stands for those of its arity, in all layouts, shapes and dtypes."""
    return _FIRST.get(op.arity) is op


def in_double(dtype: Any) -> bool:
    """Return whether a dtype is float64."""
    return (
        np.dtype({"f64": "f8", "f32": "f4"}.get(dtype, dtype) if isinstance(dtype, str) else dtype)
        == np.float64
    )
