"""Two objectives of ADBench, with gradients: a Gaussian mixture with full covariances, and an LSTM over characters.

Šrajer, Kukelova and Fitzgibbon (2018), "A benchmark of selected algorithmic differentiation tools on some problems in
computer vision and machine learning". The mixture has the benchmark's Wishart prior without its constants; the LSTM has
diagonal weights, two layers, and 30 characters, unrolled: 1,829 instructions on 14 elements each.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.figures.distributions import AUTOGRAD, JAX, TAPEGRAD, TORCH, Kit, Model, race_model
from perf.workloads import Answer, Array

DIMENSIONS, COMPONENTS, POINTS = 10, 25, 1_000
LAYERS, UNITS, CHARACTERS = 2, 14, 30


# --- Gaussian mixture ------------------------------------------------------------------------------------------


def gaussian_mixture(kit: Kit, p: Any, x: Any, below: Any) -> Any:
    """Logarithms of weights, means, and of each factor of a precision the logarithms of its diagonal, and the rest.

    `below` lays the elements below a diagonal into a matrix.
    """
    xp, (n, d), k = kit.xp, x.shape, COMPONENTS
    weights, means = p[:k], xp.reshape(p[k : k + k * d], (k, d))
    factors = xp.reshape(p[k + k * d :], (k, -1))
    diagonal, rest = xp.exp(factors[:, :d]), factors[:, d:]
    centred = x[:, None, :] - means
    products = xp.einsum("kij,nkj->nki", xp.reshape(rest @ below, (k, d, d)), centred)
    whitened = diagonal * centred + products
    parts = weights + factors[:, :d].sum(1) - 0.5 * (whitened * whitened).sum(2)
    prior = 0.5 * ((diagonal * diagonal).sum() + (rest * rest).sum())
    return kit.logsumexp(parts, 1).sum() - n * kit.logsumexp(weights, 0) + prior


def _strictly_lower(d: int) -> tuple[Array, Array]:
    """Rows and columns of the elements below the diagonal, and what lays them into a matrix."""
    rows, columns = np.tril_indices(d, -1)
    below = np.zeros((len(rows), d * d))
    below[np.arange(len(rows)), rows * d + columns] = 1.0
    return np.stack([rows, columns]), below


def mixture_model(points: int) -> Model:
    rng, d, k = np.random.default_rng(0), DIMENSIONS, COMPONENTS
    places, below = _strictly_lower(d)
    weights, means = rng.normal(size=k), rng.uniform(size=(k, d))
    factors, x = 0.5 * rng.normal(size=(k, d * (d + 1) // 2)), rng.normal(size=(points, d))
    answer = _gradient_of_mixture(weights, means, factors, x, places)
    parameters = np.concatenate([each.ravel() for each in (weights, means, factors)])
    return Model(gaussian_mixture, parameters, (x, below), answer)


def _gradient_of_mixture(weights: Array, means: Array, factors: Array, x: Array, places: Array) -> Answer:
    """Value and gradient by hand."""
    d, (rows, columns) = DIMENSIONS, places
    logarithms, rest = factors[:, :d], factors[:, d:]
    matrices = np.zeros((COMPONENTS, d, d))
    matrices[:, rows, columns] = rest
    matrices[:, np.arange(d), np.arange(d)] = np.exp(logarithms)
    centred = x[:, None] - means
    whitened = np.einsum("kij,nkj->nki", matrices, centred)
    parts = weights + logarithms.sum(1) - 0.5 * (whitened**2).sum(2)
    largest = parts.max(1, keepdims=True)
    owned = np.exp(parts - largest)
    sums = owned.sum(1, keepdims=True)
    owned /= sums
    shares = np.exp(weights) / np.exp(weights).sum()
    by_matrix = -np.einsum("nk,nki,nkj->kij", owned, whitened, centred)
    by_diagonal = np.exp(logarithms) * (np.einsum("kii->ki", by_matrix) + np.exp(logarithms))
    gradient = [
        owned.sum(0) - len(x) * shares,
        np.einsum("nk,nki,kij->kj", owned, whitened, matrices),
        np.hstack([by_diagonal + owned.sum(0)[:, None], by_matrix[:, rows, columns] + rest]),
    ]
    value = np.sum(largest + np.log(sums)) - len(x) * np.log(np.exp(weights).sum())
    value += 0.5 * (np.exp(2 * logarithms).sum() + (rest**2).sum())
    return float(value), np.concatenate([each.ravel() for each in gradient])


# --- LSTM ------------------------------------------------------------------------------------------------------


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


# --- figures ---------------------------------------------------------------------------------------------------


def _measure_mixture(settings: Settings) -> Outcome:
    model = mixture_model(settings.fewer(POINTS, 50))
    timings, notes = race_model(model, (TAPEGRAD, JAX, TORCH, AUTOGRAD), settings)
    medians = {timing.name: timing.median for timing in timings}
    own, other = medians.get(TAPEGRAD), medians.get(JAX)
    ratio = own / other if own and other else None
    return Outcome([Target("time by that of JAX jit", ratio, 0.7, "x")], timings, notes)


def _measure_lstm(settings: Settings) -> Outcome:
    """JAX is not asked: to compile what is unrolled takes it minutes."""
    model = lstm_model(settings.fewer(CHARACTERS, 4))
    timings, notes = race_model(model, (TAPEGRAD, TORCH, AUTOGRAD), settings)
    own = next((timing.median for timing in timings if timing.name == TAPEGRAD), None)
    return Outcome([Target("value and gradient", own, 30e-6, "s")], timings, notes)


ADBENCH = (
    Figure("adbench-gmm", "ADBench: Gaussian mixture, d = 10, k = 25, n = 1,000", _measure_mixture),
    Figure("adbench-lstm", "ADBench: LSTM of two layers, 30 characters", _measure_lstm),
)
