"""Sparse derivatives: what depends on what, which sweeps find all of it, and those sweeps. Read `compressed` first.

In reading order; each imports only those above it:

    sets                           sets of inputs by number
    rules                          what each element of an instruction's result depends on
    parts                          the same for real and imaginary parts of complex results
    detection                      the walk along a recorded graph
    shared_columns                 columns of a dense Jacobian that share a forward sweep
    pattern_picture                a pattern as a picture
    pattern                        the pattern, for users
    plan                           which columns share a forward sweep, and which rows have a reverse sweep
    linear_ends                    constant matrices at both ends of a function, and products with them
    sweeps                         forward sweeps that leave out what is zero, and keep constants apart
    certificate                    a product with a random vector, compared with a tangent
    compressed                     the entries as one Tensor
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "compressed")  # with it comes `scipy.sparse`, which is slow to import
