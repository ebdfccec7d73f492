"""Entries of a sparse derivative as one Tensor: sweeps that several columns or rows share, then a choice of elements.

Entries that are the same at all inputs are computed here, once; replays compute the others. Where that saves sweeps,
the two have plans of their own: of a discretised Laplacian plus a reaction, replays compute the reaction's diagonal.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse
from numpy.linalg import LinAlgError
from scipy.sparse import csr_array

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.custom.tensor_rules import all_have_forward_rules
from tapegrad.autodiff.graph_view import listed, tensor_on
from tapegrad.autodiff.regions import materialize
from tapegrad.autodiff.sparsity.certificate import (
    ReferenceDerivative,
    certify,
    certify_zeros,
    size_of_terms,
    tangents,
)
from tapegrad.autodiff.sparsity.detection import Dependences, Detection, masks
from tapegrad.autodiff.sparsity.linear_ends import cut_of, product_map
from tapegrad.autodiff.sparsity.pattern import ones_at, places_of, rows_of, starts_of
from tapegrad.autodiff.sparsity.plan import DENSE_SHARE, SweepPlan, plan_of
from tapegrad.autodiff.sparsity.rules import seen
from tapegrad.autodiff.sparsity.sweeps import Along, sweep
from tapegrad.autodiff.tensor_sweeps import reverse
from tapegrad.engine.inspection.tape_view import epsilon_of, read_tape
from tapegrad.engine.tape.fields.layout import CALLS
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import DensePatternError
from tapegrad.frontend.functions.products.sparse import csr_product
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.indexing.indexing import gather
from tapegrad.frontend.recording.shape import in_c_order, reshape
from tapegrad.frontend.tensor.tensor import Tensor, fixed_constant, from_array, is_tensor
from tapegrad.ops.structural.indexing import CsrMatmulParams

Pull = Callable[[list[tuple[Tensor, np.ndarray]]], list[Tensor]]
Symmetric = bool | Literal["lower"]
_FEW_SWEEPS = 4  # which no product is to spare
_WORTHWHILE = 2 / 3  # of the sweeps that a product takes at most: assembling it takes time as well
_MAX_DENSE_EXTENT = 4095  # rows or columns
_MAX_CONSTANT = 64  # sweeps for entries that are the same at all inputs


class _Apart(NamedTuple):
    """Patterns of constant and of varying entries, and their plans."""

    fixed: csr_array
    varying: csr_array
    of_fixed: SweepPlan
    of_varying: SweepPlan


class CompressedDerivative:
    """Derivatives of some results by some leaves, all in one sparse matrix, and how to compute its entries.

    Parameters
    ----------
    tape
        The tape.
    leaves, results
        What is differentiated by, and what is differentiated. Results that depend on no leaf may be arrays.
    symmetric
        Whether the results are the gradient by the leaves; "lower" for the entries of the lower triangle alone.
    mode
        As of `plan_of`.
    known
        The pattern, or `None` to detect it.
    within
        Buffers whose steps are differentiated through, of a part that `sweep` is called for; `None` for all.

    Attributes
    ----------
    pattern
        The pattern: a row for each element of the results, a column for each of the leaves.
    plan
        The sweeps of replays.
    """

    def __init__(
        self,
        tape: Tape,
        leaves: Sequence[Tensor],
        results: Sequence[Any],
        symmetric: Symmetric,
        mode: str,
        known: csr_array | None,
        within: set[int] | None = None,
    ) -> None:
        self._tape = tape
        self._leaves = list(leaves)
        self._results: list[Any] = [y if is_tensor(y) else np.asarray(y) for y in results]
        self._is_symmetric, self._is_lower = bool(symmetric), symmetric == "lower"
        self._is_given, self._within = known is not None, within
        self._columns = np.cumsum([0, *(leaf.size for leaf in leaves)])
        self._rows = np.cumsum([0, *(y.size for y in self._results)])
        self._inputs = [x._slot for x in self._leaves]
        self._roots = [y._slot_on(tape) for y in results if _is_reached(y)]
        # What the sweeps of replays have found, and the place of each element among the results of all of them
        self._pieces: list[Tensor] = []
        self._places: list[np.ndarray] = []
        self._middle: CompressedDerivative | None = None  # the part of a product that varies
        self._of_middle: csr_array | None = None  # the entries of the product, by those of that part
        with listed(tape, self._roots, self._inputs, within) as instructions:
            self._detection = Detection(tape, instructions, self._inputs, known is None)
            self.pattern = self._pattern(self._detection.all_of) if known is None else known
            if symmetric:
                self.pattern = _symmetric(self.pattern)
            if within is None:
                self.prepare(mode)
                if known is not None or mode == "reverse" or not self._factor():
                    self.sweep()

    def prepare(self, mode: str) -> None:
        """Plan the sweeps."""
        self.plan: SweepPlan = self._planned(self.pattern, self._is_symmetric, mode)
        if self._is_lower:
            self.pattern, self.plan = _lower(self.pattern, self.plan)
        # The entries that are the same at all inputs, and for each entry its place among the results of sweeps
        self._fixed, self._sources = np.zeros(self.pattern.nnz), self.plan.sources
        may_split = not (self._is_given or self._is_symmetric or self.plan.reverse)
        self._apart = self._planned_apart() if may_split and self._roots else None

    def _pattern(self, numbers_of: Callable[[int], np.ndarray | None]) -> csr_array:
        """Return the pattern of what `numbers_of` says of slots."""
        pool, parts = self._detection.pool, []
        for y in self._results:
            found = numbers_of(y._slot_on(self._tape)) if _is_reached(y) else None
            parts.append(np.zeros(y.size, np.int64) if found is None else found.reshape(-1))
        sets = np.concatenate([np.zeros(0, np.int64), *parts])
        counts = np.diff(pool.starts)[sets]
        starts = starts_of(counts)
        _refuse_dense(int(starts[-1]), self._shape)
        places = np.arange(starts[-1]) + np.repeat(pool.starts[sets] - starts[:-1], counts)
        made = ones_at(pool.entries[places], starts, self._shape)
        made.sort_indices()
        return made

    @property
    def _shape(self) -> tuple[int, int]:
        return int(self._rows[-1]), int(self._columns[-1])

    def _planned(self, pattern: csr_array, symmetric: bool, mode: str) -> SweepPlan:
        """Return a plan whose sources are elements of memory: results may be views that repeat elements."""
        plan, count = plan_of(pattern, symmetric, mode), self._shape[0]
        read, geometries = np.arange(count), Accumulator(self._tape)
        for y, first in self._reached():
            geometry = geometries.geometry(y._slot_on(self._tape))
            if not geometry.covers_buffer:
                places = self._places_in(geometry, y, 0, first)
                read[first : first + y.size] = seen(places, geometry.view).reshape(-1)
        sources = plan.sources.copy()
        pushed = sources < plan.forward * count
        row = sources[pushed] % max(count, 1)
        sources[pushed] += read[row] - row
        return plan._replace(sources=sources)

    # --- products ------------------------------------------------------------------------------------------------

    def _factor(self) -> bool:
        """Take constant steps at both ends of the graph for factors; return whether that saves replays sweeps."""
        cut = cut_of(self._detection, self._inputs, self._roots) if self._sweeps > _FEW_SWEEPS else None
        if cut is None:
            return False
        entrances, exits = ([tensor_on(self._tape, slot) for slot in slots] for slots in cut[:2])
        try:
            middle = self._part(entrances, exits, cut.middle)
            ends = self._part(exits, self._results, cut.last), self._part(self._leaves, entrances, cut.first)
        except DensePatternError:
            return False
        few = middle.prepared("forward", _WORTHWHILE * self._sweeps) and all(
            each.prepared("auto") for each in ends
        )
        if few:
            left, right = (each.matrix() for each in ends)
            self._of_middle = product_map(left, middle.pattern, right, self.pattern, self._is_lower)
        if self._of_middle is None:
            return False
        middle.sweep()
        varying = np.zeros(middle.pattern.nnz, np.bool_)  # the others are computed here, once
        varying[_numbers_in(middle.pattern, middle._pattern(middle._detection.varying.of))] = True
        self._fixed = self._of_middle @ np.where(varying, 0.0, middle._fixed)
        self._of_middle = self._of_middle[:, varying]
        middle._fixed, middle._sources = middle._fixed[varying], middle._sources[varying]
        self._middle = middle
        return True

    @property
    def _sweeps(self) -> float:
        """Cost of a replay, in forward sweeps."""
        return (self._apart.of_varying if self._apart else self.plan).cost

    def _part(
        self, leaves: Sequence[Tensor], results: Sequence[Any], within: set[int]
    ) -> "CompressedDerivative":
        return CompressedDerivative(self._tape, leaves, results, False, "", None, within)

    def prepared(self, mode: str, most: float = _MAX_CONSTANT) -> bool:
        """Plan the sweeps of a part if there are at most so many; return whether there are."""
        lengths = [np.diff(self.pattern.indptr)]
        if mode == "auto":
            lengths.append(np.bincount(self.pattern.indices))
        if min(each.max(initial=0) for each in lengths) > most:  # each takes as many sweeps as it is long
            return False
        self.prepare(mode)
        return self._sweeps <= most

    def matrix(self) -> csr_array:
        """Return the derivative of a part whose steps are all constant."""
        self.sweep()
        entries = self._computed(self._pull_part).data_or_traced()
        return csr_array((entries, self.pattern.indices, self.pattern.indptr), self._shape)

    def _pull_part(self, seeds: list[tuple[Tensor, np.ndarray]]) -> list[Tensor]:
        """Return the cotangents of the leaves of a part, given pairs of results and their cotangents."""
        roots = [(y._slot_on(self._tape), fixed_constant(y_bar)) for y, y_bar in seeds]
        found = zip(reverse(self._tape, roots, self._inputs, self._within), self._leaves, strict=True)
        return [
            from_array(np.zeros(x.shape, x.dtype), constant=True) if bar is None else bar for bar, x in found
        ]

    # --- sweeps --------------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Sweep forwards along all colours, while the graph is listed."""
        if self._apart:
            self._push_apart(*self._apart)
        elif self._roots:
            self._push(self.plan, np.arange(self.pattern.nnz))

    def _push(self, plan: SweepPlan, fixed: np.ndarray | None, varying: bool = True) -> None:
        """Sweep forwards along the colours of a plan.

        Parameters
        ----------
        fixed
            Numbers of the plan's entries in the pattern, to find the constant ones; `None` to leave them.
        varying
            Whether the varying entries are found.
        """
        detection, of_sets = self._detection, masks(self._detection.pool, plan.columns)
        directions = [self._direction(plan.columns == c) for c in range(plan.forward)]
        reached = detection.colours_read(of_sets)
        swept = sweep(detection, self._inputs, directions, reached, self._roots, not varying)
        for c, along in enumerate(swept):
            if fixed is not None:
                self._read_constants(along.constant, c, plan, fixed)
            if varying:
                self._add_varying(along, c, of_sets)

    def _planned_apart(self) -> "_Apart | None":
        """Return plans for constant and for varying entries, if that saves replays sweeps."""
        kinds = self._detection.constant, self._detection.varying
        fixed, varying = (self._pattern(each.of) for each in kinds)
        plans = [self._planned(each, False, "forward") for each in (fixed, varying)]
        found = _Apart(fixed, varying, *plans)
        saves = found.of_varying.forward < self.plan.forward and found.of_fixed.forward <= _MAX_CONSTANT
        return found if saves else None

    def _push_apart(
        self, fixed: csr_array, varying: csr_array, of_fixed: SweepPlan, of_varying: SweepPlan
    ) -> None:
        """Sweep for constant and for varying entries apart."""
        self._push(of_fixed, _numbers_in(self.pattern, fixed), varying=False)
        self.plan = of_varying
        self._sources = np.full(self.pattern.nnz, -1)
        self._sources[_numbers_in(self.pattern, varying)] = of_varying.sources
        self._push(of_varying, None)

    def _direction(self, chosen: np.ndarray) -> list[Tensor | None]:
        """Return the tangents of the leaves along the sum of some columns."""
        parts = np.split(chosen, self._columns[1:-1])
        return [
            fixed_constant(np.array(part.reshape(leaf.shape), leaf.dtype)) if part.any() else None
            for part, leaf in zip(parts, self._leaves, strict=True)
        ]

    def _places_in(self, geometry: Any, y: Tensor, sweep_: int, first: int) -> np.ndarray:
        """Return by element of the buffer of a result its place among the results of all sweeps, -1 for none."""
        inside = np.full(geometry.buffer_size, -1)
        begin = sweep_ * self._shape[0] + first
        seen(inside, geometry.view)[...] = np.arange(begin, begin + y.size).reshape(y.shape)
        return inside

    def _read_constants(
        self, tangents: Accumulator, sweep_: int, plan: SweepPlan, numbers: np.ndarray
    ) -> None:
        """Add what a sweep has found of the constant entries, those with some numbers."""
        count = self._shape[0]
        values = np.zeros(count)
        for y, first in self._reached():
            slot = y._slot_on(self._tape)
            places = self._places_in(tangents.geometry(slot), y, 0, first)
            for view, value in tangents.regions(slot):
                if is_tensor(value) or value != 0.0:
                    shown = seen(places, view).reshape(-1)
                    found = materialize(value, view.shape, view.dtype).data_or_traced().reshape(-1)
                    added = np.bincount(shown + 1, found, count + 1)
                    values += added[1:]  # what has the place -1 is left out
        begin = sweep_ * count
        of_sweep = np.flatnonzero((plan.sources >= begin) & (plan.sources < begin + count))
        self._fixed[numbers[of_sweep]] += values[plan.sources[of_sweep] - begin]

    def _add_varying(self, along: Along, sweep_: int, of_sets: np.ndarray) -> None:
        """Add the varying tangents of the results along a sweep to the pieces, in the parts that they have."""
        tangents, varying = along.varying, self._detection.varying
        for y, first in self._reached():
            slot = y._slot_on(self._tape)
            geometry = tangents.geometry(slot)
            inside = self._places_in(geometry, y, sweep_, first)
            for view, value in tangents.regions(slot):
                if is_tensor(value) or value != 0.0:
                    own = _depends(varying, geometry.buffer, view, of_sets, sweep_)
                    places = np.where(own, seen(inside, view), -1)
                    self._add(materialize(value, view.shape, view.dtype), places)

    def _reached(self) -> list[tuple[Tensor, int]]:
        """Return the results that depend on a leaf, each with its first row."""
        firsts = self._rows[:-1].tolist()
        return [(y, first) for y, first in zip(self._results, firsts, strict=True) if _is_reached(y)]

    def _add(self, value: Tensor, places: np.ndarray) -> None:
        """Add a Tensor to the pieces; its elements have these places among the results of all sweeps, or -1."""
        self._pieces.append(value)
        self._places.append(places.reshape(-1))

    # --- entries -------------------------------------------------------------------------------------------------

    def entries(self, pull: Pull, name: str) -> Tensor:
        """Return all entries, in the order of the pattern.

        Parameters
        ----------
        pull
            Returns the cotangents of the leaves, given pairs of results and their cotangents.
        name
            Which derivative of what, for messages.

        Raises
        ------
        CertificateError
            If a product with a random vector shows that entries are wrong.
        ValueError
            If that is so of a pattern that the user has given.
        """
        entries = self._computed(pull)
        if self._roots:
            self._certify(entries.data_or_traced(), pull, name)
        return entries

    def _computed(self, pull: Pull) -> Tensor:
        for r in range(self.plan.reverse if self._middle is None else 0):
            first = self.plan.forward * self._shape[0] + r * self._shape[1]
            for x_bar, begin in zip(self._pulled(pull, r), self._columns.tolist(), strict=False):
                self._add(x_bar, np.arange(first + begin, first + begin + x_bar.size))
        varying = self._chosen() if self._middle is None else self._product(self._middle._computed(pull))
        if varying is None:
            return from_array(self._fixed, constant=True)
        return varying + self._fixed.astype(varying.dtype) if self._fixed.any() else varying

    def _product(self, entries: Tensor) -> Tensor:
        """Return the entries of the product, given those of its middle factor."""
        product: Any = self._of_middle
        rows, columns = product.shape
        lists = fixed_constant(np.concatenate([product.indptr, product.indices], dtype=np.int64))
        weights = fixed_constant(product.data.astype(entries.dtype))
        return csr_product(entries, weights, lists, CsrMatmulParams(rows, columns, 1))

    def _pulled(self, pull: Pull, sweep_: int) -> list[Any]:
        """Return the cotangents of the leaves for the sum of some rows."""
        parts = np.split(self.plan.rows == sweep_, self._rows[1:-1])
        seeds = [
            (y, part.astype(y.dtype).reshape(y.shape))
            for y, part in zip(self._results, parts, strict=True)
            if _is_reached(y) and part.any()
        ]
        return pull(seeds)

    def _chosen(self) -> Tensor | None:
        """Return for each entry the sum of those elements of the pieces that have its place; `None` for zeros."""
        count, sources = len(self._sources), self._sources
        places = np.concatenate([np.zeros(0, np.int64), *self._places])
        order, begins, counts = _by_place(places, int(sources.max(initial=-1)) + 1)
        # A source of -1 is a constant entry, which no sweep of replays has
        numbers = np.where(sources < 0, 0, counts[sources])
        most = int(numbers.max(initial=0))
        if most == 0:
            return None
        starts = begins[sources]
        flat = [reshape(in_c_order(each), -1) for each in self._pieces]
        if numbers.min() < most:
            flat.append(from_array(np.zeros(1, flat[0].dtype), constant=True))
        whole = in_c_order(flat[0] if len(flat) == 1 else concatenate(flat))
        order = np.append(order, len(places))  # the zero behind all pieces
        total: Any = None
        for k in range(most):
            chosen = order[np.where(k < numbers, starts + k, len(order) - 1)]
            term = gather(whole, fixed_constant(chosen), (count,), 1)  # checked once, and not at each replay
            total = term if total is None else total + term
        return total  # type: ignore[no-any-return]

    # --- certificate ---------------------------------------------------------------------------------------------

    def _certify(self, entries: np.ndarray, pull: Pull, name: str) -> None:
        """Compare the entries with a tangent, or with a cotangent where an op on the way has no forward rule."""
        forward = all_have_forward_rules(self._tape)
        matrix = csr_array((entries, self.pattern.indices, self.pattern.indptr), self._shape)
        if self._is_lower:
            matrix = csr_array(matrix + scipy.sparse.tril(matrix, -1).T)
        product, size = (self._tangent, self._size) if forward else (partial(self._cotangent, pull), _unknown)
        derivative = ReferenceDerivative(product, size, epsilon_of(read_tape(self._tape)), self._is_symmetric)
        certify(name, matrix if forward else matrix.T.tocsr(), derivative, self._is_given)
        if not (self._is_given or entries.all() or self._tape.fields[CALLS]):
            self._certify_zeros(name)

    def _certify_zeros(self, name: str) -> None:
        """Look for missing entries at other numbers: where entries are zero now, others may be that are missing."""
        pattern = ones_at(self.pattern.indices, self.pattern.indptr, self._shape)
        whole = _symmetric(pattern) if self._is_lower else pattern
        with suppress(LinAlgError):  # the numbers are of no matrix that was factored
            certify_zeros(name, whole, partial(self._tangent, at_other_numbers=True))

    def _along(self, vector: np.ndarray) -> tuple[Tape, list[Tensor], list[Tensor], list[np.ndarray]]:
        """Return the tape, what is differentiated, by what, and the tangents of this along a vector."""
        parts = zip(np.split(vector, self._columns[1:-1]), self._leaves, strict=True)
        x_dots = [part.reshape(leaf.shape).astype(leaf.dtype) for part, leaf in parts]
        return self._tape, [y for y, _ in self._reached()], self._leaves, x_dots

    def _size(self, vector: np.ndarray) -> float:
        return size_of_terms(*self._along(vector))

    def _tangent(self, vector: np.ndarray, at_other_numbers: bool = False) -> np.ndarray:
        """Return the derivative times a vector, by a sweep that knows no pattern."""
        found = np.zeros(self._shape[0])
        y_dots = tangents(*self._along(vector), at_other_numbers)
        for (y, first), y_dot in zip(self._reached(), y_dots, strict=True):
            found[first : first + y.size] = y_dot.reshape(-1)
        return found

    def _cotangent(self, pull: Pull, vector: np.ndarray) -> np.ndarray:
        """Return the transpose of the derivative times a vector, by a sweep that knows no pattern."""
        seeds = [(y, vector[i : i + y.size].reshape(y.shape).astype(y.dtype)) for y, i in self._reached()]
        return np.concatenate([x_bar.data_or_traced().reshape(-1) for x_bar in pull(seeds)]).astype(float)

    # --- blocks --------------------------------------------------------------------------------------------------

    @property
    def column_bounds(self) -> list[tuple[int, int]]:
        """First column of each leaf, and the one behind the last."""
        return _pairs(self._columns)

    def blocks(self) -> list[list[tuple[csr_array, np.ndarray]]]:
        """Return for each result and leaf their part of the pattern, and the numbers of its entries."""
        rows = rows_of(self.pattern.indptr)
        return [
            [self._block(rows, *bounds, *others) for others in self.column_bounds]
            for bounds in _pairs(self._rows)
        ]

    def _block(
        self, rows: np.ndarray, top: int, bottom: int, left: int, right: int
    ) -> tuple[csr_array, np.ndarray]:
        columns = self.pattern.indices
        taken = np.flatnonzero((rows >= top) & (rows < bottom) & (columns >= left) & (columns < right))
        counts = np.bincount(rows[taken] - top, minlength=bottom - top)
        shape = bottom - top, right - left
        return ones_at(columns[taken] - left, starts_of(counts), shape), taken


