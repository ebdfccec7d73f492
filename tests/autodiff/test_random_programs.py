"""Random programs with shared subexpressions, views and in-place writes, against NumPy with a complex step.

A program is a list of steps on a list of values. One interpreter runs it on Tensors and on complex NumPy
arrays: with x + 1e-30j d as input, the imaginary part of the result is the derivative along d.
"""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import random_seeds
from helpers.random_programs import Complex, Generator, Tape, complex_derivative, interpret, weighted_sum


def check(seed, steps):
    generator = Generator(seed)
    program, inputs = generator.draw(steps), generator.inputs
    weights = [generator.rng.uniform(0.2, 1, np.shape(v)) for v in interpret(program, inputs, Complex)]
    leaves = [tg.tensor(x) for x in inputs]
    loss = weighted_sum(interpret(program, leaves, Tape), weights, Tape)
    loss.backward()
    for leaf, x in zip(leaves, inputs, strict=True):
        assert np.array_equal(leaf.data, x)
    for _ in range(2):
        directions = [generator.rng.standard_normal(x.shape) for x in inputs]
        value, derivative = complex_derivative(program, inputs, directions, weights)
        along = sum(
            np.sum(leaf.grad * d) for leaf, d in zip(leaves, directions, strict=True) if leaf.grad is not None
        )
        assert loss.item() == pytest.approx(value, rel=1e-10, abs=1e-10), program
        assert along == pytest.approx(derivative, rel=1e-7, abs=1e-7), program


@random_seeds(0, 240, 20)
def test_gradient_is_the_complex_step(seeds):
    for seed in seeds:
        check(seed, 40)
