"""The logarithm of a sum of exponentials, and its derivatives: the arithmetic of `kernels.logsumexp`, as values."""

import functools
import itertools
import math
from collections.abc import Callable, Sequence

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.operations import absolute, larger, select, total_of
from tapegrad.engine.codegen.ir.sums import PARTS
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics.exponential import exp_below_one
from tapegrad.engine.codegen.mathematics.logarithm import log1p_of_positive
from tapegrad.engine.codegen.rows.functions import CONVENTION, call

MAX_VALUES = 16  # vectors of which one function computes the logarithm of the sum


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
    # The largest itself is left out. If it is infinite, the total is 0, or NaN if any value is.
    return largest + call("log1p", total + (ties - 1.0))


def _symbol(target: Target, count: int, lanes: int) -> str:
    return target.symbol("log_of_sum", count, "of", lanes)


def functions(target: Target) -> dict[str, Callable[[], Body]]:
    """Return the functions that compute `log_of_sum` of a few vectors, by their symbols."""
    return {
        _symbol(target, count, lanes): functools.partial(_define, target, count, lanes)
        for count in range(1, MAX_VALUES + 1)
        for lanes in {PARTS.lanes, max(PARTS.lanes, target.lanes)}
    }


def _define(target: Target, count: int, lanes: int) -> Body:
    """Define the function of so many vectors, of which none leaves the registers in between."""
    type_ = Type("double", lanes)
    arguments = ", ".join(f"{type_} %x{j}" for j in range(count))
    head = f'define {CONVENTION} {type_} @"{_symbol(target, count, lanes)}"({arguments}) noinline'
    body = Body(target, head)
    values = [body.named(type_, f"%x{j}") for j in range(count)]
    largest = _largest(values)
    tied = [x.equal(largest) for x in values]
    total = total_of([select(t, 0.0, exp_below_one(x - largest)) for t, x in zip(tied, values, strict=True)])
    ties = total_of([select(t, largest.like(1.0), 0.0) for t in tied])
    base = largest + (total - total)  # a total that is NaN is lost in the logarithm
    body.ret(base + log1p_of_positive(total + (ties - 1.0)))
    return body


def call_log_of_sum(values: Sequence[Value]) -> Value:
    """Call the function that computes `log_of_sum` of a few vectors."""
    body, type_ = values[0].body, values[0].type
    symbol = _symbol(body.target, len(values), type_.lanes)
    return body.emit(type_, body.call(str(type_), f'@"{symbol}"', values, CONVENTION))


def _largest(values: Sequence[Value]) -> Value:
    """Return the largest value in each lane, by as short a chain as can be; NaN may be passed over."""
    found = list(values)
    while len(found) > 1:
        pairs = itertools.zip_longest(found[::2], found[1::2])
        found = [one if other is None else larger(one, other) for one, other in pairs]
    return found[0]


def share(x: Value, centre: Value, weight: Value, *, unmasked: bool = False) -> Value:
    """Return ``exp(x - centre)*weight``, which is never -0.0.

    Of -inf it is zero whatever the centre is, and zero times anything is zero. `unmasked`: where any of these are
    infinite, it may be NaN.
    """
    if unmasked:
        finite = select(absolute(centre) < math.inf, centre, math.nan)
        return call("exp", x - finite) * weight + 0.0
    found = select(x.equal(centre), 1.0, call("exp", x - centre))
    none = x.equal(-math.inf) | found.equal(0.0) | weight.equal(0.0)
    return select(none, 0.0, found * weight + 0.0)
