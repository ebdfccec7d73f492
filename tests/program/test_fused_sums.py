"""Long sums in segments are added up in the order of the rows: in the same chunks, each row's by itself."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.segments import segments_alike
from tapegrad.engine.sweep.threading.parallel import SUMS_THRESHOLD, chunk_of_sums

LONG = SUMS_THRESHOLD + 1000
# Lines of 2**18 + 2**14 elements are cut into chunks of one length, those with one element more into longer ones.
EDGE = next(n for n in range(SUMS_THRESHOLD, 1 << 20, 256) if chunk_of_sums(n + 1) > chunk_of_sums(n))


def _many_sums(b: Any, t: Any) -> Any:
    """A polynomial with more coefficients than a cache line has room for."""
    total = 0.0
    for k in range(12):
        total = total + b[k] * t**k
    return tg.sum((total - tg.sin(t)) ** 2)


def _sums_into_one(s: Any, t: Any) -> Any:
    return tg.sum(s * t * tg.exp(s * t * t) * tg.sin(s + t) * tg.cos(t * s + 1.0))


def _sums_at_each_step(s: Any, t: Any) -> Any:
    """A scalar and a column whose gradients are sums along lines, of which the scalar's is one for all lines."""
    table = t * tg.asarray([[1.0], [-0.5], [2.0]])
    return tg.sum(tg.exp(tg.stats.norm.logpdf(table, tg.cos(s) * np.array([[0.1], [0.2], [0.3]]), s)))


def _of_views(s: Any, t: Any) -> Any:
    return tg.sum(tg.sin(t[1:] * s)) + tg.sum(tg.cos(t[:-1] * s) * t[1:])


@pytest.mark.parametrize(
    ("function", "first", "n"),
    [
        (_many_sums, np.linspace(0.1, 1.0, 12), LONG),
        (_sums_into_one, np.float64(0.37), LONG),
        (_sums_into_one, np.float32(0.37), LONG),
        (_sums_at_each_step, np.float64(0.7), LONG),
        (_of_views, np.float64(0.3), EDGE + 1),
        (_of_views, np.float64(0.3), SUMS_THRESHOLD),
        (_sums_into_one, np.float64(0.37), SUMS_THRESHOLD),
        (_sums_into_one, np.float64(0.37), SUMS_THRESHOLD - 1),
    ],
)
def test_long_sums(function: Any, first: Any, n: int) -> None:
    t = np.random.default_rng(n).normal(size=n).astype(np.asarray(first).dtype)
    segments_alike(
        function, [(first * scale, t) for scale in (np.float32(1.0), np.float32(-0.5))], ("gradient",)
    )


def test_sums_of_lines_that_are_cut_otherwise() -> None:
    """One sum is of so many elements that it is cut into longer chunks than the other one."""
    t = np.random.default_rng(1).normal(size=EDGE + 1)
    segments_alike(
        lambda s, t: tg.sum(t * s) + tg.sum(tg.square(t[1:]) * s), [(np.float64(0.3), t)], ("gradient",)
    )
