"""Run a kernel over all the loops of a frame: the inner one, the outer ones, and on several threads."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, OUTER, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import intrinsic
from tapegrad.engine.kernels.language.llvm_types import called_at
from tapegrad.engine.kernels.language.odometer import begin_index, next_index
from tapegrad.engine.kernels.language.raw_memory import call_kernel, load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.binding.control_fields import DRIVER, LINES_SHIFT
from tapegrad.engine.tape.fields.layout import MAX_NDIM


@intrinsic
def call_driver(typingctx, driver, kernel, frame, loops, control, parallel_threshold):
    """Call the parallel driver by address: only programs with large arrays compile it."""

    def codegen(context, builder, signature, args):
        return called_at(builder, args[0], args[1:])

    return types.int64(*[types.int64] * 6), codegen


@inline_njit
def copy_frame(source, target):
    """Copy the fields of a frame."""
    for field in range(FIELDS):
        store_i64(target, field, load_i64(source, field))


@inline_njit
def _move(frame, field, by):
    address = load_i64(frame, field)
    if address != 0:
        store_i64(frame, field, address + by)


@inline_njit
def move(frame, s0, s1, s2, sy):
    """Move every address of a frame by the bytes given for its role."""
    _move(frame, X, s0)
    _move(frame, X + 1, s1)
    _move(frame, X + 2, s2)
    _move(frame, Y, sy)
    _move(frame, X_BAR, s0)
    _move(frame, X_BAR + 1, s1)
    _move(frame, X_BAR + 2, s2)
    _move(frame, Y_BAR, sy)


@inline_njit
def move_along(frame, outer, d, steps):
    """Move every address of a frame by `steps` along outer loop `d`."""
    m = load_i64(outer, 0)
    move(
        frame,
        steps * load_i64(outer, 1 + m + d),
        steps * load_i64(outer, 1 + 2 * m + d),
        steps * load_i64(outer, 1 + 3 * m + d),
        steps * load_i64(outer, 1 + 4 * m + d),
    )


@inline_njit
def run_nested(kernel, frame, loops):
    """Run a kernel at every point of the outer loops, the last of them fastest. `frame` is restored afterwards.

    A kernel that takes lines runs the last loop itself.
    """
    outer = load_i64(frame, OUTER)
    m, index = load_i64(outer, 0) - (load_i64(frame, STORE) >> LINES_SHIFT & 1), stack_i64(MAX_NDIM)
    begin_index(index, m)
    while True:
        status = call_kernel(kernel, frame, loops)
        if status != 0:
            return status
        d = next_index(index, outer + 8, m)
        for inner in range(d + 1, m):  # the inner loops start again
            move_along(frame, outer, inner, 1 - load_i64(outer, 1 + inner))
        if d < 0:
            return 0
        move_along(frame, outer, d, 1)


@inline_njit
def elements(frame):
    """Return the number of elements that a frame covers."""
    count = load_i64(frame, COUNT)
    outer = load_i64(frame, OUTER)
    if outer != 0:
        for d in range(load_i64(outer, 0)):
            count *= load_i64(outer, 1 + d)
    return count


@inline_njit
def execute(kernel, frame, loops, parallel_threshold, control):
    """Run a bound instruction, on several threads from `parallel_threshold` elements on if a driver is loaded.

    A threshold below 0 says that the inner loop must stay in one piece, 0 that the op runs on one thread.
    """
    if load_i64(frame, COUNT) < 0:
        return 0
    if parallel_threshold != 0 and elements(frame) >= abs(parallel_threshold):
        driver = load_i64(control, DRIVER)
        if driver != 0:
            return call_driver(driver, kernel, frame, loops, control, parallel_threshold)
    if load_i64(frame, OUTER) == 0:
        return call_kernel(kernel, frame, loops)
    return run_nested(kernel, frame, loops)
