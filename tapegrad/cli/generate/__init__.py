"""Generated files: type stubs, the list of functions, the examples of docstrings.

In reading order; each imports only those above it:

    files                          writing it, or comparing
    examples                       examples for the docstrings
    functions_page                 the list of functions
    stubs                          ``python -m tapegrad.cli.generate.stubs``: the type stubs of the package
"""
