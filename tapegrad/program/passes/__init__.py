"""Passes: from the tape of a recording to a program that is replayed.

    common_subexpressions          what has been computed before is not computed again
    dead_code                      what no output, guard or gradient needs

Both read the tape as lists.
"""
