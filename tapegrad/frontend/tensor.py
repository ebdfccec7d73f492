"""What a Tensor is made of: a slot on a tape, the memory that NumPy sees, and its place among views.

A Tensor enters a tape when it is first used there. A view remembers the Tensor that owns the memory, and the
number of in-place writes that this one had seen; after another write it takes a new slot on the new contents.
"""

import atexit
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.engine.dependence import depends
from tapegrad.engine.runtime import compiler
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.status import raise_for
from tapegrad.engine.sweep import export
from tapegrad.engine.tape import memory, slots
from tapegrad.engine.tape.layout import ALL_LIVE, DIFFERENTIABLE, DTYPE_COUNT, F32, F64, TRACED
from tapegrad.engine.tape.memory import (
    D_ADDRESS,
    D_BUFFER,
    D_DTYPE,
    D_EXTERNAL,
    D_FLAGS,
    D_GEOMETRY,
    D_NDIM,
    DESCRIPTION_WORDS,
)
from tapegrad.engine.tape.tape import DTYPE_CODES, DTYPES, Tape
from tapegrad.errors import OuterTensorError, TracedValueError, UnsupportedError
from tapegrad.frontend.attachments import last_tensor_goes, notes
from tapegrad.frontend.modes import EAGER, modes, no_grad, thread

if TYPE_CHECKING:
    from tapegrad.frontend.tensor_class import Tensor

_NEW = object.__new__
_ENTERING = lock()
_ENDED = (
    "this Tensor belongs to a recording that has ended, or is differentiated inside one: return it from the recorded"
    " function instead of keeping it; gradients inside a recording cannot depend on it"
)
_REFUSED = {
    "e": "float16",
    "F": "complex64",
    "c": "complex",
    "D": "complex128",
    "G": "clongdouble",
    "g": "longdouble",
}


# Slots that a leaf had before writes under `no_grad`, by its id: graphs recorded from those send gradients there.
formers: dict[int, list[int]] = {}


class _Memory(Uncopied):
    """Keeps a block of the engine's memory alive for the NumPy array that shows it."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, block: int, interface: dict[str, Any]) -> None:
        self._block = block
        self.__array_interface__ = interface

    def __del__(self) -> None:
        block = getattr(self, "_block", None)  # none if it was not made to the end
        if block is not None:
            memory.let_go(block)


class _Borrowed(Uncopied):
    """Keeps a NumPy array alive for another that shows a part of its memory."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: np.ndarray, interface: dict[str, Any]) -> None:
        self._owner = owner
        self.__array_interface__ = interface


def borrowed(owner: np.ndarray, address: int, bytes_: int) -> np.ndarray:
    """The bytes from an address inside an array's memory on, which is kept alive."""
    interface = {"data": (address, True), "shape": (bytes_,), "typestr": "|b1", "version": 3}
    return np.asarray(_Borrowed(owner, interface))


@atexit.register
def _stop_letting_go() -> None:
    """Leave what still lives to the end of the process: nothing can be compiled or imported for it any more."""
    setattr(slots, "drop", _nothing)  # noqa: B010
    setattr(memory, "let_go", _nothing)  # noqa: B010
    for kind in (Storage, _Memory):  # those of modules are let go when the names above are gone
        setattr(kind, "__del__", _nothing)  # noqa: B010


def _nothing(*_: int) -> int:
    return 0


class Description:
    """What the engine knows of a slot."""

    __slots__ = ("words",)

    def __init__(self, header: int, slot: int) -> None:
        self.words = np.empty(DESCRIPTION_WORDS, np.int64)
        memory.describe(header, slot, id(self.words), 0, 0)

    @property
    def shape(self) -> tuple[int, ...]:
        ndim = int(self.words[D_NDIM])
        return tuple(self.words[D_GEOMETRY : D_GEOMETRY + ndim].tolist())

    @property
    def strides(self) -> tuple[int, ...]:
        ndim = int(self.words[D_NDIM])
        return tuple(self.words[D_GEOMETRY + ndim : D_GEOMETRY + 2 * ndim].tolist())

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[int(self.words[D_DTYPE])]

    @property
    def flags(self) -> int:
        return int(self.words[D_FLAGS])

    def __getitem__(self, word: int) -> int:
        return int(self.words[word])


