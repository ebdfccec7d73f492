"""Statuses that a kernel returns: 0 is success, any other ends the sweep."""

GUARD_FAILED = 1  # a guarded value differs from the recorded one
OUT_OF_RANGE = 2  # an index names a row that does not exist
OUT_OF_MEMORY = 3
CALL_FAILED = 4  # a function of the user's raised
SINGULAR = 5  # a matrix, or the derivative of a function of it
NOT_POSITIVE_DEFINITE = 6
NOT_CONVERGED = 7  # an iteration of LAPACK's
NOT_DIFFERENTIABLE = 8  # repeated eigenvalues or singular values, of a function that is not smooth there
NO_REAL_RESULT = 9  # the result of a function of matrices is complex
NOT_FINITE = 10  # nan or inf in a matrix
PHASE_DEPENDENT = 11  # a function of complex eigenvectors that depends on their phases
FIRST_OF_MATRICES, LAST_OF_MATRICES = SINGULAR, PHASE_DEPENDENT  # those of linear algebra

# Statuses of a compiled function that is called by its handle
HANDLE_FREED = 12  # the compiled function was freed
NOT_FINITE_RESULT = 13  # a value or a derivative is nan or infinite
OTHER_SIZE = 14  # an array is not of the size that the function was compiled for

# Statuses of a loop
TOO_MANY_ITERATIONS = 15
LARGE_INTEGER = 16  # beyond 2**53, in a carry or a stacked result
INTERRUPTED = 17  # by Ctrl-C
