"""Optimisation by SciPy with exact derivatives: functions of structures, recorded once and replayed.

SciPy itself is imported when it is first needed.
"""

from tapegrad.optimize.least_squares import least_squares as least_squares
from tapegrad.optimize.minimize import minimize as minimize
from tapegrad.optimize.objective import Objective as Objective
from tapegrad.optimize.objective import Residuals as Residuals
from tapegrad.optimize.objective import objective as objective
from tapegrad.optimize.objective import residuals as residuals
