"""The logarithm of a sum of exponentials, and its derivatives: the arithmetic of `kernels.logsumexp`, as values."""

import math
from collections.abc import Sequence

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, select
from tapegrad.engine.codegen.rows.functions import call


def with_exponential(total: Value, ties: Value, x: Value, centre: Value) -> tuple[Value, Value]:
    """Add ``exp(x - centre)`` to a total; where x is the centre, count a tie instead."""
    tied = x.equal(centre)
    return total + select(tied, 0.0, call("exp", x - centre)), select(tied, ties + 1.0, ties)


def log_of_sum(values: Sequence[Value]) -> Value:
    """Return the logarithm of the sum of the exponentials of float64 vectors, lane by lane."""
    largest = _largest(values)
    total = ties = largest.like(0.0)
    for x in values:
        total, ties = with_exponential(total, ties, x, largest)
    rest = call("log1p", total + (ties - 1.0))  # the largest itself is left out
    return select(absolute(largest) < math.inf, largest + rest, largest)


def _largest(values: Sequence[Value]) -> Value:
    """Return the largest value in each lane; NaN propagates."""
    best = values[0].like(-math.inf)
    for x in values:
        best = select(~(x <= best) & best.equal(best), x, best)
    return best


def share(x: Value, centre: Value, weight: Value) -> Value:
    """``exp(x - centre)*weight``; of -inf it is zero whatever the centre is, and zero times anything is zero."""
    found = select(x.equal(centre), 1.0, call("exp", x - centre))
    none = x.equal(-math.inf) | found.equal(0.0) | weight.equal(0.0)
    return select(none, 0.0, found * weight)
