"""Functions of matrices: systems, decompositions, norms. Read `matrices` first: what they share.

In reading order; each imports only those above it:

    covariances                    covariances
    matrices                       what functions of matrices share: checks, order in memory, instructions
    decompositions                 eigenvalues of symmetric matrices, QR factors, singular values
    determinants                   determinants
    eigenvalues                    eigenvalues of other matrices
    matrix_chains                  several products, powers
    norms                          norms
    least_squares                  pseudo-inverses, least squares, condition numbers
    structured                     blocks on a diagonal, constant diagonals
    systems                        systems of linear equations, inverses
    matrix_functions               exponentials, square roots, the equations of Sylvester and Lyapunov
    triangles                      Cholesky factors, triangles
"""
