"""The seed of `backward` reaches each element of the root, however the root lies in its buffer."""

import numpy as np
import pytest

import tapegrad as tg

VIEWS = {
    "itself": lambda x: x,
    "reshaped": lambda x: x.reshape(4, 3, 2),
    "transposed": lambda x: x.T,
    "axes exchanged": lambda x: x.reshape(4, 3, 2).swapaxes(0, 1),
    "backwards": lambda x: x[::-1, ::-1],
    "with a new axis": lambda x: x[:, None],
    "a column more": lambda x: x[..., None],
    "without the first row": lambda x: x[1:],
    "without the first column": lambda x: x[:, 1:],
    "every second column": lambda x: x[:, ::2],
    "a column": lambda x: x[:, 2],
    "an element": lambda x: x[2, 1],
    "nothing": lambda x: x[:, 6:],
    "repeated": lambda x: np.broadcast_to(x[0], (3, 6)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1),
}


def expected(view, seed, dtype):
    """The seed, added up where the view shows the same element more than once."""
    numbers = view(np.arange(24).reshape(4, 6))
    found = np.zeros(24, dtype)
    np.add.at(found, numbers, np.broadcast_to(seed, numbers.shape))
    return found.reshape(4, 6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_seed_reaches_each_element_of_a_view(view, dtype):
    x = tg.tensor(np.linspace(-1, 1, 24, dtype=dtype).reshape(4, 6))
    for base in (x, x * 2):  # a leaf, and a result
        y = view(base)
        seed = np.arange(1, 1 + y.size, dtype=dtype).reshape(y.shape)
        for value in (None, seed):
            base.null_grad()
            y.backward(value, retain_graph=True)
            np.testing.assert_array_equal(base.grad, expected(view, 1 if value is None else seed, dtype))


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_seeds_add_up(view):
    x = tg.tensor(np.linspace(-1, 1, 24).reshape(4, 6))
    view(x).backward()
    view(x).backward(3.0)
    np.testing.assert_array_equal(x.grad, expected(view, 4.0, np.float64))


# Views that show all of a buffer in another order: a cotangent is written through them, not added to zeros.
PERMUTED = ["transposed", "axes exchanged", "backwards"]
CONSUMERS = {
    "elementwise": lambda t: t * t,
    "copied": lambda t: t.copy(),
    "reduced": lambda t: t.max(-1),
    "scanned": lambda t: tg.cumsum(t, -1),
    "summed": lambda t: (t * t).sum(-1),
    "twice": lambda t: t * t[..., ::-1],
    "multiplied": lambda t: t @ np.ones(t.shape[-1]),
    "joined": lambda t: tg.concatenate([t, t], -1),
}


@pytest.mark.parametrize("consumer", CONSUMERS.values(), ids=CONSUMERS)
@pytest.mark.parametrize("view", [VIEWS[name] for name in PERMUTED], ids=PERMUTED)
def test_cotangents_of_permuted_views_are_those_of_copies(view, consumer):
    def through(convert):
        return tg.jit(lambda x: (consumer(convert(view(x * 1.0))) ** 2).sum())

    x = np.linspace(-1, 1, 24).reshape(4, 6)
    copied, viewed = through(lambda t: t.copy()), through(lambda t: t)
    wanted = tg.grad(copied)(x)
    np.testing.assert_allclose(tg.grad(viewed)(x), wanted, rtol=1e-14)
    leaf = tg.tensor(x)
    consumer(view(leaf)).backward()
    other = tg.tensor(x)
    consumer(view(other).copy()).backward()
    np.testing.assert_allclose(leaf.grad, other.grad, rtol=1e-14)
