"""Sums of exponentials along a short axis, in segments: their loop is written out."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.segments import segments_alike
from tapegrad.special import logsumexp


def _mixture(x: Any, w: Any) -> Any:
    """The density of a mixture: a weight for each column, whose gradient is a sum."""
    return tg.sum(logsumexp(tg.sin(x) * w + x, axis=1))


def _of_rows(x: Any, w: Any) -> Any:
    """Sums along the first axis, used twice, and an output that keeps them."""
    y = logsumexp(x * w, axis=0)
    return tg.sum(tg.exp(x * w - y) * tg.cos(x)) + tg.sum(y * y[::-1])


def _twice(x: Any, w: Any) -> Any:
    """A sum of sums, of which one is along lines that another one reads."""
    z = x * w
    y = logsumexp(z, axis=1)
    return tg.sum(logsumexp(z - y[:, None] * w, axis=1) * y)


CASES = [
    (_mixture, (300, 3)),
    (_mixture, (4200, 5)),
    (_mixture, (70, 17)),
    (_of_rows, (2, 66)),
    (_twice, (4200, 2)),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("function", "shape"), CASES)
def test_sums_of_exponentials(function: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    x, w = rng.normal(size=shape), rng.normal(size=shape[1] if function is not _of_rows else (shape[0], 1))
    special = x.copy()
    special[rng.random(shape) < 0.2] = np.inf
    special[rng.random(shape) < 0.2] = -np.inf
    special[rng.random(shape) < 0.05] = np.nan
    special[1] = special[0, :2] = -np.inf
    tied = np.round(x)
    far = x * 400.0
    inputs = [(each, w) for each in (x, special, tied, far)]
    segments_alike(function, [*inputs, (x, np.zeros_like(w))], ("value", "gradient", "tangent"))


def test_in_all_derivatives() -> None:
    x = np.random.default_rng(2).normal(size=(66, 2))
    segments_alike(_mixture, [(x, np.array([0.3, -0.7]))], ("jacobian", "hessian", "product"))


def test_single_precision() -> None:
    x, w = (np.random.default_rng(3).normal(size=shape).astype(np.float32) for shape in ((80, 3), 3))
    segments_alike(_mixture, [(x, w)], ("value", "gradient"))


def test_nothing_between_is_stored() -> None:
    """A table that is computed column by column, and its gradient, are one segment."""
    x, w = np.random.default_rng(4).normal(size=(5000, 3)), np.array([0.3, -0.7, 0.1])
    f = tg.jit(lambda x, w: tg.sum(logsumexp(tg.sin(x * w), axis=1)), fuse=True)
    tg.grad(f, 1)(x, w)
    (whole,) = [each for each in f.tape(x, w).segments if each.computes == "value_and_grad"]
    assert "v2 = logsumexp(v1.0, v1.1, v1.2)" in whole.arithmetic
    assert "v1.2_bar = v2_bar*exp(v1.2-v2)" in whole.arithmetic
