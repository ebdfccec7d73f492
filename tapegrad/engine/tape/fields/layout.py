"""Header of a tape: its fields, and the codes in its columns.

A tape is a struct of arrays. Its header is a block of 64-bit fields that holds the counts, the capacities and the
address of every column; compiled code is handed the header's address and nothing else. Three kinds of entry:

instruction
    op code, result slot, up to three operand slots, address of the op's parameters (0: none).
slot
    a view on a buffer: dtype code, number of dimensions, offset in bytes, address of its geometry, which is
    ``[extents..., strides in bytes...]`` (0 for a scalar), and whether nothing may be written through it.
buffer
    address of the primal, address of the cotangent, and the counts that say how long each is needed.

References: `refs` counts the Tensors on a slot, its uses as an operand, and the instruction that writes it.
`users` counts Tensors and operand uses over all slots of a buffer; when it falls to 0 the buffer and the
instructions that write it are dead. `saved_for_backward` counts the instructions whose reverse rule reads the primal.
"""

from tapegrad.engine.kernels.language.frame import MAX_NDIM as MAX_NDIM

# The header's fields.
(
    INSTRUCTIONS,  # used entries, dead ones among them included
    INSTRUCTION_CAPACITY,
    DEAD,  # dead instructions not yet compacted away
    SLOTS,
    SLOT_CAPACITY,
    FREE_SLOT,  # head of the list of free slots, -1: none
    BUFFERS,
    BUFFER_CAPACITY,
    FREE_BUFFER,
    ORPHAN,  # head of the list of dead buffers whose memory a Python object owns, -1: none
    KERNELS,  # address of the table of kernel addresses
    OP_TABLE,  # address of the op table, see below; the field before it is the number of ops
    LIBRARY,  # address of the table of library loops
    CONTROL,  # address of the control block of the parallel driver
    COPY_OP,  # op code of the op that copies its operand
    ALL_LIVE,  # not 0 on a recording: every instruction is appended, also those that only touch constants
    SCALAR_CACHE,  # address of the table of constant scalars used last
    CALLS,  # 1 once an instruction that calls a user's function was appended
    CHECKSUMS,  # address of the table of checksums; 0 unless checks are switched on
    HISTORIES,  # number of histories, see `history`
) = range(20)
FIRST_COLUMN = 20  # from here on the fields are the addresses of the columns, see `columns`

# The table of constant scalars: entries of [bits of the value, dtype code, slot + 1].
SCALAR_CACHE_ENTRIES = 64
SCALAR_CACHE_FIELDS = 3

NONE = -1
CLOSED = -1  # capacity for slots of a closed tape
DEAD_OP = -1  # op code of an instruction whose result cannot be asked for any more
FREED = -2  # producer of a buffer whose instruction a reverse sweep has released

# Buffer flags.
DIFFERENTIABLE = 1  # a cotangent flows into it
EXTERNAL = 2  # a Python object owns the primal
WANTED = 4  # its cotangent was asked for by name (`inputs=`)
TRACED = 8  # depends on an argument of the recording
HAS_ATTACHMENT = 16  # Python keeps something about it: a gradient that is a Tensor, or a hook
SUPERSEDED = 32  # an in-place write has made a new version, and no new instruction reads this one
READ_LATER = 64  # except copies of the old contents, which a derivative of a derivative reads

# Dtype codes: indexes into DTYPES. Files hold their names.
F64, F32, I64, B8, C128, C64 = range(6)
DTYPE_COUNT = 6

# Fields of an op in the op table.
(
    OP_KIND,
    OP_VARIANT,
    OP_DTYPE,
    OP_READS0,  # and so for the other two operands
    _,
    _,
    OP_THRESHOLD,
    OP_FIRST,
    OP_WRITES,
    OP_LINEAR,  # bit j: operand j is one that the op is linear in; its tangent is the op, applied to their tangents
    OP_HAS_PARAMS,
    OP_IN_PLACE,  # 1: the result takes over the memory of operand 0
    OP_TAKES_LINES,  # 1: the kernel goes through the innermost of the outer loops itself
    OP_FACTORIZATION,  # op code of the factorization that an operand has to come from; NONE if there is none
    OP_REAL,  # bit j: operand j, bit 3: the result, is real where the kernel's dtype is complex
) = range(15)
OP_FIELDS = 15
READS_Y = 8  # bit 3 of a READS field; bits 0-2 are the operands

# Kinds of op, in the order of `ops.row.KINDS`. Those before OPAQUE are bound to loops.
(ELEMENTWISE, BROADCAST_SUM, REDUCTION, SCAN, MATMUL, OPAQUE, GUARD, CALLBACK) = range(8)

KEEPS_RESULTS = 2  # in ALL_LIVE: a recording that keeps all that its instructions compute

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
E_SUPERSEDED = -11
E_KEPT = -12
E_READ_ONLY = -13
E_STATUS = -100  # minus the status that a kernel returned
