"""Arrays outside of a program (constants, closed-over arrays) under made-up addresses: each has a range of its own.

Fusion derives addresses from those in the frames: the next line of a table, the next of several tangents. On made-up
addresses a derived one says which array it belongs to, and at what offset, wherever the arrays really lie. So what
fusion does depends on nothing but the made-up frames, and can be kept for programs whose frames are the same.
"""

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tapegrad.engine.kernels.language import frame as field
from tapegrad.program.streams.stream import MADE_UP, InstructionStream

_Addresses = TypeVar("_Addresses", int, np.ndarray)
RANGE_SHIFT = 40  # a TiB for each array, in the negative addresses, which has room for eight million of them


def located(address: _Addresses) -> tuple[_Addresses, _Addresses]:
    """Return the numbers of the arrays that made-up addresses belong to, and the offsets in bytes."""
    return -1 - (address >> RANGE_SHIFT), address & ((1 << RANGE_SHIFT) - 1)


def range_of(number: int) -> tuple[int, int]:
    """Return the made-up addresses of an array: the first, and the one behind the last."""
    start = (-1 - number) << RANGE_SHIFT
    return start, start + (1 << RANGE_SHIFT)


class ExternalAddresses:
    """The arrays outside of a program, numbered in the order in which its frames name them.

    Parameters
    ----------
    streams
        The streams of the program.

    Attributes
    ----------
    streams
        The same with made-up addresses.
    addresses
        Where each array lies.
    """

    def __init__(self, streams: Sequence[InstructionStream]) -> None:
        frames = np.concatenate([stream.frames for stream in streams])
        operands = frames[:, field.X : field.Y_BAR + 1]
        given = (operands > 0) & (operands < MADE_UP)
        addresses, first, numbers = np.unique(operands[given], return_index=True, return_inverse=True)
        order = np.argsort(first)
        self.addresses: list[int] = addresses[order].tolist()
        if len(self.addresses) >> (63 - RANGE_SHIFT):
            raise OverflowError(f"a program reads {len(self.addresses)} arrays outside of it")
        operands[given] = (-1 - np.argsort(order)[numbers]) << RANGE_SHIFT
        ends = np.cumsum([len(stream) for stream in streams])[:-1]
        pairs = zip(streams, np.split(frames, ends), strict=True)
        self.streams = [_with_frames(stream, own) for stream, own in pairs]

    def real(self, addresses: np.ndarray) -> np.ndarray:
        """Return real addresses in place of those made up for arrays outside; others stay."""
        found, made_up = addresses.copy(), np.flatnonzero(addresses < 0)
        numbers, offsets = located(addresses[made_up])
        found[made_up] = np.array(self.addresses, np.int64)[numbers] + offsets
        return found


def _with_frames(stream: InstructionStream, frames: np.ndarray) -> InstructionStream:
    other = copy.copy(stream)
    other.frames = frames
    return other
