"""What watching costs: what is compared, and that no Python runs before a replay."""

import collections
import dataclasses
import sys
import types

import numba
import numpy as np
import pytest

import tapegrad as tg

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
    rows = [row for place in replayed.captured.reach.places for row in place.rows]
    assert len(rows) < 25
    assert not any(row[0] in ("entries", "elements") for row in rows)


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
