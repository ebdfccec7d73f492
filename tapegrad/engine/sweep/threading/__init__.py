"""Threads of a sweep: the pool, and instructions cut in chunks for it. Read `chunks` first.

In reading order; each imports only those above it:

    segment_chunks                 parts of a segment
    chunks                         a launch: a task cut into chunks
    synchronization                atomic integers, a clock, and locks
    pool                           the pool of threads
    parallel                       the parallel driver
"""
