"""Sums over parts of the data as objectives, evaluated by threads, processes or machines.

In reading order; each imports only those above it:

    tree                           sums in a fixed tree
    lazy_arrays                    arrays that are read where they are needed
    parts                          parts of the data
    recordings                     what is computed of a part, as values that travel
    store                          parts in the memory of a process
    journal                        evaluations in a file
    engine                         what all engines have
    threads                        threads of this process
    engines                        choice of the engine
    sums                           sums with derivatives of all orders
    sharded                        `sharded`
"""
