"""Guards: a replayed tape holds only as long as these see what was seen when it was recorded."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, X
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, load_record, memcmp
from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.ops.params import GuardParams, TruthGuardParams


def guard_forward(frame: int, loops: int) -> int:
    """Hold X[0] against the expected bytes."""
    expected = load_record(load_i64(frame, PARAMS), GuardParams)
    same = memcmp(load_i64(frame, X), expected.address, expected.bytes) == 0
    return 0 if same else GUARD_FAILED


@always_inline
def _truth_guard(frame: int, zero: Any) -> int:
    truth = load_at(load_i64(frame, X), 0, zero) != 0
    expected = load_record(load_i64(frame, PARAMS), TruthGuardParams).truth != 0
    return 0 if truth == expected else GUARD_FAILED


def truth_guard_forward_f64(frame: int, loops: int) -> int:
    """Hold the truth of the element at X[0] against the expected one; nan is true, as in Python."""
    return _truth_guard(frame, np.float64(0))


def truth_guard_forward_f32(frame: int, loops: int) -> int:
    """`truth_guard_forward_f64` for float32."""
    return _truth_guard(frame, np.float32(0))


def truth_guard_forward_b8(frame: int, loops: int) -> int:
    """`truth_guard_forward_f64` for booleans."""
    return _truth_guard(frame, np.uint8(0))


def truth_guard_forward_i64(frame: int, loops: int) -> int:
    """`truth_guard_forward_f64` for 64-bit integers."""
    return _truth_guard(frame, np.int64(0))
