"""Calls of transforms: arguments, fast paths in C, and functions of Numba's.

In reading order; each imports only those above it:

    argnums                        the arguments that are differentiated by
    callables                      base classes of what is called without Python
    numba_scalars                  what numbers are to them
    njit_source                    functions of Numba's as Python functions
    reports                        what a replayed function says of itself: `watched`, `explain`
    watching_cost                  a warning where comparisons take longer than the replay after them
    fast_path                      replays of calls with arrays and floats, in half a microsecond
    known_paths                    the same where calls alternate
"""
