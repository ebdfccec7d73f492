"""LLVM's intermediate representation: a function under construction, its values, loads and stores. Read `body` first.

In reading order; each imports only those above it:

    instructions                   its lines: what stays the same in a loop stands before it
    target                         processors
    types                          LLVM's types, by LLVM's names
    body                           A function of LLVM's under construction, and its values
    operations                     what can be done with values, beside Python's operators
    memory                         loads and stores
    c_code                         C functions: fields of structs, calls by name and by address
    lines                          moving blocks between lines at any stride and adjacent elements
    complex_values                 complex numbers as pairs of values
    pairs                          numbers as sums of two float64
    sums                           sums into one element
    blocks                         the loop of an elementwise kernel
"""
