"""CODE WRITTEN WITH SCIPY AND `math`: stand-ins under the names of their functions, which take Tensors.

In reading order; each imports only those above it:

    arguments                      arguments by SciPy's names, passed on to functions of tapegrad
    stand_ins                      functions and solvers that dispatch on Tensors
    jitted                         functions of Numba's, of which the Python functions run
    scalars                        functions of `math`
    matrices                       functions of `scipy.linalg` that are not NumPy's
    distances                      distances between two vectors
    integrals                      integrals of samples, and by fixed rules
    interpolators                  interpolators that tapegrad has under another name, and SciPy's at Tensors
    solvers                        solvers of SciPy with implicit derivatives
    table                          all stand-ins, by what they stand for
    names                          names in all modules, exchanged while a context is entered
    context                        `in_place_of_scipy`

It imports the rooms up to `optimize`.
"""
