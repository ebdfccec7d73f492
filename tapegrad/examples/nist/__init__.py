"""Fit the nonlinear regressions of the NIST Statistical Reference Datasets by SciPy and by compiled code.

In reading order; each imports only those above it:

    models                         the models, plain NumPy functions
    problems                       data, starting points and certified results
    fit                            the example: nonlinear least squares from each starting point

The data, as NIST publishes them, are in ``problems.json``.
"""

from tapegrad.examples.nist.fit import Fit as Fit
from tapegrad.examples.nist.fit import agreeing_digits as agreeing_digits
from tapegrad.examples.nist.fit import fit as fit
from tapegrad.examples.nist.problems import Problem as Problem
from tapegrad.examples.nist.problems import load as load
from tapegrad.examples.nist.problems import names as names
