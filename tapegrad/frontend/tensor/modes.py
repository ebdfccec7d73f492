"""The mode of a thread: the tape that it appends to, and whether derivatives are recorded."""

import functools
import threading
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator, nullcontext
from typing import Any, ClassVar, Literal, ParamSpec, Self, TypeVar

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.translator.compiler import called_by_finalisers
from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.engine.tape import release, slots
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import DeferredText
from tapegrad.frontend.tensor.recorder import Recorder

P = ParamSpec("P")
R = TypeVar("R")

EAGER = Tape(kernel_table.tables())
called_by_finalisers(slots.drop, release.next_orphan, release.reuse_orphan)
switch.follow(EAGER)


class Mode:
    """Modes of a thread, immutable: entering a mode replaces the record.

    Attributes
    ----------
    tape
        The tape that the thread appends to.
    differentiate
        Whether derivatives are recorded.
    leaves
        Tensors that gradients are currently computed by.
    outside, hidden
        The leaves and the recording around a function of a custom op, which may not use them.
    anomaly
        The watch of `detect_anomaly`, if the thread is in it.
    recorder
        The tape, if a function is being recorded for replay.
    weak
        Its weak slots.
    observed
        Whether each instruction that is appended is reported, to a recorder or to `detect_anomaly`.
    nested
        Whether the derivative of a function is to be computed with Tensors, on the tape: inside a function that is
        being recorded, or differentiated by a transform; or inside `detect_anomaly`.
    nan_on_failure
        Whether failures of linear algebra and of solvers give nan (`errstate`). Recordings depend on it.
    no_fast_call, no_fast_derivative
        Whether calls of recorded functions, or of their derivatives, go through Python, which knows the mode.
    """

    __slots__ = (
        "anomaly", "differentiate", "hidden", "leaves", "nan_on_failure", "nested", "no_fast_call",
        "no_fast_derivative", "observed", "outside", "recorder", "tape", "weak",
    )  # fmt: skip

    def __init__(
        self,
        tape: Tape = EAGER,
        differentiate: bool = True,
        leaves: tuple[Any, ...] = (),
        outside: tuple[Any, ...] = (),
        hidden: Recorder | None = None,
        anomaly: Any = None,
        nan_on_failure: bool = False,
    ) -> None:
        self.tape = tape
        self.differentiate = differentiate
        self.leaves = leaves
        self.outside = outside
        self.hidden = hidden
        self.anomaly = anomaly
        self.recorder = tape if tape is not EAGER and isinstance(tape, Recorder) else None
        self.weak = None if self.recorder is None else self.recorder.weak
        self.observed = self.recorder is not None or anomaly is not None
        self.nested = self.observed or bool(leaves)
        self.nan_on_failure = nan_on_failure
        self.no_fast_call = self.observed or nan_on_failure
        self.no_fast_derivative = self.nested or nan_on_failure

    def but(self, **changes: Any) -> "Mode":
        """Return a mode with some of the arguments changed."""
        get = changes.get  # without `replace`: a gradient enters three modes
        return Mode(
            get("tape", self.tape),
            get("differentiate", self.differentiate),
            get("leaves", self.leaves),
            get("outside", self.outside),
            get("hidden", self.hidden),
            get("anomaly", self.anomaly),
            get("nan_on_failure", self.nan_on_failure),
        )


NO_MODE = Mode()


class _Thread(threading.local):
    mode = NO_MODE  # mode of a thread that has entered none
    over_lanes: tuple[Any, ...] = ()  # for each call of `vmap` that the thread is in, the recording around it
    refuses_numbers = False  # whether a conversion to a number that loses a gradient raises its warning
    as_arrays = False  # whether Tensors say that they are arrays
    refused: DeferredText | None = None  # the last refusal of a Tensor in the function that is being called


thread = _Thread()
# One item for each entered mode, of all threads: an empty list spares a call the look-up of its thread's mode (50 ns).
# An interrupt may leave an item too many, never too few; the list's methods are atomic.
entered: list[None] = []


