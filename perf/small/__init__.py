"""Small pieces, gathers and loops in time: models of a dozen lines, each with its gradient by hand as a compiled loop.

============= ============================================================================================
case          a model at any size: its function, forms for JAX and CasADi, the loop by hand, and its targets
kalman        Kalman filter of a local linear trend, two states
lotka         Lotka-Volterra equations by Runge-Kutta steps: vectors of two, scalars, `scan`, a long loop
garch         GARCH(1,1), unrolled, by `scan`, and as a long loop
markov        hidden Markov model by `logsumexp`
matfac        matrix factorisation: rows of two tables by lists of indices
particles     N-body potential over all pairs, Lennard-Jones potential over a list of pairs
kinematics    chain of joints: products of rotations
hierarchical  random intercepts (radon), eight schools
heat          heat equation by `roll`, and by slices
============= ============================================================================================
"""

from perf.small.case import Case as Case
from perf.small.garch import GARCH, GARCH_BY_FOR, GARCH_BY_SCAN
from perf.small.heat import HEAT_BY_ROLL, HEAT_BY_SLICES
from perf.small.hierarchical import EIGHT_SCHOOLS, RADON
from perf.small.kalman import KALMAN, KALMAN_BY_FOR
from perf.small.kinematics import KINEMATICS
from perf.small.lotka import (
    LOTKA_BY_CHECKPOINTS,
    LOTKA_BY_FOR,
    LOTKA_BY_SCALARS,
    LOTKA_BY_SCAN,
    LOTKA_BY_VECTORS,
)
from perf.small.markov import MARKOV
from perf.small.matfac import MATFAC
from perf.small.particles import LENNARD_JONES, N_BODY

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        KALMAN,
        KALMAN_BY_FOR,
        LOTKA_BY_VECTORS,
        LOTKA_BY_SCALARS,
        LOTKA_BY_SCAN,
        LOTKA_BY_FOR,
        LOTKA_BY_CHECKPOINTS,
        GARCH,
        GARCH_BY_SCAN,
        GARCH_BY_FOR,
        MARKOV,
        MATFAC,
        N_BODY,
        LENNARD_JONES,
        KINEMATICS,
        RADON,
        EIGHT_SCHOOLS,
        HEAT_BY_SLICES,
        HEAT_BY_ROLL,
    )
}
