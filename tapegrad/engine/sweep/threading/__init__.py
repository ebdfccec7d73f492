"""Threads of a sweep: the pool, and instructions cut in chunks for it. Read `chunks` first.

In reading order; each imports only those above it:

    segment_chunks                 parts of a segment
    chunks                         A launch
    synchronization                what the pool of threads needs of the machine and the system
    pool                           the pool of threads
    parallel                       the parallel driver
"""
