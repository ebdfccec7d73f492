"""Functions of matrices: systems, decompositions, norms. Read `matrices` first: what they share.

In reading order; each imports only those above it:

    covariances                    covariances
    matrices                       shared code: checks, memory order, instructions
    decompositions                 eigenvalues of symmetric matrices, QR factors, singular values
    determinants                   determinants
    eigenvalues                    eigenvalues of other matrices
    matrix_chains                  several products, powers
    norms                          norms
    distances                      distances between vectors
    least_squares                  pseudo-inverses, least squares, condition numbers
    triangles                      Cholesky factors, triangles
    systems                        systems of linear equations, inverses
    structured                     blocks on a diagonal, constant diagonals
    banded                         systems of equations with banded matrices
    matrix_functions               exponentials, logarithms, roots, sines, the equations of Sylvester and Lyapunov
"""
