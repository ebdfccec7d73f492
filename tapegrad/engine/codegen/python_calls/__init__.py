"""Functions of Python's C interface, written as LLVM's instructions: calls of compiled code without Python.

In reading order; each imports only those above it:

    python_code                    functions of Python's C interface, written as LLVM's instructions
    structures                     structures of arguments and results, matched and built in C
    callable_type                  base classes whose instances are called without Python
    fast_calls                     how Python calls an entry point
    array_calls                    Python functions around compiled ones that work on arrays in a workspace
    comparisons                    whether objects are what they were, without Python
"""
