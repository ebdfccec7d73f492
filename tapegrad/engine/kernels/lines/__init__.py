"""Kernels along lines: reductions, scans, orders and conversions of elements. Read `reduce` first.

In reading order; each imports only those above it:

    accumulate                     plain sums of short stretches of lines, of which other kernels make sums
    cast                           conversions
    correlate                      sums of products along a line
    cross                          products of vectors in space
    deviations                     variances
    fill                           clearing
    integers                       integer arithmetic
    logsumexp                      sums of exponentials
    prod                           the product of a line
    recurrence                     linear recurrences along a line
    reduce                         reductions of a line
    scan                           running sums along a line
    search                         where numbers belong
    sorting                        the order of a line
"""
