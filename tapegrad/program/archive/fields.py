"""Checked values of a file: type and range."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tapegrad.engine.runtime.operating_system import memory_bytes
from tapegrad.engine.tape.fields.layout import MAX_NDIM


class DamagedFileError(ValueError):
    """Raised for a file with impossible contents."""


def refuse_unless(holds: Any, said: str) -> None:
    """Raise `DamagedFileError` with a message unless a condition holds."""
    if not holds:
        raise DamagedFileError(said)


def field(record: Any, name: str, kind: type) -> Any:
    """Return a field of a record, of exactly this type."""
    refuse_unless(
        type(record) is dict and type(record.get(name)) is kind, f"there is no {kind.__name__} {name!r}"
    )
    return record[name]


def integers(values: Any, low: int, end: int, what: str) -> list[int]:
    """Check that a field is a list of integers in [low, end), and return it."""
    fits = type(values) is list and all(type(value) is int and low <= value < end for value in values)
    refuse_unless(fits, f"{what}: not a list of integers from {low} to {end}")
    return list(values)


def in_range(column: np.ndarray, low: int, end: int, what: str) -> None:
    """Hold a column of numbers against its bounds."""
    refuse_unless(
        ((column >= low) & (column < end)).all(), f"{what}: not all numbers are from {low} to {end}"
    )


def extents_of(values: Any, itemsize: int, what: str) -> tuple[int, ...]:
    """Return the shape of an array that fits into this machine's memory."""
    shape = integers(values, 0, most_bytes(), what)
    refuse_unless(len(shape) <= MAX_NDIM, f"{what}: {len(shape)} dimensions")
    check_size(shape, itemsize, what)
    return tuple(shape)


def check_size(shape: Sequence[int], itemsize: int, what: str) -> None:
    """Refuse what is larger than memory; extents of 0 do not make others right."""
    size = math.prod(max(1, extent) for extent in shape) * itemsize
    refuse_unless(size <= most_bytes(), f"{what}: shape {tuple(shape)} is larger than this machine's memory")


@cache
def most_bytes() -> int:
    """Return how much memory the machine has, in bytes."""
    return memory_bytes() or 1 << 36
