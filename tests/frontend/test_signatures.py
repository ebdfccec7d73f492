"""Functions of ours that have NumPy's names have NumPy's parameters: names, order, kinds and defaults."""

import inspect
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.numpy_face.numpy_protocols import CREATION, FUNCTIONS, LINALG

newest_numpy = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="what NumPy's functions take is that of the newest"
)
OURS = {
    **{
        f"numpy.{name}": (getattr(np, name), function)
        for name, function in (FUNCTIONS | CREATION).items()
        if hasattr(np, name)
    },
    **{f"numpy.linalg.{name}": (getattr(np.linalg, name), function) for name, function in LINALG.items()},
    **{
        f"numpy.ndarray.{name}": (getattr(np.ndarray, name), getattr(tg.Tensor, name))
        for name in dir(np.ndarray)
        if not name.startswith("_") and callable(getattr(np.ndarray, name)) and hasattr(tg.Tensor, name)
    },
}
LEFT_OUT = {"signature"}  # of ufuncs: the inner loop by its types; `dtype` chooses it
# What functions of ours take beside NumPy's parameters; those of `solve` are SciPy's.
OWN = {"constant", "descending", "lower", "assume_a", "transposed"}
# Functions whose parameters differ, and why.
DIFFERENT = {
    "numpy.where": "takes one argument, or three; None is no operand",
    "numpy.sinc": "a ufunc here",
    "numpy.divmod": "two outputs may follow by position, as NumPy's takes them",
    "numpy.modf": "two outputs may follow by position, as NumPy's takes them",
    "numpy.frexp": "two outputs may follow by position, as NumPy's takes them",
    "numpy.ndarray.setflags": "by position too, as NumPy takes them without saying so",
    "numpy.ndarray.view": "the two that NumPy's documentation names",
    "numpy.array": "ndmax, of NumPy 2.4, is for arrays of objects",
}
# What NumPy takes for an argument that it says no default of.
UNSAID = {"keepdims": False, "where": True, "rtol": np._NoValue}
POSITIONAL, KEYWORD = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def parameters(function: Any, is_method: bool) -> list[inspect.Parameter] | None:
    """Return the parameters of a function, without `self`; None for functions written in C without a signature."""
    try:
        known = list(inspect.signature(function).parameters.values())
    except ValueError:
        return None
    return [p for p in known[is_method:] if p.name not in OWN | LEFT_OUT]


def differences(name: str) -> list[str]:
    theirs, ours = (parameters(function, ".ndarray." in name) for function in OURS[name])
    if theirs is None or ours is None:
        return []
    if theirs and theirs[-1].kind is inspect.Parameter.VAR_KEYWORD:  # ours say what these are
        theirs.pop()
        ours = [p for p in ours if p.name in {t.name for t in theirs}]
    if len(theirs) != len(ours):
        return [f"{[p.name for p in ours]} instead of {[p.name for p in theirs]}"]
    return [f"{b} instead of {a}" for a, b in zip(theirs, ours, strict=True) if not agree(a, b)]


def agree(theirs: inspect.Parameter, ours: inspect.Parameter) -> bool:
    """Names and defaults are the same, and what may be given by name or place in NumPy may be here."""
    named = theirs.kind not in (POSITIONAL, inspect.Parameter.VAR_POSITIONAL)
    if named and theirs.name != ours.name:
        return False
    default = UNSAID.get(theirs.name) if theirs.default is np._NoValue else theirs.default
    freer = (theirs.kind, ours.kind) == (POSITIONAL, KEYWORD)
    return (theirs.kind is ours.kind or freer) and bool(default == ours.default)


@newest_numpy
def test_parameters_are_numpys() -> None:
    found = {name: differences(name) for name in OURS if name not in DIFFERENT}
    assert not {name: each for name, each in found.items() if each}


@newest_numpy
def test_differences_are_differences() -> None:
    assert not [name for name in DIFFERENT if not differences(name)]
