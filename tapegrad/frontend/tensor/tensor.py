"""The Tensor: a slot on a tape, its memory as a NumPy array, and its base.

A Tensor enters a tape when it is first used there. A view refers to the Tensor that owns the memory, and to the
number of in-place writes at that time; after another write it takes a new slot on the new contents.
"""

import atexit
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from tapegrad.engine.inspection.dependence import depends
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.status import checked, raise_for
from tapegrad.engine.tape import memory, slots
from tapegrad.engine.tape.fields.layout import ALL_LIVE, DIFFERENTIABLE, NONE, TRACED
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.memory import D_GEOMETRY, D_NDIM
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES, DTYPES, Tape
from tapegrad.errors import EndedRecordingError, OuterTensorError, TracedValueError, UnsupportedError
from tapegrad.frontend.tensor.array_checks import complex_seen, is_plain, is_same_memory, real
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.attachments import attachments, last_tensor_dropped
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import EAGER, Mode, no_grad, thread, watch_now
from tapegrad.frontend.tensor.recorder import Recorder
from tapegrad.frontend.words.call_site import CallSite, Wording, nothing_to_add, refusal

if TYPE_CHECKING:
    from tapegrad.frontend.tensor.tensor_methods import TensorMethods
else:
    TensorMethods = object  # for methods that are bound by the modules above

_NEW = object.__new__
_ENTERING = lock()
_ENDED = (
    "this Tensor belongs to a recording that has ended, or is differentiated inside one: return it from the recorded"
    " function instead of keeping it; gradients inside a recording cannot depend on it"
)
# Why a request is refused, and what to write instead.
_DIFFERENTIATED = (
    " of a Tensor was asked for while a function of it is being differentiated: its gradient would be lost",
    ". Compute with the Tensor itself, select with where(), or write stop_gradient(t), or t.detach(), where a constant"
    " is meant",
)
_RECORDED = (
    " of a Tensor was asked for while its function is being recorded: every replay would use this one value",
    ". Compute with the Tensor itself, branch with `if`, select with where(), or return it from the function",
)
# Slots that a leaf had before writes under `no_grad`, by its id: graphs recorded from those send gradients there.
stale_leaf_slots: dict[int, list[int]] = {}


@atexit.register
def _leave_memory_to_the_system() -> None:
    """Release no Tensors from here on: at interpreter exit nothing can be compiled or imported for it."""
    del Tensor.__del__


# The function that answers for a Tensor which class it has, once a function was to see arrays in the place of Tensors.
class_answers: list[Callable[["Tensor"], type]] = []


