"""Kernels of users' ops: they call a function by its address in a descriptor.

The instructions of an op share a descriptor for each set of operand shapes; its address is a parameter. For each
direction it holds the address of a compiled function, or 0, then for each direction the address of a function that
calls Python. Both have the signature of a kernel, with the descriptor in place of the table of loops. If the compiled
function fails, the function in Python is called, which raises the error.
"""

from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import call_kernel, load_i64, load_record
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED, INTERRUPTED
from tapegrad.ops.structural.control import CustomParams

FORWARD, REVERSE, TANGENT = range(3)
DIRECTIONS = 3
CELL_FIELDS = 2 * DIRECTIONS
# Then an address for compiled functions
DESCRIPTOR_FIELDS = CELL_FIELDS + 1
DONE = 0x0DD5  # returned by a function that has called Python; any other value if Python was stopped before


@always_inline
def _call(frame: int, direction: int) -> int:
    descriptor = load_record(load_i64(frame, PARAMS), CustomParams).descriptor
    compiled = load_i64(descriptor, direction)
    if compiled != 0:
        status = call_kernel(compiled, frame, descriptor)
        if status == 0 or status == INTERRUPTED:
            return status
    status = call_kernel(load_i64(descriptor, DIRECTIONS + direction), frame, descriptor)
    if status == GUARD_FAILED:  # a loop takes a branch that was not recorded
        return status
    return 0 if status == DONE else CALL_FAILED


def custom_forward(frame: int, loops: int) -> int:
    """Compute Y from X[0] and X[2]."""
    return _call(frame, FORWARD)


def custom_reverse(frame: int, loops: int) -> int:
    """Accumulate to X_BAR[0] the vjp of Y_BAR, X[0], X[2] and Y."""
    return _call(frame, REVERSE)


def custom_tangent(frame: int, loops: int) -> int:
    """Write to Y_BAR the jvp of X_BAR[0], X[0], X[2] and Y."""
    return _call(frame, TANGENT)
