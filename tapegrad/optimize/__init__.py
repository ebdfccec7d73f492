"""Optimisation with exact derivatives, by SciPy or in compiled code: functions of structures, recorded and replayed.

SciPy itself is imported when it is first needed.

In reading order; each imports only those above it:

    searches                       Ctrl-C, and results
    flat                           structures of arrays as one flat vector, and functions of it
    arguments                      SciPy's arguments and results, checked, or converted to structures
    vector_function                what objectives and residuals share
    objective                      scalar functions for `scipy.optimize.minimize`
    residuals                      vector-valued functions for `scipy.optimize.least_squares`
    native                         optimisers in compiled code
    curves                         fits of one model to many rows of data
    solutions                      solutions that are differentiated by further arguments
    sharding                       sums over parts of the data, on several machines
    least_squares                  `least_squares`
    minimize                       `minimize`
    random_effects                 fits of models with random effects
    problems                       constrained problems for interior-point solvers

It imports the rooms up to `implicit`.
"""

from tapegrad.optimize.curves.curve_fit import curve_fit as curve_fit
from tapegrad.optimize.curves.results import CurveFit as CurveFit
from tapegrad.optimize.curves.results import CurveFits as CurveFits
from tapegrad.optimize.least_squares import least_squares as least_squares
from tapegrad.optimize.minimize import minimize as minimize
from tapegrad.optimize.objective import Objective as Objective
from tapegrad.optimize.objective import objective as objective
from tapegrad.optimize.problems.problem import ConstrainedProblem as ConstrainedProblem
from tapegrad.optimize.problems.problem import problem as problem
from tapegrad.optimize.random_effects.laplace import laplace as laplace
from tapegrad.optimize.residuals import Residuals as Residuals
from tapegrad.optimize.residuals import residuals as residuals
from tapegrad.optimize.sharding.sharded import sharded as sharded
from tapegrad.optimize.solutions.fixed_point import fixed_point as fixed_point
from tapegrad.optimize.solutions.root import root as root
