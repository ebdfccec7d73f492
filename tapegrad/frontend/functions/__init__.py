"""NUMPY'S FUNCTIONS: each by its name, a file for each subject. Calls become instructions, or several.

In reading order; each imports only those above it:

    shapes                         shapes: views, joining, splitting, repetition and regions of zeros
    making                         new arrays: ranges, filled arrays, copies, windows
    reductions                     reductions and scans along axes
    elements                       functions of elements that are no row of the op table, and methods of ufuncs
    ordering                       order and choice: sorting, quantiles, search, selection, sets
    products                       products of vectors, matrices and stacks
    matrices                       functions of matrices: systems, decompositions, norms
    sparse_systems                 sparse symmetric positive definite systems
    numerics                       numerical methods: differences, interpolation, polynomials, convolutions, histograms
    fourier                        Fourier transforms along one and several axes, cosine and sine transforms

A file has a table of its functions, `FUNCTIONS`, binds the methods that a Tensor has of them, and states at its end the
derivatives of the structural ops that they record (`recording.rules`). It imports the files of `frontend` around it,
which do not import it.
"""