def _refuse_dense(entries: int, shape: tuple[int, int]) -> None:
    """Raise for a large matrix that is not sparse: each column takes a sweep, and memory for it."""
    if min(shape) > _MAX_DENSE_EXTENT and entries > DENSE_SHARE * math.prod(shape):
        raise DensePatternError(
            f"sparse=True: {entries:,} of the {shape[0]:,} x {shape[1]:,} entries may be other than zero, so the"
            " derivative is not sparse; use sparse=False, products with vectors, or pass pattern= if fewer entries are"
            " known to differ from zero"
        )


def _unknown(vector: np.ndarray) -> float:
    """Size of the terms in a reverse sweep: not known, so that an entry which is there is never wrong."""
    return np.inf


def _is_reached(result: Any) -> bool:
    """Return whether a result may depend on a leaf."""
    return is_tensor(result) and not result.constant


def _depends(
    dependences: Dependences, buffer: int, view: View, of_sets: np.ndarray, colour: int
) -> np.ndarray:
    """Return which elements depend on inputs of a colour, of what was added to a view of a buffer."""
    numbers = dependences.of_part(buffer, view)
    if numbers is None:
        return np.ones(view.shape, np.bool_)
    found: np.ndarray = of_sets[:, colour // 64][numbers] & np.uint64(1 << colour % 64) != 0
    return found


def _by_place(places: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of elements that have a place, and for each place where its first is among them, and how many.

    There are at least so many places, and one more.
    """
    order = np.flatnonzero(places >= 0)
    found = places[order]
    counts = np.bincount(found, minlength=least + 1)
    begins = np.zeros(len(counts), np.int64)
    if counts.max() <= 1:
        begins[found] = np.arange(len(found))
    else:
        order = order[np.argsort(found, kind="stable")]
        np.subtract(np.cumsum(counts), counts, out=begins)
    return order, begins, counts


def _pairs(bounds: np.ndarray) -> list[tuple[int, int]]:
    return list(pairwise(bounds.tolist()))


def _numbers_in(pattern: csr_array, part: csr_array) -> np.ndarray:
    """Return the numbers that the entries of a part of a pattern have in the whole."""
    found: np.ndarray = np.searchsorted(places_of(pattern), places_of(part))
    return found


def _symmetric(pattern: csr_array) -> csr_array:
    """Return the union of a pattern with its transpose."""
    found = csr_array(pattern + pattern.T)
    found.sort_indices()
    return ones_at(found.indices, found.indptr, found.shape)


def _lower(pattern: csr_array, plan: SweepPlan) -> tuple[csr_array, SweepPlan]:
    """Return the lower triangle of a pattern, and the plan of its entries."""
    rows = rows_of(pattern.indptr)
    kept = pattern.indices <= rows
    counts = np.bincount(rows[kept], minlength=pattern.shape[0])
    lower = ones_at(pattern.indices[kept], starts_of(counts), pattern.shape)
    return lower, plan._replace(sources=plan.sources[kept])
