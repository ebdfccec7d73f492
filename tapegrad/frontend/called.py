"""Which function of NumPy's or SciPy's the program called, for messages: Tensors are refused deep inside of it.

It is found by the names in the program's bytecode that the call begins with, for a function that is written in C has no
frame. Where it is called in another way, by the names of the functions between the program and this library.
"""

import builtins
import dis
import inspect
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.frontend.function_names import full_name

_OURS = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = ("numpy", "scipy")
_WRITES = ("STORE_SUBSCR", "STORE_SLICE")  # a[i] = t
# Instructions that prepare a call, and compute nothing.
_BESIDE = ("PUSH_NULL", "PRECALL", "KW_NAMES", "CACHE", "NOP")


def called_function(through_others: bool = False) -> str:
    """Return the full name of the function that the program called; empty if that is not NumPy's or SciPy's.

    With `through_others` only if it is one that calls others in Python.
    """
    inner, frame = _frames()
    if frame is None or (through_others and not inner):
        return ""
    return _name_in_library(_called_in(frame)) or next(filter(None, map(_name_of_frame, reversed(inner))), "")


def called_object() -> Any:
    """Return what the program called; None if that cannot be told, or if it called nothing."""
    _, frame = _frames()
    return None if frame is None else _called_in(frame)


def is_element_write() -> bool:
    """Whether the program writes to elements: ``a[i] = t``."""
    _, frame = _frames()
    return frame is not None and _done(frame)[-1].opname in _WRITES


def _frames() -> tuple[list[types.FrameType], types.FrameType | None]:
    """Return the frames of the libraries from the inside out, and that of the program around them."""
    roots = tuple(
        str(Path(module.__file__).parent) + os.sep
        for name in _LIBRARIES
        if (module := sys.modules.get(name)) is not None and module.__file__ is not None
    )
    inner: list[types.FrameType] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_OURS, *roots)):
        if frame.f_code.co_filename.startswith(roots):
            inner.append(frame)
        frame = frame.f_back
    return inner, frame


def _called_in(frame: types.FrameType) -> Any:
    """Return what a frame is calling; None if that is no name with dots, such as ``np.linalg.norm``."""
    done = _done(frame)
    if done[-1].opname in _WRITES:
        return None
    begin = _begin(done[-1])
    value: Any = None
    for each in done[:-1]:
        if begin is None or _begin(each) != begin or each.opname in _BESIDE:
            continue
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            value = inspect.getattr_static(value, each.argval, None)
        elif each.opname.startswith("LOAD_") and isinstance(each.argval, str):
            value = _variable(each.argval, frame)
        else:
            value = None
    return value


def _done(frame: types.FrameType) -> list[dis.Instruction]:
    """Return the instructions of a frame up to the one that it is at."""
    return [each for each in dis.get_instructions(frame.f_code) if each.offset <= frame.f_lasti]


def _begin(instruction: dis.Instruction) -> tuple[int, int] | None:
    """Return where the expression that an instruction computes begins in the source."""
    at = instruction.positions
    return None if at is None or at.lineno is None or at.col_offset is None else (at.lineno, at.col_offset)


def _variable(name: str, frame: types.FrameType) -> Any:
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in names:
            return names[name]
    return None


def _name_in_library(called: Any) -> str:
    """Return the full name of a function, of an object such as ``np.r_``, or of its class, if the libraries have it."""
    if called is None:
        return ""
    name = full_name(type(called) if isinstance(called, np.vectorize) else called)
    return name if name.partition(".")[0] in _LIBRARIES else ""


def _name_of_frame(frame: types.FrameType) -> str:
    """Return the full name of the public function or class that a frame belongs to; empty if it is not public."""
    own = frame.f_code.co_qualname.partition(".")[0]
    parts = frame.f_globals.get("__name__", "").split(".")
    for count in range(1, len(parts) + 1):
        home = ".".join(parts[:count])
        found = getattr(sys.modules.get(home), own, None) if not own.startswith("_") else None
        if found is not None:
            return full_name(found)
    return ""
