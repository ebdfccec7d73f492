"""Recordings in files: numbers and names only, checked before anything is made of them.

In reading order; each imports only those above it:

    fields                         values of a file, each held against what it must be
    container                      arrays and a header of text in one file
    contents                       constants, and ops that have recordings of their own
    pack                           a recording as arrays
    rules                          what must hold of a tape from a file beside the rules of `engine.inspection.verify`
    structures                     structures of arguments and results
    unpack                         arrays of a file as a tape
    specializations                a program of a recording
    functions                      all that a compiled function has

No address, no code and no name of a class comes from a file.
"""
