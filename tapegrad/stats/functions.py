"""Functions of plain numbers, which give plain numbers, and of Tensors.

A plain number takes the dtype of what it meets: the logarithm of a parameter 2.0 is not to make float64 of float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.reference import evaluate_numpy
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.record import as_plain_number
from tapegrad.ops import BY_NAME
from tapegrad.stats.parameters import is_number


def _function(name: str) -> Callable[..., Any]:
    row, of_tensors = BY_NAME[name], FUNCTIONS[name]

    def function(*operands: Any) -> Any:
        if all(map(is_number, operands)):
            return float(
                evaluate_numpy(row.primal, **{f"x{j}": np.float64(x) for j, x in enumerate(operands)})
            )
        return as_plain_number(of_tensors(*operands), operands)

    return function


(
    absolute, arcsin, arctan2, cosh, exp, expm1, floor, log, log1p, maximum, minimum, power, rint, sin, sqrt, square,
    tan, cosm1, betainc, betaincc, betaln, gammainc, gammaincc, gammaln, half_step, i0e,
    log_betainc, log_betaincc, log_gammainc, log_gammaincc, log_stdtr,
    erf, log_expit, log_ndtr, logit, ndtr, ndtri, expit, owens_t, stdtr, xlog1py, xlogy, normal_exponent,
    masked_multiply,
) = (
    _function(name) for name in (
        "absolute", "arcsin", "arctan2", "cosh", "exp", "expm1", "floor", "log", "log1p", "maximum", "minimum", "power",
        "rint", "sin", "sqrt", "square", "tan",
        "cosm1", "betainc", "betaincc", "betaln", "gammainc", "gammaincc", "lgamma", "lgamma_half_step", "i0e",
        "log_betainc", "log_betaincc", "log_gammainc", "log_gammaincc", "log_stdtr",
        "erf", "log_expit", "log_ndtr", "logit", "ndtr", "ndtri", "sigmoid", "owens_t", "stdtr", "xlog1py", "xlogy",
        "normal_exponent", "masked_multiply",
    )
)  # fmt: skip


def where(condition: Any, x: Any, y: Any) -> Any:
    """Select; a plain truth selects one of the two as it is."""
    if type(condition) is bool:
        return x if condition else y
    return select(condition, x, y)


_LOG_2 = 0.6931471805599453
_NEGLIGIBLE_LOG = -40.0


def log1mexp(x: Any) -> Any:
    """``log(1 - exp(-x))`` for ``x >= 0``, by the one of two forms that loses no digits (Maechler 2012)."""
    return where(x < _LOG_2, log(-expm1(-x)), log1p(-exp(-x)))


def log1mexp_of_exp(y: Any) -> Any:
    """``log1mexp(exp(y))``, which is y where ``exp(y)`` adds nothing to it, and may be too small for a float."""
    return where(y < _NEGLIGIBLE_LOG, y, log1mexp(exp(y)))


def log_share(share: Any, rest: Any) -> Any:
    """Return the logarithm of a probability, by what it lacks to 1 where that is small."""
    return where(rest < 0.5, log1p(-rest), log(share))
