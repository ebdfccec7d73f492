"""A user's own op: its kernels hand the frame on to a function by address.

A descriptor, whose address is a parameter of the op, is what the instructions of one op with operands of certain
shapes have in common: for each direction the address of a compiled function, 0 where there is none, then for each
direction the address of one that asks Python. Both have the signature of a kernel, with the descriptor in place of the
table of loops. A compiled function that fails says no more than that: then Python is asked, which knows why.
"""

from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import call_kernel, load_i64, load_record
from tapegrad.engine.kernels.language.status import CALL_FAILED
from tapegrad.ops.params import CustomParams

FORWARD, REVERSE, TANGENT = range(3)
DIRECTIONS = 3
CELL_WORDS = 2 * DIRECTIONS
DONE = 0x0DD5  # what a function that asks Python returns; anything where Python was stopped before it could say so


@always_inline
def _call(frame: int, direction: int) -> int:
    descriptor = load_record(load_i64(frame, PARAMS), CustomParams).descriptor
    compiled = load_i64(descriptor, direction)
    if compiled != 0 and call_kernel(compiled, frame, descriptor) == 0:
        return 0
    status = call_kernel(load_i64(descriptor, DIRECTIONS + direction), frame, descriptor)
    return 0 if status == DONE else CALL_FAILED


def custom_forward(frame: int, loops: int) -> int:
    """Compute Y from X[0] and X[2]."""
    return _call(frame, FORWARD)


def custom_reverse(frame: int, loops: int) -> int:
    """Accumulate to X_BAR[0] what the vjp makes of Y_BAR, X[0], X[2] and Y."""
    return _call(frame, REVERSE)


def custom_tangent(frame: int, loops: int) -> int:
    """Write to Y_BAR what the jvp makes of X_BAR[0], X[0], X[2] and Y."""
    return _call(frame, TANGENT)
