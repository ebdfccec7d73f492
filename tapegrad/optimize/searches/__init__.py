"""Interrupts and results of searches.

In reading order; each imports only those above it:

    interruption                   Ctrl-C: the best point so far, or an exception
    search_result                  results as notebooks show them
"""
