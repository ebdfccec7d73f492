"""Calls of library loops, as a Numba intrinsic."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tapegrad.engine.kernels.llvm_types import i32, i64


def _word(builder, address, index):
    """A word of an array that begins at an address."""
    return builder.load(builder.gep(builder.inttoptr(address, i64.as_pointer()), [index]))


def _words(builder, values):
    """Address of an array on the stack that holds `values`."""
    block = builder.alloca(ir.ArrayType(i64, len(values)))
    for index, value in enumerate(values):
        builder.store(value, builder.gep(block, [i32(0), i32(index)]))
    return builder.ptrtoint(block, i64)


@intrinsic
def call_library(typingctx, loops, entry, n, arrays):
    """Library loop `entry` over `n` elements; `arrays`: of each operand, then of the result, address and stride."""

    def codegen(context, builder, signature, args):
        loops_, entry_, count, packed = args
        pairs = [
            context.cast(builder, value, kind, types.int64)
            for value, kind in zip(cgutils.unpack_tuple(builder, packed), arrays, strict=True)
        ]
        table = builder.shl(entry_, i64(1))
        loop, data = _word(builder, loops_, table), _word(builder, loops_, builder.add(table, i64(1)))
        passed = _words(builder, pairs[::2]), _words(builder, [count]), _words(builder, pairs[1::2])
        with builder.if_then(builder.icmp_signed(">", count, i64(0))):
            function = ir.FunctionType(ir.VoidType(), [i64] * 4).as_pointer()
            builder.call(builder.inttoptr(loop, function), [*passed, data])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, arrays), codegen
