"""Differences between PyTensor 2 and 3, each found by what is there: modules, attributes of Ops, inner graphs."""

import importlib
from typing import Any


class MovedNames:
    """The names of several modules of PyTensor, each taken from the first module that has it.

    A class that no module has is one without instances: functions registered for it are never called.

    Parameters
    ----------
    *modules
        Their paths, the newest first. The shims that PyTensor 3 leaves behind warn, and are not reached.
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        for path in self._modules:
            try:
                return getattr(importlib.import_module(path), name)
            except (ModuleNotFoundError, AttributeError):
                continue
        return type(name, (), {})


linalg = MovedNames("pytensor.tensor.linalg", "pytensor.tensor.nlinalg", "pytensor.tensor.slinalg")


def axis_text(op: Any, operand: int) -> str:
    """Return the text of an Op's axis: a property since PyTensor 3, an operand before."""
    return str(op.axis) if hasattr(op, "axis") else f"int({{{operand}}})"


def triangle(op: Any) -> str:
    """Return the triangle that an Op reads: "L" or "U"."""
    return str(getattr(op, "UPLO", None) or ("L" if op.lower else "U"))


def mutable(graph: Any) -> Any:
    """Return a copy of a graph inside of an Op, to be rewritten. PyTensor 3 freezes such graphs."""
    return graph.unfreeze() if hasattr(graph, "unfreeze") else graph.clone()
