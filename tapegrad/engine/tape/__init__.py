"""The tape: columns of instructions, slots and buffers. Read `fields` and `tape` first.

In reading order; each imports only those above it:

    fields                         the fields of a tape's structs: header, columns, shapes, parameters and views
    blocks                         memory with a reference count
    compaction                     gaps are closed
    guarded_memory                 an allocator for finding errors
    history                        what memory held before in-place writes
    checksums                      checksums of the primals that reverse rules read
    append                         instructions, and what they hold
    copy_tape                      a tape copied at one moment
    release                        what nothing refers to is freed
    memory                         the memory of a slot
    slots                          slots of Tensors
    tape                           the tape as Python sees it
    versions                       new versions of a buffer
    views                          views of slots

It imports `kernels`, `runtime` and `codegen`.
"""
