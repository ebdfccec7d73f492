"""Functions of Python's C interface, written as LLVM's instructions: calls of compiled code without Python.

In reading order; each imports only those above it:

    python_code                    functions of Python's C interface, written as LLVM's instructions
    structures                     structures of arguments and results, matched and built in C
    callable_type                  base classes whose instances are called without Python
    wrapper_kinds                  in what wrappers of entry points differ
    fast_calls                     how Python calls an entry point
    type_slots                     slots of classes that are written in place
    handle_slots                   finaliser, operators and indexing of the handles of a tape's slots
    array_fields                   fields that describe a NumPy array on the engine's memory
    memory_arrays                  NumPy arrays on the engine's memory
    array_calls                    Python functions around compiled ones that work on arrays in a workspace
    comparisons                    whether objects are what they were, without Python
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "fast_calls", "handle_slots", "memory_arrays", "comparisons")
