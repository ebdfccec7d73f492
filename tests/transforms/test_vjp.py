"""`vjp`: the pullback belongs to the value that came with it, whatever happens afterwards, and after any exception."""

import gc
import pickle
import threading

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.transforms import nested

PREPARE = {"plain": lambda f: f, "jit": tg.jit}
X = np.array([0.5, 2.0, 3.0])
BAR = np.array([1.0, 10.0, 100.0])


class World:
    """What a function may see beside its argument."""

    def __init__(self):
        self.weights = np.array([2.0, 3.0, 4.0])
        self.single = np.array([2.0, 3.0, 4.0], np.float32)
        self.strided = np.arange(9.0).reshape(3, 3)[:, 1]
        self.matrix = np.arange(9.0).reshape(3, 3) + 1
        self.mask = np.array([True, False, True])
        self.rows = np.array([2, 0, 1])
        self.number = 2.0
        self.tensor = tg.tensor([2.0, 3.0, 4.0])
        self.list = [1.0, 2.0]
        self.power = 3

    def change(self):
        """Change everything where it lies, or bind it anew."""
        self.weights[...] = self.single[...] = self.strided[...] = -1
        self.matrix[...] = 0
        self.mask[...] = ~self.mask
        self.rows[...] = 0
        self.number = 100.0
        self.tensor.data[...] = -7
        self.list[0] = 50.0
        self.power = 7


def scaled(factor):
    return lambda x: x * factor


cubes = tg.custom_op(
    "cubes_and_weights", lambda x, w: x**3 * w, lambda y_bar, y, x, w: (3 * x**2 * w * y_bar, None)
)
FUNCTIONS = {
    "weights": lambda world: lambda x: tg.sin(x) * world.weights,
    "weights of another dtype": lambda world: lambda x: x * x * world.single,
    "strided weights": lambda world: lambda x: x * world.strided,
    "matrix": lambda world: lambda x: world.matrix @ tg.exp(x),
    "mask": lambda world: lambda x: tg.where(world.mask, x * x, x),
    "rows": lambda world: lambda x: x[world.rows] * x,
    "number": lambda world: lambda x: x**2 * world.number,
    "list": lambda world: lambda x: x * x * world.list[0],
    "exponent": lambda world: lambda x: x**world.power,
    "a function": lambda world: lambda x: scaled(world.number)(x * x),
    "result that is kept": lambda world: lambda x: tg.exp(x),
    "the argument": lambda world: lambda x: x * 1.0,
    "a branch": lambda world: lambda x: x * x if x[0] > 0 else x * 3.0,
    "users' op": lambda world: lambda x: cubes(x, world.rows),
}


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_pullback_belongs_to_the_value(name, prepare):
    world = World()
    f = PREPARE[prepare](FUNCTIONS[name](world))
    rows = tg.jacobian(FUNCTIONS[name](World()))(X)
    x = X.copy()
    value, pullback = tg.vjp(f, x)
    expected = BAR @ rows
    np.testing.assert_allclose(pullback(BAR)[0], expected, rtol=1e-6)
    x[...] = -5.0
    value[...] = 1e9
    world.change()
    np.testing.assert_allclose(pullback(BAR)[0], expected, rtol=1e-6)
    _, pull_other = tg.vjp(f, X)
    tg.value_and_grad(lambda x: tg.sum(f(x)))(X)
    f(-X)
    np.testing.assert_allclose(pullback(2 * BAR)[0], 2 * expected, rtol=1e-6)
    assert pull_other(BAR)[0].shape == (3,)
    np.testing.assert_allclose(pullback(BAR)[0], expected, rtol=1e-6)


def test_closed_over_tensors_of_a_replay():
    world = World()
    _, pullback = tg.vjp(tg.jit(lambda x: x * world.tensor), X)
    assert pullback(BAR)[0].tolist() == [2, 30, 400]
    world.change()
    assert pullback(BAR)[0].tolist() == [2, 30, 400]


@pytest.mark.parametrize("prepare", PREPARE)
def test_many_pullbacks_live_side_by_side(prepare):
    f = PREPARE[prepare](lambda x, y: {"a": x * y, "b": (tg.sum(x * x), tg.exp(y))})
    kept = []
    for k in range(5):
        x, y = X * (k + 1), np.array(float(k))
        kept.append((x.copy(), k, *tg.vjp(f, x, y)))
        x *= 0
    del kept[1], kept[0]
    gc.collect()
    kept.append((X, 9, *tg.vjp(f, X, 9.0)))
    for _ in range(2):
        for x, k, value, pullback in kept:
            np.testing.assert_allclose(value["a"], x * k)
            x_bar, y_bar = pullback({"a": BAR, "b": (2.0, 3.0)})
            np.testing.assert_allclose(x_bar, BAR * k + 4 * x)
            np.testing.assert_allclose(y_bar, BAR @ x + 3 * np.exp(k))


@pytest.mark.parametrize("prepare", PREPARE)
def test_structures_integers_and_single_precision(prepare):
    def function(p, x):
        return [p["a"] * x, p["b"][0] > 0, {"c": p["b"][0] ** 2}]

    p = {"a": np.float32(2.0), "b": (np.array([1.0, 2.0]),)}
    value, pullback = tg.vjp(PREPARE[prepare](function), p, np.ones(2, np.float32))
    assert value[0].dtype == np.float32
    for bar in ([1, 1], [np.float64(1.0)] * 2):
        p_bar, x_bar = pullback([np.array(bar), np.zeros(2), {"c": np.array([1, 10])}])
        assert p_bar["a"] == 2
        assert p_bar["a"].dtype == x_bar.dtype == np.float32
        assert p_bar["b"][0].tolist() == [2, 40]
        assert x_bar.tolist() == [2, 2]


