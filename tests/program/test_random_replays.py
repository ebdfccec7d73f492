"""Random programs, recorded once and replayed at new inputs, against running them anew.

The programs are those of `test_random_programs`; here their values are held against NumPy's and their gradients
against the ones of the eager tape.
"""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import random_seeds
from helpers.random_programs import Complex, Generator, Tape, interpret, weighted_sum


def copies(arrays):
    return [x.copy() for x in arrays]


def check(seed, steps):
    generator = Generator(seed)
    program = generator.draw(steps)
    weights = [
        generator.rng.uniform(0.2, 1, np.shape(v)) for v in interpret(program, generator.inputs, Complex)
    ]

    def function(*inputs):
        return weighted_sum(interpret(program, inputs, Tape), weights, Tape)

    def values(*inputs):
        return interpret(program, inputs, Tape)

    every = (0, 1, 2)
    plain, replayed = tg.value_and_grad(function, every), tg.value_and_grad(tg.jit(function), every)
    all_values, jacobian = tg.jit(values), tg.jacobian(tg.jit(function), every)
    for scale in (1.0, 0.6, -0.8, 1.0):
        inputs = [np.asarray(generator.rng.uniform(-1, 1, np.shape(x)) * scale) for x in generator.inputs]
        kept = copies(inputs)
        value, gradients = plain(*inputs)
        value2, gradients2 = replayed(*inputs)
        assert value2 == pytest.approx(value, rel=1e-11, abs=1e-11, nan_ok=True), program
        for a, b, c in zip(gradients2, gradients, jacobian(*inputs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=str(program))
            np.testing.assert_allclose(c, b, rtol=1e-9, atol=1e-9, err_msg=str(program))
        for a, b in zip(all_values(*inputs), interpret(program, inputs, Complex), strict=True):
            np.testing.assert_allclose(a, np.real(b), rtol=1e-9, atol=1e-9, err_msg=str(program))
        for a, b in zip(inputs, kept, strict=True):
            assert np.array_equal(a, b)


@random_seeds(1000, 160, 20)
def test_replay_is_the_program_run_anew(seeds):
    for seed in seeds:
        check(seed, 30)
