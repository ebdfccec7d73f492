"""Fit the nonlinear regressions of the NIST Statistical Reference Datasets, with exact Jacobians.

The models are plain NumPy functions (`models`); `problems` reads data and certified results; `fit` is the example.
"""

from tapegrad.examples.nist.fit import Fit as Fit
from tapegrad.examples.nist.fit import agreeing_digits as agreeing_digits
from tapegrad.examples.nist.fit import fit as fit
from tapegrad.examples.nist.problems import Problem as Problem
from tapegrad.examples.nist.problems import load as load
from tapegrad.examples.nist.problems import names as names
