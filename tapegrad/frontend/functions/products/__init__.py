"""Products of vectors, matrices and stacks. Read `linalg` first: the matrix product.

In reading order; each imports only those above it:

    sparse                         products with sparse matrices
    linalg                         matrix products
    generalized                    products of stacks of matrices and vectors
    subscripts                     subscripts of `einsum`
    contraction                    plans of contractions: views, and the products that follow
    einsum                         sums of products by subscripts
    products                       inner, outer and tensor products
    vectors                        cross products, traces
    matrix_stacks                  functions of `numpy.linalg` that differ from those of `numpy`
"""
