"""Captured state of a recorded function: all that it can reach beside its arguments, compared before each replay.

Read `references`, `walk` and `captured_state` first.

In reading order; each imports only those above it:

    code                           names that a code object mentions
    origin                         origin of code: a library's, or the program's
    hidden                         references of compiled objects
    paths                          paths by which code comes to an object
    references                     captured references, and their comparisons
    ambient                        settings of the process that library functions read
    objects                        attributes of objects, and their answers to names
    methods                        special methods, which operators and calls run unnamed
    tables                         tables of pandas, labelled arrays of xarray
    walk                           the walk over all that a function can reach
    object_visits                  visits of containers, arrays, modules, classes and objects
    function_visits                visits of functions, their variables and descriptors
    captured_state                 captured state: the finished walk, and whether anything has changed

It imports the rooms below `program`.
"""
