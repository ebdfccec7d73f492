"""What watching costs: what is compared, and that no Python runs before a replay."""

import collections
import copy
import dataclasses
import sys
import types

import numba
import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.captured import captured_state
from tapegrad.program.traces import watched
from tapegrad.transforms.calling import watching_cost

POINT = np.array([1.0, 2.0])
FACTOR = 2.0


class Slotted:
    __slots__ = ("k",)


def python_calls(function, *args):
    """The Python functions that a call runs."""
    found = []

    def note(frame, event, arg):
        if event == "call":
            found.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return found


def held_in(value, key=0):
    return lambda x: tg.sum(x * value[key])


def helper(x, k=(1.0,), *, scale=1.0):
    return x * FACTOR * k[0] * scale


def of_an_object():
    held = types.SimpleNamespace(k=2.0)
    return lambda x: tg.sum(x * held.k)


def of_a_slot():
    held = Slotted()
    held.k = 2.0
    return lambda x: tg.sum(x * held.k)


SEEN = {
    "list": lambda: held_in([2.0] * 100),
    "dict": lambda: held_in(dict.fromkeys(range(100), 2.0)),
    "OrderedDict": lambda: held_in(collections.OrderedDict.fromkeys(range(100), 2.0)),
    "mappingproxy": lambda: held_in(types.MappingProxyType({0: 2.0})),
    "deque": lambda: held_in(collections.deque([2.0])),
    "object": of_an_object,
    "slots": of_a_slot,
    "helper": lambda: lambda x: tg.sum(helper(x)),
}


@pytest.mark.parametrize("name", SEEN)
def test_nothing_of_python_runs_before_a_replay(name):
    gradient = tg.grad(tg.jit(SEEN[name]()))
    expected = gradient(POINT)
    gradient(POINT)
    assert python_calls(gradient, POINT) == []
    np.testing.assert_array_equal(gradient(POINT), expected)


@numba.njit
def unused_kernel(x):
    return 2 * x.sum()


class Unused:
    """What a model holds beside what its method uses."""

    def __init__(self):
        unused_kernel(POINT)
        self.kernel = unused_kernel
        self.table = {k: (k, [k]) for k in range(1000)}
        self.numpy = np
        self.models = [types.SimpleNamespace(k=k, array=np.ones(3)) for k in range(100)]
        self.arrays = [np.ones(3)] * 10

    def __repr__(self):
        return str(self.table)

    def unused(self):
        return self.table, self.kernel, self.models


class Model(Unused):
    def __init__(self):
        super().__init__()
        self.k = 2.0

    def of_attribute(self, x):
        return tg.sum(x * self.k)

    def through_super(self, x):
        return super().twice() * tg.sum(x)

    def through_kernel(self, x):
        return tg.sum(x) * self.k if callable(self.kernel) else x


Unused.twice = lambda self: 2.0


@dataclasses.dataclass
class Record:
    k: float
    table: dict

    def of_attribute(self, x):
        return tg.sum(x * self.k)


UNRELATED = {
    "attributes": lambda: Model().of_attribute,
    "super": lambda: Model().through_super,
    "compiled functions by identity": lambda: Model().through_kernel,
    "dataclass": lambda: Record(2.0, {k: (k, [k]) for k in range(1000)}).of_attribute,
}


@pytest.mark.parametrize("name", UNRELATED)
def test_what_no_code_names_is_not_compared(name):
    replayed = tg.jit(UNRELATED[name]())
    assert replayed(POINT) == 6.0
    rows = [row for place in replayed.captured.reach.references for row in place.rows]
    assert len(rows) < 25
    assert not any(row[0] in ("entries", "elements") for row in rows)


GAIN = 1.0


@dataclasses.dataclass
class Replaced:
    k: float
    extra: float = 0.0

    def __post_init__(self):
        self.total = self.k * GAIN + self.extra


class ReplacedByItself(Replaced):
    def __replace__(self, **changes):
        return Replaced(changes["k"] * GAIN)


@pytest.mark.skipif(not hasattr(copy, "replace"), reason="from Python 3.13 on")
@pytest.mark.parametrize("cls", [Replaced, ReplacedByItself])
def test_what_a_copy_with_changes_reads_is_compared(cls, monkeypatch):
    record = cls(2.0)
    replayed = tg.jit(lambda x: tg.sum(x) * copy.replace(record, k=3.0).total)
    for gain, extra in ((1.0, 0.0), (2.0, 0.0), (2.0, 5.0)):
        monkeypatch.setitem(globals(), "GAIN", gain)
        record.extra = extra
        assert replayed(POINT) == np.sum(POINT) * copy.replace(record, k=3.0).total


