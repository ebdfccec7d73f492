"""Conversions into the graph and out of it.

In reading order; each imports only those above it:

    complex_views                  complex numbers seen as pairs of floats, and pairs as complex numbers
    conversion                     plain numbers and arrays, copies and other dtypes
    creation                       functions that create Tensors
    guarded_results                plain results, guarded while recording
    texts                          texts of numbers
    notebooks                      display in notebooks
"""
