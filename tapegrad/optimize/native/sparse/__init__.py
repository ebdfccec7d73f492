"""`least_squares(method="native", sparse=True)`: one problem with a sparse Jacobian, by compiled code.

In reading order; each imports only those above it:

    groups                         columns with the same rows, rows with the same columns, and what is eliminated
    system_plan                    normal equations of a pattern: where each block lies
    entries                        residuals with the entries of their Jacobian, recorded
    sparse_single_fit              settings in, SciPy's result out
"""
