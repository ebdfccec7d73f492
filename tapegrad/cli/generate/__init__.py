"""Generated files: type stubs, the list of functions, the examples of docstrings.

In reading order; each imports only those above it:

    files                          generated files on disk: written, or compared
    examples                       numbers in the examples of docstrings
    functions_page                 the page that lists NumPy's and SciPy's functions
    stubs                          type stubs of the package
"""
