"""Snapshots of the reverse run: no schedule runs fewer iterations again (Griewank and Walther 2000)."""

import math

import numpy as np
import pytest

import tapegrad as tg

calls = 0


@tg.custom_op("counted", vjp=lambda y_bar, y, x: y_bar)
def counted(x):
    global calls
    calls += 1
    return x.copy()


def fewest(count: int, snapshots: int) -> int:
    """Evaluate the formula for the least number of iterations, the first snapshot being the beginning."""
    repetitions = 0
    while math.comb(snapshots + repetitions, snapshots) < count:
        repetitions += 1
    return repetitions * count - math.comb(snapshots + repetitions, snapshots + 1) if repetitions else 0


@pytest.mark.parametrize("snapshots", [1, 2, 3, 5, 8, 20])
def test_the_number_of_iterations_is_the_least(snapshots):
    global calls
    for count in (1, 2, 3, 4, 5, 7, 10, 11, 20, 21, 22, 40, 57, 100, 231):
        x = tg.tensor(0.5)
        y, _ = tg.scan(lambda c, _: (counted(c) * 1.5, None), x, length=count, checkpoint=snapshots)
        calls = 0
        y.backward()
        # Each iteration runs once more for its own pullback; the first call records nothing that is counted
        again = calls - count
        assert again == fewest(count, snapshots), count
        assert x.grad == pytest.approx(1.5**count)


def test_memory_is_that_of_the_snapshots():
    """A gradient over carries of 80 MB in all with 20 of them."""
    tracked = np.ones(10_000)
    gradient = tg.grad(
        lambda p: tg.sum(tg.scan(lambda u, _: (u * p, None), tracked, length=1000, checkpoint=20)[0])
    )
    assert gradient(0.999) == pytest.approx(10_000 * 1000 * 0.999**999)
