"""Derivatives of functions that begin and end with linear maps: products B C A, in which C alone varies.

A sum of small functions of gathered variables (energies of finite elements, branches of a network) is h(A x) with sums
behind: each row of its derivative has as many entries as a variable has neighbours, and takes as many sweeps; C takes
as many as a term has variables. Partial separability: Griewank, Toint (1982), "On the unconstrained optimization of
partially separable functions".
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.autodiff.sparsity.detection import Detection, flows
from tapegrad.autodiff.sparsity.pattern import places_of, rows_of
from tapegrad.ops import Op

_MAX_TERMS = 8  # products of entries, by the number of entries


class Cut(NamedTuple):
    """Slots at which a graph is cut in three: constant steps, all others, constant steps.

    Attributes
    ----------
    entrances, exits
        Where the middle begins, and where it ends: slots of whole buffers.
    first, middle, last
        Buffers that the steps of each part write.
    """

    entrances: list[int]
    exits: list[int]
    first: set[int]
    middle: set[int]
    last: set[int]


def cut_of(detection: Detection, inputs: Sequence[int], roots: Sequence[int]) -> Cut | None:
    """Cut a graph such that both ends are as long as they can be; `None` if it has none that can be cut off."""
    constant, varying = detection.constant.buffers, detection.varying.buffers
    first, leaves = constant - varying, {detection.geometry(slot).buffer for slot in inputs}
    steps = [
        _BufferStep.of(detection, step, own)
        for step, own in zip(detection.steps, detection.is_constant, strict=True)
    ]
    last = _last_part(steps, first)
    exits = dict.fromkeys(detection.geometry(slot).buffer for slot in roots)
    entrances = {buffer: None for buffer in exits if buffer in first}
    for step in steps:
        if step.result not in first:
            entrances |= {buffer: None for buffer in step.read if buffer in first}
        if step.result in last:
            exits |= step.read
    ends = [buffer for buffer in exits if buffer not in last and buffer in constant | varying]
    wholes = _whole_buffers(detection, [*inputs, *roots])
    if (
        not (last or entrances.keys() - leaves)
        or not leaves <= first
        or not wholes.keys() >= {*entrances, *ends}
    ):
        return None
    middle = {step.result for step in steps} - first - last
    return Cut([wholes[each] for each in entrances], [wholes[each] for each in ends], first, middle, last)


class _BufferStep(NamedTuple):
    """A step by its buffers: the one that it writes, and those of the operands that derivatives flow through."""

    result: int
    read: dict[int, None]
    is_constant: bool
    is_elementwise: bool

    @classmethod
    def of(cls, detection: Detection, step: SweepStep, is_constant: bool) -> "_BufferStep":
        read = (detection.geometry(slot).buffer for j, slot in enumerate(step.operands) if flows(step, j))
        return cls(
            detection.geometry(step.result).buffer, dict.fromkeys(read), is_constant, isinstance(step.row, Op)
        )


def _last_part(steps: Sequence[_BufferStep], first: set[int]) -> set[int]:
    """Return the buffers of constant steps at the end, but for sums of what the middle computes, element by element."""
    last, kept = set[int](), _kept(steps)
    for step in reversed(steps):
        if step.result in kept:
            kept |= step.read.keys()
        elif step.result not in first:
            last.add(step.result)
    writers = Counter(step.result for step in steps)
    for step in steps:
        if step.is_elementwise and writers[step.result] == 1 and step.read.keys().isdisjoint(first | last):
            last.discard(step.result)
    return last


def _kept(steps: Sequence[_BufferStep]) -> set[int]:
    """Return the buffers that vary by themselves, and those that are written to after they are read."""
    read, found = set[int](), set[int]()
    for step in steps:
        read |= step.read.keys()
        if not step.is_constant or step.result in read:
            found.add(step.result)
    return found


def _whole_buffers(detection: Detection, ends: Sequence[int]) -> dict[int, int]:
    """Return for buffers of real numbers a slot that shows all of it."""
    slots = [*ends, *(slot for step in detection.steps for slot in (step.result, *step.operands))]
    shown = {slot: detection.geometry(slot) for slot in slots}
    return {g.buffer: slot for slot, g in shown.items() if g.covers_buffer and g.dtype.kind == "f"}


def product_map(
    left: csr_array, middle: csr_array, right: csr_array, pattern: csr_array, is_lower: bool
) -> csr_array | None:
    """Return the matrix that makes the entries of a product from those of its middle factor.

    `None` if the product has too many terms, or more entries than the pattern; `is_lower` leaves those above the
    diagonal out.
    """
    by_column = left.tocsc()
    rows, columns = rows_of(middle.indptr), middle.indices
    beside, behind = np.diff(by_column.indptr)[rows], np.diff(right.indptr)[columns]
    counts = (beside * behind).astype(np.int64)
    if counts.sum() > _MAX_TERMS * max(middle.nnz, pattern.nnz):
        return None
    source = np.repeat(np.arange(middle.nnz), counts)
    number = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    i = by_column.indptr[rows[source]] + number // behind[source]
    j = right.indptr[columns[source]] + number % behind[source]
    row, column = by_column.indices[i].astype(np.int64), right.indices[j]
    known = places_of(pattern)
    keys, weights = row * pattern.shape[1] + column, by_column.data[i] * right.data[j]
    if is_lower:
        kept = column <= row
        keys, weights, source = keys[kept], weights[kept], source[kept]
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    if not np.array_equal(known[places], keys):
        return None
    return csr_array((weights, (places, source)), (pattern.nnz, middle.nnz))
