"""Calls of the emitter's loops, as a Numba intrinsic."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tapegrad.engine.kernels.language.llvm_types import i64


@intrinsic
def call_loop(typingctx, loops, entry, n, lines):
    """Run a loop of the emitter over `n` elements of lines, each an address."""

    def codegen(context, builder, signature, args):
        table, number, count, packed = args
        place = builder.gep(builder.inttoptr(table, i64.as_pointer()), [builder.shl(number, i64(1))])
        function = ir.FunctionType(ir.VoidType(), [i64] * (1 + len(lines))).as_pointer()
        passed = [count, *cgutils.unpack_tuple(builder, packed)]
        builder.call(builder.inttoptr(builder.load(place), function), passed)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, lines), codegen
