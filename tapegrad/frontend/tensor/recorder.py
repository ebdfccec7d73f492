"""Interface of a recording tape for the frontend."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import Tape


class Recorder(Tape, ABC):
    """A tape whose instructions are replayed: what they depend on is captured, watched or guarded.

    Attributes
    ----------
    weak
        Slots of Python numbers among the arguments, and of what operators made of them: like Python's own numbers,
        they take the dtype of what they meet.
    is_over
        Whether the function has returned that was recorded.
    """

    __slots__ = ("is_over", "weak")
    weak: set[int]
    is_over: bool

    @abstractmethod
    def is_weak(self, value: Any) -> bool:
        """Return whether a value stands for a Python number."""

    # --- Tensors from outside and from arrays --------------------------------------------------------------------

    @abstractmethod
    def capture(self, tensor: Any) -> int:
        """Return the slot of a Tensor from outside: a constant whose memory each replay reads."""

    @abstractmethod
    def takes(self, tensor: Any) -> bool:
        """Return whether a Tensor that another recording computes becomes an input: in the body of a loop."""

    @abstractmethod
    def lift(self, tensor: Any) -> Any:
        """Return the input that such a Tensor is."""

    @abstractmethod
    def adopt(self, tensor: Any) -> None:
        """Register a Tensor that is made from an array while recording."""

    @abstractmethod
    def has_made(self, tensor: Any) -> bool:
        """Return whether a Tensor was made while recording, so that each replay repeats a write to it."""

    # --- integers that the engine widens --------------------------------------------------------------------------

    @abstractmethod
    def widened(self, array: np.ndarray) -> np.ndarray:
        """Return the part of the engine's int64 array that holds the elements of a view of narrow integers."""

    @abstractmethod
    def wraps(self, tensor: Any) -> bool:
        """Return whether the engine holds a Tensor's integers modulo 2**64 only."""

    @abstractmethod
    def ask_memory_order(self, what: str) -> None:
        """Note that results depend on the memory order of arguments; raise if they were not given in C order."""

    # --- guards ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def watch(self, array: np.ndarray) -> None:
        """Guard the contents of an array that are read once."""

    @abstractmethod
    def guard(self, code: int, dtype: int, slot: int, params: np.ndarray, outcome: bytes) -> None:
        """Guard the value in a slot."""

    @abstractmethod
    def guard_bytes(self, dtype: int, slot: int, array: np.ndarray) -> None:
        """Guard the bytes of a slot: they must equal those of a contiguous `array`."""

    @abstractmethod
    def guard_outcome(
        self, name: str, function: Callable[..., Any], operands: list[Any], outcome: Any
    ) -> None:
        """Guard a call: the function called `name` must return the same for the operands in each replay."""
