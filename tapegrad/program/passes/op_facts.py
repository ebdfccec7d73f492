"""Facts of ops for passes, by op code: columns to be indexed by a column of codes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.ops import GUARDS, ROWS, Op, Row
from tapegrad.ops.row import Structural


def _of(fact: Callable[[Row], Any]) -> np.ndarray:
    return np.array([fact(row) for row in ROWS])


def _bits(row: Row, holds: Callable[[int], bool]) -> int:
    return sum(1 << j for j in range(row.arity) if holds(j))


def _is_list(row: Row, j: int) -> bool:
    return isinstance(row, Structural) and row.fixed_dtypes.get(j) == "i64"


def _passes_on(row: Row, j: int) -> bool:
    """Return whether an operand's cotangent is the result's, in whatever dtype."""
    is_one = isinstance(row, Op) and row.partials[j : j + 1] == ("1",) and not row.complex_partials
    return is_one and j not in row.real_operands


# The operands that an op has a derivative by, those by which none is known, and those whose cotangent is the result's
TAKES = _of(lambda row: _bits(row, lambda j: row.reads[j] is not None))
UNKNOWN = _of(lambda row: _bits(row, lambda j: isinstance(row, Op) and j in row.unknown))
PASSES_ON = _of(lambda row: _bits(row, lambda j: _passes_on(row, j)))

# The operands that are lists of integers which the recording has made, or watches: of rows, plans, pivots
LISTS = _of(lambda row: 0 if row.kind in ("guard", "callback") else _bits(row, lambda j: _is_list(row, j)))

IN_PLACE = _of(lambda row: row.in_place)
COMMUTATIVE = _of(lambda row: row.commutative)
ALWAYS_RUN = _of(lambda row: row.kind in ("guard", "callback"))
GUARD = np.isin(np.arange(len(ROWS)), list(GUARDS))
CALLS = np.flatnonzero(_of(lambda row: row.kind == "callback"))
