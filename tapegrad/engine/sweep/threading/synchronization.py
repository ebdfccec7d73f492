"""Primitives of the pool of threads: atomic integers, a clock, and locks that sleep.

The locks are those of Python's own C interface, which every platform has: they are taken and released without the
interpreter, and by different threads, so that one serves as a signal.
"""

from llvmlite import ir

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.inlining import external_function, intrinsic
from tapegrad.engine.kernels.language.llvm_types import called, called_at, i32, i64
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64
from tapegrad.engine.runtime import operating_system

_ORDER = "seq_cst"  # a sleeper and its waker each write one field, then read the other's
_CLOCK = operating_system.clock()

acquire_lock = external_function("PyThread_acquire_lock", "int32", "int64", "int32")
release_lock = external_function("PyThread_release_lock", "void", "int64")


def _field(builder, address):
    return builder.inttoptr(address, i64.as_pointer())


@intrinsic
def atomic_load(typingctx, address):
    """Atomically load the integer at `address`."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(_field(builder, args[0]), _ORDER, 8)

    return types.int64(types.int64), codegen


@intrinsic
def atomic_store(typingctx, address, value):
    """Atomically store to the field at `address`."""

    def codegen(context, builder, signature, args):
        builder.store_atomic(args[1], _field(builder, args[0]), _ORDER, 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def release_store(typingctx, address, value):
    """Store to the field at `address` with release order: to release a lock."""

    def codegen(context, builder, signature, args):
        builder.store_atomic(args[1], _field(builder, args[0]), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def atomic_add(typingctx, address, value):
    """Atomically add to the field at `address`; return its old value."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", _field(builder, args[0]), args[1], _ORDER)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def compare_and_swap(typingctx, address, expected, desired):
    """Atomically replace the field at `address` by `desired` if it is `expected`; return whether it was."""

    def codegen(context, builder, signature, args):
        result = builder.cmpxchg(_field(builder, args[0]), args[1], args[2], _ORDER, "monotonic")
        return builder.zext(builder.extract_value(result, 1), i64)

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def relax(typingctx):
    """Emit the processor's hint for a spin loop, if it has one."""

    def codegen(context, builder, signature, args):
        name, *hints = operating_system.spin_hint() or ("",)
        if name:
            called(builder, name, [i32(hint) for hint in hints], ir.VoidType())
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def call_count(typingctx, address):
    """Call the C function ``int count(void)`` at `address`."""

    def codegen(context, builder, signature, args):
        return builder.sext(called_at(builder, args[0], [], i32), i64)

    return types.int64(types.int64), codegen


if _CLOCK.function == "QueryPerformanceCounter":
    _query_counter = external_function("QueryPerformanceCounter", "int32", "int64")
    _TICK = _CLOCK.argument

    @inline_njit
    def nanoseconds():
        """Return the time in ns of a clock that never goes back."""
        ticks = stack_i64(1)
        _query_counter(ticks)
        return load_i64(ticks, 0) * _TICK

else:
    _clock_gettime = external_function("clock_gettime", "int32", "int32", "int64")
    _MONOTONIC = _CLOCK.argument

    @inline_njit
    def nanoseconds():
        """Return the time in ns of a clock that never goes back."""
        timespec = stack_i64(2)
        _clock_gettime(_MONOTONIC, timespec)
        return load_i64(timespec, 0) * 1_000_000_000 + load_i64(timespec, 1)
