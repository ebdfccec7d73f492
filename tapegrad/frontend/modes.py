"""What a thread is doing: the tape it appends to, and whether it records derivatives at all."""

import functools
import threading
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator, nullcontext
from typing import Any, ParamSpec, TypeVar

from tapegrad.engine import kernel_table, verify
from tapegrad.engine.runtime.compiler import make_ready
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.tape import entries, slots
from tapegrad.engine.tape.tape import Tape

P = ParamSpec("P")
R = TypeVar("R")

EAGER = Tape(kernel_table.tables())
make_ready(slots.drop, entries.next_orphan, entries.reuse_orphan)  # for Tensors that go
verify.switch.follow(EAGER)


class _ThreadState(threading.local):
    """The modes of one thread."""

    tape = EAGER
    differentiate = True
    leaves: tuple[Any, ...] = ()  # Tensors that the gradients being computed are taken by
    outside: tuple[Any, ...] = ()  # the same around a function of a user's op, which may not look into them
    hidden: Tape | None = None  # the recording around it
    anomaly: Any = None  # what looks for results that are not finite
    active = 0  # its part of the counts below
    entered = 0


class Modes:
    """How many modes are entered in all threads; while there are none, nobody has to look at his thread's.

    Attributes
    ----------
    active
        Those that matter to every operation.
    entered
        Those, and the gradients that are being computed, which matter to transforms and escapes only.
    """

    __slots__ = ("active", "entered")

    def __init__(self) -> None:
        self.active = 0
        self.entered = 0


thread = _ThreadState()
modes = Modes()
_lock = lock()


# Counted before a mode changes anything, and until it has taken that back: while anything is changed, the count says
# so, wherever an exception comes in between. Each count is one statement, for the thread's part and the sum.


def count_mode(by: int) -> None:
    """A mode is about to be entered (1), or has been left (-1)."""
    _count(by, by)


def _count(active: int, entered: int) -> None:
    with _lock:
        modes.active, thread.active, modes.entered, thread.entered = (
            modes.active + active, thread.active + active, modes.entered + entered, thread.entered + entered,
        )  # fmt: skip


def restoring(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function leave the thread's modes as they were, though it is interrupted while it enters or leaves one.

    Python itself calls what leaves a mode, ``__exit__``, and may be interrupted before it has begun.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        entered, active = thread.entered, thread.active
        before = (thread.tape, thread.differentiate, thread.leaves, thread.anomaly)
        around = (thread.outside, thread.hidden)
        try:
            return function(*args, **kwargs)
        finally:
            if thread.entered != entered:
                thread.tape, thread.differentiate, thread.leaves, thread.anomaly = before
                thread.outside, thread.hidden = around
                _count(active - thread.active, entered - thread.entered)

    return call


class no_grad(ContextDecorator):
    """Context manager and decorator that turns off the recording of derivatives in the calling thread.

    Results of operations on Tensors are constants inside. `no_autodiff` is the same class.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> with tg.no_grad():
    ...     y = x * 2
    >>> y.constant
    True
    """

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def __reduce__(self) -> Any:
        return no_grad, ()  # entered or not, a copy is not

    def _recreate_cm(self) -> "no_grad":
        return no_grad()  # a decorated function may run in several threads at once

    def __enter__(self) -> "no_grad":
        self._outer.append(thread.differentiate)
        count_mode(1)
        thread.differentiate = False
        return self

    def __exit__(self, *exception: object) -> None:
        thread.differentiate = self._outer.pop()
        count_mode(-1)


no_autodiff = no_grad


class recording:
    """Append everything that this thread computes with Tensors to a tape of its own."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._outer: tuple[Tape, bool] | None = None

    def __enter__(self) -> Tape:
        self._outer = (thread.tape, thread.differentiate)
        count_mode(1)
        thread.tape, thread.differentiate = self.tape, True
        return self.tape

    def __exit__(self, *exception: object) -> None:
        assert self._outer is not None
        thread.tape, thread.differentiate = self._outer
        count_mode(-1)


def eager_mode() -> Any:
    """Append to the eager tape, with derivatives, whatever the thread was doing."""
    return recording(EAGER) if modes.active else _UNCHANGED


_UNCHANGED = nullcontext()


class differentiating:
    """Record derivatives on the thread's tape; `leaves` are what they are taken by while this goes on."""

    __slots__ = ("_leaves", "_outer")

    def __init__(self, leaves: Iterable[Any] = ()) -> None:
        self._leaves = leaves
        self._outer: tuple[bool, tuple[Any, ...]] = (True, ())

    def __enter__(self) -> None:
        self._outer = outer = (thread.differentiate, thread.leaves)
        _count(0, 1)
        thread.differentiate, thread.leaves = True, (*outer[1], *self._leaves)

    def __exit__(self, *exception: object) -> None:
        thread.differentiate, thread.leaves = self._outer
        _count(0, -1)


def nested() -> bool:
    """Whether a function's derivative is to be computed with Tensors, on the tape that the thread appends to.

    It is inside a function that is being recorded, or differentiated by a transform; or anomalies are looked for.
    """
    return modes.entered > 0 and (thread.tape.recording or bool(thread.leaves) or thread.anomaly is not None)


def current() -> tuple[Any, bool]:
    """The thread's tape and whether derivatives are recorded on it."""
    return (thread.tape, thread.differentiate) if modes.active else (EAGER, True)