class Tensor(TensorMethods):
    """An array that remembers how it was computed.

    Make one with `tapegrad.tensor`, compute with it as with a NumPy array, and call `backward` on the result.

    Parameters
    ----------
    data, dtype, constant, copy
        As for `tapegrad.tensor`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.Tensor([1.0, 2.0])
    >>> (x**2).backward()
    >>> x.grad
    array([2., 4.])
    """

    __slots__ = ("__weakref__", "_array", "_base", "_constant", "_element", "_slot", "_tape", "_version")

    _tape: Tape | None
    _slot: int
    _array: np.ndarray | None
    _base: "Tensor | None"
    _constant: bool
    _element: bool  # set if an index selected one element, of which NumPy makes a scalar
    _version: int

    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above that of a DataFrame, whose operators then defer to ours
    __hash__ = object.__hash__

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class that the Tensor says it has, to whom asks for it and not for its type."""
        return class_answers[0](self) if class_answers else type(self)

    def __del__(self) -> None:
        try:
            slot = self._slot
        except AttributeError:  # unset if `__init__` was interrupted
            return
        if slot >= 0:
            tape: Any = self._tape
            if attachments and tape is EAGER:
                last_tensor_dropped(slot)
            if slots.drop(tape.header, slot):
                tape.drop_orphans()
            if stale_leaf_slots:
                for old in stale_leaf_slots.pop(id(self), ()):
                    slots.drop(EAGER.header, old)

    # --- the slot ----------------------------------------------------------------------------------------------

    def _slot_on(self, tape: Tape) -> int:
        """Return the slot of this Tensor's current contents on `tape`."""
        if self._tape is not tape:
            return self._enter(tape)
        if self._base is not None and self._version != self._base._version:
            self._renew()
        return self._slot

    def _enter(self, tape: Tape) -> int:
        """Take a slot on a tape. A recording captures Tensors from outside by reference."""
        if isinstance(tape, Recorder):
            return tape.capture(self)
        if self._tape is not None and self._tape is not EAGER:
            raise EndedRecordingError(_ENDED)
        with _ENTERING:  # if two threads use a Tensor for the first time, one of them enters it
            return self._slot if self._tape is tape else self._enter_eager(tape)

    def _enter_eager(self, tape: Tape) -> int:
        if self._base is not None:
            self._base._slot_on(tape)
            array = self._array
            assert array is not None
            seen = slots.view_array(tape.header, self._base._slot, id(array), DTYPE_CODES[array.dtype])
            slot = checked(seen, "view", array.shape)
            self._tape, self._slot, self._version = tape, slot, self._base._version
            return self._slot
        array = self._array
        assert array is not None
        code = DTYPE_CODES.get(array.dtype)
        if code is None:
            raise UnsupportedError(
                f"dtype {array.dtype} cannot enter the tape; convert it with astype(float)"
            )
        flags = 0 if self._constant else DIFFERENTIABLE
        entered = checked(slots.enter_array(tape.header, id(array), code, flags), "tensor", array.shape)
        tape.owners[entered >> 32] = array
        self._tape, self._slot = tape, entered & 0xFFFFFFFF
        return self._slot

    def _renew(self) -> None:
        """Take a new slot after an in-place write has moved the memory to a new buffer."""
        base, tape = self._base, self._tape
        assert base is not None
        assert tape is not None
        # Both at once, of one version: another thread may write to the base at any time.
        version, slot = base._version, slots.view_again(tape.header, self._slot, base._slot)
        checked(slot, "view", self.shape)
        before, self._slot, self._version = self._slot, slot, version
        slots.drop(tape.header, before)

    def _describe(self) -> SlotDescription:
        assert self._tape is not None
        if self._slot < 0 and self._base is not None:  # a part of a Tensor of a finished recording
            return self._base._describe()
        return SlotDescription(self._tape.header, self._slot)

    # --- NumPy's view of the Tensor ---------------------------------------------------------------------------------

    def data_or_traced(self) -> np.ndarray:
        """Return the primal without recording a guard. While tracing, it is the value of the current run only."""
        if self._array is None:
            assert self._tape is not None
            self._array = show(self._tape, self._slot_on(self._tape), False)
            if self._array is None:
                raise EndedRecordingError(_ENDED)
        return self._array

    @property
    def data(self) -> np.ndarray:
        """The primal, as a NumPy array on the Tensor's own memory. What is done with it is not differentiated.

        ``t.data = values`` and ``t.data -= step`` write without a gradient, as ``t[...] = values`` does inside
        `no_grad`.

        Raises
        ------
        TracedValueError
            While a function is being recorded, or differentiated by a transform, for a value that depends on its
            arguments.

        Notes
        -----
        The tape does not see what is written into the array itself (``t.data[0] = v``, ``t.data -= step``): a graph
        that was recorded before, and that reads the old contents, gives wrong gradients after it. Write between
        `backward` and the next forward pass, or through the Tensor, whose old contents are kept. With
        ``TAPEGRAD_CHECK=1`` in the environment `backward` raises `ChangedValueError` instead.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([1.0, 2.0])
        >>> x.data
        array([1., 2.])
        """
        return self.escaped("data")

    @data.setter
    def data(self, values: Any) -> None:
        own = self.escaped("data")
        values = values.data if is_tensor(values) else real(values, "data", None)
        if is_same_memory(values, own):  # an in-place operator has written there already
            return
        with no_grad():
            self[...] = values

    def escaped(self, what: str) -> np.ndarray:
        """Return the primal for use as plain numbers; raise if that would lose a gradient."""
        if self._traced():
            self._refuse(what)
        self._check_run()
        self.check_escape(what)
        return self.data_or_traced()

    def check_escape(self, what: str | Wording, hint: Wording = nothing_to_add) -> None:
        """Raise if a transform is differentiating the Tensor, which would lose its gradient outside of the graph.

        `what` is the request in the error's sentence, `hint` its end.
        """
        mode = thread.mode
        if (mode.leaves or mode.outside) and mode.differentiate and self._is_differentiated(mode):
            raise _refused(what, _DIFFERENTIATED, hint)

    def _check_run(self) -> None:
        """Raise for floats that are those of one run of a recording that has ended.

        A custom op whose function closes over them would compute with them in each replay.
        """
        tape, mode = self._tape, thread.mode
        if tape is None or tape is EAGER or tape is mode.tape or tape is mode.hidden:
            return
        is_traced = tape.fields[ALL_LIVE] and self._describe().flags & TRACED
        if is_traced and self.dtype.kind in DIFFERENTIABLE_KINDS:
            raise EndedRecordingError(_ENDED)

    def _is_differentiated(self, mode: Mode) -> bool:
        """Return whether the Tensor depends on a leaf of a current gradient."""
        tape = self._tape
        if tape is None or self.constant:
            return False
        inputs = [leaf._slot for leaf in mode.leaves or mode.outside if leaf._tape is tape]
        return bool(inputs) and depends(tape, self._slot_on(tape), inputs)

    def _traced(self) -> bool:
        """Return whether the value depends on an argument of a current recording."""
        tape = self._tape
        if tape is None or tape is EAGER or not tape.fields[ALL_LIVE]:
            return False
        if not self._describe().flags & TRACED:
            return False
        mode = thread.mode
        if tape is not mode.tape and mode.recorder is not None:
            if mode.recorder.takes(self):
                return True
            raise OuterTensorError("a Tensor of one recording was used in another; pass it as an argument")
        return tape is mode.tape or tape is mode.hidden

    def _recorded(self) -> bool:
        """Return whether each replay of the current recording computes its value, or is given it by a loop."""
        tape, recorder = self._tape, thread.mode.recorder
        return tape is not None and recorder is not None and (tape is recorder or recorder.takes(self))

    def _refuse(self, what: str | Wording, hint: Wording = nothing_to_add) -> NoReturn:
        raise _refused(what, _RECORDED, hint)

    @property
    def constant(self) -> bool:
        """True if no gradient flows into this Tensor.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.tensor([1.0]).constant, tg.tensor([1]).constant
        (False, True)
        """
        if self._slot >= 0:
            return not self._describe().flags & DIFFERENTIABLE
        return self._constant if self._base is None else self._base.constant

    @property
    def base(self) -> "Tensor | None":
        """The Tensor that owns the memory of this view; None if it owns its memory.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.zeros(4)
        >>> x[1:].base is x
        True
        """
        return self._base

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the dimensions, as a tuple."""
        if self._array is not None:
            return self._array.shape
        tape: Any = self._tape
        extents: tuple[int, ...] = slots.shape_of(tape.header, self._slot)
        return extents

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        if self._array is not None:
            return self._array.dtype
        tape: Any = self._tape
        return DTYPES[slots.dtype_of(tape.header, self._slot)]

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The distances in memory between neighbours along each dimension, in bytes."""
        return self.data_or_traced().strides

    @property
    def flags(self) -> Any:
        """NumPy's flags of the memory: contiguous in C or Fortran order, writeable, aligned."""
        return self.data_or_traced().flags

    def __repr__(self) -> str:
        try:
            array = None if self._traced() else self.data_or_traced()
        except TracedValueError:
            array = None
        if array is None:
            return f"Tensor(shape={self.shape}, dtype={self.dtype}, being recorded)"
        text = np.array2string(array, separator=", ", prefix="Tensor(", suffix=")")
        own = array.dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
        shape = "" if array.size or array.ndim == 1 else f", shape={array.shape}"
        return f"Tensor({text})" if own and array.size else f"Tensor({text}{shape}, dtype={array.dtype})"


