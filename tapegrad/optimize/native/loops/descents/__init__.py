"""Minimisations: L-BFGS, and Newton's method in a trust region. Read `descents` first.

In reading order; each imports only those above it:

    descent_fields                 minimisations: their state
    descents                       the loop over trials and starts
    newton                         Newton's method in a trust region
    quasi_newton                   L-BFGS
"""