def show(tape: Tape, slot: int, cotangent: bool) -> np.ndarray | None:
    """A NumPy array on the primal or the cotangent of a slot; `None` if there is none."""
    kind = export.hold_to_show(tape.header, slot, cotangent)
    name = _SHOWN.get(kind)
    if name is not None:
        return getattr(export, name)(tape.header, slot, cotangent, _destructor())  # type: ignore[no-any-return]
    if kind == export.NOTHING:
        return None
    return _show_by_interface(tape, slot, cotangent)


# Entry points by what `hold_to_show` says: ndim and dtype code.
_SHOWN = {
    ndim * DTYPE_COUNT + code: f"show_{name}_{ndim}"
    for ndim in range(3)
    for code, name in ((F64, "f64"), (F32, "f32"))
}
_destructors: list[int] = []


def _destructor() -> int:
    """Address of the function that gives a shown block back."""
    if not _destructors:
        _destructors.append(compiler.compile_destructor(export.release_exported))
    return _destructors[0]


def _show_by_interface(tape: Tape, slot: int, cotangent: bool) -> np.ndarray:
    """An array by NumPy's array interface, on memory that is held for it or that another array owns."""
    words = np.empty(DESCRIPTION_WORDS, np.int64)
    block = memory.describe(tape.header, slot, id(words), cotangent, 0)
    values = words[: D_GEOMETRY + 2 * int(words[D_NDIM])].tolist()
    end = D_GEOMETRY + values[D_NDIM]
    owner = tape.owners[values[D_BUFFER]] if values[D_EXTERNAL] else None
    interface = {
        "data": (values[D_ADDRESS], owner is not None and not owner.flags.writeable),
        "shape": tuple(values[D_GEOMETRY:end]),
        "strides": tuple(values[end:]),
        "typestr": DTYPES[values[D_DTYPE]].str,
        "version": 3,
    }
    compiler.make_ready(memory.let_go)
    return np.asarray(_Memory(block, interface) if owner is None else _Borrowed(owner, interface))


def check_dtype(dtype: np.dtype[Any], what: str) -> None:
    """Refuse what is neither a supported float, nor an integer, nor a boolean."""
    if dtype.kind in "biu" or dtype.newbyteorder("=") in DTYPE_CODES:
        return
    name = _REFUSED.get(dtype.char, str(dtype))
    raise UnsupportedError(
        f"{what}: dtype {name} is not supported; use float64 or float32 (integers and booleans are constants)"
    )


def refuse_subclass(value: Any, what: str) -> None:
    """Refuse an array of a class with an arithmetic of its own, which would be lost: masked arrays, matrices."""
    kind = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray):
        return
    if kind.__mul__ is not np.ndarray.__mul__ or kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        raise UnsupportedError(
            f"{what}: {kind.__name__} computes in its own way (masks, units, matrix products), which tapegrad does not;"
            " pass a plain array, as np.asarray or .filled() gives, and what else it holds beside it"
        )


def plain(value: Any, what: str) -> np.ndarray:
    """A value as an array; see `refuse_subclass`."""
    refuse_subclass(value, what)
    return np.asarray(value)


