"""Streams: rows of kernels with their frames, in the order of execution."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.kernels.fill import zero_fill

# A made-up address has the number of its range above this bit: 1 is the workspace, 2 port 0, ...
PORT_SHIFT = 48
WORKSPACE = 1 << PORT_SHIFT


def binding_address(number: int) -> int:
    """The made-up address of a port."""
    return (2 + number) << PORT_SHIFT


@dataclass(frozen=True)
class Binding:
    """An array of the caller's that a program works on where it lies."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    row_bytes: int = 0  # in a Jacobian by rows, bytes from one row to the next

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class InstructionStream:
    """Rows of kernels with their frames."""

    def __init__(self, capacity: int) -> None:
        self.frames: np.ndarray = np.zeros((max(capacity, 1), word.WORDS), np.int64)
        self.kernels: list[int] = []
        self.grains: list[int] = []

    def __len__(self) -> int:
        return len(self.kernels)

    def next_frame(self) -> np.ndarray:
        """The frame of the row that is about to be added."""
        if len(self.kernels) == len(self.frames):
            self.frames = np.concatenate([self.frames, np.zeros_like(self.frames)])
        frame: np.ndarray = self.frames[len(self.kernels)]
        return frame

    def add(self, kernel: int, parallel_threshold: int) -> None:
        self.kernels.append(kernel)
        self.grains.append(parallel_threshold)

    def fill(self, address: int, bytes_: int) -> None:
        """Add a row that sets memory to zero."""
        frame = self.next_frame()
        frame[:] = 0
        frame[word.COUNT], frame[word.Y_BAR] = bytes_, address
        self.add(kernel_table.address_of(zero_fill), 0)

    def trimmed(self) -> np.ndarray:
        return self.frames[: len(self.kernels)].copy()
