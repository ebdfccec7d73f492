"""MINIMIZERS OF OTHER PACKAGES: functions as each of them takes one, with derivatives.

In reading order; each imports only those above it:

    block_residuals                residuals of several blocks of parameters
    ceres_cost                     cost functions for Ceres Solver
    gtsam_factor                   factors for GTSAM
    lmfit_residual                 residuals for lmfit
    minuit                         objectives for iminuit
    nlopt_objective                objectives and constraints for NLopt
    pyomo_model                    grey-box models for Pyomo
"""

from tapegrad.interop.minimizers.ceres_cost import ceres as ceres
from tapegrad.interop.minimizers.gtsam_factor import gtsam as gtsam
from tapegrad.interop.minimizers.lmfit_residual import lmfit as lmfit
from tapegrad.interop.minimizers.minuit import iminuit as iminuit
from tapegrad.interop.minimizers.nlopt_objective import nlopt as nlopt
from tapegrad.interop.minimizers.pyomo_model import pyomo as pyomo
