"""Hand the engine's memory to NumPy: arrays on a block, which they keep alive.

The array is built in compiled code with a reference-counted owner of Numba's, whose destructor drops the block's
reference; that takes a third of the time of NumPy's array interface. One entry point for each dtype and number of
dimensions up to two; `tapegrad.frontend.tensor.arrays.show` takes the array interface for the others.
"""

from numba import types

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit, register
from tapegrad.engine.kernels.language.inlining import intrinsic
from tapegrad.engine.kernels.language.llvm_types import i8, i64
from tapegrad.engine.kernels.language.numba_internals import arrays
from tapegrad.engine.kernels.language.raw_memory import load_i64
from tapegrad.engine.tape.append import is_freed
from tapegrad.engine.tape.blocks import release_block, retain
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.layout import DTYPE_COUNT, EXTERNAL

NOTHING = -1  # there is no memory to show
BORROWED = -2  # the memory is a NumPy array's
READ_ONLY = -3  # nothing may be written to it


def _array_maker(element, ndim):
    """Make an intrinsic ``make(block, address, geometry, destructor)`` that returns an array of one type."""
    array_type = types.Array(element, ndim, "A")

    @intrinsic
    def make(typingctx, block, address, geometry, destructor):
        def codegen(context, builder, signature, args):
            block_, address_, geometry_, destructor_ = args
            void = i8.as_pointer()
            owner = context.nrt.meminfo_alloc_dtor(builder, i64(8), builder.inttoptr(destructor_, void))
            note = context.nrt.meminfo_data(builder, owner)
            builder.store(block_, builder.bitcast(note, i64.as_pointer()))
            array = arrays().make_array(array_type)(context, builder)
            fields = builder.inttoptr(geometry_, i64.as_pointer())
            geometry_fields = [builder.load(builder.gep(fields, [i64(k)])) for k in range(2 * ndim)]
            item = context.get_abi_sizeof(context.get_data_type(element))
            arrays().populate_array(
                array,
                data=builder.inttoptr(address_, array.data.type),
                shape=geometry_fields[:ndim],
                strides=geometry_fields[ndim:],
                itemsize=context.get_constant(types.intp, item),
                meminfo=owner,
            )
            return array._getvalue()

        return array_type(*[types.int64] * 4), codegen

    return make


def release_exported(note, size, info):
    """Drop the reference to the block whose address the owner's eight bytes hold: the owner's destructor."""
    release_block(load_i64(note, 0))
    return 0


@entry_point()
def hold_to_show(header, slot, cotangent):
    """Add a reference to the memory of a slot's primal or cotangent, for an array that will show it.

    Returns ``ndim * DTYPE_COUNT + dtype``, which says what array to make; or NOTHING, BORROWED or READ_ONLY.
    """
    memory = 0 if is_freed(header, slot) else _memory(header, slot, cotangent)
    if memory == 0:
        return NOTHING
    if not cotangent and col.flags(header, col.buffer(header, slot)) & EXTERNAL:
        return BORROWED
    retain(memory)
    if not cotangent and col.read_only(header, slot):
        return READ_ONLY
    return col.ndim(header, slot) * DTYPE_COUNT + col.dtype(header, slot)


@inline_njit
def _memory(header, slot, cotangent):
    buffer = col.buffer(header, slot)
    return col.cotangent(header, buffer) if cotangent else col.primal(header, buffer)


def _shower(name, element, ndim):
    """Make the entry point `name`: an array of `ndim` dimensions on memory that `hold_to_show` has held."""
    make = _array_maker(element, ndim)

    def show(header, slot, cotangent, destructor):
        memory = _memory(header, slot, cotangent)
        return make(memory, memory + col.offset(header, slot), col.geometry(header, slot), destructor)

    return register(name, show)


show_f64_0 = _shower("show_f64_0", types.float64, 0)
show_f64_1 = _shower("show_f64_1", types.float64, 1)
show_f64_2 = _shower("show_f64_2", types.float64, 2)
show_f32_0 = _shower("show_f32_0", types.float32, 0)
show_f32_1 = _shower("show_f32_1", types.float32, 1)
show_f32_2 = _shower("show_f32_2", types.float32, 2)
