"""Parts of Tensors: read by keys, written in place.

In reading order; each imports only those above it:

    keys                           keys of an index, as NumPy reads them
    locating                       indices that each replay computes
    elements                       elements, which keep their numbers when their array is written to
    writes                         in-place writes
    indexing                       reading parts of a Tensor
"""
