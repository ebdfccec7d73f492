"""Kernels along lines: reductions, scans, orders and conversions of elements. Read `reduce` first.

In reading order; each imports only those above it:

    accumulate                     sums of blocks and products of derivatives, for other kernels
    cast                           conversions of dtype
    correlate                      sums of products along a line
    cross                          cross products of vectors
    deviations                     sums of squared deviations from the mean
    fill                           clearing of memory
    integers                       integer arithmetic
    logsumexp                      logarithms of sums of exponentials
    prod                           the product of a line
    recurrence                     linear recurrences along a line
    reduce                         largest and smallest elements
    scan                           running sums along a line
    search                         bisection in sorted lines
    sorting                        the order of a line
"""
