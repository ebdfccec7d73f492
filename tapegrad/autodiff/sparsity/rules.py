"""Rules of dependence: which inputs each element of an instruction's result depends on, given those of its operands.

The names of the rules are those of `pattern` in the rows of the op table. A rule may say more than is true, never less:
where what an instruction does follows from values that a replay may change, it says all that can be. Propagating sets
of inputs: Griewank, Mitev (2002), "Detecting Jacobian sparsity patterns by Bayesian probing", section 2; Hill, Dalle
(2025), arXiv 2501.17737.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.autodiff.sparsity.sets import EMPTY, SetPool
from tapegrad.engine.tape.fields.layout import TRACED
from tapegrad.engine.tape.fields.view import View
from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.ops.params import Region
from tapegrad.ops.row import Row
from tapegrad.ops.structural.lines import CorrelateParams

_MAX_PREFIX_ENTRIES = 4_000_000  # of all sets of a cumulative sum
_ITEM = np.dtype(np.int64).itemsize


class Dependence:
    """An instruction as rules of dependence see it.

    Parameters
    ----------
    step
        The instruction.
    pool
        The sets.
    numbers
        For each operand the number of the set of each element, in its shape; `None` where nothing flows through it.
    memory
        The same for the buffer of each operand, in one dimension; complex numbers take two elements of it.
    """

    def __init__(
        self,
        step: SweepStep,
        pool: SetPool,
        numbers: Sequence[np.ndarray | None],
        memory: Sequence[np.ndarray | None],
    ) -> None:
        self._step = step
        self.pool = pool
        self.numbers = list(numbers)
        self._memory = list(memory)
        self.shape: tuple[int, ...] = step.view(-1).shape

    @property
    def row(self) -> Row:
        """The row of its op."""
        return self._step.row

    @property
    def params(self) -> Any:
        """Its parameters."""
        return self._step.params

    @property
    def given(self) -> list[np.ndarray]:
        """The numbers of the operands that something flows through."""
        return [each for each in self.numbers if each is not None]

    def kept_axes(self) -> tuple[list[int], list[int]]:
        """Return the axes of the result along which elements differ, and those that are summed over."""
        steps = self._step.view(-1).steps
        kept = [d for d, step in enumerate(steps) if step != 0 or self.shape[d] == 1]
        return kept, [d for d in range(len(steps)) if d not in kept]

    def region(self, operand: int, region: Region) -> View:
        """Return a region of the result, whose elements are as large as those of an operand."""
        return self._step.view(operand).as_strided(region.offset, region.extents, region.strides)

    def seen_by(self, operand: int, region: Region) -> np.ndarray:
        """Return the numbers of an operand in the shape of the region that it goes to."""
        memory, view = self._memory[operand], self._step.view(operand)
        if memory is None:
            return np.broadcast_to(np.int64(EMPTY), region.extents)
        parts = View(view.offset, region.extents, region.other_strides, part_dtype(view.dtype))
        return seen(memory, parts)

    def listed(self, operand: int) -> np.ndarray | None:
        """Return the integers of an operand in one dimension; `None` if a replay may change them."""
        step = self._step
        shown = show(step.tape, step.operands[operand], False) if is_untraced(step, operand) else None
        return None if shown is None else np.array(shown, np.int64).reshape(-1)

    def flat(self, operand: int) -> np.ndarray:
        """Return the numbers of an operand in one dimension; empty sets if nothing flows through it."""
        numbers = self.numbers[operand]
        return self._nothing(operand) if numbers is None else numbers.reshape(-1)

    def _nothing(self, operand: int) -> np.ndarray:
        return np.full(self._step.view(operand).size, EMPTY, np.int64)

    def rows(self, operand: int, length: int) -> np.ndarray:
        """Return the numbers of an operand as rows of a length."""
        numbers = self.flat(operand)
        return numbers.reshape(-1, length) if length else numbers.reshape(0, 0)


def is_untraced(step: SweepStep, operand: int) -> bool:
    """Return whether an operand is the same in all replays, or there are none."""
    return SlotDescription(step.tape.header, step.operands[operand]).flags & TRACED == 0


def seen(elements: np.ndarray, view: View) -> np.ndarray:
    """Return what a view shows of an array that has an int64 for each element of a buffer."""
    steps = [stride // view.itemsize * _ITEM for stride in view.strides]
    return np.lib.stride_tricks.as_strided(elements[view.offset // view.itemsize :], view.shape, steps)


Rule = Callable[[Dependence], np.ndarray]


def rule_of(row: Row) -> Rule:
    """Return the rule of a row: the one it names, or that of its kind."""
    return RULES[row.pattern or row.kind]


# --- elements and lines ----------------------------------------------------------------------------------------


def _elements(of: Dependence) -> np.ndarray:
    """Elements depend on those at their place."""
    return np.broadcast_to(functools.reduce(of.pool.unite, of.given), of.shape)


def _summed(of: Dependence) -> np.ndarray:
    """Elements depend on all that are summed."""
    kept, summed = of.kept_axes()
    numbers = np.broadcast_to(of.given[0], of.shape).transpose(kept + summed)
    lines = numbers.reshape(*(of.shape[d] for d in kept), -1) if numbers.size else numbers
    found = of.pool.unite_lines(lines) if numbers.size else np.full(lines.shape[: len(kept)], EMPTY, np.int64)
    whole = np.expand_dims(found, tuple(range(len(kept), len(of.shape))))
    return np.broadcast_to(whole.transpose(np.argsort(kept + summed)), of.shape)


def _lines(of: Dependence) -> np.ndarray:
    """Elements depend on their line."""
    lines = functools.reduce(of.pool.unite, [np.broadcast_to(each, of.shape) for each in of.given])
    return np.broadcast_to(of.pool.unite_lines(lines)[..., None], of.shape)


def _prefixes(of: Dependence) -> np.ndarray:
    """Elements depend on those of their line up to themselves; of long lines on all, for their sets fill the memory."""
    lines = functools.reduce(of.pool.unite, [np.broadcast_to(each, of.shape) for each in of.given]).copy()
    sizes = np.diff(of.pool.starts)[lines]
    if np.cumsum(sizes, axis=-1).sum() > _MAX_PREFIX_ENTRIES:
        return _lines(of)
    for k in range(1, of.shape[-1]):
        lines[..., k] = of.pool.unite(lines[..., k - 1], lines[..., k])
    return lines


def _products(of: Dependence) -> np.ndarray:
    """Elements depend on a row of the first matrix and a column of the second one."""
    left, right = of.numbers
    parts = []
    if left is not None:
        parts.append(of.pool.unite_lines(left)[..., :, None])
    if right is not None:
        parts.append(of.pool.unite_lines(np.swapaxes(right, -1, -2))[..., None, :])
    return np.broadcast_to(functools.reduce(of.pool.unite, parts), of.shape)


def _whole(of: Dependence) -> np.ndarray:
    """Elements depend on everything."""
    members = np.concatenate([each.reshape(-1) for each in of.given])
    return np.broadcast_to(of.pool.unite_lines(members), of.shape)


def _matrices(of: Dependence) -> np.ndarray:
    """Elements depend on the matrices of their place in the stack, or on one that the stack shares."""
    found = _of_stack(of)
    return np.repeat(found, math.prod(of.shape) // max(len(found), 1)).reshape(of.shape)


def _matrices_last(of: Dependence) -> np.ndarray:
    """Do the same for a result that has several stacks of numbers, one behind another."""
    found = _of_stack(of)
    return np.tile(found, math.prod(of.shape) // max(len(found), 1)).reshape(of.shape)


def _of_stack(of: Dependence) -> np.ndarray:
    """Return for each place in the stack what the matrices there depend on."""
    count = of.params.matrices
    parts = [
        of.pool.unite_lines(each.reshape(count, -1) if own else each.reshape(1, -1))
        for j, each in enumerate(of.numbers)
        if each is not None
        for own in [j not in of.row.shared_operands or bool(of.params.stride)]
    ]
    return np.broadcast_to(functools.reduce(of.pool.unite, parts), (count,))


def _transformed(of: Dependence) -> np.ndarray:
    """Elements of a Fourier transform depend on their line, and both parts of complex numbers on both."""
    params = of.params
    inner, lines = params.inner, params.lines * params.inner

    def in_lines(size: int) -> tuple[int, int, int, int]:
        parts = 1 if size == lines * params.length else 2
        return params.lines, size // max(lines * parts, 1), inner, parts

    source = of.given[0].reshape(in_lines(of.given[0].size)).transpose(0, 2, 1, 3)
    found = of.pool.unite_lines(source.reshape(params.lines, inner, -1))
    whole = in_lines(int(np.prod(of.shape)))
    return np.broadcast_to(found[:, None, :, None], whole).reshape(of.shape)


def _windows(of: Dependence) -> np.ndarray:
    """Elements depend on a window of the array, and on all weights."""
    parts = []
    if of.numbers[0] is not None:
        array = np.append(of.flat(0), EMPTY)
        parts.append(of.pool.unite_lines(array[_window_elements(of.params)]))
    if of.numbers[1] is not None:
        parts.append(of.pool.unite_lines(of.flat(1)))
    found = functools.reduce(of.pool.unite, parts)
    return np.broadcast_to(found, (math.prod(of.shape),)).reshape(of.shape)


def _window_elements(params: CorrelateParams) -> np.ndarray:
    """Return the number of the element for each sum and weight; the size of the array, where it is outside."""
    at, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), np.bool_)
    for sums, size, taps, offset in zip(params.sums, params.size, params.taps, params.offset, strict=True):
        place = np.arange(sums)[:, None] + np.arange(taps) + offset
        shape = (len(at) * sums, at.shape[1] * taps)
        at = (at[:, None, :, None] * size + place[None, :, None, :]).reshape(shape)
        within = (place >= 0) & (place < size)
        inside = (inside[:, None, :, None] & within[None, :, None, :]).reshape(shape)
    return np.where(inside, at, math.prod(params.size))


# --- rows by their number --------------------------------------------------------------------------------------


def _taken_rows(of: Dependence) -> np.ndarray:
    """Rows depend on those that are listed; on all rows, if the list may change."""
    length, listed = of.params.length, of.listed(1)
    rows = of.rows(0, length)
    if listed is None:
        return np.broadcast_to(of.pool.unite_lines(rows.T), (*_lead(of, length), length)).reshape(of.shape)
    found: np.ndarray = rows[listed].reshape(of.shape)
    return found


def _lead(of: Dependence, length: int) -> tuple[int]:
    return (int(np.prod(of.shape)) // max(length, 1),)


def _added_rows(of: Dependence) -> np.ndarray:
    """Rows depend on those that are listed with their number; on all, if the list may change."""
    count, length, listed = of.params.rows, of.params.length, of.listed(1)
    rows = of.rows(0, length)
    if listed is None:
        return np.broadcast_to(of.pool.unite_lines(rows.T), (count, length)).reshape(of.shape)
    places = np.where(listed < 0, listed + count, listed)[:, None] * length + np.arange(length)
    return of.pool.unite_listed(rows.reshape(-1), places.reshape(-1), count * length).reshape(of.shape)


def _written_rows(of: Dependence) -> np.ndarray:
    """Elements depend on what is written over them last; on that and the old ones, if the list may change."""
    length, listed = of.params.length, of.listed(2)
    values = of.flat(1) if of.params.value_stride else of.flat(1)[:1]
    old = of.rows(0, length)
    if listed is None:
        every = of.pool.unite_lines(values.reshape(-1, length).T if of.params.value_stride else values)
        return of.pool.unite(old, np.broadcast_to(every, old.shape)).reshape(of.shape)
    new = old.copy()
    new[listed] = values.reshape(-1, length)[: len(listed)] if of.params.value_stride else values
    return new.reshape(of.shape)


def _sparse(of: Dependence) -> np.ndarray:
    """Rows depend on those that the sparse matrix has entries for, and on the entries of their row."""
    params, transposed = of.params, of.row.name != "csr_matmul"
    count = params.columns if transposed else params.rows
    places = _places_of_entries(of)
    if places is None:
        rows = of.rows(0, params.width)
        every = of.pool.unite_lines(rows.T) if rows.size else np.full(params.width, EMPTY)
        if of.numbers[1] is not None:
            every = of.pool.unite(every, of.pool.unite_lines(of.flat(1)))
        return np.broadcast_to(every, (count, params.width)).reshape(of.shape)
    taken, into = places if transposed else places[::-1]
    members = of.rows(0, params.width)[taken] if params.width else np.zeros((len(taken), 0), np.int64)
    if of.numbers[1] is not None:
        members = of.pool.unite(members, of.flat(1)[:, None])
    groups = into[:, None] * params.width + np.arange(params.width)
    return of.pool.unite_listed(members.reshape(-1), groups.reshape(-1), count * params.width).reshape(
        of.shape
    )


def _sparse_outer(of: Dependence) -> np.ndarray:
    """Entries depend on the row of each factor that they are a product of."""
    params, places = of.params, _places_of_entries(of)
    if places is None:
        return _whole(of)
    found = [
        of.pool.unite_lines(of.flat(operand).reshape(extent, params.width))[taken]
        for operand, (extent, taken) in enumerate(zip((params.rows, params.columns), places, strict=True))
        if of.numbers[operand] is not None
    ]
    return np.broadcast_to(functools.reduce(of.pool.unite, found), of.shape)


def _places_of_entries(of: Dependence) -> tuple[np.ndarray, np.ndarray] | None:
    """Return row and column of each entry of a sparse matrix; `None` if a replay may change them."""
    lists, count = of.listed(2), of.params.rows
    if lists is None:
        return None
    return np.repeat(np.arange(count), np.diff(lists[: count + 1])), lists[count + 1 :]


# --- regions ---------------------------------------------------------------------------------------------------


def _written_region(of: Dependence) -> np.ndarray:
    """Elements depend on the old ones, or on what is written over them."""
    new, region = of.flat(0).copy(), of.params.region
    if 0 not in region.extents:
        place = seen(new, of.region(0, region))
        place[...] = EMPTY
        _unite_into(of.pool, place, of.seen_by(1, region))
    return new.reshape(of.shape)


def _embedded(of: Dependence) -> np.ndarray:
    """Elements depend on those that are added there."""
    found = np.full(of.params.total, EMPTY, np.int64)
    for operand, region in enumerate(of.params.regions):
        if 0 not in region.extents and of.numbers[operand] is not None:
            _unite_into(of.pool, seen(found, of.region(operand, region)), of.seen_by(operand, region))
    return found.reshape(of.shape)


def _unite_into(pool: SetPool, region: np.ndarray, numbers: np.ndarray) -> None:
    """Unite sets into a strided array; where that shows an element several times, with all that come there."""
    old = region.copy()
    region[...] = np.arange(region.size).reshape(region.shape)
    # Each element has the number of one of its places, which is the only one unless the region overlaps itself
    places, members = region.reshape(-1), numbers.reshape(-1)
    if not np.array_equal(places, np.arange(region.size)):
        numbers = pool.unite_listed(members, places, region.size)[places].reshape(region.shape)
    region[...] = pool.unite(old, numbers)


RULES: dict[str, Rule] = {
    "elementwise": _elements,
    "elements": _elements,
    "broadcast_sum": _summed,
    "reduction": _summed,
    "scan": _lines,
    "prefixes": _prefixes,
    "matmul": _products,
    "matrices": _matrices,
    "matrices_last": _matrices_last,
    "transformed": _transformed,
    "windows": _windows,
    "taken_rows": _taken_rows,
    "added_rows": _added_rows,
    "written_rows": _written_rows,
    "written_region": _written_region,
    "embedded": _embedded,
    "sparse": _sparse,
    "sparse_outer": _sparse_outer,
    "whole": _whole,
}
