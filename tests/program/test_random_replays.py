"""Random programs, recorded once and replayed at new arguments, against running them anew and against NumPy."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.compositions.sample import EVERY, Sample
from helpers.daily import random_seeds


def check(seed: int) -> None:
    sample = Sample(seed, 30)
    plain, replayed = (tg.value_and_grad(f, EVERY) for f in (sample.number, tg.jit(sample.number)))
    vector, jacobian = tg.jit(sample.vector), tg.jacobian(tg.jit(sample.number), EVERY)
    for inputs in (sample.inputs, sample.varied(0.6), sample.varied(1.2), sample.inputs):
        kept = [np.copy(x) for x in inputs]
        try:
            value, gradients = plain(*inputs)
        except (ValueError, IndexError):  # of these arguments a mask takes too few elements
            continue
        value2, gradients2 = replayed(*inputs)
        assert value2 == pytest.approx(value, rel=1e-11, abs=1e-11, nan_ok=True), sample
        for a, b, c in zip(gradients2, gradients, jacobian(*inputs), strict=True):
            scale = 1 + np.abs(b[np.isfinite(b)]).max(initial=0)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * scale, err_msg=str(sample))
            np.testing.assert_allclose(c, b, rtol=1e-9, atol=1e-9 * scale, err_msg=str(sample))
        expected, less, more = (
            np.ravel(sample.program.reference(tuple(x * factor for x in inputs)))
            for factor in (1.0, 1 - 1e-12, 1 + 1e-12)
        )
        jumps = np.maximum(np.abs(less - expected), np.abs(more - expected)) > 1e-6
        found = np.where(jumps, expected, vector(*inputs))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=str(sample))
        for a, b in zip(inputs, kept, strict=True):
            assert np.array_equal(a, b)


@random_seeds(1000, 120, 2)
def test_replay_is_the_program_run_anew(seeds: range) -> None:
    for seed in seeds:
        check(seed)
