"""Engines, which evaluate the parts: threads, and workers of executors and clusters.

In reading order; each imports only those above it:

    engine                         what all engines have
    threads                        threads of this process
    workers                        what a worker in another process does
    executors                      executors, of which workers may be lost or slow
    dask                           Dask clusters
    ray                            actors of Ray, as executors
    mpi                            programs that all processes of MPI run
"""
