"""Functions of elements that are no row of the op table, and methods of ufuncs.

In reading order; each imports only those above it:

    bits                           integers and booleans
    complex_parts                  parts of complex numbers
    number_parts                   ufuncs composed of others
    rounding                       rounding, and replacement of numbers that are not finite
    scimath                        functions of ``numpy.emath``: complex outside of their real domain
    special_compositions           special functions composed of others, and of whole numbers
    special                        special functions by SciPy's names
    ufunc_methods                  ``np.add.reduce`` and its like
"""
