"""Kernels that may stop a sweep, or leave it: guards, checked copies, custom ops.

In reading order; each imports only those above it:

    callback                       custom ops
    checked_copy                   values with a condition
    guard                          guards
"""
