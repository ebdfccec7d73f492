"""State that libraries, the interpreter and classes keep for a program: a replay notices when it changes."""

import builtins
import collections
import ctypes
import dataclasses
import decimal
import multiprocessing
import os
import sys
import types

import numpy as np
import pytest
import scipy.special as sp

import tapegrad as tg

CASES = {}
TEMPLATE = "{0.k}"


def case(make):
    """Register a maker of (function of x, change of something that it reads[, undo of that change])."""
    CASES[make.__name__] = make
    return make


def changing(name, value, read, change, undo=None):
    """Register the case of a function that reads a value, which `change` changes."""

    def make():
        held = value()
        return (lambda x: x * read(held)), lambda: change(held), lambda: undo and undo(held)

    CASES[name] = make


def setting(attribute, value):
    return lambda held: setattr(held, attribute, value)


@case
def defaults_where_there_were_none():
    def held(x, k=None):
        return x * (2.0 if k is None else k)

    return lambda x: held(x), lambda: setting("__defaults__", (3.0,))(held)


def without_argument(held):
    """Return 1 if a function misses an argument, else the function of 1."""
    try:
        return held(1.0)
    except TypeError:
        return 1.0


@case
def defaults_taken_away():
    def held(x, k=2.0):
        return x * k

    return lambda x: x * without_argument(held), lambda: setting("__defaults__", None)(held)


@case
def keyword_defaults_where_there_were_none():
    def held(x, *, k):
        return x * k

    return lambda x: x * without_argument(held), lambda: setting("__kwdefaults__", {"k": 3.0})(held)


@case
def defaults_of_a_dataclass():
    @dataclasses.dataclass
    class Held:
        k: float = 2.0

    return lambda x: x * Held().k, lambda: setting("__defaults__", (3.0,))(Held.__init__)


@case
def view_of_a_chain_map():
    held = collections.ChainMap({"a": 2.0})
    view = held.values()
    return lambda x: x * sum(view), lambda: held.update(a=3.0)


def first_made_by(module, expression):
    """Return a type of ctypes that the code of a module was the first to need."""
    kind = type("Number", (ctypes.c_double,), {})
    return kind, eval(expression, {"__name__": module, "ctypes": ctypes, "kind": kind})


for module in ("numba.core.typing", "scipy.special", __name__, "__main__"):

    def pointer(module=module):
        kind, pointers = first_made_by(module, "ctypes.POINTER(kind)")
        held = kind(2.0)
        to = pointers(held)
        return lambda x: x * to.contents.value, lambda: setting("value", 3.0)(held)

    def elements(module=module):
        kind, arrays = first_made_by(module, "kind * 3")
        held = arrays(1.0, 2.0, 3.0)
        return lambda x: x * held[1].value, lambda: held.__setitem__(1, kind(3.0))

    CASES[f"pointer, a type that {module} made"] = pointer
    CASES[f"array, a type that {module} made"] = elements


@case
def indexer_of_a_series():
    held = pytest.importorskip("pandas").Series([2.0, 3.0])
    at = held.iloc
    return lambda x: x * at[0], lambda: held.iloc.__setitem__(0, 3.0)


@case
def replaced_builtin_by_its_module():
    old = builtins.abs
    return (
        lambda x: x * builtins.abs(-2.0),
        lambda: setting("abs", lambda v: 3.0)(builtins),
        (lambda: setting("abs", old)(builtins)),
    )


@case
def replaced_builtin_by_a_namespace():
    old = builtins.abs
    named = vars(builtins) if not isinstance(__builtins__, dict) else __builtins__
    return (
        lambda x: x * named["abs"](-2.0),
        lambda: named.update(abs=lambda v: 3.0),
        lambda: named.update(abs=old),
    )


@case
def number_set_on_a_module():
    sys.tapegrad_factor, os.tapegrad_factor = 2.0, 2.0

    def undo():
        del sys.tapegrad_factor, os.tapegrad_factor

    def change():
        sys.tapegrad_factor, os.tapegrad_factor = 3.0, 4.0

    return lambda x: x * sys.tapegrad_factor * os.tapegrad_factor, change, undo


def function():
    def held():
        pass

    return held


changing("name of a function", function, lambda held: len(held.__name__), setting("__name__", "another_name"))
changing(
    "doc of a class",
    lambda: type("A", (), {"__doc__": "A."}),
    lambda held: len(held.__doc__),
    setting("__doc__", "Not."),
)
changing(
    "template",
    lambda: types.SimpleNamespace(k=2.0),
    lambda held: float(TEMPLATE.format(held)),
    setting("k", 3.0),
)
changing("namespace", lambda: types.SimpleNamespace(k=2.0), lambda held: held.k, setting("k", 3.0))
changing(
    "raw array of processes",
    lambda: multiprocessing.RawArray("d", [2.0]),
    lambda held: held[0],
    lambda held: held.__setitem__(0, 3.0),
)
changing(
    "context of a decimal",
    lambda: decimal.Decimal(1),
    lambda held: float(held / 3),
    lambda _: setting("prec", 3)(decimal.getcontext()),
    lambda _: setting("prec", 28)(decimal.getcontext()),
)
changing(
    "error settings of SciPy",
    lambda: None,
    lambda _: 2.0 if sp.geterr()["singular"] == "ignore" else 3.0,
    lambda _: sp.seterr(singular="warn"),
    lambda _: sp.seterr(singular="ignore"),
)
changing(
    "print options",
    lambda: np.array([1.23456789]),
    lambda held: len(str(held)),
    lambda _: np.set_printoptions(precision=2),
    lambda _: np.set_printoptions(precision=8),
)
changing(
    "option of pandas",
    lambda: pytest.importorskip("pandas"),
    lambda pandas: pandas.get_option("display.max_rows"),
    lambda pandas: pandas.set_option("display.max_rows", 7),
    lambda pandas: pandas.reset_option("display.max_rows"),
)
changing(
    "name of a data array",
    lambda: pytest.importorskip("xarray").DataArray([2.0, 3.0], name="a"),
    lambda held: len(held.name),
    setting("name", "aaa"),
)
changing(
    "attrs of a data array",
    lambda: pytest.importorskip("xarray").DataArray([2.0, 3.0], attrs={"k": 2.0}),
    lambda held: held.attrs["k"],
    lambda held: held.attrs.update(k=3.0),
)


@pytest.mark.parametrize("name", CASES)
def test_what_libraries_keep_is_watched(name):
    function, change, *undo = CASES[name]()
    replayed = tg.jit(function)
    try:
        before = [replayed(1.5) for _ in range(2)]
        assert before == [function(1.5)] * 2
        change()
        expected = function(1.5)
        assert expected != before[0], "the change changes nothing"
        assert [replayed(1.5) for _ in range(2)] == [expected] * 2
    finally:
        for each in undo:
            each()
