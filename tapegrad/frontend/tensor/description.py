"""Descriptions of slots for Python."""

from typing import Any

import numpy as np

from tapegrad.engine.tape import memory
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.memory import D_DTYPE, D_FLAGS, D_GEOMETRY, D_NDIM, D_OFFSET
from tapegrad.engine.tape.tape import DTYPES


class SlotDescription:
    """Description of a slot: dtype, shape, strides, memory and flags."""

    __slots__ = ("words",)

    def __init__(self, header: int, slot: int) -> None:
        self.words: tuple[int, ...] = memory.describe(header, slot, False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.words[D_GEOMETRY : D_GEOMETRY + self.words[D_NDIM]]

    @property
    def view(self) -> View:
        """View of the slot's elements on its buffer."""
        words = self.words
        end = D_GEOMETRY + words[D_NDIM]
        return View(words[D_OFFSET], words[D_GEOMETRY:end], words[end:], self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.words[D_DTYPE]]

    @property
    def flags(self) -> int:
        return self.words[D_FLAGS]

    def __getitem__(self, word: int) -> int:
        return self.words[word]