def restoring(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function restore the thread's mode, even if it is interrupted while it enters or leaves one.

    Python itself calls ``__exit__``, and may be interrupted before that has begun.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        before = thread.mode
        try:
            return function(*args, **kwargs)
        finally:
            thread.mode = before

    return call


class ModeChange:
    """Change of mode for the length of a ``with``. Left out of order, it restores its own arguments only."""

    _arguments: ClassVar[tuple[str, ...]]  # the arguments of `Mode` that it changes

    def __init__(self) -> None:
        self._entered: list[tuple[Mode, Mode]] = []  # the arguments before and after the change

    def _change(self, mode: Mode) -> Mode:
        """Return the mode inside of the ``with``, from the mode around it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        before = thread.mode
        inside = self._change(before)
        self._entered.append((before, inside))
        entered.append(None)
        thread.mode = inside
        return self

    def __exit__(self, *exception: object) -> None:
        before, inside = self._entered.pop()
        now = thread.mode
        thread.mode = (
            before if now is inside else now.but(**{name: getattr(before, name) for name in self._arguments})
        )
        entered.pop()


class no_grad(ModeChange, ContextDecorator):
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

    _arguments = ("differentiate",)

    def __reduce__(self) -> Any:
        return no_grad, ()  # entered or not: a copy is not entered

    def _recreate_cm(self) -> "no_grad":
        return no_grad()  # several threads may run a decorated function at once

    def _change(self, mode: Mode) -> Mode:
        return mode.but(differentiate=False)


no_autodiff = no_grad


class errstate(ModeChange, ContextDecorator):
    """Context manager and decorator that says what a failure of linear algebra or of a solver is in the calling thread.

    Parameters
    ----------
    errors : {'raise', 'nan'}
        ``'raise'`` is what holds outside: `LinAlgError`. ``'nan'`` makes results nan for a matrix that is singular, not
        positive definite or not finite, for which LAPACK does not converge, or whose result is complex; and derivatives
        where they do not exist, as those of eigenvectors of equal eigenvalues, and those by what a solver has not
        reached, which are an `UnreachedOutputError` or a `NotConvergedError` otherwise.

    Raises
    ------
    ValueError
        For other words.

    Notes
    -----
    Of a stack of matrices, and of the instances of `vmap`, only those that fail have nan. Instructions keep the choice
    with which they were recorded: a function that is decorated, or has the ``with`` in it, has it in every replay, and
    in files. A `jit(f)` that is called inside is recorded for both choices.

    Matrices of wrong shapes are errors all the same.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> log_det = lambda a: 2 * tg.sum(tg.log(tg.diag(tg.linalg.cholesky(a))))
    >>> with tg.linalg.errstate("nan"):
    ...     tg.value_and_grad(log_det)(np.diag([1.0, -1.0]))
    (np.float64(nan), array([[nan,  0.],
           [nan, nan]]))
    >>> f = tg.vmap(tg.linalg.errstate("nan")(log_det))
    >>> f(np.array([np.eye(2), -np.eye(2)]))
    array([ 0., nan])
    """

    _arguments = ("nan_on_failure",)

    def __init__(self, errors: Literal["raise", "nan"]) -> None:
        super().__init__()
        if errors not in ("raise", "nan"):
            raise ValueError(f"errstate: errors is 'raise' or 'nan', not {errors!r}")
        self.errors = errors

    def __reduce__(self) -> Any:
        return errstate, (self.errors,)

    def _recreate_cm(self) -> "errstate":
        return errstate(self.errors)  # several threads may run a decorated function at once

    def _change(self, mode: Mode) -> Mode:
        return mode.but(nan_on_failure=self.errors == "nan")


def with_choice_of(params: Any) -> Any:
    """Return a context in which failures of linear algebra are what they are for an instruction.

    `params` is the record of its parameters, `None` if it has none.
    """
    choice = getattr(params, "nan_on_failure", None)
    if choice is None or bool(choice) == thread.mode.nan_on_failure:
        return _UNCHANGED
    return errstate("nan" if choice else "raise")


class recording(ModeChange):
    """Append all Tensor operations of this thread to another tape."""

    _arguments = ("tape", "differentiate")

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape

    def _change(self, mode: Mode) -> Mode:
        return mode.but(tape=self.tape, differentiate=True)


def eager_mode() -> Any:
    """Return a context in which the thread appends to the eager tape, with derivatives."""
    mode = thread.mode
    return _UNCHANGED if mode.tape is EAGER and mode.differentiate else recording(EAGER)


_UNCHANGED = nullcontext()


class differentiating(ModeChange):
    """Record derivatives on the thread's tape, with respect to `leaves`."""

    _arguments = ("differentiate", "leaves")

    def __init__(self, leaves: Iterable[Any] = ()) -> None:
        super().__init__()
        self._leaves = leaves

    def _change(self, mode: Mode) -> Mode:
        return mode.but(differentiate=True, leaves=(*mode.leaves, *self._leaves))


def current() -> tuple[Tape, bool]:
    """Return the thread's tape and whether derivatives are recorded on it."""
    mode = thread.mode
    return mode.tape, mode.differentiate


def watch_now(array: Any) -> None:
    """Guard the contents of an array that are read once, if a function is being recorded."""
    recorder = thread.mode.recorder
    if recorder is not None:
        recorder.watch(array)