def test_what_is_equal_is_compared_by_identity_from_then_on():
    recordings, k = [], 1e3

    def function(x):
        recordings.append(1)
        return tg.sum(x * k)

    gradient = tg.grad(tg.jit(function))
    gradient(POINT)
    for _ in range(3):
        k = float("1000")
        gradient(POINT)
        assert python_calls(gradient, POINT) == []
    assert len(recordings) == 1


# --- reports -------------------------------------------------------------------------------------------------------


def rows(listing):
    return {(item.name, item.kind): item.items for item in listing}


def test_what_is_watched_is_listed_by_name():
    table, held = {"a": [2.0, 3.0], "b": Slotted()}, types.SimpleNamespace(k=1.0)
    table["b"].k = 1.0

    def function(x, default=(1.0,)):
        return tg.sum(helper(x) * table["a"][0] * table["b"].k * held.k * default[0])

    replayed = tg.jit(function)
    assert rows(replayed.watched()) == {}
    replayed(POINT)
    found = rows(replayed.watched())
    for name, kind, items in [
        ("global FACTOR", "variable", 1),
        ("global helper", "variable", 1),
        ("helper", "function", 3),
        ("global tg", "variable", 1),
        ("table", "variable", 1),
        ("table", "contents", 2),
        ("table['a']", "contents", 2),
        ("table['b'].k", "attribute", 1),
        ("held", "class", 2),
        ("held.k", "attribute", 1),
    ]:
        assert found[name, kind] == items
    assert found[function.__qualname__, "function"] == 2
    assert replayed.watched().ns > 0
    assert all(item.ns >= 0 for item in replayed.watched())


def test_a_model_is_named_as_its_method_names_it():
    replayed = tg.jit(Model().of_attribute)
    replayed(POINT)
    found = rows(replayed.watched())
    assert found["self.k", "attribute"] == 1
    assert found["self", "class"] == 2
    assert found["Model.of_attribute", "function"] == 1
    assert not any("table" in name or "kernel" in name for name, _ in found)


def test_objects_among_arguments_are_listed():
    replayed = tg.jit(lambda x, held: tg.sum(x * held.k))
    held = Slotted()
    held.k = 2.0
    replayed(POINT, held)
    assert rows(replayed.watched())["argument of type Slotted.k", "attribute"] == 1


def loss(x):
    return tg.sum((x if x[0] > 0 else x**2) * FACTOR)


TRANSFORMS = {
    "jit": lambda f: f,
    "grad": tg.grad,
    "value_and_grad": tg.value_and_grad,
    "jacobian": tg.jacobian,
    "hessian": tg.hessian,
    "hvp": lambda f: Along(tg.hvp(f)),
    "vmap": lambda f: Stacked(tg.vmap(tg.grad(f))),
}


class Along:
    """A product with a direction, as a function of one argument."""

    def __init__(self, product):
        self.watched, self.explain, self._product = product.watched, product.explain, product

    def __call__(self, x):
        return self._product(x, x)


class Stacked:
    """A function of two instances, as a function of one."""

    def __init__(self, function):
        self.watched, self.explain, self._function = function.watched, function.explain, function

    def __call__(self, x):
        return self._function(np.stack([x, x]))


@pytest.fixture
def factor():
    """The variable of this file, as it is afterwards."""
    global FACTOR
    before = FACTOR
    yield
    FACTOR = before


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.usefixtures("factor")
def test_recordings_are_explained(name):
    global FACTOR
    function = TRANSFORMS[name](tg.jit(loss))
    assert function.explain() == ()
    steps = [
        (POINT, "first call"),
        (np.ones(3), "argument 0: shape (2,) -> (3,)"),
        (-POINT, "guard failed: "),
        (POINT.astype(np.float32), "argument 0: (2,) float64 -> (2,) float32"),
    ]
    for k, (x, reason) in enumerate(steps):
        for _ in range(2):
            function(x)
        found = function.explain()
        assert len(found) == k + 1
        assert found[-1].reason.startswith(reason)
    assert "if x[0] > 0" in found[-1].reason or "if x[0] > 0" in found[2].reason
    assert all(any("if x[0] > 0" in guard for guard in recording.guards) for recording in found)
    assert [recording.number for recording in found] == [1, 2, 3, 4]
    FACTOR = 5.0
    function(POINT)
    (last,) = function.explain()
    assert last.reason == "global FACTOR changed"
    assert last.number == 5
    assert ("global FACTOR", "variable") in rows(function.watched())


