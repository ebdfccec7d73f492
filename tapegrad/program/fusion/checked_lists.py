"""Unchanging lists of row numbers, which are checked when a program is made, and not at each replay.

An array does not change if it is read-only, owns its memory, and is known to the recording alone: views that are made
of it later are read-only, too, and stay so.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from tapegrad.engine.codegen.segments.segment import CHECK
from tapegrad.engine.kernels.language.segment_frame import field_of
from tapegrad.frontend.tensor.array_checks import UNSHARED, can_change, reference_counts
from tapegrad.program.fusion.grouping.segments import CHECKED, BoundSegment
from tapegrad.program.fusion.outside import ExternalAddresses


def unchanging_lists(owners: Collection[object]) -> dict[int, np.ndarray]:
    """Return the unchanging lists among the arrays that a recording keeps, by address."""
    counts = reference_counts(owners)
    return lists_among(each for each, count in zip(owners, counts, strict=True) if count <= UNSHARED)


def lists_among(arrays: Iterable[object]) -> dict[int, np.ndarray]:
    """Return the lists that cannot change among arrays that no other object has, by address."""
    found = [each for each in arrays if isinstance(each, np.ndarray) and each.dtype == np.int64]
    return {each.ctypes.data: each for each in found if not can_change(each)}


def without_checks(
    units: list[int | BoundSegment], outside: ExternalAddresses, unchanging: Mapping[int, np.ndarray]
) -> list[int | BoundSegment]:
    """Return the units of a stream without those that check unchanging lists in which all rows exist."""
    if not unchanging:
        return units
    return [each for each in units if isinstance(each, int) or not _holds_always(each, outside, unchanging)]


def _holds_always(
    unit: BoundSegment, outside: ExternalAddresses, unchanging: Mapping[int, np.ndarray]
) -> bool:
    """Return whether a segment checks an unchanging list in which all rows exist."""
    (row, *_), line = unit.segment.rows, unit.segment.lines[-1]
    if row.kind != CHECK or line.taken is None:
        return False
    count, listed, first, end = (unit.fields[field_of(number)] for number in CHECKED)
    numbers = unchanging.get(int(outside.real(np.array([listed]))[0]))
    if numbers is None or count > numbers.size:
        return False
    rows = (end - first) // line.taken.step + 1
    own = numbers.reshape(-1)[:count]
    return bool(((own >= -rows) & (own < rows)).all())
