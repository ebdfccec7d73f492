"""Kernels of Fourier transforms, which NumPy's loops of pocketfft compute.

In reading order; each imports only those above it:

    transforms                     complex and real transforms along an axis, and their transposes

They are called through the table of library loops.
"""
