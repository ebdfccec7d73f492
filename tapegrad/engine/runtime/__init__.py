"""Compiling, caching and announcing machine code.

In reading order:

    compiler                       entry points, helpers and kernels
    plain                          functions of numbers, translated without Numba
    definitions                    syntax trees of functions, if files still say what was imported
    fast_calls                     how Python calls an entry point
    object_layouts                 offsets in objects of Python and NumPy, checked on live ones
    python_code                    functions of Python's C interface, written as LLVM's instructions
    array_calls, callable_type     calls with arrays, and of objects that keep such a function, without Python
    comparisons                    whether objects are what they were, without Python
    sources                        digests of the source files that were imported
    cache, cache_files             compiled code between processes
    whole_files                    files that are written whole, and files that nobody else has written
    library_loops                  the inner loops of NumPy and SciPy, by address
    announcer, messages            what stderr says while functions compile
    pace                           work in the background that leaves Python to others
    interpreter, processors        which interpreters are supported; how many processors there are
    thread_stack                   whether a thread has room for the compiler
    fork_locks, uncopied           locks that survive a fork; objects that cannot be copied
    switches                       environment variables that choose between compilers
    lazy                           attributes that are computed when they are asked for

It imports `kernels`.
"""
