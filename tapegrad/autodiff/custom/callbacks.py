"""C callbacks by which compiled code has Python execute an instruction of a custom op.

They acquire the GIL, which a replay does not hold. The user's functions get copies, which they may keep. An exception
is stored for the thread and a status is returned; the caller of the compiled code raises it (`failure`).
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom import njit_calls
from tapegrad.autodiff.custom.call import Call, call_at
from tapegrad.engine.kernels.control.callback import DIRECTIONS, DONE, FORWARD, REVERSE, TANGENT
from tapegrad.engine.kernels.language.frame import FIELDS, PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED
from tapegrad.engine.tape.tape import fields_at
from tapegrad.errors import UnrecordedWayError

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_FLOAT64 = np.dtype(np.float64)
_ROLES = {FORWARD: "forward", REVERSE: "vjp", TANGENT: "jvp"}


class _Failed(threading.local):
    error: BaseException | None = None


_failed = _Failed()


def failure() -> BaseException:
    """Return the exception that the last callback in this thread stored, and forget it."""
    error, _failed.error = _failed.error, None
    return error or RuntimeError("a custom op was interrupted")


class _Frame:
    """Frame of a custom op: its operands as arrays."""

    def __init__(self, fields: np.ndarray, call: Call) -> None:
        self.fields = fields.tolist()
        self._call = call

    def copy(self, field: int, size: int) -> np.ndarray:
        """Return a copy of the array whose address is in a field; zeros if the address is 0."""
        return _copied(self.fields[field], size, self._call.dtype)

    def at(self, field: int, size: int) -> np.ndarray:
        """Return the array whose address is in a field, without a copy."""
        return fields_at(self.fields[field], size, self._call.dtype)

    @property
    def x(self) -> np.ndarray:
        return self.copy(X, self._call.x_size)

    @property
    def rest(self) -> np.ndarray:
        return _copied(self.fields[X + 2], self._call.rest_size, _FLOAT64)

    @property
    def y(self) -> np.ndarray:
        return self.copy(Y, self._call.y_size)


def _copied(address: int, size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Return a read-only copy of the memory at an address; zeros if the address is 0."""
    if not address or not size:
        return np.zeros(size, dtype)
    return np.frombuffer(ctypes.string_at(address, size * dtype.itemsize), dtype, size)


def _forward(frame: _Frame, call: Call) -> None:
    frame.at(Y, call.y_size)[...] = call.forward(frame.x, frame.rest)


def _reverse(frame: _Frame, call: Call) -> None:
    x_bar = call.reverse(frame.x, frame.rest, frame.y, frame.copy(Y_BAR, call.y_size))
    if not frame.fields[X_BAR]:
        return
    x_bar_memory = frame.at(X_BAR, call.x_size)
    if frame.fields[STORE] & 1:
        x_bar_memory[...] = 0 if x_bar is None else x_bar
    elif x_bar is not None:
        x_bar_memory += x_bar


def _tangent(frame: _Frame, call: Call) -> None:
    y_dot = call.tangent(frame.x, frame.rest, frame.y, frame.copy(X_BAR, call.x_size))
    frame.at(Y_BAR, call.y_size)[...] = y_dot


def _compile_once(call: Call, direction: int) -> None:
    """Compile a direction once, if its function is compiled by Numba."""
    if direction not in call.compiled:
        call.compiled[direction] = None
        if call.functions.is_compiled(_ROLES[direction]):  # or Numba need not be imported
            njit_calls.compile_direction(call, direction)


def _callback(execute: Callable[[_Frame, Call], None], direction: int) -> Callable[[int, int], int]:
    def callback(frame: int, descriptor: int) -> int:
        try:
            call = call_at(descriptor)
            execute(_Frame(fields_at(frame, FIELDS), call), call)
            _compile_once(call, direction)
        except UnrecordedWayError:  # of a loop: what replays it tries other recordings, and records it anew
            return GUARD_FAILED
        except BaseException as error:  # an exception cannot pass through compiled code
            _failed.error = error
            return CALL_FAILED
        return DONE

    return callback


_callbacks = [
    _CALLBACK(_callback(execute, direction))
    for direction, execute in ((FORWARD, _forward), (REVERSE, _reverse), (TANGENT, _tangent))
]


def reverse(frame: np.ndarray) -> None:
    """Run the vjp of a bound instruction. Exceptions propagate."""
    call = call_at(ctypes.c_int64.from_address(int(frame[PARAMS])).value)
    _reverse(_Frame(frame, call), call)


def install(call: Call) -> None:
    """Write the addresses of the callbacks to the descriptor of a call."""
    for direction, function in enumerate(_callbacks):
        call.descriptor[DIRECTIONS + direction] = ctypes.cast(function, ctypes.c_void_p).value or 0