def _is_plain(array: np.ndarray) -> bool:
    """Whether the engine can use the array's memory: aligned, and no two elements in one place."""
    if not array.flags.aligned or not array.dtype.isnative:
        return False
    if array.flags.c_contiguous:
        return True
    reach = 0
    for stride, extent in sorted(
        (abs(s), e) for s, e in zip(array.strides, array.shape, strict=True) if e > 1
    ):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def is_same_memory(array: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays show the same elements in the same places."""
    places = [(a.ctypes.data, a.shape, a.strides, a.dtype) for a in (array, other)]
    return places[0] == places[1]


def checked(slot: int, what: str, shape: tuple[int, ...]) -> int:
    """A slot that the engine has made; an exception if it is an error number."""
    if slot < 0:
        raise_for(slot, what, [shape])
    return slot


class Storage:
    """The parts of a Tensor that have to do with memory, dtype and the tape."""

    __slots__ = ("__weakref__", "_array", "_base", "_constant", "_slot", "_tape", "_version")

    _tape: Tape | None
    _slot: int
    _array: np.ndarray | None
    _base: "Tensor | None"
    _constant: bool
    _version: int

    def __del__(self) -> None:
        try:
            slot = self._slot
        except AttributeError:  # it was not made to the end
            return
        if slot >= 0:
            tape = self._tape
            if notes and tape is EAGER:
                last_tensor_goes(slot)
            if slots.drop(tape.header, slot):  # type: ignore[union-attr]
                tape.drop_orphans()  # type: ignore[union-attr]
            if formers:
                for old in formers.pop(id(self), ()):
                    slots.drop(EAGER.header, old)

    # --- the slot ----------------------------------------------------------------------------------------------

    def _slot_on(self, tape: Tape) -> int:
        """The slot by which `tape` knows this Tensor as it is now."""
        if self._tape is not tape:
            return self._enter(tape)
        if self._base is not None and self._version != self._base._version:
            self._renew()
        return self._slot

    def _enter(self, tape: Tape) -> int:
        """Take a slot on a tape. A recording captures Tensors from outside where they lie."""
        if tape is not EAGER:
            return tape.capture(self)  # type: ignore[attr-defined, no-any-return]
        if self._tape is not None and self._tape is not EAGER:
            raise TracedValueError(_ENDED)
        with _ENTERING:  # of two threads that use a Tensor for the first time, one enters it
            return self._slot if self._tape is tape else self._enter_eager(tape)

    def _enter_eager(self, tape: Tape) -> int:
        if self._base is not None:
            self._base._slot_on(tape)
            array = self._array
            assert array is not None
            slot = checked(slots.view_array(tape.header, self._base._slot, id(array)), "view", array.shape)
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
        """Take a new slot on the memory that an in-place write has moved to a new buffer."""
        base, tape = self._base, self._tape
        assert base is not None
        assert tape is not None
        slot = checked(slots.view_again(tape.header, self._slot, base._slot_on(tape)), "view", self.shape)
        before, self._slot, self._version = self._slot, slot, base._version
        slots.drop(tape.header, before)

    def _describe(self) -> Description:
        assert self._tape is not None
        return Description(self._tape.header, self._slot)

    # --- what NumPy sees ---------------------------------------------------------------------------------------

    def data_or_traced(self) -> np.ndarray:
        """The primal as a NumPy array, whoever asks; in a recording, what it happens to be this time."""
        if self._array is None:
            assert self._tape is not None
            self._array = show(self._tape, self._slot_on(self._tape), False)
            if self._array is None:
                raise TracedValueError(_ENDED)
        return self._array  # type: ignore[return-value]

    @property
    def data(self) -> np.ndarray:
        """The primal as a NumPy array on the Tensor's own memory. What is done with it is not differentiated.

        ``t.data = values`` and ``t.data -= step`` write without a gradient, as ``t[...] = values`` does inside
        `no_grad`.

        Raises
        ------
        TracedValueError
            While a function is being recorded, or differentiated by a transform, for a value that depends on its
            arguments.

        Notes
        -----
        What is written into the array itself (``t.data[0] = v``, ``t.data -= step``) the tape does not see: a graph
        that was recorded before, and that reads the old contents, gives wrong gradients after it. Write between
        `backward` and the next forward pass, or through the Tensor, whose old contents are kept. With
        ``TAPEGRAD_CHECK=1`` in the environment `backward` raises `ChangedValueError` instead.
        """
        return self.escaped("data")

    @data.setter
    def data(self, values: Any) -> None:
        own = self.escaped("data")
        values = values.data if is_tensor(values) else np.asarray(values)
        if is_same_memory(values, own):  # an in-place operator has written there already
            return
        with no_grad():
            self[...] = values  # type: ignore[index]

    def escaped(self, what: str) -> np.ndarray:
        """The primal for what asks for it as plain numbers; an error where this would lose a gradient."""
        if self._traced():
            self._refuse(what)
        self.check_escape(what)
        return self.data_or_traced()

    def check_escape(self, what: str) -> None:
        """Refuse to leave the graph with a value that a transform is differentiating."""
        if (thread.leaves or thread.outside) and thread.differentiate and self._is_differentiated():
            raise TracedValueError(
                f"{what} of a Tensor was asked for while a function of it is being differentiated: its gradient"
                " would be lost. Compute with the Tensor itself, select with where(), or write stop_gradient(t), or"
                " t.detach(), where a constant is meant"
            )

    def _is_differentiated(self) -> bool:
        """Whether it depends on a Tensor that a gradient which is being computed is taken by."""
        tape = self._tape
        if tape is None or self.constant:
            return False
        inputs = [leaf._slot for leaf in thread.leaves or thread.outside if leaf._tape is tape]
        return bool(inputs) and depends(tape, self._slot_on(tape), inputs)

    def _traced(self) -> bool:
        """Whether the value depends on an argument of a recording that is going on."""
        tape = self._tape
        if tape is None or tape is EAGER or not tape.words[ALL_LIVE]:
            return False
        if not self._describe().flags & TRACED:
            return False
        if tape is not thread.tape and thread.tape.recording:
            raise OuterTensorError("a Tensor of one recording was used in another; pass it as an argument")
        return tape is thread.tape or tape is thread.hidden

    def _recorded(self) -> bool:
        """Whether it is on the tape of a recording that is going on: each replay finds its value anew."""
        tape = self._tape
        return tape is not None and tape.recording and tape is thread.tape

    def _refuse(self, what: str) -> None:
        raise TracedValueError(
            f"{what} of a Tensor was asked for while its function is being recorded: a replay would go on with this"
            " one value for ever. Compute with the Tensor itself, branch with `if`, select with where(), or return it"
            " from the function"
        )

    @property
    def constant(self) -> bool:
        """Whether no gradient flows into this Tensor."""
        if self._slot >= 0:
            return not self._describe().flags & DIFFERENTIABLE
        return self._constant if self._base is None else self._base.constant

    @property
    def base(self) -> "Tensor | None":
        """The Tensor whose memory this one is a view of; `None` if it has its own."""
        return self._base

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the dimensions."""
        return self._array.shape if self._array is not None else self._describe().shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the elements."""
        return self._array.dtype if self._array is not None else self._describe().dtype

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize


class _Final:
    """Where the modules below the class learn of it: the class of every new Tensor."""

    tensor: type = Storage


def set_tensor_class(cls: type) -> None:
    """Tell the modules that make Tensors which class that is."""
    _Final.tensor = cls


def from_slot(tape: Tape, slot: int) -> "Tensor":
    """A Tensor on a slot that carries a handle for it."""
    tensor: Any = _NEW(_Final.tensor)
    tensor._tape = tape
    tensor._slot = slot
    tensor._array = None
    tensor._base = None
    tensor._version = 0
    return tensor  # type: ignore[no-any-return]


def copy_of(array: np.ndarray, constant: bool) -> "Tensor | None":
    """An eager Tensor with a copy of a float array, if that is in C order."""
    slot = slots.copy_array(
        EAGER.header, id(array), DTYPE_CODES[array.dtype], 0 if constant else DIFFERENTIABLE
    )
    return from_slot(EAGER, slot) if slot >= 0 else None


def from_array(array: np.ndarray, constant: bool) -> "Tensor":
    """A Tensor on an array's memory, on no tape yet."""
    if not _is_plain(array):
        if modes.active and thread.tape.recording:
            thread.tape.watch(array)  # type: ignore[attr-defined]
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    tensor: Any = _NEW(_Final.tensor)
    tensor._tape = None
    tensor._slot = -1
    tensor._array = array
    tensor._base = None
    tensor._constant = constant or array.dtype.kind != "f"
    tensor._version = 0
    if modes.active and thread.tape.recording:
        thread.tape.adopt(tensor)  # type: ignore[attr-defined]
    return tensor  # type: ignore[no-any-return]


def view_from_slot(base: "Tensor", slot: int) -> "Tensor":
    """A Tensor on a slot that is a view of an eager `base`'s memory."""
    view: Any = _NEW(_Final.tensor)
    view._tape = EAGER
    view._slot = slot
    view._array = None
    view._base = base
    view._version = base._version
    return view  # type: ignore[no-any-return]


def view_of(tensor: "Tensor", array: np.ndarray) -> "Tensor":
    """A Tensor on a NumPy view of `tensor`'s memory."""
    base = tensor._base if tensor._base is not None else tensor
    view: Any = _NEW(_Final.tensor)
    view._array = array
    view._base = base
    view._constant = False
    view._tape, view._slot = None, -1
    tape = tensor._tape
    if tape is None and not modes.active and tensor.dtype.kind == "f":
        tensor._slot_on(EAGER)
        tape = EAGER
    if tape is not None:
        seen = array if array.dtype in DTYPE_CODES or not tape.recording else tape.widened(array)  # type: ignore[attr-defined]
        slot = slots.view_array(tape.header, tensor._slot_on(tape), id(seen))
        view._slot = checked(slot, "view", array.shape)
        view._tape = tape
    view._version = base._version
    return view  # type: ignore[no-any-return]


def is_tensor(value: object) -> bool:
    """Whether a value is a Tensor."""
    return isinstance(value, Storage)