def test_arguments_are_named_where_they_differ():
    replayed = tg.jit(lambda x, p, n=1: tg.sum(x) * p["a"] * n)
    for x, p, n in [(POINT, 1.0, 1), (POINT, 1.0, 2), (POINT, POINT, 2)]:
        replayed(x, {"a": p}, n=n)
    replayed(POINT, {"a": 1.0})
    reasons = [recording.reason for recording in replayed.explain()]
    structure = "another structure of arguments"
    assert reasons == ["first call", "n: 1 -> 2", "argument 1['a']: float -> (2,) float64", structure]
    assert replayed.explain()[0].signature == "argument 0: (2,) float64, argument 1['a']: float, n: 1"


def test_guards_on_arrays_are_named():
    weights = np.array([1.0, 2.0])
    replayed = tg.jit(lambda x: tg.sum(x) * float(weights[0]))
    replayed(POINT)
    assert any(guard.startswith("the contents of weights") for guard in replayed.explain()[0].guards)
    weights[0] = 3.0
    assert replayed(POINT) == 9.0
    assert replayed.explain()[-1].reason.startswith("guard failed: the contents of weights")


def test_listings_are_tables():
    table = dict.fromkeys(range(10), 2.0)
    replayed = tg.jit(held_in(table))
    replayed(POINT)
    assert ["value", "contents", "10"] in [line.split()[:3] for line in repr(replayed.watched()).splitlines()]
    assert "<td>contents</td>" in replayed.watched()._repr_html_()
    lines = repr(replayed.explain()).splitlines()
    assert lines[0].endswith("has 1 recording")
    assert lines[1].split() == ["number", "of", "signature", "instructions", "guards", "reason"]
    assert lines[2].endswith("first call")


def test_what_is_run_at_each_call_says_so():
    gradient = tg.grad(loss)
    gradient(POINT)
    assert repr(gradient.watched()) == "grad(loss), which is run at each call, is watched for nothing"
    assert repr(gradient.explain()) == "grad(loss), which is run at each call, has 0 recordings"


@pytest.fixture
def timed(monkeypatch):
    monkeypatch.setattr(watching_cost, "CHEAP_NS", 2000.0)


@pytest.mark.usefixtures("timed")
def test_dear_watching_is_told_once(monkeypatch):
    monkeypatch.setattr(watching_cost, "nanoseconds", lambda call, enough: 3000.0)
    monkeypatch.setattr(captured_state, "nanoseconds", lambda call: 2500.0)
    table = dict.fromkeys(range(1000), 2.0)
    gradient = tg.grad(tg.jit(held_in(table)))
    with pytest.warns(
        tg.RecordingWarning, match=r"for 2.5 us before each replay.* 500 ns .*value \(1,000 items.*compile"
    ):
        gradient(POINT)
    for x in (np.ones(3), np.ones(4)):
        gradient(x)
    assert rows(gradient.watched())["value", "contents"] == 1000


@pytest.mark.usefixtures("timed")
def test_the_warning_measures_the_largest_of_what_is_compared_alone(monkeypatch):
    measured = []
    monkeypatch.setattr(watching_cost, "nanoseconds", lambda call, enough: 3000.0)
    monkeypatch.setattr(captured_state, "nanoseconds", lambda call: 2500.0)
    monkeypatch.setattr(watched, "nanoseconds", lambda call: measured.append(call) or 1.0)
    held = [2.0, *([float(k)] for k in range(100)), [2.0] * 1000]
    gradient = tg.grad(tg.jit(held_in(held)))
    with pytest.warns(tg.RecordingWarning, match=r"value\[101\] \(1,000 items"):
        gradient(POINT)
    assert len(measured) < 30
    assert len(gradient.watched()) > 100
    assert len(measured) > 120


@pytest.mark.usefixtures("timed")
@pytest.mark.parametrize(("watching", "call"), [(2500.0, 6000.0), (500.0, 600.0)])
def test_cheap_watching_is_not_told(monkeypatch, watching, call):
    monkeypatch.setattr(watching_cost, "nanoseconds", lambda *_: call)
    monkeypatch.setattr(captured_state, "nanoseconds", lambda _: watching)
    tg.grad(tg.jit(held_in([2.0] * 1000)))(POINT)


@pytest.mark.usefixtures("timed")
def test_what_calls_python_is_not_called_to_be_measured(monkeypatch):
    calls = []

    @tg.custom_op("doubled")
    def doubled(x):
        calls.append(1)
        return 2 * x

    monkeypatch.setattr(captured_state, "nanoseconds", lambda _: 1e6)
    held = [2.0] * 1000
    replayed = tg.jit(lambda x: tg.sum(doubled(x) * held[0]))
    replayed(POINT)
    before = len(calls)
    replayed(POINT)
    assert len(calls) == before + 1
