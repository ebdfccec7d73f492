"""The tape of a function that is recorded for replay."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import loader
from tapegrad.errors import TracedValueError, UnsupportedError
from tapegrad.storage import Storage, from_slot
from tapegrad.sweep import eager
from tapegrad.sweep.program import hold
from tapegrad.tape.layout import DIFFERENTIABLE, TRACED
from tapegrad.tape.tape import DTYPE_CODES, Tape

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor


class Recording(Tape):
    """A tape on which everything is appended and nothing is forgotten.

    Attributes
    ----------
    inputs
        Slots of the arguments, in order.
    expected
        What Python has seen of recorded integers and booleans, byte for byte; guards compare with it.
    outcomes
        What each guard has seen, in order: two recordings of a function part where these do.
    """

    __slots__ = ("_captured", "expected", "inputs", "outcomes")
    recording = True

    def __init__(self) -> None:
        super().__init__(loader.tables(), all_live=True)
        self.inputs: list[int] = []
        self.expected: list[np.ndarray] = []
        self.outcomes: list[bytes] = []
        self._captured: dict[int, tuple[Any, int]] = {}

    def _enter_array(self, array: np.ndarray, flags: int) -> int:
        code = DTYPE_CODES.get(array.dtype)
        if code is None:
            raise UnsupportedError(f"dtype {array.dtype} in a recorded function: use float64, float32, int64 or bool")
        entered = eager.enter_array(self.header, id(array), code, flags)
        if entered < 0:
            raise ValueError(f"an array of shape {array.shape} has too many dimensions")
        slot, buffer = entered & 0xFFFFFFFF, entered >> 32
        self.owners[buffer] = array
        return int(slot)

    def add_input(self, array: np.ndarray) -> "Tensor":
        """An argument of the function as a Tensor."""
        flags = TRACED | (DIFFERENTIABLE if array.dtype.kind == "f" else 0)
        slot = self._enter_array(array, flags)
        hold(self.header, slot)
        self.inputs.append(slot)
        tensor = from_slot(self, slot)
        tensor._array = array
        tensor._version = 0
        return tensor

    def adopt(self, tensor: Storage) -> None:
        """Take in a Tensor that is made from an array while recording."""
        assert tensor._array is not None
        tensor._slot = self._enter_array(tensor._array, 0 if tensor._constant else DIFFERENTIABLE)
        tensor._tape = self

    def capture(self, tensor: Storage) -> int:
        """The slot of a Tensor from outside: a constant that is read where it lies at each replay."""
        known = self._captured.get(id(tensor))
        if known is not None:
            return known[1]
        if tensor._tape is not None and tensor._tape.recording:
            raise TracedValueError("a Tensor of one recording was used in another; pass it as an argument")
        array = tensor.data_or_traced()
        slot = self._enter_array(array, 0)
        hold(self.header, slot)
        self._captured[id(tensor)] = (tensor, slot)
        return slot
