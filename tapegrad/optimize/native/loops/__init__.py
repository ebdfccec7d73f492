"""The loops of the optimisers, compiled: machines of states, which Python starts and goes on with.

Each works on a block of words, the fields of a NamedTuple: numbers, and addresses of arrays. In reading order:

    fit_words, levenberg           one least-squares problem: its state; its loop
    fit_steps, fit_covariance      its steps; the covariance of its parameters
    radius, damped                 the step in a trust region; least squares with damping
    losses, box, stopping          robust losses; bounds; when a fit ends
    batch_words, batch             many fits of one model: their state; their loop, over lanes
    batch_problems, batch_steps    problems that come to lanes and leave them; steps
    batch_evaluation, batch_sums   the model at all trials; sums over points
    lanes, covariance              small systems of equations; covariances
    descent_words, descents        minimisations: their state; the loop over trials and starts
    quasi_newton, newton           L-BFGS; Newton's method in a trust region
    sessions                       functions opened for many calls at fixed addresses
    evaluation, vectors            residuals and derivatives at a point; loops over vectors

They are compiled as the engine is, and kept in its cache.
"""
