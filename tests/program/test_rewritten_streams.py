"""Rows of a program may change places between binding and planning: each block has addresses that no other has."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.kernels.language import frame as field
from tapegrad.program.programs.gradient import GradientProgram
from tapegrad.program.streams.stream import RANGE_SHIFT, WORKSPACE


def chain(x):
    y = x
    for k in range(6):
        y = tg.sin(y) * x + tg.exp(-y) * (k + 1.0)
    return tg.sum(y * x[::-1])


def joined(x):
    parts = [tg.cos(x) * k for k in range(4)]
    return tg.sum(tg.concatenate(parts)[2:] ** 2) + tg.prod(x)


def named(program, frame):
    """The memory that a frame names: blocks of the workspace, and gradients that the caller gives."""
    blocks = program._blocks.number(frame[frame >> RANGE_SHIFT == WORKSPACE >> RANGE_SHIFT]).tolist()
    gradients = frame[field.X_BAR : field.Y_BAR] >> RANGE_SHIFT
    return {*blocks, *(-gradients[gradients > 1]).tolist()}


def shuffled(program, stream, rng):
    """The rows in another order, in which those that name the same memory stay as they are to one another."""
    names = [named(program, frame) for frame in stream.frames]
    order, waiting = [], list(range(len(stream)))
    while waiting:
        free = [k for k in waiting if not any(names[k] & names[j] for j in waiting if j < k)]
        order.append(int(rng.choice(free)))
        waiting.remove(order[-1])
    return stream.taking(order)


@pytest.mark.parametrize("function", [chain, joined])
def test_any_order_that_keeps_what_depends_on_one_another_gives_the_same(function, monkeypatch):
    x = np.linspace(0.2, 1.7, 9)
    value, gradient = tg.value_and_grad(tg.jit(function))(x)
    orders = []

    def rewrite(program):
        rng = np.random.default_rng(len(orders))
        program.forward = shuffled(program, program.forward, rng)
        program.reverse = shuffled(program, program.reverse, rng)
        orders.append(program.forward.number.tolist())

    monkeypatch.setattr(GradientProgram, "_rewrite", rewrite)
    for _ in range(4):
        again = tg.value_and_grad(tg.jit(lambda x: function(x)))(x)
        assert again[0] == value
        assert np.array_equal(again[1], gradient)
    assert len(set(map(tuple, orders))) > 1
