"""Conversions into the graph and out of it.

In reading order; each imports only those above it:

    conversion                     plain numbers and arrays, copies and other dtypes
    creation                       functions that create Tensors
    guarded_results                plain results, guarded while recording
    notebooks                      display in notebooks
"""