def _refused(what: str | Wording, reason: tuple[str, str], hint: Wording) -> TracedValueError:
    """Return the error for a request of a Tensor's contents; the thread stores it, for libraries may swallow it."""
    why, instead = reason

    def text(site: CallSite) -> str:
        return (what if isinstance(what, str) else what(site)) + why + site.place + instead + hint(site)

    error = refusal(TracedValueError, text)
    thread.refused = error.args[0]
    return error


def bind_methods(**methods: Any) -> None:
    """Bind methods and properties that modules above this one define to the Tensor."""
    for name, value in methods.items():
        setattr(Tensor, name, value)


def _new_handle(tape: Tape, slot: int) -> Tensor:
    tensor = _NEW(Tensor)
    tensor._tape = tape
    tensor._slot = slot
    tensor._array = None
    tensor._base = None
    tensor._version = 0
    return tensor


# The function that makes a Tensor on a slot: of Python, then of C, which takes a third of the time.
handles: list[Callable[[Tape, int], Tensor]] = [_new_handle]


# The function that computes an op, by its code, of one or two operands, in C; `None` where that is left to Python.
elementwise: list[Callable[..., Tensor | None]] = [lambda code, x, y=None: None]


def from_slot(tape: Tape, slot: int) -> Tensor:
    """Make a Tensor on a slot that carries a handle for it."""
    return handles[0](tape, slot)


