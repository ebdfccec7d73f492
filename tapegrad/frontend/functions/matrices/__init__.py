"""Functions of matrices: systems, decompositions, norms. Read `matrices` first: what they share.

In reading order; each imports only those above it:

    covariances                    covariances
    matrices                       shared code: checks, memory order, instructions
    triangles                      Cholesky factors, triangles
    ties                           equal eigenvalues and singular values, in derivatives
    decompositions                 eigenvalues of symmetric matrices, QR factors, singular values
    determinants                   determinants
    matrix_chains                  several products, powers
    norms                          norms
    distances                      distances between vectors
    systems                        systems of linear equations, inverses
    least_squares                  pseudo-inverses, least squares, condition numbers
    eigenvalues                    eigenvalues of other matrices
    structured                     blocks on a diagonal, constant diagonals, bands
    matrix_functions               exponentials, logarithms, roots, sines, the equations of Sylvester and Lyapunov
"""
