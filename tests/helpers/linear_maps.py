"""Linear maps: their cotangents are those of the transpose."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad as tg


def check_transpose(
    f: Callable[[Any], Any], x: np.ndarray, rng: np.random.Generator, tolerance: float
) -> None:
    """Compare inner products before and after the map, relative to the sizes of their terms: a sum may cancel."""
    y, pull = tg.vjp(f, x)
    u = rng.standard_normal(y.shape)
    after, before = u * np.asarray(y), pull(u)[0] * x
    terms = np.sum(abs(after)) + np.sum(abs(before))
    np.testing.assert_allclose(np.sum(after), np.sum(before), rtol=0, atol=tolerance * terms)