def allocate(
    tape: Tape, dtype: np.dtype[Any], shape: tuple[int, ...], name: str, zeroed: bool = False
) -> Tensor:
    """Make a Tensor on a new buffer, of zeros or with contents that are not set."""
    slot = slots.allocate(tape.header, DTYPE_CODES[dtype], shape, zeroed)
    if slot < 0:
        raise_for(slot, name, [shape])
    if dtype.kind == "c":
        complex_seen[0] = True
    return from_slot(tape, slot)


def slot_seen_as(tape: Tape, slot: int, view: View, name: str) -> int:
    """Return a new slot on the buffer of another, with the geometry and the dtype of a view."""
    geometry = np.array((*view.shape, *view.strides), np.int64)
    made = slots.view_geometry(tape.header, slot, view.offset, id(geometry), DTYPE_CODES[view.dtype])
    return checked(made, name, view.shape)


def copy_of(array: np.ndarray, constant: bool) -> Tensor | None:
    """Make an eager Tensor with a copy of an array in C order; `None` for other orders."""
    flags = 0 if constant else DIFFERENTIABLE
    if array.dtype.kind == "c":
        complex_seen[0] = True
    slot = slots.copy_array(EAGER.header, id(array), DTYPE_CODES[array.dtype], flags)
    return handles[0](EAGER, slot) if slot >= 0 else None


def from_array(array: np.ndarray | np.generic, constant: bool) -> Tensor:
    """Make a Tensor on an array's memory, on no tape yet."""
    if isinstance(array, np.generic):  # NumPy returns scalars in place of 0-d arrays
        array = np.asarray(array)
    if array.dtype.kind == "c":
        complex_seen[0] = True
    if not is_plain(array):
        watch_now(array)
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    tensor = _NEW(Tensor)
    tensor._tape = None
    tensor._slot = -1
    tensor._array = array
    tensor._base = None
    tensor._constant = constant or array.dtype.kind not in DIFFERENTIABLE_KINDS
    tensor._version = 0
    recorder = thread.mode.recorder
    if recorder is not None:
        recorder.adopt(tensor)
    return tensor


def fixed_constant(array: np.ndarray) -> Tensor:
    """Make a constant on an array that is the caller's alone, and read-only from now on: no recording copies it."""
    array.flags.writeable = False
    return from_array(array, constant=True)


def slot_to_view(tensor: Tensor) -> int:
    """Return the slot of a Tensor that the engine can make views of: on the eager tape, or on its recording's tape."""
    tape = tensor._tape
    if tape is None or (tape is not EAGER and tape is not thread.mode.tape):
        return NONE
    return tensor._slot if tensor._base is None else tensor._slot_on(tape)


def view_from_slot(tensor: Tensor, slot: int) -> Tensor:
    """Make a Tensor on a slot that is a view of `tensor`'s memory."""
    base = tensor if tensor._base is None else tensor._base
    view = _NEW(Tensor)
    view._tape = tensor._tape
    view._slot = slot
    view._array = None
    view._base = base
    view._version = base._version
    return view


def view_of(tensor: Tensor, array: np.ndarray) -> Tensor:
    """Make a Tensor on a NumPy view of `tensor`'s memory."""
    base = tensor._base if tensor._base is not None else tensor
    view = _NEW(Tensor)
    view._array = array
    view._base = base
    view._constant = False
    view._tape, view._slot = None, -1
    tape = tensor._tape
    if tape is None and tensor.dtype.kind in DIFFERENTIABLE_KINDS:
        tensor._slot_on(EAGER)
        tape = EAGER
    if isinstance(tape, Recorder) and tape.is_over and _is_taken(tensor):
        view._tape = tape  # without a slot: it names a part of a Tensor that a loop's body has as an input
    elif tape is not None:
        seen = tape.widened(array) if isinstance(tape, Recorder) and array.dtype not in DTYPE_CODES else array
        slot = slots.view_array(tape.header, tensor._slot_on(tape), id(seen), DTYPE_CODES[seen.dtype])
        view._tape, view._slot = tape, checked(slot, "view", array.shape)
    view._version = base._version
    return view


def _is_taken(tensor: Tensor) -> bool:
    """Return whether a Tensor becomes an input of the recording that is under way."""
    recorder = thread.mode.recorder
    return recorder is not None and recorder.takes(tensor)


def geometry_of(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and the strides of a Tensor of floats; strides of dimensions of extent 1 are arbitrary."""
    array = tensor._array
    if array is not None:
        return array.shape, array.strides
    tape: Any = tensor._tape
    fields = memory.describe(tape.header, tensor._slot, False)
    end = D_GEOMETRY + fields[D_NDIM]
    return fields[D_GEOMETRY:end], fields[end:]


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """Return whether a value is a Tensor."""
    return isinstance(value, Tensor)
