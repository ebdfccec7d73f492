"""Captured state of a recorded function: all that it can reach beside its arguments, compared before each replay.

Read `places`, `walk` and `reachable_state` first.

In reading order; each imports only those above it:

    code                           names in code
    origin                         which code belongs to a library
    hidden                         references of compiled objects
    paths                          by which names code comes to an object
    places                         the places that are compared before each replay
    ambient                        settings of the process
    objects                        attributes of objects, and what they tell only when they are asked
    methods                        special methods, by what may call them
    tables                         tables of pandas, labelled arrays of xarray
    walk                           the walk over what a function can see: what waits, what was found
    object_visits                  what containers, arrays, modules, classes and objects lead to
    function_visits                what functions, their variables and their descriptors lead to
    reachable_state                the finished walk, and the kinds of values with their visits
    captured_state                 what a recorded function sees beside its arguments

It imports the rooms below `program`.
"""
