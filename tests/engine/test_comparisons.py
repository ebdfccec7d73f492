"""Comparisons in C: each kind finds what was changed, and nothing else; what is raised is no difference unnoticed."""

import collections
import gc
import operator
import types

import numpy as np
import pytest

from tapegrad.engine.codegen.python_calls.comparisons import Comparisons, Missing


class Slotted:
    __slots__ = ("k",)


class Held:
    pass


class Odd:
    def __eq__(self, other):
        raise KeyboardInterrupt

    __hash__ = None


def function(a, b=[1], *, c=[2]):  # noqa: B006
    return a, b, c


def other(a):
    return a


def cell_of(*contents):
    return types.CellType(*contents)


OTHERS = {
    "shape": np.array([1.0, -0.0]),
    "extents": np.array([[1.0], [-0.0]]),
    "dtype": np.array([[1.0, -0.0]], np.float32),
    "layout": np.array([[1.0, 5.0, -0.0]])[:, ::2],
    "kind": [1.0, -0.0],
}


def cases():
    """For each case: a row, what changes what it compares, and with which arguments."""
    value, owner, slotted, empty = object(), Held(), Slotted(), cell_of()
    slotted.k, owner.k = value, value
    functions = [types.FunctionType(function.__code__, {}) for _ in range(3)]
    for each in functions:
        each.__defaults__, each.__kwdefaults__ = ([1],), {"c": [2]}
    items, entries, queue = [value, 1], {"a": value, 2: 1}, collections.deque([value])
    cell = cell_of(value)
    yield "type", ("type", owner, Held), (setattr, owner, "__class__", type("Other", (), {}))
    another = Held()
    yield "attributes", ("attributes", another, another.__dict__), (setattr, another, "__dict__", {})
    for name, expected in (("k", value), ("absent", Missing)):
        held = {"k": value}
        yield f"entry {name}", ("entry", held, name, expected), (operator.setitem, held, name, object())
    held = {"k": value}
    yield "entry deleted", ("entry", held, "k", value), (operator.delitem, held, "k")
    held = {"k": 1}
    yield "without", ("without", held, frozenset({"a", "b"})), (operator.setitem, held, "b", 1)
    yield "cell", ("cell", cell, value), (setattr, cell, "cell_contents", 1)
    yield "empty cell", ("cell", empty, Missing), (setattr, empty, "cell_contents", 1)
    first, second, third = functions
    yield "code", ("code", first, first.__code__), (setattr, first, "__code__", other.__code__)
    yield "defaults", ("defaults", second, second.__defaults__), (setattr, second, "__defaults__", None)
    row = ("keyword_defaults", third, third.__kwdefaults__)
    yield "keyword_defaults", row, (setattr, third, "__kwdefaults__", {"c": [2]})
    yield "member", ("member", Slotted.k, slotted, value), (setattr, slotted, "k", 1)
    unset = Slotted()
    yield "member unset", ("member", Slotted.k, unset, Missing), (setattr, unset, "k", 1)
    yield "elements", ("elements", items, tuple(items)), (operator.setitem, items, 1, 2)
    shorter = [1, 2]
    yield "elements fewer", ("elements", shorter, tuple(shorter)), (shorter.pop,)
    yield "entries", ("entries", entries, tuple(entries), tuple(entries.values())), (entries.update, {2: 2})
    ordered = {"a": 1, "b": 2}
    row = ("entries", ordered, tuple(ordered), tuple(ordered.values()))
    yield "entries in order", row, (lambda: ordered.update(a=ordered.pop("a")),)
    yield "parts", ("parts", collections.deque.__iter__, queue, (value,)), (queue.append, 1)
    exchanged = collections.deque([value])
    yield (
        "parts others",
        ("parts", collections.deque.__iter__, exchanged, (value,)),
        (operator.setitem, exchanged, 0, 1),
    )
    buffer = bytearray(b"a")
    yield "answer", ("answer", bytes, buffer, b"a"), (buffer.extend, b"b")
    numbers = np.array([[1.0, -0.0]])
    row = ("array", np.asarray, memoryview(numbers), (numbers.copy(), numbers.nbytes))
    yield "array", row, (operator.setitem, numbers, (0, 1), 0.0)
    for name, another_array in OTHERS.items():
        held = [numbers.copy()]
        row = ("array", operator.itemgetter(0), held, (held[0].copy(), held[0].nbytes))
        yield f"array {name}", row, (operator.setitem, held, 0, another_array)
    failing = [1]
    yield "answer that fails", ("answer", max, failing, 1), (failing.clear,)


CASES = {name: (row, change) for name, row, change in cases()}


@pytest.mark.parametrize("name", CASES)
def test_a_kind_finds_a_change(name):
    row, (change, *arguments) = CASES[name]
    same = ("type", 1, int)
    comparisons = Comparisons([same, row, same])
    gc.collect()
    assert comparisons.holds() is True
    assert comparisons.first_difference() == -1
    change(*arguments)
    assert comparisons.holds() is False
    assert comparisons.first_difference() == 1
    comparisons.replace(1, same)
    assert comparisons.holds() is True


def test_none_are_equal():
    assert Comparisons([]).holds() is True


def interrupted():
    raise KeyboardInterrupt
    yield


@pytest.mark.parametrize("row", [("answer", [Odd()], 1), ("parts", [interrupted()], ())])
def test_an_interrupt_is_handed_on(row):
    kind, owner, expected = row
    with pytest.raises(KeyboardInterrupt):
        Comparisons([(kind, operator.itemgetter(0), owner, expected)]).holds()
