"""Parts of the loop of many fits.

In reading order; each imports only those above it:

    lanes                          sums, and small systems of equations
    problems                       problems that enter lanes and leave them
    sums                           sums over points
"""
