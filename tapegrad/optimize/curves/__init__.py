"""Fits of one model to many rows of data, and pictures of them.

In reading order; each imports only those above it:

    fit_data                       data of curve fits, and what is left of them
    plots                          pictures of curve fits
    results                        results of `curve_fit`
    curve_data                     data of `curve_fit` and their weights, checked
    many_curves                    arguments of `curve_fit` checked, and its fits done
    curve_fit                      many fits of one model at once
"""
