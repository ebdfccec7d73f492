"""The figures: what is measured and what it must reach. One file a kind, one entry a figure."""

from perf.figures.adbench import ADBENCH
from perf.figures.base import Figure as Figure
from perf.figures.base import Outcome as Outcome
from perf.figures.base import Settings as Settings
from perf.figures.base import Target as Target
from perf.figures.certificates import CERTIFICATES
from perf.figures.compiled import COMPILED
from perf.figures.complex_numbers import COMPLEX_NUMBERS
from perf.figures.cutest import CUTEST
from perf.figures.derivatives import DERIVATIVES
from perf.figures.distributions import DISTRIBUTIONS
from perf.figures.filters import FILTERS
from perf.figures.fits import FITS
from perf.figures.functions import FUNCTIONS
from perf.figures.fusion import FUSION
from perf.figures.gradbench import GRADBENCH
from perf.figures.interpolation import INTERPOLATION
from perf.figures.lanes import LANES
from perf.figures.latency import LATENCY
from perf.figures.linear_algebra import LINEAR_ALGEBRA
from perf.figures.mathematics import MATHEMATICS_FIGURES
from perf.figures.memory import MEMORY
from perf.figures.native import NATIVE
from perf.figures.odes import ODES
from perf.figures.operations import OPERATION
from perf.figures.posteriordb import POSTERIORDB
from perf.figures.power_flow import POWER_FLOW
from perf.figures.profiles import PROFILES
from perf.figures.propagation import PROPAGATION
from perf.figures.pymc_models import PYMC_MODELS
from perf.figures.races import RACES
from perf.figures.random_effects import RANDOM_EFFECTS
from perf.figures.replay import REPLAY
from perf.figures.roots import ROOTS
from perf.figures.sampling import SAMPLING
from perf.figures.sharded import SHARDED
from perf.figures.small import SMALL
from perf.figures.sparse_derivatives import SPARSE_DERIVATIVES
from perf.figures.sparse_matrices import SPARSE_MATRICES
from perf.figures.sparse_systems import SPARSE_SYSTEMS
from perf.figures.start import START
from perf.figures.structures import STRUCTURES
from perf.figures.template_models import TEMPLATE_MODELS
from perf.figures.watching import WATCHING

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        *REPLAY,
        *WATCHING,
        *CERTIFICATES,
        *STRUCTURES,
        *PROFILES,
        *PROPAGATION,
        *SHARDED,
        *OPERATION,
        *FUNCTIONS,
        *RACES,
        *SMALL,
        *ODES,
        *INTERPOLATION,
        *FILTERS,
        *COMPLEX_NUMBERS,
        *ROOTS,
        *FUSION,
        *LATENCY,
        *COMPILED,
        *SAMPLING,
        *PYMC_MODELS,
        *MATHEMATICS_FIGURES,
        *DERIVATIVES,
        *SPARSE_DERIVATIVES,
        *POWER_FLOW,
        *LANES,
        *FITS,
        *NATIVE,
        *LINEAR_ALGEBRA,
        *SPARSE_SYSTEMS,
        *RANDOM_EFFECTS,
        *SPARSE_MATRICES,
        *DISTRIBUTIONS,
        *ADBENCH,
        *CUTEST,
        *GRADBENCH,
        *POSTERIORDB,
        *START,
        *MEMORY,
        *TEMPLATE_MODELS,
    )
}
