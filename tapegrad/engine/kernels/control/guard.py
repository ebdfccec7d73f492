"""Guards: kernels that fail with GUARD_FAILED if a value differs from the recorded one, which ends the replay."""

from typing import Any

from tapegrad.engine.kernels.language.frame import PARAMS, X
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, load_record, memcmp
from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.ops.structural.control import GuardParams, TruthGuardParams


def guard_forward(frame: int, loops: int) -> int:
    """Compare X[0] with the expected bytes."""
    expected = load_record(load_i64(frame, PARAMS), GuardParams)
    same = memcmp(load_i64(frame, X), expected.address, expected.bytes) == 0
    return 0 if same else GUARD_FAILED


@always_inline
def truth_guard_forward(frame: int, loops: int, zero: Any) -> int:
    """Compare the truth of the element at X[0] with the expected one; nan is true, as in Python."""
    truth = load_at(load_i64(frame, X), 0, zero) != 0
    expected = load_record(load_i64(frame, PARAMS), TruthGuardParams).truth != 0
    return 0 if truth == expected else GUARD_FAILED
