"""MINIMIZERS OF OTHER PACKAGES: functions as each of them takes one, with derivatives.

    minuit                         `iminuit`
    nlopt_objective                `nlopt`
    lmfit_residual                 `lmfit`
"""

from tapegrad.interop.minimizers.lmfit_residual import lmfit as lmfit
from tapegrad.interop.minimizers.minuit import iminuit as iminuit
from tapegrad.interop.minimizers.nlopt_objective import nlopt as nlopt
