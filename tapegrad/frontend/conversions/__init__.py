"""Conversions into the graph and out of it.

In reading order; each imports only those above it:

    conversion                     ways out of the graph
    creation                       functions that create Tensors
    guarded_results                plain results, and what guards them while recording
    notebooks                      how a Tensor is shown in a notebook
"""
