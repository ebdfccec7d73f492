"""Optimisers in compiled code, on the handles of recorded functions: no Python runs between two evaluations.

Where a recorded function takes a branch that is not recorded, or a function of the user's raises, the loops return
to Python, and go on afterwards where they were. So they do some ten times a second, for Ctrl-C.

In reading order; each imports only those above it:

    blocks                         records for compiled code, and their arrays
    loops                          the loops of the optimisers, compiled: machines of states
    slices                         budgets of evaluations, after which a loop returns to Python
    messages                       what is said of the status with which a fit ended
    settings                       settings of fits and minimisations, checked
    recorded                       the specializations of a function; calls of it at fixed addresses
    models                         the model as a function of one vector, kept for the next call
    sharing                        problems shared among threads, with progress
    executors                      problems in blocks, for other processes and machines
    descent                        minimisations, one or many: settings in, SciPy's result out
    many_fits                      many fits of one model, in lanes
    single_fit                     one least-squares problem: settings in, SciPy's result out
    sparse                         the same with a sparse Jacobian
"""
