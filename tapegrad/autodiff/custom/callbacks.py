"""Functions by which compiled code asks Python to execute an instruction of a user's op.

They take the GIL if it is not held, as in a replay. What a user's function is given are copies, which it may keep.
An exception is kept for the thread and a status returned; whoever sees the status raises the exception.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom import njit_calls
from tapegrad.autodiff.custom.call import Call, call_at
from tapegrad.engine.kernels.callback import CALL_FAILED, DIRECTIONS, DONE, FORWARD, REVERSE, TANGENT
from tapegrad.engine.kernels.frame import PARAMS, STORE, WORDS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.tape.tape import words_at

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_FLOAT64 = np.dtype(np.float64)


class _Failed(threading.local):
    error: BaseException | None = None


_failed = _Failed()


def failure() -> BaseException:
    """The exception because of which a function has returned its status to this thread."""
    error, _failed.error = _failed.error, None
    return error or RuntimeError("a custom op was interrupted")


class _Frame:
    """A frame's memory as arrays."""

    def __init__(self, words: np.ndarray, call: Call) -> None:
        self.words = words.tolist()
        self._call = call

    def copy(self, word: int, size: int) -> np.ndarray:
        """A copy of what lies at an address; zeros where there is none."""
        return _copied(self.words[word], size, self._call.dtype)

    def at(self, word: int, size: int) -> np.ndarray:
        """The memory itself."""
        return words_at(self.words[word], size, self._call.dtype)

    @property
    def x(self) -> np.ndarray:
        return self.copy(X, self._call.x_size)

    @property
    def rest(self) -> np.ndarray:
        return _copied(self.words[X + 2], self._call.rest_size, _FLOAT64)

    @property
    def y(self) -> np.ndarray:
        return self.copy(Y, self._call.y_size)


def _copied(address: int, size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A read-only array with what lies at an address; zeros if that is 0."""
    if not address or not size:
        return np.zeros(size, dtype)
    return np.frombuffer(ctypes.string_at(address, size * dtype.itemsize), dtype, size)


def _forward(frame: _Frame, call: Call) -> None:
    frame.at(Y, call.y_size)[...] = call.forward(frame.x, frame.rest)


def _reverse(frame: _Frame, call: Call) -> None:
    x_bar = call.reverse(frame.x, frame.rest, frame.y, frame.copy(Y_BAR, call.y_size))
    if not frame.words[X_BAR]:
        return
    place = frame.at(X_BAR, call.x_size)
    if frame.words[STORE] & 1:
        place[...] = 0 if x_bar is None else x_bar
    elif x_bar is not None:
        place += x_bar


def _tangent(frame: _Frame, call: Call) -> None:
    y_dot = call.tangent(frame.x, frame.rest, frame.y, frame.copy(X_BAR, call.x_size))
    frame.at(Y_BAR, call.y_size)[...] = y_dot


def _entry(execute: Callable[[_Frame, Call], None], direction: int) -> Callable[[int, int], int]:
    def entry(frame: int, cell: int) -> int:
        try:
            call = call_at(cell)
            execute(_Frame(words_at(frame, WORDS), call), call)
            njit_calls.compile_once(call, direction)
        except BaseException as error:  # it must not get lost in compiled code
            _failed.error = error
            return CALL_FAILED
        return DONE

    return entry


_entries = [
    _ENTRY(_entry(execute, direction))
    for direction, execute in ((FORWARD, _forward), (REVERSE, _reverse), (TANGENT, _tangent))
]


def reverse(frame: np.ndarray) -> None:
    """Execute an instruction backwards that is bound to the frame in an array; exceptions pass through."""
    call = call_at(ctypes.c_int64.from_address(int(frame[PARAMS])).value)
    _reverse(_Frame(frame, call), call)


def equip(call: Call) -> None:
    """Write the addresses of these functions into a cell."""
    for direction, function in enumerate(_entries):
        call.cell[DIRECTIONS + direction] = ctypes.cast(function, ctypes.c_void_p).value or 0
