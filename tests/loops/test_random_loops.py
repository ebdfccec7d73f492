"""Random programs as the bodies of loops of plain Python: rolled up, they are what they were."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import random_seeds
from helpers.random_programs import Generator, Tape, interpret

_TIMES = 7


class RandomLoop:
    """A loop whose iterations run a random program on what the one before has left, on data, and on an array."""

    def __init__(self, seed):
        generator = Generator(seed)
        self.program, self.inputs = generator.draw(12), [x[()] for x in generator.inputs]
        self.rng = generator.rng
        values = interpret(self.program, [np.array(x) for x in self.inputs], Tape)
        shapes = [np.shape(value) for value in values]
        alike = [[k for k, shape in enumerate(shapes) if shape == np.shape(x)] for x in self.inputs]
        self.next = [int(self.rng.choice(each)) if each else None for each in alike]
        self.data = self.rng.normal(size=(_TIMES, 3))
        self.lag = int(self.rng.integers(1, 3))
        self.backwards = bool(self.rng.integers(2))
        self.watched = int(self.rng.integers(len(values)))

    def __call__(self, *inputs):
        state, seen = list(inputs), tg.zeros(_TIMES + self.lag)
        found = []
        for t in reversed(range(_TIMES)) if self.backwards else range(_TIMES):
            values = interpret(self.program, [tg.copy(x) for x in state], Tape)
            watched = tg.sum(values[self.watched] * 0.1)
            before = t + self.lag if self.backwards else t - self.lag
            seen[t] = tg.tanh(watched + seen[before] + self.data[t, 0])
            state = [
                tg.tanh((x if k is None else values[k]) * 0.5 + self.data[t, 1]) + x * seen[t]
                for k, x in zip(self.next, state, strict=True)
            ]
            found.append(state[0] * self.data[t, 2])
        return tg.sum(seen * seen) + tg.sum(tg.stack(found)) + sum(tg.sum(x) for x in state)


def check(seed):
    loop = RandomLoop(seed)
    rolled, unrolled = tg.jit(loop.__call__, roll=True), tg.jit(loop.__call__, roll=False)
    everything = tuple(range(len(loop.inputs)))
    for factor in (1.0, 0.7):
        inputs = [x * factor for x in loop.inputs]
        assert np.array_equal(rolled(*inputs), unrolled(*inputs), equal_nan=True), seed
        mine, its = (tg.grad(f, argnums=everything)(*inputs) for f in (rolled, unrolled))
        for a, b in zip(mine, its, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10, err_msg=str(seed))


@pytest.mark.filterwarnings(
    "ignore:.*compares what:tapegrad.RecordingWarning"
)  # that a loop sees its program
@random_seeds(0, 48, 4)
def test_a_rolled_loop_is_what_it_stands_for(seeds):
    for seed in seeds:
        check(seed)
