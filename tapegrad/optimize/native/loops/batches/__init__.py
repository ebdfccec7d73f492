"""Many fits of one model, side by side in lanes. Read `batch` first.

In reading order; each imports only those above it:

    batch_fields                   many fits of one model: their state
    covariance                     covariances
    batch_problems                 problems that enter lanes and leave them
    lanes                          small systems of equations
    batch_steps                    steps
    batch_sums                     sums over points
    batch_evaluation               the model at all trials
    batch                          their loop, over lanes
"""
