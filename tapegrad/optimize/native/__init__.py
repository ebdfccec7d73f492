"""Optimisers in compiled code, on the handles of recorded functions: no Python runs between two evaluations.

Where a recorded function takes a way that is not known, or a function of the user's raises, the loops return to Python,
and go on afterwards where they were. In reading order:

    single_fit                     one least-squares problem: settings in, SciPy's result out
    curves                         `curve_fit`: its arguments checked, its fits done
    models                         the model as a function of one vector, kept for the next call
    many_fits, lane_models         many fits of one model; the model over lanes
    descent                        minimisations, one or many: settings in, SciPy's result out
    recorded                       the ways of a function; calls of it at fixed addresses
    sharing                        problems shared among threads, with progress
    blocks, arguments              words for compiled code; checked arguments
    loops                          the compiled code
"""
