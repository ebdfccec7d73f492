"""ADBench's long short-term memory with diagonal weights (`lstm`): the loss of predicted characters.

Layers are computed one after the other: what a layer needs of the one before is there for all characters at once, so
that only the gates that look at the layer's own past are in a loop.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

import tapegrad as tg
from perf.gradbench.served import Served, array


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _layer(weights: Any, biases: Any, hidden: Any, cell: Any, inputs: Any) -> Any:
    """Return the hidden states of a layer for all characters."""
    forget = _sigmoid(inputs * weights[0] + biases[0])
    out = _sigmoid(inputs * weights[2] + biases[2])

    def step(state: tuple[Any, Any], gates: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        hidden, cell = state
        entering = _sigmoid(hidden * weights[1] + biases[1]) * np.tanh(hidden * weights[3] + biases[3])
        cell = cell * gates[0] + entering
        hidden = gates[1] * np.tanh(cell)
        return (hidden, cell), hidden

    return tg.scan(step, (hidden, cell), (forget, out))[1]


def loss(main: Any, extra: Any, state: Any, text: Any) -> Any:
    """Minus the mean logarithm of the probability of each next character's bits.

    `main` has two rows a layer, four weights and four biases of each unit; `state` two, hidden states and cells;
    `extra` the weights of input and output, and the bias of the latter.
    """
    signal = text[:-1] * extra[0]
    for k in range(len(main) // 2):
        weights, biases = main[2 * k].reshape(4, -1), main[2 * k + 1].reshape(4, -1)
        signal = _layer(weights, biases, state[2 * k], state[2 * k + 1], signal)
    y = signal * extra[1] + extra[2]
    predicted = y - np.log(np.sum(np.exp(y), axis=1) + 2)[:, None]
    return -np.sum(text[1:] * predicted) / predicted.size


def _inputs(given: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(array(given[name]) for name in ("main_params", "extra_params", "state", "sequence"))


def _joined(found: Any) -> list[float]:
    return [each for part in found for each in part.ravel().tolist()]


LSTM = {
    "objective": Served(tg.jit(loss), _inputs),
    "jacobian": Served(tg.grad(tg.jit(loss), argnums=(0, 1)), _inputs, _joined),
}
