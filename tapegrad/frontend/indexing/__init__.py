"""Parts of Tensors: read by keys, written in place.

In reading order; each imports only those above it:

    keys                           keys of an index, as NumPy reads them
    locating                       indices that each replay computes
    writes                         in-place writes
    indexing                       reading parts of a Tensor
"""
