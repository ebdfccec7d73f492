"""Shapes: views, joining, splitting, repetition and regions of zeros.

In reading order; each imports only those above it:

    embedding                      lay a Tensor into a region of zeros or of other constants
    diagonals                      diagonals and triangles of matrices
    joining                        concatenation
    flat_structures                structures of Tensors as vectors, and back
    splitting                      split Tensors into views of their parts
    tiling                         repeated, rolled
    flat                           all elements in C order, to read and to write (``t.flat``)
    views                          views in another order or with other dimensions
    rearranging                    elements put in and left out
    stacking                       joined after dimensions are added
"""
