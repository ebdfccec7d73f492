"""Reductions and scans along axes. Read `lines` first: what they share.

In reading order; each imports only those above it:

    lines                          axes and lines, which reductions and scans share
    reductions                     sums, means, products
    extremes                       the largest and the smallest
    exponentials                   logarithms of sums of exponentials
    predicates                     functions with plain results
    scans                          running sums and products
    statistics                     variances and averages
    nan_reductions                 sums, means, variances and scans that leave out each nan
"""
