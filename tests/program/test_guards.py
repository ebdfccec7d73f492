"""What a recording may not freeze: branches, escapes, and everything that a function sees beside its arguments."""

import functools
import types

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.traces import trace_cache

SCALE = 2.0
CHOICE = None


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function):
        self.function = function
        self.count = 0

    def __call__(self, *args):
        self.count += 1
        return self.function(*args)


def agree(function, inputs, recordings=None, transform=tg.value_and_grad):
    """Replay at every input, in order, and hold against the function run anew."""
    counted = Counted(function)
    replayed = transform(tg.jit(lambda *args: counted(*args)))
    plain = transform(function)
    for x in inputs:
        for a, b in zip(flat(replayed(x)), flat(plain(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    if recordings is not None:
        assert counted.count == recordings
    return replayed


def flat(value):
    return value if isinstance(value, tuple) else (value,)


# --- branches ---------------------------------------------------------------------------------------------------


def absolute(x):
    return tg.sum(x) if tg.sum(x) > 0 else tg.sum(-x * x)


def nested(x):
    if x[0] > 0:
        if x[1] > 0:
            return tg.sum(x) * x[0]
        y = tg.sin(x[1])
    elif x[1] > 1.0:
        y = x[1] ** 2
    elif x[1] > -1.0:
        y = tg.exp(x[1])
    else:
        y = x[0] * x[1]
    return y * 3.0 if y > x[0] else y - x[0]


def halve(x):
    y = tg.sum(x * x)
    while y > 1.0:
        y = y * 0.5 * tg.cos(x[0])
    return y + x[1]


def newton(a):
    y = a * 1.0
    while abs(y * y - a) > 1e-10:
        y = 0.5 * (y + a / y)
    return y


def test_branches_both_ways_back_and_forth():
    inputs = [np.array([a, b]) for a in (1.0, -1.0, 0.5) for b in (0.5, -2.0, 1.5, -0.5)] * 3
    agree(absolute, inputs, 2)
    agree(nested, inputs)
    agree(halve, inputs)
    agree(newton, [2.0, 9.0, 2.5, 1e4, 2.0, 1e-3])


def test_branches_in_jacobians():
    def function(x):
        return x**2 if x[0] > x[1] else tg.stack([tg.sum(x), x[0]])

    inputs = [np.array(pair) for pair in [(1.0, 0.0), (0.0, 1.0), (3.0, 2.0), (-1.0, 5.0)]]
    for x in inputs * 2:
        expected = np.diag(2 * x) if x[0] > x[1] else np.array([[1.0, 1.0], [1.0, 0.0]])
        np.testing.assert_allclose(tg.jacobian(function)(x), expected)
    replayed = tg.jacobian(tg.jit(function))
    for x in inputs * 2:
        np.testing.assert_allclose(replayed(x), tg.jacobian(function)(x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_truth_of_every_dtype(dtype):
    def function(x, n):
        return tg.sum(x) * 2 if n else tg.sum(x) * 3

    counted = Counted(function)
    f = tg.jit(lambda x, n: counted(x, n))
    for truth in (1, 0, 1, 1, 0):
        assert f(np.ones(2), np.array(truth, dtype)) == (4 if truth else 6)
    assert counted.count == 2


def test_nan_takes_the_branch_it_takes_in_python():
    agree(lambda x: x * 2 if x > 0 else x * 3, [1.0, np.nan, -1.0, np.nan], 2)
    f = tg.jit(lambda x: x * 2 if x else x + 3)
    assert f(0.0) == 3
    assert np.isnan(f(np.nan))
    assert f(-0.0) == 3
    assert f(1.0) == 2


def test_one_recording_for_each_way(rng):
    counted = Counted(nested)
    f = tg.value_and_grad(tg.jit(lambda x: counted(x)))
    for _ in range(3000):
        f(rng.normal(size=2) * 2)
    assert counted.count <= 10
    before = counted.count
    for _ in range(3000):
        f(rng.normal(size=2) * 2)
    assert counted.count == before


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_sort_by_comparisons(rng):
    def smallest(x):
        best = x[0]
        for k in range(1, 5):
            if x[k] < best:
                best = x[k]
        return best * best

    agree(smallest, [rng.normal(size=5) for _ in range(60)])


# --- integers and masks -----------------------------------------------------------------------------------------


def test_int_of_a_tensor():
    def function(x):
        n = int(x[0])
        y = x[1]
        for _ in range(n):
            y = y * x[1]
        return y

    agree(
        function, [np.array([n, 1.5]) for n in (2.5, 0.3, 2.9, -0.3, 4.0, 2.0, -3.2)], transform=tg.jacobian
    )
    f = tg.grad(tg.jit(function))
    with pytest.raises(tg.TracedValueError, match="nan"):
        f(np.array([np.nan, 1.0]))
    assert f(np.array([1.0, 3.0])).tolist() == [0, 6]


def test_int_of_float32_and_integers():
    f = tg.jit(lambda x, n: x * int(x) + tg.ones(int(n)))
    for x, n in [(2.5, 3), (3.5, 3), (3.5, 1), (2.5, 3)]:
        assert f(np.float32(x), np.int64(n)).tolist() == [x * int(x) + 1] * n


@pytest.mark.filterwarnings("ignore:.*a guard failed:tapegrad.RecordingWarning")
def test_mask_of_the_data_as_an_index(rng):
    def function(x):
        return tg.sum(x[x > 0] ** 2) + tg.prod(x[(x > -1) & (x < 1)])

    agree(function, [rng.normal(size=4) for _ in range(40)])


def test_write_by_a_mask_of_the_data(rng):
    def function(x):
        y = x * 2
        y[y < 0] = x[0]
        return tg.sum(y * x)

    agree(function, [rng.normal(size=4) for _ in range(40)])


def test_too_many_branches_are_told_once(monkeypatch):
    monkeypatch.setattr(trace_cache, "MAX_TRACES", 5)
    f = tg.jit(lambda x: x * int(x))
    for k in range(5):
        assert f(float(k)) == k * k
    with pytest.warns(tg.RecordingWarning, match="different branches"):
        assert f(5.0) == 25
    assert [f(float(k)) for k in range(8)] == [k * k for k in range(8)]  # told once


def test_traced_row_numbers(rng):
    counted = Counted(lambda x, rows: tg.sum(x[rows] * x[rows][::-1]))
    f = tg.value_and_grad(tg.jit(lambda x, rows: counted(x, rows)))
    for _ in range(20):
        x, rows = rng.normal(size=(5, 2)), rng.integers(-5, 5, 4)
        value, gradient = f(x, rows)
        value2, gradient2 = tg.value_and_grad(counted.function)(x, rows)
        assert value == pytest.approx(value2, rel=1e-13)
        np.testing.assert_allclose(gradient, gradient2, rtol=1e-13)
    assert counted.count == 1
    with pytest.raises(IndexError):
        f(np.ones((5, 2)), np.array([0, 1, 2, 5]))
    assert f(np.ones((5, 2)), np.array([0, 1, 2, 4]))[0] == 8


# --- escapes ----------------------------------------------------------------------------------------------------

ESCAPES = {
    "float()": lambda x: float(x[0]),
    "item()": lambda x: x[0].item(),
    "data": lambda x: x.data,
    "numpy": lambda x: x.numpy(),
    "np.asarray()": np.asarray,
    "into an array": lambda x: np.zeros(2).__setitem__(0, x[0]),
    "math": lambda x: __import__("math").sin(x[0]),
    "unsupported": lambda x: np.polydiv(x, x),
    "computed": lambda x: float(tg.sum(x * 2)),
    "index": lambda x: [1, 2][x[0]],
    "copied": lambda x: tg.tensor(x),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_escapes_raise_and_say_what_to_write(name):
    def function(x):
        ESCAPES[name](x)
        return tg.sum(x)

    f = tg.jit(function)
    for g in (f, tg.value_and_grad(f), tg.jacobian(f), tg.jacobian(function)):
        with pytest.raises((TypeError, ValueError), match=r"recorded|Tensor|sequence"):
            g(np.array([1.0, 2.0]))
    assert tg.value_and_grad(tg.jit(tg.sum))(np.ones(2))[0] == 2


def test_the_message_names_the_ways_out():
    with pytest.raises(tg.TracedValueError, match=r"float\(\).*where\(\)"):
        tg.jit(lambda x: float(x) * x)(1.0)


def test_printing_does_not_escape():
    texts = []
    f = tg.jit(lambda x: (texts.append(repr(x * 2)), tg.sum(x))[1])
    assert f(np.ones(2)) == 2
    assert "recorded" in texts[0]


def test_escapes_from_constants_are_allowed():
    f = tg.jit(lambda x: tg.sum(x) * float(tg.ones(2)[0]) * tg.full((), 3.0).item())
    assert f(np.ones(2)) == 6


def test_a_leaked_tensor_raises():
    leaked = []

    def function(x):
        leaked.append(x * 2)
        return tg.sum(x)

    tg.jit(function)(np.ones(2))
    x = leaked[0]
    for use in (
        lambda: x + 1,
        lambda: tg.sum(x),
        x.backward,
        lambda: tg.jit(lambda y: tg.sum(x * y))(np.ones(2)),
    ):
        with pytest.raises(TypeError, match="recording"):
            use()
    assert tg.grad(tg.jit(tg.sum))(np.ones(2)).tolist() == [1, 1]
    assert (tg.tensor([1.0]) + 1).tolist() == [2]


def test_a_leaked_view_keeps_its_memory():
    leaked = []
    f = tg.jit(lambda x: (leaked.append((x * 2)[1:]), tg.sum(x))[1])
    f(np.ones(3))
    del f
    with pytest.raises(TypeError, match="recording"):
        leaked[0] * 2
    repr(leaked[0])
    leaked.clear()


def test_the_contents_of_a_leaked_tensor_are_gone():
    leaked = []
    f = tg.jit(lambda x: (leaked.append(x * 2), tg.sum(x))[1])
    assert f(np.ones(3)) == 3
    for ask in (lambda t: t.data, lambda t: t.tolist(), lambda t: t.numpy(), lambda t: t[0], lambda t: t + 1):
        with pytest.raises(TypeError, match="recording"):
            ask(leaked[0])
    assert "Tensor" in repr(leaked[0])
    assert f(np.ones(3)) == 3


# --- what a function sees ---------------------------------------------------------------------------------------


def test_numbers_of_closures_and_modules(monkeypatch):
    offset = 1.0
    counted = Counted(lambda x: x * SCALE + offset)
    f = tg.value_and_grad(tg.jit(lambda x: counted.function(x) if counted else None))
    assert f(1.0) == (3, 2)
    offset = 5.0
    assert f(1.0) == (7, 2)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert f(1.0) == (8, 3)
    monkeypatch.undo()
    assert f(1.0) == (7, 2)


def test_a_name_that_was_none(monkeypatch):
    f = tg.jit(lambda x: x if CHOICE is None else x * CHOICE)
    assert f(2.0) == 2
    monkeypatch.setitem(globals(), "CHOICE", 4.0)
    assert f(2.0) == 8


def test_unchanged_surroundings_do_not_record_again():
    scale, table, recordings = 2.0, {"a": [1.0, np.ones(2)]}, []

    def function(x):
        recordings.append(1)
        return tg.sum(x * scale * table["a"][0] * table["a"][1])

    f = tg.value_and_grad(tg.jit(function))
    for _ in range(5000):
        assert f(np.ones(2))[0] == 4
    scale = float("2.0")  # another object of the same value
    table = {"a": [1.0, table["a"][1]]}
    for _ in range(100):
        f(np.ones(2))
    assert len(recordings) == 1


def test_contents_of_containers():
    numbers, table, arrays = [1.0, 2.0], {"k": {"deep": 3.0}}, [np.ones(2)]

    def function(x):
        return tg.sum(x * arrays[0]) * numbers[1] * table["k"]["deep"] + len(numbers)

    f = tg.jit(function)
    assert f(np.ones(2)) == 14
    numbers[1] = 3.0
    assert f(np.ones(2)) == 20
    table["k"]["deep"] = 1.0
    assert f(np.ones(2)) == 8
    numbers.append(0.0)
    assert f(np.ones(2)) == 9
    arrays[0] = np.full(2, 2.0)
    assert f(np.ones(2)) == 15
    arrays[0][:] = 0
    assert f(np.ones(2)) == 3


def test_a_function_that_changes_what_it_sees_is_recorded_once():
    calls, log = 0, []

    def function(x):
        nonlocal calls
        calls += 1
        log.append(x.shape)
        return tg.sum(x) if tg.sum(x) > 0 else tg.sum(x * x)

    f = tg.value_and_grad(tg.jit(function))
    for _ in range(50):
        assert f(np.ones(2))[0] == 2
        assert f(-np.ones(2))[0] == 2
        assert f(np.ones(3))[0] == 3
    assert calls == len(log) == 3


def test_helpers_that_are_bound_anew():
    def inner(x):
        return x + 1

    def inline_njit(x):
        return inner(x) * 2

    f = tg.value_and_grad(tg.jit(lambda x: inline_njit(x)))
    assert f(1.0) == (4, 2)
    inner = tg.square  # noqa: F811
    assert f(3.0) == (18, 12)
    inline_njit = inner  # noqa: F811
    assert f(3.0) == (9, 6)


def test_helpers_defined_after_jit():
    f = tg.jit(lambda x: late(x))

    def late(x):
        return x * 2

    assert f(1.0) == 2
    late = tg.negative  # noqa: F811
    assert f(1.0) == -1


def test_attributes_of_objects_and_modules():
    class Config:
        shift = 0.5

    settings = types.SimpleNamespace(scale=2.0, inner=types.SimpleNamespace(power=2))
    module = types.ModuleType("settings_of_a_test")
    module.offset = 1.0

    class Model:
        weight = 1.0

        def __init__(self):
            self.bias = 0.0

        @property
        def both(self):
            return self.bias + self.weight

        def __call__(self, x):
            return self.apply(x)

        def apply(self, x):
            return x * self.both

    model = Model()

    def function(x):
        return model(x) ** settings.inner.power * settings.scale + module.offset + Config.shift

    replayed = [tg.jit(function), tg.jit(functools.partial(function)), tg.value_and_grad(tg.jit(function))]
    changes = [
        (settings, "scale", 3.0), (settings.inner, "power", 3), (module, "offset", 2.0), (Config, "shift", 1.0),
        (model, "bias", 1.0), (Model, "weight", 2.0),
        (model, "weight", 5.0), (settings, "inner", types.SimpleNamespace(power=1)),
    ]  # fmt: skip
    for owner, name, value in changes:
        for f in replayed:
            assert flat(f(2.0))[0] == function(2.0)
        setattr(owner, name, value)
    for f in [*replayed, tg.jit(model), tg.jit(model.apply)]:
        bare = f in replayed
        assert flat(f(2.0))[0] == (function if bare else model)(2.0)


def test_functions_as_arguments():
    k = 2.0
    f = tg.jit(lambda g, x: g(x))
    g = lambda x: x * k  # noqa: E731
    assert f(g, 1.0) == 2
    k = 3.0
    assert f(g, 1.0) == 3
    assert f(tg.sin, 1.0) == np.sin(1.0)


def test_default_arguments():
    def function(x, k=2.0, *, w=np.ones(2)):  # noqa: B008
        return tg.sum(x * k * w)

    f = tg.value_and_grad(tg.jit(function))
    for _ in range(2):
        assert f(np.ones(2))[0] == 4
        assert f(np.ones(2), 3.0)[0] == 6
        assert f(np.ones(2), w=np.zeros(2))[0] == 0


# --- errors -----------------------------------------------------------------------------------------------------


class OwnError(Exception):
    pass


def test_exceptions_pass_through_and_the_next_call_is_right():
    def function(x):
        if tg.sum(x) > 5:
            raise OwnError("too large")
        return tg.sum(x * x)

    for transform in (
        tg.jit,
        lambda f: tg.value_and_grad(tg.jit(f)),
        lambda f: tg.jacobian(tg.jit(f)),
        tg.jacobian,
    ):
        f = transform(function)
        for _ in range(2):
            with pytest.raises(OwnError, match="too large"):
                f(np.full(2, 3.0))
            first = f(np.ones(2))
            np.testing.assert_array_equal(flat(first)[-1], flat(f(np.ones(2)))[-1])
    x = tg.tensor([1.0, 2.0])
    (x * x).backward()
    assert x.grad.tolist() == [2, 4]


def test_errors_of_shapes_while_recording():
    f = tg.jit(lambda x, y: tg.sum(x * y))
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones(2), np.ones(3))
    assert f(np.ones(2), np.ones(2)) == 2


def test_writes_stay_inside():
    def function(x, w):
        x[0] = 5.0
        w *= 2.0
        return tg.sum(x * w)

    for f in (
        tg.jit(function),
        tg.value_and_grad(tg.jit(function), (0, 1)),
        tg.value_and_grad(function, (0, 1)),
    ):
        for _ in range(2):
            x, w = np.ones(2), np.ones(2)
            assert flat(f(x, w))[0] == 12
            assert x.tolist() == w.tolist() == [1, 1]


def test_writing_to_an_outside_tensor_raises():
    outside = tg.tensor([1.0, 2.0])
    view = outside[1:]

    def write(x):
        outside[0] = x

    def update(x):
        view[...] += x

    for change in (write, update):
        f = tg.jit(lambda x, change=change: (change(x), x)[1])
        with pytest.raises(RuntimeError, match="outside"):
            f(1.0)
    assert outside.tolist() == [1, 2]
    outside[0] = 9.0
    assert outside.tolist() == [9, 2]


def test_closed_over_tensors():
    w = tg.tensor([1.0, 2.0])
    y = w * 2
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * w) + tg.sum(y[::-1] * x)))
    value, gradient = f(np.ones(2))
    assert value == 9
    assert gradient.tolist() == [5, 4]
    y.backward()
    assert w.grad.tolist() == [2, 2]
    w = tg.tensor([0.0, 0.0])
    assert f(np.ones(2))[1].tolist() == [4, 2]


LOOKS = {
    "int": lambda x: int(x),
    "bool": lambda x: 2.0 if x > 0 else 3.0,
    "truth": lambda x: 2.0 if x else 3.0,
    "mask": lambda x: tg.where(x > 1.0, 2.0, 3.0),
}


@pytest.mark.parametrize("name", LOOKS)
def test_recordings_inside_recordings_look_at_outer_values_anew(name):
    f = tg.jit(lambda x: tg.jit(lambda y: y * LOOKS[name](x))(2.0) + x)
    for x in (1.5, 3.5, -2.5, 0.0, 1.5):
        number = LOOKS[name](tg.tensor(x, constant=True))
        assert f(x) == 2.0 * (number.item() if isinstance(number, tg.Tensor) else number) + x


@pytest.mark.parametrize("name", ["float()", "item()", "np.asarray()", "data"])
def test_recordings_inside_recordings_do_not_freeze_outer_values(name):
    escape = {
        "float()": float,
        "item()": lambda x: x.item(),
        "np.asarray()": np.asarray,
        "data": lambda x: x.data,
    }[name]
    f = tg.jit(lambda x: tg.jit(lambda y: y * escape(x))(2.0) + x)
    with pytest.raises(tg.TracedValueError, match="recorded"):
        f(1.5)


def test_recordings_inside_recordings_keep_apart():
    f = tg.jit(lambda x: tg.sum(x * x))

    def function(x):
        inside = tg.value_and_grad(f)(np.arange(2.0))
        return tg.sum(x) * inside[0] + tg.sum(inside[1] * x)

    value, gradient = tg.value_and_grad(tg.jit(function))(np.ones(2))
    assert value == 4
    assert gradient.tolist() == [1, 3]

    def mixed(x):
        return tg.jit(lambda y: tg.sum(y * x))(np.ones(2))

    assert tg.jit(mixed)(np.ones(2)) == 2
    assert tg.grad(tg.jit(mixed))(np.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("file", ["/tmp/ipykernel_12/345.py", "<ipython-input-1-40c1>"])
def test_the_line_of_a_notebook_s_cell_is_named_without_its_temporary_file(file: str) -> None:
    assert str(SourceLine(file, 3)) == "notebook, line 3"
