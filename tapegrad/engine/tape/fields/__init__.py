"""The fields of a tape's structs: header, columns, shapes, parameters and views. Read `layout` first.

In reading order; each imports only those above it:

    layout                         the header's fields and codes
    columns                        the columns, read and written by name
    geometry                       shapes and strides
    growth                         new entries
    instruction                    an instruction as one value
    parameters                     parameters of instructions
    view                           a view: where elements lie in a buffer
"""
