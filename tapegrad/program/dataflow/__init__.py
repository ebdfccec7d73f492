"""Dataflow analysis of bytecode: finds the captured arrays whose contents Python or NumPy may read.

Read `follow` first.

In reading order; each imports only those above it:

    points_to                      points-to sets: the objects that a value may be
    dataflow                       dataflow analysis of a function
    reader                         the reader of bytecode
    container_functions            transfer functions of the bytecode that makes containers and reads them
    transfer_functions             transfer functions of the bytecode for variables, attributes and calls
    follow                         which arrays a function may read other than as operands

It imports `recording` and `captured`.
"""
