"""Dataflow analysis of bytecode: finds the captured arrays whose contents Python or NumPy may read.

Read `follow` first.

In reading order; each imports only those above it:

    points_to                      what a value in a function's code may be
    dataflow                       which arrays a function may read other than as operands
    reader                         read the bytecode of code that is followed
    container_functions            what the instructions that make containers, and reach into them
    transfer_functions             what the instructions for variables, attributes, operators
    follow                         which arrays a function may read other than as operands

It imports `recording` and `captured`.
"""
