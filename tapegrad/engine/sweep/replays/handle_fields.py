"""Fields of a handle, through which compiled code calls a compiled function.

A handle has *specializations*, a program for each recording, and each specialization a pool of workspaces. The
*arguments* of a call are the addresses of its inputs and then those of its results. Code that others have compiled, and
keep between processes, reads the first fields of a handle: their meaning goes with `VERSION`.
"""

VERSION = 1

# Fields of a handle.
(
    ENTRY,  # address of ``int64 entry(int64 handle, int64 addresses)``
    FINITE_ENTRY,  # the same, but fails if a result is not finite
    EXTENTS,  # address of the extents of all arguments, one behind the other
    SIZES,  # address of the number of elements of each argument
    INPUTS,  # number of inputs among the arguments
    ARGUMENTS,
    DTYPES,  # address of the dtype codes of the arguments
    BYTES,  # address of the bytes of each argument
    SPECIALIZATIONS,  # address of the specializations
    SPECIALIZATION_COUNT,
    LAST,  # the specialization that was taken last
    NAN_ENTRY,  # as ENTRY, but writes NaN to all results if it fails
    FAILURE,  # address of ``const char *failure(int64 handle, int64 number)``: source line of the last failed guard
    CONSTANTS,  # address of first byte and end of memory outside that programs read, in order, apart
    CONSTANT_COUNT,
    FAILED_CALLS,  # number of calls that returned a status other than 0
    LAST_STATUS,  # the status of the last one of these
) = range(17)
HANDLE_FIELDS = 17

# Fields of a specialization.
(
    KIND,  # how the program runs
    IMAGE,  # address of the memory of which a new workspace is a copy
    IMAGE_FIELDS,
    RELOCATIONS,  # address of the indices of the fields to which the workspace's address is added
    RELOCATION_COUNT,
    WORKSPACE_BYTES,
    SLOTS,  # address of the pool's slots
    SLOT_COUNT,  # a power of two
    PORTS,  # address of pairs for the bindings: number of the argument or -1, offset of a room in the workspace
    COPIES,  # address of the results that are copied after a run
    COPY_COUNT,
    COLUMNS,  # address of the offsets of tangents in the workspace, -1 for zeros
    STOPPED_AT,  # row of the forward stream whose guard has failed last; -1: none has
    SITES,  # address of the address of a text for each row of the forward stream; 0 where it is no guard
) = range(14)
SPECIALIZATION_FIELDS = 16

STREAMS, GRADIENT, ROWS, BOTH = range(4)  # kinds

# Fields of a slot, which has a cache line of its own.
LOCK, WORKSPACE = range(2)
SLOT_BYTES = 64

# Fields of a result that is copied.
COPY_TO, COPY_FROM, COPY_AT, COPY_BYTES = range(4)
COPY_FIELDS = 4
IN_WORKSPACE, AT_ADDRESS, OF_ARGUMENT = range(3)  # what COPY_AT is: an offset, an address, or a number

# Fields of a session.
HANDLE, ADDRESSES, WORKSPACES, SPECIALIZATION = range(4)
SESSION_FIELDS = 8
