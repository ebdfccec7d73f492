"""The nonlinear regressions of the NIST Statistical Reference Datasets, fitted with exact Jacobians."""

from tapegrad.nist.fit import Fit as Fit
from tapegrad.nist.fit import agreeing_digits as agreeing_digits
from tapegrad.nist.fit import fit as fit
from tapegrad.nist.problems import Problem as Problem
from tapegrad.nist.problems import load as load
from tapegrad.nist.problems import names as names
