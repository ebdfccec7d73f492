"""What a recorded function sees beside its arguments: which places those are, and whether they still hold the same.

In reading order:

    reach                          the walk over everything that a function can see
    hidden, ambient                references of compiled objects; settings of the process
    code, objects, origin          names in code; attributes of objects; which code belongs to a library
    methods                        special methods, by what may call them
    paths                          by which names code comes to an object
    tables                         tables of pandas, labelled arrays of xarray
    places                         the places that are compared before each replay
    follow, flow, reader, leads    which arrays a function's bytecode may read other than as operands
    acts, acts_on_containers       what each instruction of the bytecode does to values

It imports `recording`, and the rooms below `program`.
"""
