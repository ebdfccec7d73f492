"""New arrays: ranges, filled arrays, copies, windows.

In reading order; each imports only those above it:

    copies                         in a form that is asked for
    filled                         filled with a Tensor
    index_tricks                   ``r_[...]`` and ``c_[...]``
    ranges                         ranges between Tensors
    windows                        sliding windows
"""
