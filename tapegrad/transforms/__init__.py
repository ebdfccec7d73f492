"""THE API: functions of functions.

In reading order:

    base                           what all transforms share: nested, replayed or eager
    jit                            record once, replay afterwards
    grad, vjp, jvp                 gradients, pullbacks, derivatives along a direction
    jacobian, hessian              Jacobians, Hessians and products with them
    vmap                           many instances at once
    stop_gradient                  constants inside of a function
    checkpoint                     results that are computed again instead of being kept
    argnums                        the arguments that are differentiated by
    nested                         derivatives on the tape of the function around
    primals                        the kept forward sweep of a pullback
    njit_source, numba_scalars     functions of Numba's as Python functions; what numbers are to them
    compiled                       recorded functions as values
    compiled_results, frozen       where their results lie; the recordings that they keep to
    stored                         compiled functions from files
    short_ways                     calls of compiled functions with arrays and floats, in half a microsecond
    mapped_axes                    the axes that `vmap` maps over
    lane_goals, lane_call          what it computes by programs over lanes; a call of it
    lane_section                   the same within a recording, as instructions of it
    lane_op                        the same of Tensors, as one instruction
    no_instances                   what it returns where there is no instance
    called                         base classes of what is called without Python
    fast_path                      replays of calls with arrays and floats, in half a microsecond
    known_paths                    the same where calls alternate
    reports                        what a replayed function says of itself: `watched`, `explain`
    dear_watching                  a warning where comparisons take longer than the replay after them

It imports the rooms up to `program`.
"""
