"""SAMPLERS: log densities, and models of PyMC's, as nutpie and emcee take them.

In reading order; each imports only those above it:

    log_probability                for emcee
    nutpie_model                   log densities for nutpie
    pymc_laplace                   models with random effects integrated out, imported when the first is asked for
    pymc_model                     `pymc`: models for nutpie
    nutpie_backend                 `register_nutpie`: a backend of nutpie's
"""

from tapegrad.interop.samplers.log_probability import LogProbability as LogProbability
from tapegrad.interop.samplers.log_probability import emcee as emcee
from tapegrad.interop.samplers.nutpie_backend import register_nutpie as register_nutpie
from tapegrad.interop.samplers.nutpie_model import nutpie as nutpie
from tapegrad.interop.samplers.pymc_model import pymc as pymc
