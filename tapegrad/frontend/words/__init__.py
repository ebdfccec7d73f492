"""Names, docstrings, source lines and hints: the texts that users read.

In reading order; each imports only those above it:

    array_like                     types of arguments, for annotations
    frames                         frames of the user's program in a traceback
    other_names                    names of other libraries, and what is written here in their place
    function_names                 full names of NumPy's and SciPy's functions, for messages
    call_site                      the NumPy or SciPy function that the program called, for messages
    derived_docs                   docstrings derived from those of similar functions
    numpy_docs                     docstrings of the functions that are made from NumPy's at run time
    scipys_functions               replacements of SciPy's functions
    refusal_hints                  hints where a Tensor is asked for as plain numbers
    ufunc_docs                     docstrings of composed ufuncs
"""
