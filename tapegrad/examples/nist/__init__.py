"""The nonlinear regressions of the NIST Statistical Reference Datasets, fitted with exact Jacobians."""

from tapegrad.examples.nist.fit import Fit as Fit
from tapegrad.examples.nist.fit import agreeing_digits as agreeing_digits
from tapegrad.examples.nist.fit import fit as fit
from tapegrad.examples.nist.problems import Problem as Problem
from tapegrad.examples.nist.problems import load as load
from tapegrad.examples.nist.problems import names as names
