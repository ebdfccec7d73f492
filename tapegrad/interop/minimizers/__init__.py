"""MINIMIZERS OF OTHER PACKAGES: functions as each of them takes one, with derivatives.

In reading order; each imports only those above it:

    lmfit_residual                 residuals for lmfit
    minuit                         objectives for iminuit
    nlopt_objective                objectives and constraints for NLopt
"""

from tapegrad.interop.minimizers.lmfit_residual import lmfit as lmfit
from tapegrad.interop.minimizers.minuit import iminuit as iminuit
from tapegrad.interop.minimizers.nlopt_objective import nlopt as nlopt
