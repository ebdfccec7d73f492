"""Gradients of long random programs with views and in-place writes, against differences of NumPy's values."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.compositions.oracle import Oracle
from helpers.compositions.sample import Sample
from helpers.daily import NEW_SEEDS, random_seeds


def check(seed: int) -> bool:
    """Check a program; return whether the differences tell its derivative."""
    sample = Sample(seed, 40)
    leaves = [tg.tensor(x) for x in sample.inputs]
    loss = sample.number(*leaves)
    loss.backward()
    for leaf, x in zip(leaves, sample.inputs, strict=True):
        assert np.array_equal(leaf.data, x)
    wanted = Oracle(sample.program).derivative(1, 0, 0)
    if wanted is None:
        return False
    value = np.dot(sample.weights, sample.value)
    assert loss.item() == pytest.approx(value, rel=1e-8, abs=1e-8), str(sample)
    along = sum(
        np.sum(leaf.grad * d)
        for leaf, d in zip(leaves, sample.program.directions[0], strict=True)
        if leaf.grad is not None
    )
    assert along == pytest.approx(
        np.dot(sample.weights, np.ravel(wanted.value)), abs=sample.value.size * wanted.error
    ), str(sample)
    return True


@random_seeds(0, 160, 4)
def test_gradient_is_that_of_differences(seeds: range) -> None:
    assert sum(map(check, seeds)) > 0 or seeds.start >= NEW_SEEDS
