"""NUMPY'S FUNCTIONS: each by its name, a file for each subject. Calls become instructions, or several.

In reading order:

    ufunc_methods                  ``np.add.reduce`` and its like
    number_parts, bits             ufuncs made of others; integers and booleans
    rounding, complex_parts        functions of elements that are no ufuncs
    ranges, filled, copies         ranges between Tensors; filled with a Tensor; in a form that is asked for
    views, splitting, flat         views of all elements and of consecutive parts; all elements in C order
    joining, linalg                concatenation; matrix products
    predicates                     functions with plain results
    selection, choices, placement  elements by index, condition and choice: read, and written in place
    rearranging, sets              elements put in and left out; different elements
    search, interpolation          where numbers belong among sorted ones; lines between points
    convolution, polynomials       sums of products along lines; polynomials by their coefficients
    slopes, windows                differences of neighbours; sliding windows
    mapping                        functions of the user's, applied to lines, elements and parts
    sparse                         products with sparse matrices
    lines                          what reductions and scans share: axes, lines along them
    reductions, extremes, scans    sums, means, products; the largest and the smallest; running sums and products
    differences, exponentials      differences and trapezoids; logarithms of sums of exponentials
    special                        special functions by SciPy's names
    statistics, covariances        variances and averages; covariances
    sorting, sorted_lines          sorting, positions of extremes; lines of which a few elements are wanted
    quantiles                      medians and quantiles
    nan_reductions, nan_order      the same without nan
    histograms                     counts, and sums of weights in bins
    array_api_sets                 different elements, by the functions of the array API
    generalized, matrix_chains     products of stacks of matrices and vectors; several products, powers
    products, vectors, norms       inner, outer and tensor products; cross products, traces; norms
    matrices                       what functions of matrices share: checks, order in memory, instructions
    systems, triangles             systems of linear equations, inverses; Cholesky factors, triangles
    determinants, decompositions   determinants; eigenvalues of symmetric matrices, QR factors, singular values
    eigenvalues, polynomial_roots  eigenvalues of other matrices; roots of polynomials, polynomials through points
    least_squares                  pseudo-inverses, least squares, condition numbers
    matrix_functions               exponentials, square roots, the equations of Sylvester and Lyapunov
    structured                     blocks on a diagonal, constant diagonals
    subscripts, contraction        subscripts of `einsum`; plans of views and products that follow from them
    einsum                         sums of products by subscripts
    matrix_stacks                  what `numpy.linalg` has with other arguments than `numpy`
    stacking, tiling               joined after dimensions are added; repeated, rolled
    index_tricks                   ``r_[...]`` and ``c_[...]``
    embedding, diagonals, padding  regions of zeros: diagonals, triangles, margins

A file has a table of its functions, `FUNCTIONS`, and binds the methods that a Tensor has of them. It imports the files
of `frontend` around it, which do not import it.
"""
