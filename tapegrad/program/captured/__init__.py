"""Captured state of a recorded function: all that it can reach beside its arguments, compared before each replay.

Read `places` and `reach` first.

In reading order; each imports only those above it:

    code                           names in code
    origin                         which code belongs to a library
    hidden                         references of compiled objects
    paths                          by which names code comes to an object
    places                         the places that are compared before each replay
    ambient                        settings of the process
    objects                        attributes of objects
    methods                        special methods, by what may call them
    short_times                    how long a short call takes
    tables                         tables of pandas, labelled arrays of xarray
    reach                          the walk over everything that a function can see
    captured_state                 what a recorded function sees beside its arguments

It imports the rooms below `program`.
"""
