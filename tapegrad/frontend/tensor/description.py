"""Descriptions of slots for Python."""

from typing import Any

import numpy as np

from tapegrad.engine.tape import memory
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.memory import D_DTYPE, D_FLAGS, D_GEOMETRY, D_NDIM, D_OFFSET
from tapegrad.engine.tape.tape import DTYPES


class SlotDescription:
    """Description of a slot: dtype, shape, strides, memory and flags."""

    __slots__ = ("fields",)

    def __init__(self, header: int, slot: int) -> None:
        self.fields: tuple[int, ...] = memory.describe(header, slot, False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.fields[D_GEOMETRY : D_GEOMETRY + self.fields[D_NDIM]]

    @property
    def view(self) -> View:
        """View of the slot's elements on its buffer."""
        fields = self.fields
        end = D_GEOMETRY + fields[D_NDIM]
        return View(fields[D_OFFSET], fields[D_GEOMETRY:end], fields[end:], self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.fields[D_DTYPE]]

    @property
    def flags(self) -> int:
        return self.fields[D_FLAGS]

    def __getitem__(self, field: int) -> int:
        return self.fields[field]
