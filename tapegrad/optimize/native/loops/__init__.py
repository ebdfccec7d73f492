"""The loops of the optimisers, compiled: machines of states, which Python starts and goes on with.

Each works on a record, whose fields a NamedTuple names: numbers, and addresses of arrays. Read `driver` first. They lie
in one folder, whose sources name the files in which their code is kept in the engine's cache.

In reading order; each imports only those above it:

    driver                         phases of a run, and sessions of the functions that it evaluates
    vectors                        arithmetic of vectors, and bounds
    fit_fields                     records of fits
    cost                           robust losses, and when a fit has converged
    damped                         one fit: least squares with damping, and the step in a trust region
    fit_steps                      one fit: its steps
    levenberg                      one fit, by Levenberg and Marquardt's method in a trust region
    sparse                         one fit with a sparse Jacobian
    batches                        many fits: parts of their loop
    batch                          many fits of one model, side by side in lanes
    descents                       minimisations: where they begin and end
    newton                         Newton's method in a trust region
    quasi_newton                   L-BFGS
"""
