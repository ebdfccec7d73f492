"""The twelve posteriors: names that posteriordb has for them, and models."""

from collections.abc import Callable
from typing import Any

from perf.posteriors.mixtures import eight_schools, gp_pois_regr, low_dim_gauss_mix
from perf.posteriors.model import Model
from perf.posteriors.regressions import ar_k, diamonds, kidscore_momhsiq, logearn_interaction
from perf.posteriors.series import garch, hmm_drive, hmm_example, lotka_volterra, one_compartment

CASES: dict[str, Callable[[dict[str, Any]], Model]] = {
    "eight_schools-eight_schools_noncentered": eight_schools,
    "hmm_example-hmm_example": hmm_example,
    "earnings-logearn_interaction": logearn_interaction,
    "kidiq-kidscore_momhsiq": kidscore_momhsiq,
    "diamonds-diamonds": diamonds,
    "arK-arK": ar_k,
    "garch-garch11": garch,
    "low_dim_gauss_mix-low_dim_gauss_mix": low_dim_gauss_mix,
    "gp_pois_regr-gp_pois_regr": gp_pois_regr,
    "bball_drive_event_0-hmm_drive_0": hmm_drive,
    "hudson_lynx_hare-lotka_volterra": lotka_volterra,
    "one_comp_mm_elim_abs-one_comp_mm_elim_abs": one_compartment,
}
SMALL = ("eight_schools-eight_schools_noncentered", "hmm_example-hmm_example")  # with data in this tree
