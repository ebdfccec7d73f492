"""All ways of `backward` leave the same gradients: compiled, in parts, and on Tensors."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

same = tg.custom_op("same", lambda x: x.copy(), vjp=lambda y_bar, y, x: y_bar)
nothing = tg.custom_op("nothing", lambda x: x.copy(), vjp=lambda y_bar, y, x: None)

ZEROS = {
    "sign": tg.sign,
    "times zero": lambda x: x * 0.0,
    "difference": lambda x: x - x,
    "floor": tg.floor,
    "where": lambda x: tg.where(np.array([False, False]), x, 1.0),
    "written over": lambda x: written_over(x),
}


def written_over(x):
    y = x * 1.0
    y[...] = 2.0
    return y


def hooked(z):
    z.register_hook(lambda gradient: None)
    return z


WAYS = {
    "compiled": (lambda z: z, {}),
    "past a hook": (hooked, {}),
    "past an op": (same, {}),
    "past an op without derivative": (nothing, {}),
    "on Tensors": (lambda z: z, {"create_graph": True}),
    "on Tensors past a hook": (hooked, {"create_graph": True}),
    "on Tensors past an op": (same, {"create_graph": True}),
}
BEFORE = {"nothing": None, "an array": {}, "a Tensor": {"create_graph": True}}


def plain(gradient):
    return None if gradient is None else np.asarray(getattr(gradient, "data", gradient)).tolist()


@grouped("way")
@daily("accumulate", "by_name")
@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("accumulate", [True, False])
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("before", BEFORE)
def test_gradients_of_zero(zero, way, accumulate, by_name, before):
    x, y, apart = (tg.tensor([1.5, 2.5]) for _ in range(3))
    if BEFORE[before] is not None:
        for leaf in (x, y, apart):
            (leaf * 5).backward(**BEFORE[before])
    through, options = WAYS[way]
    root = through(ZEROS[zero](x)) + y * 2
    inputs = [x, apart] if by_name else None
    root.backward(inputs=inputs, accumulate=accumulate, **options)

    old = None if before == "nothing" else 5.0
    kept = old if accumulate and old is not None else 0.0
    assert plain(x.grad) == [kept] * 2
    assert plain(apart.grad) == (None if old is None else [old] * 2)
    expected = old if by_name else kept + 2.0
    assert plain(y.grad) == (None if expected is None else [expected] * 2)
    for leaf in (x, y, apart):
        leaf.null_grad()


@pytest.mark.parametrize("way", WAYS)
def test_hooks_are_called_with_zeros(way):
    through, options = WAYS[way]
    x, unreached = tg.tensor([1.5, 2.5]), tg.tensor([1.0])
    seen = []
    x.register_hook(lambda g: seen.append(("x", plain(g))))
    unreached.register_hook(lambda g: seen.append(("unreached", plain(g))))
    z = through(x * 1.0)
    z.register_hook(lambda g: seen.append(("z", plain(g))))
    tg.sum(tg.sign(z)).backward(**options)
    assert seen == [("z", [0.0, 0.0]), ("x", [0.0, 0.0])]
    x.null_grad()


@pytest.mark.parametrize("way", WAYS)
def test_hooks_off_the_way_to_the_inputs_are_not_called(way):
    through, options = WAYS[way]
    x, y = tg.tensor([1.0]), tg.tensor([2.0])
    y.register_hook(lambda g: pytest.fail("it is not on the way to an input"))
    beside = y * 2
    beside.register_hook(lambda g: pytest.fail("it is not on the way to an input"))
    (through(x * 1.0) * beside).backward(inputs=x, **options)
    assert plain(x.grad) == ([0.0] if "without" in way else [4.0])
    x.null_grad()


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_that_replaces_zeros(create_graph):
    x = tg.tensor([1.0, 2.0])
    y = x * 3
    y[:1].register_hook(lambda g: g + 7)
    tg.sign(y).backward(create_graph=create_graph)
    assert plain(x.grad) == [21.0, 0.0]
    x.null_grad()


@pytest.mark.parametrize("through", [same, hooked])
def test_many_pauses(through):
    """In-place writes, views, broadcasting and several writers of one result, with a pause after each."""
    x, w = tg.tensor([[1.0, 2.0, 3.0], [0.5, 1.5, 2.5]]), tg.tensor([2.0, 3.0, 4.0])

    def program(pause):
        y = pause(tg.exp(x / 5)) * w
        y[0] = pause(y[1] * y[0])
        y[:, 1] *= pause(tg.sum(y, 0))[1]
        z = pause(tg.concatenate([y, y.T.reshape(2, 3)]))
        return tg.sum(pause(z[:, ::2]) @ pause(tg.sin(z[:2, :2])).T)

    gradients = []
    for pause in (lambda y: y, through):
        program(pause).backward(accumulate=False)
        gradients.append((x.grad.copy(), w.grad.copy()))
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_graph_is_freed_or_kept_after_pauses():
    x = tg.tensor([1.0, 2.0])
    y = tg.sum(same(x * x))
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(tg.FreedGraphError, match="retain_graph"):
        y.backward()


def test_gradients_keep_their_memory_after_pauses():
    x = tg.tensor([1.0, 2.0])
    same(x).backward()
    shown = x.grad
    same(x * 2).backward()
    assert shown.tolist() == [3.0, 3.0]
    same(x * 2).backward(accumulate=False)
    assert x.grad.tolist() == [2.0, 2.0]
