"""Messages of the statuses with which fits end, apart from the results: their class is slow to import."""

from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.searches.interruption import MESSAGE

MESSAGES = {
    fields.TOO_MANY_EVALUATIONS: "The maximum number of function evaluations is exceeded.",
    fields.BY_GTOL: "`gtol` termination condition is satisfied.",
    fields.BY_FTOL: "`ftol` termination condition is satisfied.",
    fields.BY_XTOL: "`xtol` termination condition is satisfied.",
    fields.BY_BOTH: "Both `ftol` and `xtol` termination conditions are satisfied.",
    fields.INTERRUPTED: MESSAGE,
    fields.NOT_FINITE: "Residuals or their derivatives are not finite in the initial point.",
    fields.NO_POINTS: "There are no points, or all are left out.",
    fields.NOT_COMPUTED: "Residuals could not be computed in the initial point.",
}
