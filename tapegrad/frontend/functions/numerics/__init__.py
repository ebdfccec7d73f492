"""Numerical methods: differences, interpolation, polynomials, convolutions, histograms.

In reading order; each imports only those above it:

    padding                        margins
    convolution                    sums of products along lines
    differences                    differences and trapezoids
    histograms                     counts, and sums of weights in bins
    interpolation                  lines between points
    mapping                        functions of the user's, applied to lines, elements and parts
    polynomials                    polynomials by their coefficients
    polynomial_roots               roots of polynomials, polynomials through points
    slopes                         differences of neighbours
"""
