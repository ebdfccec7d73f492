"""THE API: functions of functions. Read `base` and `jit` first.

In reading order; each imports only those above it:

    calling                        calls of transforms: arguments, fast paths in C, and functions of Numba's
    jit                            record once, replay afterwards
    base                           what all transforms share: nested, replayed or eager
    analytic                       derivatives of analytic functions of complex numbers
    nested                         derivatives on the tape of the function around
    grad                           `grad` and `value_and_grad`
    jvp                            `jvp`
    jacobians                      Jacobians and Hessians, dense and sparse
    compiled                       compiled functions as values: their results, files and entry points
    primals                        the kept forward sweep of a pullback
    stop_gradient                  constants inside of a function
    vjp                            `vjp`
    checkpoint                     results that are computed again instead of being kept
    vmap                           `vmap`: many instances at once, by programs over lanes

It imports the rooms up to `program`.
"""
