"""Calls of transforms: arguments, fast paths in C, and functions of Numba's.

In reading order; each imports only those above it:

    argnums                        arguments to differentiate by, and their positions
    callables                      base classes whose instances are called without Python
    class_answers                  functions in which Tensors say that they are arrays of NumPy's
    numba_scalars                  Numba's scalars for functions that run as Python
    njit_source                    functions of Numba's as Python functions
    watching_cost                  a warning where the comparisons cost more than the replay
    tensor_arguments               calls of replayed functions with Tensors
    call_structures                descriptions of arguments and results for fast paths
    fast_path                      replays of calls with arrays, floats and structures, in half a microsecond
    certified                      certificates of recorded functions
    reports                        what a replayed function says of itself: `watched`, `explain`, `profile`
    known_paths                    replays of calls that alternate between recordings, all tried in C
    equal_recordings               recordings that lend their programs to equal ones
"""
