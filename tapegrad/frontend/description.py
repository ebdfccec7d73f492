"""What the engine knows of a slot, as Python reads it."""

from typing import Any

import numpy as np

from tapegrad.engine.tape import memory
from tapegrad.engine.tape.memory import D_DTYPE, D_FLAGS, D_GEOMETRY, D_NDIM, D_OFFSET, DESCRIPTION_WORDS
from tapegrad.engine.tape.tape import DTYPES
from tapegrad.engine.tape.view import View


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
    def view(self) -> View:
        """Where its elements lie in its buffer."""
        ndim = int(self.words[D_NDIM])
        geometry = self.words[D_GEOMETRY : D_GEOMETRY + 2 * ndim].tolist()
        return View(int(self.words[D_OFFSET]), tuple(geometry[:ndim]), tuple(geometry[ndim:]), self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[int(self.words[D_DTYPE])]

    @property
    def flags(self) -> int:
        return int(self.words[D_FLAGS])

    def __getitem__(self, word: int) -> int:
        return int(self.words[word])
