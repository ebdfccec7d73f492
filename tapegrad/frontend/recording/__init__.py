"""Recorded calls: operands in, an instruction, a Tensor out. Read `record` first.

In reading order; each imports only those above it:

    copied_views                   copies of views, made at once
    lists                          lists of Tensors as arrays
    running                        the engine is called
    computed_integers              arithmetic of integers that each replay computes
    record                         record an elementwise op
    calls                          functions of one and of two operands
    outputs                        arguments `out`, `where` and `casting`
    record_structural              record a structural op
    shape                          views of all elements
    rules                          derivative rules of structural ops, stated beside their functions
    layouts                        the order of elements in memory
    ufuncs                         all other arguments of ufuncs
    unknown_derivatives            operands without a known derivative
    elementwise                    the functions of the op table, and the operators
"""
