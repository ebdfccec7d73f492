"""Single least-squares problems: Levenberg-Marquardt in a trust region. Read `levenberg` first.

In reading order; each imports only those above it:

    damped                         least squares with damping
    radius                         the step in a trust region
    fit_steps                      its steps
    fit_covariance                 the covariance of its parameters
    levenberg                      its loop
"""
