"""Sums over parts of the data as objectives, evaluated by threads, processes or machines.

In reading order; each imports only those above it:

    tree                           sums in a fixed tree
    lazy_arrays                    arrays that are read where they are needed
    parts                          parts of the data
    recordings                     what is computed of a part, as values that travel
    store                          parts in the memory of a process
    journal                        evaluations in a file
    engines                        threads, and workers of executors and clusters
    sums                           sums with derivatives of all orders
    compressed                     residuals, by their normal equations
    objective                      the sum as an objective, imported when the first is made
    sharded                        `sharded`
"""
