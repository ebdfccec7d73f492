"""Random programs with loops of plain Python: rolled up, they are what they were."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.compositions.sample import EVERY, Sample
from helpers.daily import random_seeds

_FEATURES = (
    "elementwise",
    "arithmetic",
    "views",
    "writes",
    "gathers",
    "loop",
    "loop",
    "recurrence",
    "recurrence",
)


def check(seed: int) -> None:
    sample = Sample(seed, 10, _FEATURES)
    rolled, unrolled = (tg.jit(sample.number, roll=choice) for choice in (True, False))
    for inputs in (sample.inputs, tuple(0.7 * x for x in sample.inputs)):
        assert np.array_equal(rolled(*inputs), unrolled(*inputs), equal_nan=True), sample
        mine, its = (tg.grad(f, EVERY)(*inputs) for f in (rolled, unrolled))
        for a, b in zip(mine, its, strict=True):
            scale = 1 + np.abs(b[np.isfinite(b)]).max(initial=0)
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10 * scale, err_msg=str(sample))


@pytest.mark.filterwarnings(
    "ignore:.*compares what:tapegrad.RecordingWarning"
)  # that a loop sees its program
@random_seeds(0, 48, 2)
def test_a_rolled_loop_is_what_it_stands_for(seeds: range) -> None:
    for seed in seeds:
        check(seed)
