"""Fields of a loop, through which compiled code runs a body's programs again and again.

A loop has a *block* of memory for each of its calls: the body's operands and results, leaf by leaf, and for each
program the addresses of its arguments. Its *moves* copy elements between the block and the packed arrays of the
instruction; those of sequences go on by `STEP` elements with each iteration.
"""

# Fields of a loop.
(
    LENGTH,  # number of iterations; -1 if a condition ends the loop
    REVERSED,  # 1 if the iterations go from the last element of the sequences to the first
    MAX_ITERATIONS,  # of a loop that a condition ends; -1: no limit
    PERIOD,  # iterations between two looks at interrupts
    BLOCK_BYTES,
    PACKED_DTYPE,  # of the operands and results of the instruction
    CARRY,  # offset of the carry in the block, as the body's operand
    CARRY_BYTES,  # of all its leaves, from the first to the end of the last
    FLAG,  # offset of the condition's result
    OPERAND_SIZE,  # elements of the packed operands
    RESULT_SIZE,  # elements of the packed results
    COUNTED,  # element of the packed result with the number of iterations
    STATES,  # element of the packed result with the carry before each iteration, byte for byte
    CAPACITY,  # iterations that there is room for
    SNAPSHOTS,  # carries that the reverse run stores at most where there are more iterations
    KEPT,  # of these, those that the forward run stores, and the carry before the last iteration; 0: none
    CONDITION,  # address of the condition's program, 0: none
    VALUES,  # address of the body's program
    PULLBACK,  # of its pullback
    TANGENTS,  # of its tangents
    START,  # address of moves: constants and the first carry
    SEQUENCES,  # of moves for each iteration: elements of sequences
    STACKED,  # of results for each iteration
    FINAL,  # of the last carry
    HAND_ON,  # of moves inside of the block: the carry from result to operand
    BAR_START,  # moves of the cotangents of the last carry
    BAR_STACKED,  # of those of the stacked results
    BAR_HAND_ON,  # cotangents of the carry from result to seed
    BAR_SEQUENCES,  # cotangents of sequences
    BAR_FINAL,  # cotangents of the first carry
    BAR_SUMS,  # sums of cotangents: of what a move names, in the block, is added to
    BAR_TOTALS,  # cotangents of constants
    DOT_START,  # moves of tangents: constants and the first carry
    DOT_SEQUENCES,
    DOT_STACKED,
    DOT_FINAL,
    DOT_HAND_ON,
    SEGMENT_VALUES,  # address of the segment that runs the body's program, 0: none
    SEGMENT_PULLBACK,  # of one that runs its pullback
    SEGMENT_AGAIN,  # of one that runs the body's program in the reverse run, for the carry alone
    FAILED_AT,  # the iteration that failed
    FAILED_CARRY,  # address of memory for the carry at that iteration
    CURSOR,  # offset in the block of the leaf of the carry that says which elements an iteration takes, 0: none
    EXTENT,  # elements that it chooses from
    FINAL_CURSOR,  # element of the packed results with that leaf
) = range(45)
LOOP_FIELDS = 45

# Fields of a block, at its beginning.
(
    LEFT,  # iterations to the next look at interrupts
    REACHED,  # the iteration that a run has come to
    CHECKED,  # 1 if guards of a pullback of one segment hold
    FRAMES,  # address of memory for the frames of the reverse run's segments
    UNTIMED,  # iterations by programs to the next look at the clock
    STRIDE,  # iterations by programs between two looks at the clock
    TIMED_AT,  # the last time that was read, in ns; 0: none
    WATCHED_AT,  # the time of the last look at interrupts, in ns
) = range(8)
BLOCK_FIELDS = 8

# Fields of a program of the body.
(
    HANDLE,
    ARGUMENTS,  # number of arguments of the handle
    OFFSETS,  # address of their offsets in the block
    ADDRESSES,  # offset in the block of the list of their addresses
    WORKSPACES,  # offset in the block of the workspaces, one for each specialization
    GIVEN,  # offset in the block of the arguments that it adds to
    GIVEN_BYTES,  # of all of them
    GIVEN_COPY,  # offset in the block of memory for their copy
) = range(8)
PROGRAM_FIELDS = 8

# Fields of a move, behind the number of moves.
(
    OFFSET,  # in the block
    DTYPE,
    COUNT,  # elements
    PACKED,  # first element in the packed array; for moves inside of the block the other offset
    STEP,  # elements further with each iteration
) = range(5)
MOVE_FIELDS = 5

# Fields of a segment that is a body: a kernel that runs all iterations. Its slots follow.
(
    KERNEL,
    HAS_STACKED,  # 1 if it writes stacked results, or reads their cotangents
    GUARDED,  # 1 if one iteration is to be run by its program, for the guards in it
    SLOTS,  # number of slots; at most MAX_SLOTS
    MOVING,  # number of slots whose address differs between runs; their numbers follow the slots
) = range(5)
SEGMENT_FIELDS = 5
MAX_SLOTS = 255

# Fields of a slot, which is an address in the kernel's frame, behind the number of iterations.
BASE, BASE_OFFSET, BASE_STEP = range(3)
SLOT_FIELDS = 3
# What it is based on.
(
    IN_BLOCK,  # memory of the block
    OF_X,  # packed operands
    OF_X_BAR,  # their cotangents
    OF_Y,  # packed results, in reverse their cotangents
    OF_STATES,  # stored carries
    FROM_STATE,  # the carry that iterations which run again begin with
    TO_STATE,  # the one that they end with
    STATES_STEP,  # no memory: the bytes between carries that they store
    ABSOLUTE,  # none
) = range(9)
BASES = 9
