"""The tape: columns of instructions, slots and buffers. Read `fields` and `tape` first.

In reading order; each imports only those above it:

    fields                         the fields of a tape's structs: header, columns, shapes, parameters and views
    blocks                         memory with a reference count
    compaction                     compaction: close the gaps of dead instructions
    guarded_memory                 an allocator for finding errors
    history                        contents of memory before in-place writes
    checksums                      checksums of the primals that reverse rules read
    append                         append instructions, which hold their operands
    copy_tape                      a consistent copy of a tape
    release                        free unreferenced entries
    memory                         the memory of a slot
    slots                          slots of Tensors
    tape                           the tape as Python sees it
    versions                       new versions of a buffer
    views                          views of slots

It imports `kernels`, `runtime` and `codegen`.
"""
