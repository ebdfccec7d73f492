"""What watching costs: what is compared, and that no Python runs before a replay."""

import collections
import sys
import types

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
