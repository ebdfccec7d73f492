"""Search for the interval between knots, which each replay does anew.

A replay looks a place up in a table of equal buckets, then compares it with the few knots in its bucket: arithmetic
that is fused with what follows, where bisection waits for mispredicted branches. Uneven knots are bisected.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.conversions.guarded_results import is_computed
from tapegrad.frontend.functions.ordering.search import searchsorted
from tapegrad.frontend.recording.record_structural import as_tensor

_BUCKETS_PER_INTERVAL, _MAX_BUCKETS = 8, 2**16
_MAX_STEPS = 3  # comparisons after the look-up; more take longer than bisection
_MAX_KEPT = 32  # tables


class Buckets(NamedTuple):
    """Table of equal buckets between the first and the last knot.

    Attributes
    ----------
    begin, scale
        The bucket of a place is ``(place - begin) * scale``, truncated. Rounding keeps the order of places, so knots of
        lower buckets are before a place, whatever was rounded.
    firsts
        Number of the first interval in each bucket; one more bucket has what is beyond the last knot, and nan.
    ends
        End of each interval; nan of the last one, so that nothing is beyond it.
    steps
        Most knots in a bucket.
    """

    begin: float
    scale: float
    firsts: np.ndarray
    ends: np.ndarray
    steps: int


def intervals_of(knots: np.ndarray, places: Any) -> Any:
    """Return the number of the interval of each place; nan are in the last one."""
    buckets = _buckets(knots.tobytes()) if is_computed(places) else None
    if buckets is None:
        return searchsorted(knots[1:-1], places, "right")
    last = float(len(buckets.firsts) - 1)
    # a nan is in the last bucket: fmin and fmax return the other operand
    number = np.fmax(np.fmin((places - buckets.begin) * buckets.scale, last), 0.0).astype(np.int64)
    firsts, ends = as_tensor(buckets.firsts, "interpolate"), as_tensor(buckets.ends, "interpolate")
    index = firsts[number]
    for _ in range(buckets.steps):
        index = index + (places >= ends[index])
    return index


@lru_cache(_MAX_KEPT)
def _buckets(knots: bytes) -> Buckets | None:
    """Return the table of buckets, or `None` if too many knots are in one."""
    x = np.frombuffer(knots)
    inner, count = x[1:-1], min(_BUCKETS_PER_INTERVAL * (len(x) - 1), _MAX_BUCKETS)
    with np.errstate(all="ignore"):
        begin, scale = float(x[0]), float(count / (x[-1] - x[0]))
        numbers = (inner - begin) * scale
    if not (np.isfinite(scale) and np.all(numbers < count)):
        return None
    held = np.bincount(numbers.astype(np.int64), minlength=count + 1)
    steps = int(held.max())
    if steps > _MAX_STEPS:
        return None
    return Buckets(begin, scale, np.cumsum(held) - held, np.append(inner, np.nan), steps)
