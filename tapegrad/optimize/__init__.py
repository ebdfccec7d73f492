"""Optimisation with exact derivatives, by SciPy or in compiled code: functions of structures, recorded and replayed.

SciPy itself is imported when it is first needed. In reading order:

    minimize, least_squares        SciPy's functions, with gradients, Hessians and Jacobians
    curve_fit, curve_plots         many fits of one model at once; pictures of them
    native                         optimisers in compiled code
    objective, residuals           these derivatives as functions of one vector
    vector_function                what both of them share
    ravel, flat                    structures of arrays as one vector
    executors                      problems in blocks, for other processes and machines
    arguments, callbacks           SciPy's arguments and callbacks

It imports the rooms up to `transforms`.
"""

from tapegrad.optimize.curve_fit import CurveFit as CurveFit
from tapegrad.optimize.curve_fit import CurveFits as CurveFits
from tapegrad.optimize.curve_fit import curve_fit as curve_fit
from tapegrad.optimize.least_squares import least_squares as least_squares
from tapegrad.optimize.minimize import minimize as minimize
from tapegrad.optimize.objective import Objective as Objective
from tapegrad.optimize.objective import objective as objective
from tapegrad.optimize.residuals import Residuals as Residuals
from tapegrad.optimize.residuals import residuals as residuals
