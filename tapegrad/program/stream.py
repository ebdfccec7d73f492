"""Instruction streams: kernels with their bound frames, in the order of execution."""

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.kernels.fill import zero_fill

# A made-up address has the number of its range above this bit: 1 is the workspace, 2 binding 0, ...
RANGE_SHIFT = 48
WORKSPACE = 1 << RANGE_SHIFT


def binding_address(number: int) -> int:
    """The made-up address of a binding."""
    return (2 + number) << RANGE_SHIFT


class InstructionStream:
    """Bound instructions: each a kernel, its frame, and its parallel threshold."""

    def __init__(self, capacity: int) -> None:
        self.frames: np.ndarray = np.zeros((max(capacity, 1), word.WORDS), np.int64)
        self.kernels: list[int] = []
        self.thresholds: list[int] = []

    def __len__(self) -> int:
        return len(self.kernels)

    def next_frame(self) -> np.ndarray:
        """The frame of the instruction that is about to be added."""
        if len(self.kernels) == len(self.frames):
            self.frames = np.concatenate([self.frames, np.zeros_like(self.frames)])
        frame: np.ndarray = self.frames[len(self.kernels)]
        return frame

    def add(self, kernel: int, parallel_threshold: int) -> None:
        """Add an instruction whose frame has been filled."""
        self.kernels.append(kernel)
        self.thresholds.append(parallel_threshold)

    def fill(self, address: int, bytes_: int) -> None:
        """Add an instruction that sets memory to zero."""
        frame = self.next_frame()
        frame[:] = 0
        frame[word.COUNT], frame[word.Y_BAR] = bytes_, address
        self.add(kernel_table.address_of(zero_fill), 0)

    def trimmed(self) -> np.ndarray:
        """The frames that are in use."""
        return self.frames[: len(self.kernels)].copy()
