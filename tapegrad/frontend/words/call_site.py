"""Call sites, for messages: the NumPy or SciPy function that the program called where a Tensor is refused.

The function is found by the names in the program's bytecode at the start of the call expression, for functions
written in C have no frame. Other calls are found by the names of the frames between the program and this library.
"""

import builtins
import dis
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tapegrad.errors import DeferredText
from tapegrad.foreign import StandIn, original
from tapegrad.frontend.words.frames import is_standard, lies_in, line_text
from tapegrad.frontend.words.function_names import full_name, receiver_name

E = TypeVar("E", bound=Exception)

_PACKAGE = Path(__file__).parents[2]
_OURS = str(_PACKAGE) + os.sep
# Modules that ask for a Tensor's contents on behalf of any caller.
_REFUSING = frozenset(
    str(_PACKAGE / "frontend" / folder / f"{name}.py")
    for folder, name in (("words", "call_site"), ("conversions", "conversion"), ("tensor", "tensor"))
)
_LIBRARIES = ("numpy", "scipy")
_WRITES = ("STORE_SUBSCR", "STORE_SLICE")  # a[i] = t
# Instructions that prepare a call, and compute nothing.
_BESIDE = ("PUSH_NULL", "PRECALL", "KW_NAMES", "CACHE", "NOP")
_MAX_FRAMES = 8  # frames of a library between the request for an array and the function that the user called


class CallSite:
    """Call site of the program, as it stands when this is created.

    To create it costs microseconds; to query it, which disassembles the caller, may cost milliseconds.

    Attributes
    ----------
    modules : list of str
        Names of the modules of the frames outside of tapegrad, from the inside out; the innermost 8.
    is_ours : bool
        Whether a function of tapegrad's asks for the Tensor, and not the program or a library.
    """

    def __init__(self, libraries: tuple[str, ...] = _LIBRARIES) -> None:
        roots = _library_roots(tuple(name for name in libraries if name in sys.modules))
        self._inner: list[types.FrameType] = []  # of the libraries, from the inside out
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and (_passes_on(frame) or _is_of_stand_in(frame)):
            frame = frame.f_back
        self.is_ours = frame is not None and lies_in(frame.f_code.co_filename, _OURS)
        while frame is not None and lies_in(frame.f_code.co_filename, (_OURS, *roots)):
            if lies_in(frame.f_code.co_filename, roots):
                self._inner.append(frame)
            frame = frame.f_back
        self._frame, self._at = frame, -1 if frame is None else frame.f_lasti
        self._line = _line_of(frame)
        self.modules = [_module(inner) for inner in self._inner[:_MAX_FRAMES]]
        while frame is not None and len(self.modules) < _MAX_FRAMES:
            self.modules.append(_module(frame))
            frame = frame.f_back

    @property
    def place(self) -> str:
        """The line of the program in brackets, as " (fit.py, line 3: y = float(x))"; empty if there is none."""
        return f" ({line_text(*self._line)})" if self._line[0] else ""

    def function_name(self, through_others: bool = False) -> str:
        """Return the full name of the function that the program called; empty if it is not NumPy's or SciPy's.

        With `through_others`: only if it is a function that calls others in Python.
        """
        if self._frame is None or (through_others and not self._inner):
            return ""
        libraries = (*_LIBRARIES, "tapegrad") if self.is_ours else _LIBRARIES
        written = _name_in(libraries, self.function)
        if "._" in written:  # of a private class, as the methods of all sparse matrices
            written = self._outermost or written
        return self.distribution_method or written or self._outermost

    @property
    def distribution_method(self) -> str:
        """The full name of a method of a distribution of SciPy's that the program called; empty for other calls."""
        name = self._outermost
        return name if name.startswith("scipy.stats.") and name.count(".") > 2 else ""

    @functools.cached_property
    def _outermost(self) -> str:
        """The name of the outermost public function of the libraries' frames; empty if there is none."""
        return next(filter(None, map(_name_of_frame, reversed(self._inner))), "")

    @functools.cached_property
    def function(self) -> Any:
        """The called function's name as written, such as ``np.linalg.norm``; None if it is not a dotted name."""
        if self._frame is None or self.is_element_write:
            return None
        begin = _begin(self._done[-1])
        value: Any = None
        for each in self._done[:-1]:
            if begin is None or _begin(each) != begin or each.opname in _BESIDE:
                continue
            if each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                value = inspect.getattr_static(value, each.argval, None)
            elif each.opname.startswith("LOAD_") and isinstance(each.argval, str):
                value = _variable(each.argval, self._frame)
            else:
                value = None
        return original(value)

    @property
    def is_element_write(self) -> bool:
        """True if the program writes to elements: ``a[i] = t``."""
        return bool(self._done) and self._done[-1].opname in _WRITES

    @functools.cached_property
    def _done(self) -> list[dis.Instruction]:
        """The instructions of the program's function up to the current one."""
        if self._frame is None:
            return []
        return [each for each in dis.get_instructions(self._frame.f_code) if each.offset <= self._at]


