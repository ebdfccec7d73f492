"""Recordings in files: numbers and names only, checked before anything is made of them.

    fields                         values of a file, each held against what it must be
    container                      arrays and a header of text in one file
    structures                     structures of arguments and results
    pack                           a recording as arrays
    rules                          what must hold of a tape from a file beside the rules of `engine.verify`
    unpack                         arrays as a tape that programs are bound from
    ways, functions                a program of a recording; all that a compiled function has

No address, no code and no name of a class comes from a file.
"""
