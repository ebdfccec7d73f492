"""The process: its threads, files, messages, and the objects of Python and NumPy read by offset.

In reading order; each imports only those above it:

    operating_system               what differs between Linux, macOS and Windows
    fork_locks                     locks that survive a fork
    interpreter                    supported interpreters
    sources                        digests of the source files that were imported
    lazy                           attributes and modules that are made on first access
    messages                       messages to the user: stderr, logging, progress
    object_layouts                 offsets in objects of Python and NumPy, checked on live ones
    library_loops                  the inner loops of NumPy and SciPy, by address
    pace                           cooperative pauses of background threads
    short_times                    times of short calls, and times as text
    switches                       environment variables that choose between compilers
    thread_stack                   check of the stack that LLVM needs
    uncopied                       objects that cannot be copied
    whole_files                    files that are written atomically, and the check that no other user has written one

It imports `kernels`.
"""
