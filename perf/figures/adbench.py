"""ADBench's LSTM over characters, with its gradient, as a long program; `gradbench` has it in loops.

Šrajer, Kukelova and Fitzgibbon (2018), "A benchmark of selected algorithmic differentiation tools on some problems in
computer vision and machine learning". The LSTM has diagonal weights, two layers, and 30 characters,
unrolled: 1,829 instructions on 14 elements each.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.figures.distributions import AUTOGRAD, TAPEGRAD, TORCH, Kit, Model, race_model

LAYERS, UNITS, CHARACTERS = 2, 14, 30


def _sigmoid(xp: Any, z: Any) -> Any:
    return 1.0 / (1.0 + xp.exp(-z))


def lstm(kit: Kit, p: Any, state: Any, text: Any) -> Any:
    """Return the mean log-probability of a text, with its sign changed."""
    xp, b = kit.xp, UNITS
    layers = xp.reshape(p[: 8 * LAYERS * b], (LAYERS, 2, 4, b))
    first, factor, bias = xp.reshape(p[8 * LAYERS * b :], (3, b))
    hidden, cells = [*state[0]], [*state[1]]
    total = 0.0
    for character, following in _pairs(text):
        z = character * first
        for k in range(LAYERS):
            (forget, keep, out, change), biases = layers[k]
            forgotten, kept = _sigmoid(xp, z * forget + biases[0]), _sigmoid(xp, hidden[k] * keep + biases[1])
            given, changed = _sigmoid(xp, z * out + biases[2]), xp.tanh(hidden[k] * change + biases[3])
            cells[k] = cells[k] * forgotten + kept * changed
            hidden[k] = z = given * xp.tanh(cells[k])
        y = z * factor + bias
        y = y - xp.log(xp.exp(y).sum() + 2.0)
        total = total + (following * y).sum()
    return -total / (b * (len(text) - 1))


def _pairs(text: Any) -> Iterator[tuple[Any, Any]]:
    return pairwise(text[k] for k in range(len(text)))


def lstm_model(characters: int) -> Model:
    """Make the LSTM.

    Its answer is by the complex step: Squire and Trapp (1998), "Using complex variables to estimate derivatives".
    """
    rng = np.random.default_rng(0)
    p = rng.normal(size=8 * LAYERS * UNITS + 3 * UNITS)
    data = rng.normal(size=(2, LAYERS, UNITS)), rng.integers(0, 2, (characters, UNITS)).astype(float)
    function = partial(lstm, Kit(np, *[None] * 4), state=data[0], text=data[1])  # type: ignore[arg-type]  # of no use
    step = 1e-30
    moved = p + 1j * step * np.eye(len(p))
    gradient = np.array([function(each).imag / step for each in moved])
    return Model(lstm, p, data, (float(function(p)), gradient))


def _measure_lstm(settings: Settings) -> Outcome:
    """JAX is not asked: to compile what is unrolled takes it minutes."""
    model = lstm_model(settings.fewer(CHARACTERS, 4))
    timings, notes = race_model(model, (TAPEGRAD, TORCH, AUTOGRAD), settings)
    own = next((timing.median for timing in timings if timing.name == TAPEGRAD), None)
    return Outcome([Target("value and gradient", own, 30e-6, "s")], timings, notes)


ADBENCH = (Figure("adbench-lstm", "ADBench: LSTM of two layers, 30 characters", _measure_lstm),)
