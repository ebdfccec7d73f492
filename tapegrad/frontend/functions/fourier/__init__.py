"""Fourier transforms, by the names and with the arguments of `numpy.fft` and `scipy.fft`.

In reading order; each imports only those above it:

    rows                           the recorded transforms along one axis, of a length that the axis has
    transforms                     transforms along one axis, padded or cut
    several_axes                   transforms along several axes
    cosines                        discrete cosine and sine transforms
    cosines_of_axes                these along several axes
    frequencies                    frequencies of a transform, and their order

All are made of six linear ops on pairs of floats. A transform of a complex Tensor is that of its pairs, and what is
returned is seen as complex.
"""
