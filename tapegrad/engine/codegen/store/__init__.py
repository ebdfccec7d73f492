"""Compiled code on disk: the cache between processes, and its announcements on stderr.

In reading order; each imports only those above it:

    cache_files                    A file with the compiled code of one function, and a checksum
    shipped                        Object code that a wheel brings
    name_locks                     locks of names: one thread or process makes what several need
    upkeep                         contents of the cache folder, and the limit of its size
    cache                          where compiled code is kept between processes
    openblas                       Private OpenBLAS: a single-threaded instance, loaded from a copy in the cache folder
    announcer                      saying on stderr why a first call takes long
"""
