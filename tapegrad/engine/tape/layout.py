"""The columns of a tape and where their addresses are kept.

A tape is a struct of arrays. Its header is a block of 64-bit words that holds the counts, the capacities and the
address of every column; compiled code is handed the header's address and nothing else. Three kinds of entry:

instruction
    op code, result slot, up to three operand slots, address of the op's parameters (0: none).
slot
    a view on a buffer: dtype code, number of dimensions, offset in bytes, address of its geometry, which is
    ``[extents..., strides in bytes...]`` (0 for a scalar).
buffer
    address of the primal, address of the cotangent, and the counts that say how long each is needed.

References: `SLOT_REFS` counts the Tensors on a slot, its uses as an operand, and the instruction that writes it.
`BUFFER_USERS` counts Tensors and operand uses over all slots of a buffer; when it falls to 0 the buffer and the
instructions that write it are dead. `BUFFER_KEEPS` counts the instructions whose reverse rule reads the primal.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tapegrad.engine.kernels.frame import MAX_NDIM as MAX_NDIM
from tapegrad.engine.kernels.llvm_types import i64

# The header's words.
(
    INSTRUCTIONS,  # used entries, dead ones among them included
    INSTRUCTION_CAPACITY,
    DEAD,  # dead instructions not yet squeezed out
    SLOTS,
    SLOT_CAPACITY,
    FREE_SLOT,  # head of the list of free slots, -1: none
    BUFFERS,
    BUFFER_CAPACITY,
    FREE_BUFFER,
    ORPHAN,  # head of the list of dead buffers whose memory a Python object owns, -1: none
    KERNELS,  # address of the table of kernel addresses
    OP_TABLE,  # address of the table of what the engine must know of each op; the word before it counts them
    LOOPS,  # address of the table of library loops
    CONTROL,  # address of the control block of the parallel driver
    ALL_LIVE,  # 1 on a recording: every instruction is appended, also those that only touch constants
    SCALAR_CACHE,  # address of the table of constant scalars used last
    CALLS,  # 1 once an instruction was appended that runs a user's functions
    CHECKSUMS,  # address of the table of what reverse rules read; 0 unless checks are switched on
    _OP,
    _RESULT,
    _OPERAND0,
    _OPERAND1,
    _OPERAND2,
    _PARAMS,
    _MARK,
    _SLOT_BUFFER,
    _SLOT_DTYPE,
    _SLOT_NDIM,
    _SLOT_OFFSET,
    _SLOT_GEOMETRY,
    _SLOT_REFS,
    _PRIMAL,
    _COTANGENT,
    _BYTES,
    _USERS,
    _HANDLES,
    _KEEPS,
    _PRODUCER,
    _FLAGS,
) = range(39)
HEADER_WORDS = 40

# Bytes of an element of each column, in the order of the words above.
INSTRUCTION_COLUMNS = (
    (_OP, 2),
    (_RESULT, 4),
    (_OPERAND0, 4),
    (_OPERAND1, 4),
    (_OPERAND2, 4),
    (_PARAMS, 8),
    (_MARK, 1),
)
SLOT_COLUMNS = (
    (_SLOT_BUFFER, 4),
    (_SLOT_DTYPE, 1),
    (_SLOT_NDIM, 1),
    (_SLOT_OFFSET, 8),
    (_SLOT_GEOMETRY, 8),
    (_SLOT_REFS, 4),
)
BUFFER_COLUMNS = (
    (_PRIMAL, 8),
    (_COTANGENT, 8),
    (_BYTES, 8),
    (_USERS, 4),
    (_HANDLES, 4),
    (_KEEPS, 4),
    (_PRODUCER, 4),
    (_FLAGS, 1),
)
COLUMNS = {
    "op": (_OP, 2),
    "result": (_RESULT, 4),
    "operand0": (_OPERAND0, 4),
    "operand1": (_OPERAND1, 4),
    "operand2": (_OPERAND2, 4),
    "params": (_PARAMS, 8),
    "slot_buffer": (_SLOT_BUFFER, 4),
    "slot_dtype": (_SLOT_DTYPE, 1),
    "slot_ndim": (_SLOT_NDIM, 1),
    "slot_offset": (_SLOT_OFFSET, 8),
    "slot_geometry": (_SLOT_GEOMETRY, 8),
    "slot_refs": (_SLOT_REFS, 4),
    "primal": (_PRIMAL, 8),
    "cotangent": (_COTANGENT, 8),
    "bytes": (_BYTES, 8),
    "users": (_USERS, 4),
    "handles": (_HANDLES, 4),
    "keeps": (_KEEPS, 4),
    "producer": (_PRODUCER, 4),
    "flags": (_FLAGS, 1),
}

# The table of literals: entries of [bits of the value, dtype code, slot + 1].
LITERAL_ENTRIES = 64
LITERAL_WORDS = 3

COTANGENTS = _COTANGENT  # the word with the address of the column of cotangents

NONE = -1
DEAD_OP = -1  # op code of an instruction whose result nobody can ask for any more
FREED = -2  # producer of a buffer whose instruction a reverse sweep has released

# Buffer flags.
DIFFERENTIABLE = 1  # a cotangent flows into it
EXTERNAL = 2  # a Python object owns the primal
WANTED = 4  # its cotangent was asked for by name (`inputs=`)
TRACED = 8  # depends on an argument of the recording
HAS_ATTACHMENT = 16  # Python keeps something about it: a gradient that is a Tensor, or a hook

# Dtype codes: indexes into DTYPES.
F64, F32, I64, B8 = range(4)
DTYPE_COUNT = 4

# What the engine must know of an op: one row of words in the op table.
(
    OP_KIND,
    OP_ARITY,
    OP_VARIANT,
    OP_DTYPE,
    OP_READS0,
    OP_READS1,
    OP_READS2,
    OP_THRESHOLD,
    OP_FIRST,
    OP_WRITES,
    OP_LINEAR,  # 1: the tangent is the op itself, applied to tangents
    OP_HAS_PARAMS,
) = range(12)
OP_WORDS = 12
READS_Y = 8  # bit 3 of a READS word; bits 0-2 are the operands

# Kinds of op, in the order of `ops.row.KINDS`. Those before OPAQUE are bound to loops.
(ELEMENTWISE, BROADCAST_SUM, REDUCTION, SCAN, MATMUL, OPAQUE, GUARD, CALLBACK) = range(8)

# Errors of the native functions, always negative; `tapegrad.errors` turns them into exceptions.
E_SHAPES = -1
E_DTYPES = -2
E_KERNEL = -3
E_NDIM = -4
E_MEMORY = -5
E_PARALLEL = -6
E_FREED = -7
E_CONSTANT = -8
E_CALLS = -9
E_OUTSIDE = -10
E_STATUS = -100  # minus the status that a kernel returned


def _column(word, bytes_):
    """Intrinsics ``get(header, index)`` and ``set(header, index, value)`` of one column, widened to int64."""
    llvm_type = ir.IntType(8 * bytes_)

    def pointer(builder, header, index):
        words = builder.inttoptr(header, i64.as_pointer())
        base = builder.load(builder.gep(words, [i64(word)]))
        return builder.gep(builder.inttoptr(base, llvm_type.as_pointer()), [index])

    @intrinsic
    def get(typingctx, header, index):
        def codegen(context, builder, signature, args):
            value = builder.load(pointer(builder, *args))
            return value if bytes_ == 8 else builder.sext(value, i64)

        return types.int64(types.int64, types.int64), codegen

    @intrinsic
    def set_(typingctx, header, index, value):
        def codegen(context, builder, signature, args):
            value = args[2] if bytes_ == 8 else builder.trunc(args[2], llvm_type)
            builder.store(value, pointer(builder, args[0], args[1]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return get, set_


get_op, set_op = _column(_OP, 2)
get_result, set_result = _column(_RESULT, 4)
get_operand0, set_operand0 = _column(_OPERAND0, 4)
get_operand1, set_operand1 = _column(_OPERAND1, 4)
get_operand2, set_operand2 = _column(_OPERAND2, 4)
get_params, set_params = _column(_PARAMS, 8)
get_mark, set_mark = _column(_MARK, 1)
get_buffer, set_buffer = _column(_SLOT_BUFFER, 4)
get_dtype, set_dtype = _column(_SLOT_DTYPE, 1)
get_ndim, set_ndim = _column(_SLOT_NDIM, 1)
get_offset, set_offset = _column(_SLOT_OFFSET, 8)
get_geometry, set_geometry = _column(_SLOT_GEOMETRY, 8)
get_refs, set_refs = _column(_SLOT_REFS, 4)
get_primal, set_primal = _column(_PRIMAL, 8)
get_cotangent, set_cotangent = _column(_COTANGENT, 8)
get_bytes, set_bytes = _column(_BYTES, 8)
get_users, set_users = _column(_USERS, 4)
get_handles, set_handles = _column(_HANDLES, 4)
get_keeps, set_keeps = _column(_KEEPS, 4)
get_producer, set_producer = _column(_PRODUCER, 4)
get_flags, set_flags = _column(_FLAGS, 1)
