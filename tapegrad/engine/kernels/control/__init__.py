"""Kernels that may stop a sweep, or leave it: guards, checked copies, custom ops.

In reading order; each imports only those above it:

    callback                       custom ops
    checked_copy                   copies that fail if a flag is set
    guard                          guards
"""
