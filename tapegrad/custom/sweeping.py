"""The eager reverse sweep through instructions for which a user's function is called.

The sweep of compiled code stops there and goes on when the function has returned. Should the function raise, the
sweep is abandoned: gradients are what they were before, and the graph is still there.
"""

import threading

import numpy as np

from tapegrad import loader
from tapegrad.custom.call import Call, call_at
from tapegrad.errors import FreedGraphError, raise_for
from tapegrad.state import EAGER
from tapegrad.sweep import calls
from tapegrad.sweep.reverse import ONLY_LOOK
from tapegrad.tape.layout import E_BUSY, E_FREED, E_KERNEL, ORPHAN

_HEADER = EAGER.header
_WAIT = 0.05  # seconds after which a sweep that waits for another looks again


class _Own(threading.local):
    """Sweeps of this thread that are under way."""

    count = 0


_own = _Own()
_ended = threading.Condition()


class Sweep:
    """One sweep."""

    def __init__(self, root: int, seed: np.ndarray | None, options: int) -> None:
        self._state = np.zeros(calls.STATE_WORDS, np.int64)
        self.status = self._begin(root, seed, options)

    def _begin(self, root: int, seed: np.ndarray | None, options: int) -> int:
        arguments = (_HEADER, root, 0 if seed is None else id(seed))
        status = calls.begin_sweep(*arguments, options, id(self._state), 0)
        while status == E_KERNEL:
            missing = np.empty(2, np.int64)
            if calls.begin_sweep(*arguments, options | ONLY_LOOK, id(self._state), id(missing)) == E_KERNEL:
                loader.load_code(int(missing[0]), int(missing[1]), 1)
            status = calls.begin_sweep(*arguments, options, id(self._state), 0)
        return int(status)

    def finish(self) -> bool:
        """Sweep to the end; `False` if another thread's sweep was waited for and this one is to be begun again."""
        if self.status == E_BUSY:
            _wait()
            return False
        _own.count += 1
        try:
            self._run()
        finally:
            _own.count -= 1
            with _ended:
                _ended.notify_all()
            if EAGER.words[ORPHAN] != -1:
                EAGER.drop_orphans()
        return True

    def _run(self) -> None:
        try:
            while (cell := calls.go_on(_HEADER, id(self._state))) > 0:
                self._call(call_at(cell))
        except BaseException:
            calls.abandon_sweep(_HEADER, id(self._state))
            raise
        if cell < 0:
            calls.abandon_sweep(_HEADER, id(self._state))
            raise_for(cell, "backward", [])
        calls.finish_sweep(_HEADER, id(self._state))

    def _call(self, call: Call) -> None:
        """Let the user's function compute a cotangent."""
        sizes = (call.x_size, call.rest_size, call.y_size, call.y_size)
        dtypes = (call.dtype, np.dtype(np.float64), call.dtype, call.dtype)
        arrays = [np.empty(size, dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
        if calls.read_call(_HEADER, id(self._state), *map(id, arrays)) == E_FREED:
            raise FreedGraphError(
                f"custom op {call.functions.name!r}: an input was written to in place by another thread while"
                " forward was running"
            )
        x_bar = call.reverse(*arrays)
        if x_bar is not None:
            calls.answer_call(_HEADER, id(self._state), id(x_bar))


def _wait() -> None:
    """Wait until some sweep of another thread has ended."""
    if _own.count:
        raise RuntimeError(
            "backward() inside the vjp of a custom op goes through the graph that is being differentiated; use"
            " detach(), or compute with the arrays that the vjp is given"
        )
    with _ended:
        _ended.wait(_WAIT)