@pytest.mark.parametrize("prepare", PREPARE)
def test_in_threads(prepare):
    f = PREPARE[prepare](lambda x: (tg.sin(x) * x, tg.sum(x**3)))
    _, shared = tg.vjp(f, X)
    wrong = []

    def work(k):
        for step in range(40):
            x = X + k + step
            _, own = tg.vjp(f, x)
            for pullback, at in ((own, x), (shared, X)):
                (found,) = pullback((BAR * k, step * 1.0))
                expected = BAR * k * (np.cos(at) * at + np.sin(at)) + 3 * step * at**2
                if not np.allclose(found, expected, rtol=1e-12):
                    wrong.append((k, step))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("prepare", PREPARE)
def test_dtype_objects_of_their_own(prepare):
    """Arrays that come out of a pickle are of equal dtypes that are other objects."""
    x, one, bar = pickle.loads(pickle.dumps((X, np.array(2.0), BAR)))
    f = PREPARE[prepare](lambda x: (tg.sum(x * x), x * 3.0))
    assert tg.vjp(f, x)[1]((one, bar))[0].tolist() == (4 * X + 3 * BAR).tolist()
    assert tg.jvp(f, (x,), (bar,))[1][1].tolist() == (3 * BAR).tolist()
    assert tg.jvp(f, (one,), (one,))[1][0] == 8


def test_workspaces_come_back():
    f = tg.jit(lambda x: x * x)
    pullbacks = [tg.vjp(f, X)[1] for _ in range(3)]
    (recorded,) = f.traces
    (program,) = recorded._programs.values()
    free = program.idle
    assert free == []
    del pullbacks
    gc.collect()
    assert len(free) == 3
    for _ in range(10):
        tg.vjp(f, X)
    assert len(free) == 3


@pytest.mark.parametrize("prepare", PREPARE)
def test_both_ways_of_a_branch(prepare):
    f = PREPARE[prepare](lambda x: x * x if x[0] > 0 else x * 3.0)
    pairs = [(sign, tg.vjp(f, sign * X)[1]) for sign in (1, -1, 1, -1)]
    for sign, pullback in pairs:
        np.testing.assert_allclose(pullback(BAR)[0], BAR * (2 * X if sign > 0 else 3))


# --- after an exception ------------------------------------------------------------------------------------------


class Failing:
    """An op whose vjp raises when it is told to."""

    def __init__(self, error):
        self.error, self.fails = error, False
        self.op = tg.custom_op("failing", lambda x: x * 2, self.vjp)

    def vjp(self, y_bar, y, x):
        if self.fails:
            raise self.error
        return 2 * y_bar


BAD = {
    "complex": lambda pullback: pullback((BAR, BAR * 1j)),
    "complex first": lambda pullback: pullback((BAR * 1j, BAR)),
    "shape": lambda pullback: pullback((BAR, np.ones(2))),
    "structure": lambda pullback: pullback([BAR, BAR]),
    "None": lambda pullback: pullback((BAR, None)),
}


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("bad", BAD)
def test_the_next_answer_is_right_after_a_cotangent_that_does_not_fit(bad, prepare):
    x = np.arange(3.0)
    _, pullback = tg.vjp(PREPARE[prepare](lambda x: (x * x, x * 3)), x)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError)):
            BAD[bad](pullback)
        assert pullback((np.ones(3), np.ones(3)))[0].tolist() == [3, 5, 7]


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("error", [LookupError("mine"), KeyboardInterrupt()])
def test_the_next_answer_is_right_after_a_failing_vjp(error, prepare):
    failing = Failing(error)
    x = np.arange(3.0)
    f = PREPARE[prepare](lambda x: (x * x, failing.op(x), x * 3, failing.op(x * x)))
    ones = (np.ones(3),) * 4
    _, pullback = tg.vjp(f, x)
    gradient = tg.grad(lambda x: tg.sum(tg.concatenate(list(f(x)))))
    for _ in range(2):
        failing.fails = True
        for call in (lambda: pullback(ones), lambda: gradient(x)):
            with pytest.raises(type(error)):
                call()
        failing.fails = False
        assert pullback(ones)[0].tolist() == [5, 11, 17]
        assert gradient(x).tolist() == [5, 11, 17]


def test_an_interrupt_between_the_sweeps(monkeypatch):
    x = np.arange(3.0)
    _, pullback = tg.vjp(lambda x: (x * x, x * 3), x)
    sweep, calls = nested.pull_back, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        sweep(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(nested, "pull_back", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pullback((np.ones(3), np.ones(3)))
    assert pullback((np.ones(3), np.ones(3)))[0].tolist() == [3, 5, 7]


# --- cotangents that are Tensors ---------------------------------------------------------------------------------


def test_a_pullback_of_a_plain_function_is_differentiable_by_its_cotangent():
    _, pullback = tg.vjp(lambda x: x**2, X)
    (found,) = pullback(tg.tensor(BAR))
    assert isinstance(found, tg.Tensor)
    np.testing.assert_allclose(tg.grad(lambda bar: tg.sum(pullback(bar)[0] * BAR))(np.ones(3)), 2 * X * BAR)


def test_a_pullback_of_a_recorded_function_takes_arrays():
    _, pullback = tg.vjp(tg.jit(lambda x: x**2), X)
    assert pullback(tg.tensor(BAR, constant=True))[0].tolist() == (2 * X * BAR).tolist()
    with pytest.raises(TypeError, match="Tensor"):
        tg.grad(lambda bar: tg.sum(pullback(bar)[0]))(np.ones(3))
