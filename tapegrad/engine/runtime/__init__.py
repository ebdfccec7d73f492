"""The process: its threads, files, messages, and the objects of Python and NumPy read by offset.

In reading order; each imports only those above it:

    fork_locks                     locks that survive a fork
    interpreter                    which interpreters are supported
    lazy                           attributes that are computed when they are asked for
    messages                       what the package says on stderr
    object_layouts                 offsets in objects of Python and NumPy, checked on live ones
    library_loops                  the inner loops of NumPy and SciPy, by address
    pace                           work in the background that leaves Python to others
    processors                     how many processors there are
    sources                        digests of the source files that were imported
    short_times                    how long a short call takes
    switches                       environment variables that choose between compilers
    thread_stack                   whether a thread has room for the compiler
    uncopied                       objects that cannot be copied
    whole_files                    files that are written whole, and files that nobody else has written

It imports `kernels`.
"""