Wording = Callable[[CallSite], str]  # a part of a message


def refusal(kind: type[E], text: Wording, libraries: tuple[str, ...] = _LIBRARIES) -> E:
    """Return an error about the current call, whose text is made when it is printed.

    `libraries` are those that the program calls, and that call this one.
    """
    site = CallSite(libraries)
    return kind(DeferredText(lambda: text(site)))


def nothing_to_add(site: CallSite) -> str:
    """Return no hint."""
    return ""


@functools.cache
def _library_roots(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders of imported libraries, each with a separator at the end."""
    files = (sys.modules[name].__file__ for name in names)
    return tuple(str(Path(file).parent) + os.sep for file in files if file is not None)


def _line_of(frame: types.FrameType | None) -> tuple[str, int]:
    """Return file and line of the innermost frame outside of Python's library and Numba; an empty file if none is."""
    while frame is not None and (is_standard(frame) or _module(frame).partition(".")[0] == "numba"):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _passes_on(frame: types.FrameType) -> bool:
    """Return whether a frame of this library asks for a Tensor's contents because its caller does."""
    return frame.f_code.co_filename in _REFUSING or frame.f_code.co_name == "_array_function"


def _module(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_of_stand_in(frame: types.FrameType) -> bool:
    """Return whether a frame is that of a stand-in, which passes a call on."""
    return frame.f_code.co_name == "__call__" and isinstance(frame.f_locals.get("self"), StandIn)


def _begin(instruction: dis.Instruction) -> tuple[int, int] | None:
    """Return the start of an instruction's expression in the source."""
    at = instruction.positions
    return None if at is None or at.lineno is None or at.col_offset is None else (at.lineno, at.col_offset)


def _variable(name: str, frame: types.FrameType) -> Any:
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in names:
            return names[name]
    return None


def _name_in(libraries: tuple[str, ...], called: Any) -> str:
    """Return the full name of a function, of an object such as ``np.r_``, or of its class, if a library has it."""
    if called is None:
        return ""
    name = full_name(type(called) if isinstance(called, np.vectorize) else called)
    return name if name.partition(".")[0] in libraries else ""


def _name_of_frame(frame: types.FrameType) -> str:
    """Return the full name of the public function or class of a frame, or of a method; empty if it is not public."""
    if "<locals>" in frame.f_code.co_qualname:
        return ""  # a wrapper, which bears the name of its decorator
    own, _, method = frame.f_code.co_qualname.partition(".")
    if method.isidentifier() and not method.startswith("_"):
        receiver = receiver_name(frame.f_locals.get("self"))
        if receiver:
            return f"{receiver}.{method}"
    kind = frame.f_locals.get("cls", type(frame.f_locals.get("self")))  # perhaps public where its base is not
    names = (getattr(kind, "__name__", "_"), own) if method else (own,)
    parts = frame.f_globals.get("__name__", "").split(".")
    homes = [sys.modules.get(".".join(parts[: count + 1])) for count in range(len(parts))]
    values = [getattr(home, name, None) for name in names if not name.startswith("_") for home in homes]
    # `numpy.polyval` is not the function of `numpy.polynomial.polynomial` that has this name
    public: list[Any] = [value for value in values if value is not None]
    public.sort(key=lambda value: getattr(inspect.unwrap(value), "__code__", None) is not frame.f_code)
    return full_name(public[0]) if public else ""
