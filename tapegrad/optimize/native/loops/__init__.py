"""The loops of the optimisers, compiled: machines of states, which Python starts and goes on with.

Each works on a record, whose fields a NamedTuple names: numbers, and addresses of arrays.

In reading order; each imports only those above it:

    box                            bounds
    fit_fields                     one least-squares problem: its state
    losses                         robust losses
    sessions                       functions opened for many calls at fixed addresses
    stopping                       when a fit ends
    vectors                        loops over vectors
    evaluation                     residuals and derivatives at a point
    batches                        many fits of one model, side by side in lanes
    descents                       minimisations: L-BFGS, and Newton's method in a trust region
    fits                           one least-squares problem: Levenberg-Marquardt in a trust region

They are compiled as the engine is, and kept in its cache.
"""
