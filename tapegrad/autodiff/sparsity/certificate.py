"""Certificate of a pattern: a compressed derivative times a random vector is a tangent, in which no pattern has a part.

An entry that a pattern lacks is a zero for ever, and columns that must not share a sweep give each other's numbers. The
product is compared once, where a derivative is prepared. Rounding, and values that are not finite, are told from faults
by bisection: of the column that is found, the entry itself is compared with a sweep along this column alone. Where
entries are zero, such as at a start of zeros, a missing one might be zero, too: a sweep at other numbers looks for it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import listed, tensor_on
from tapegrad.autodiff.regions import materialize
from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.autodiff.sparsity.sweeps import used_up
from tapegrad.autodiff.tensor_sweeps import push
from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.verify.directions import random_direction
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import CertificateError
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.modes import EAGER, Mode, ModeChange, recording, restoring
from tapegrad.frontend.tensor.tensor import Tensor, fixed_constant, from_array

_REMEDY = (
    "which is a fault of tapegrad, or of the jvp of a custom op. Until it is mended, write tg.jacrev(f), or"
    " tg.jacrev(tg.grad(f)) for a Hessian, which use no pattern; and please report it"
)
_MAX_ROWS = 4  # that are looked at, where their products differ
_ROUNDING = 1 << 10  # errors of a product, and of a sum that cancels, in units of the last place of its terms


class ReferenceDerivative(NamedTuple):
    """A derivative that is multiplied by vectors, in sweeps that know no pattern.

    Attributes
    ----------
    product
        Returns the derivative times a float64 vector.
    size
        Returns the size of the terms that may cancel in a sweep along a vector, by which entries of a pattern may be
        wrong by rounding. An entry that a pattern lacks is never computed.
    precision
        Epsilon of the narrowest floats on the way.
    is_symmetric
        Whether an entry may be that of the transpose: of a gradient that is none, as one by a vjp that clips, the
        derivative is not symmetric.
    """

    product: Callable[[np.ndarray], np.ndarray]
    size: Callable[[np.ndarray], float]
    precision: float
    is_symmetric: bool = False


class Disagreement(NamedTuple):
    """Entry of a matrix that another sweep contradicts.

    Attributes
    ----------
    row, column
        Its place.
    entry, number
        The entry, and the number that a sweep along its column has found.
    rows
        Number of rows in which the products with a random vector differ.
    """

    row: int
    column: int
    entry: float
    number: float
    rows: int = 1


def certify(name: str, matrix: Any, derivative: ReferenceDerivative, is_given: bool = False) -> None:
    """Raise if a matrix is not the derivative.

    Parameters
    ----------
    name
        Which derivative of what, for the message.
    matrix, derivative
        As of `find_disagreement`.
    is_given
        Whether the pattern is the user's.

    Raises
    ------
    CertificateError
        If they differ.
    ValueError
        If they differ, and the pattern is the user's.
    """
    found = find_disagreement(matrix, derivative)
    if found is None:
        return
    row, column, entry, number, rows = found
    differs = (
        f"the element in row {row} and column {column} is {entry!r} by sweeps that columns share, but {number!r} by a"
        f" sweep of its own ({rows} rows differ)"
    )
    if is_given:
        raise ValueError(f"{name}: pattern= lacks entries: {differs}; leave pattern= out to have it detected")
    raise CertificateError(f"{name}: {differs}: the pattern that tapegrad has found is wrong, {_REMEDY}")


def find_disagreement(matrix: Any, derivative: ReferenceDerivative) -> Disagreement | None:
    """Compare a matrix with the derivative, multiplied by a random vector; `None` if they agree.

    Parameters
    ----------
    matrix
        The derivative as it was computed: an array, or a sparse matrix.
    derivative
        The same by other sweeps.
    """
    generator = np.random.default_rng(matrix.shape[1])
    direction = random_direction(generator, matrix.shape[1])
    vector = direction.astype(np.float32).astype(float)  # the same in both precisions
    comparison = _Comparison(matrix, derivative)
    rows = np.flatnonzero(comparison.differs(vector))
    found = (comparison.bisect(int(row), vector) for row in rows[:_MAX_ROWS])
    return next((each._replace(rows=len(rows)) for each in found if each is not None), None)


def certify_zeros(name: str, pattern: Any, product: Callable[[np.ndarray], np.ndarray]) -> None:
    """Raise if an element that a pattern lacks is not zero at other numbers than those of the run.

    Of some columns, drawn at random, the rows that have no entry in them must have tangents of exactly zero.

    Parameters
    ----------
    name
        Which derivative of what, for the message.
    pattern
        The pattern, as a sparse matrix by rows.
    product
        Returns the tangents along a vector at other numbers; no value of them is the same twice.

    Raises
    ------
    CertificateError
        If the pattern lacks an element.
    """
    generator, columns = np.random.default_rng(pattern.shape[0]), pattern.shape[1]
    share = 0.5 / max(1.0, float(np.median(np.diff(pattern.indptr))))
    chosen, counted = np.flatnonzero(generator.random(columns) < share), pattern.astype(np.int64)

    def wrong(columns_: np.ndarray) -> np.ndarray:
        vector = np.zeros(columns)
        vector[columns_] = generator.uniform(0.5, 1.5, len(columns_))
        with np.errstate(all="ignore"):
            found = product(vector)
        return np.flatnonzero((counted @ (vector > 0) == 0) & np.isfinite(found) & (found != 0))

    rows = wrong(chosen)
    if not len(rows):
        return
    while len(chosen) > 1:
        half = chosen[: len(chosen) // 2]
        chosen = half if rows[0] in wrong(half) else chosen[len(half) :]
    raise CertificateError(
        f"{name}: the element in row {rows[0]} and column {chosen[0]} is in no entry of the pattern that tapegrad has"
        f" found, but is no zero at other arguments ({len(rows)} rows differ): {_REMEDY}"
    )


class _Comparison:
    """Comparison of a matrix with the derivative, along vectors."""

    def __init__(self, matrix: Any, derivative: ReferenceDerivative) -> None:
        self._matrix, self._sizes, self._derivative = matrix, abs(matrix), derivative

    def differs(self, vector: np.ndarray) -> np.ndarray:
        """Return the rows in which the products with a vector differ by more than rounding, as a mask."""
        with np.errstate(all="ignore"):
            products = self._matrix @ vector, self._derivative.product(vector)
            return self._differ(*products, self._sizes @ abs(vector))

    def bisect(self, row: int, vector: np.ndarray) -> Disagreement | None:
        """Return the entry of a row that makes the products with a vector differ, if its own sweep contradicts it."""
        present = self._present(row)
        columns = np.flatnonzero(~present)  # first those that the pattern lacks
        if not self._differs_along(row, vector, columns):
            columns = np.flatnonzero(present)
        while len(columns) > 1:
            half = columns[: len(columns) // 2]
            columns = half if self._differs_along(row, vector, half) else columns[len(half) :]
        found = self._at(row, int(columns[0])) if len(columns) else None
        if found is None or not self._derivative.is_symmetric:
            return found
        return None if self._at(found.column, row, found.entry) is None else found

    def _present(self, row: int) -> np.ndarray:
        """Return which entries of a row are there, or are no zeros of an array."""
        line = self._matrix[[row]]
        if isinstance(line, np.ndarray):
            return line[0] != 0  # type: ignore[no-any-return]
        found = np.zeros(line.shape[1], np.bool_)
        found[line.indices] = True
        return found

    def _differs_along(self, row: int, vector: np.ndarray, columns: np.ndarray) -> bool:
        part = np.zeros_like(vector)
        part[columns] = vector[columns]
        return bool(self.differs(part)[row])

    def _at(self, row: int, column: int, entry: float | None = None) -> Disagreement | None:
        """Return an entry, or a number in its place, if the sweep along its column has another one there."""
        unit = np.zeros(self._matrix.shape[1])
        unit[column] = 1.0
        with np.errstate(all="ignore"):
            entries, numbers = self._matrix @ unit, self._derivative.product(unit)
            if entry is not None:
                entries[row] = entry
            differs = self._differ(entries, numbers, self._sizes @ unit)[row]
        found = Disagreement(row, column, float(entries[row]), float(numbers[row]))
        if differs and self._present(row)[column]:
            rounding = _ROUNDING * self._derivative.precision * self._derivative.size(unit)
            differs = abs(found.entry - found.number) > rounding
        return found if differs else None

    def _differ(self, ours: np.ndarray, theirs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Compare two products, given the sums of the absolute terms of the first."""
        precision = self._derivative.precision
        both = np.isfinite(ours) & np.isfinite(theirs)
        largest = np.where(both, np.maximum(sizes, abs(theirs)), 0.0)
        allowed = np.sqrt(precision) * largest + _ROUNDING * precision * largest.max(initial=0.0)
        missing = np.isfinite(ours) & ~np.isfinite(theirs) & (sizes == 0)
        found: np.ndarray = (both & (abs(ours - theirs) > allowed)) | missing
        return found


# --- tangents that no pattern has a part in ------------------------------------------------------------------------


@restoring
def tangents(
    tape: Tape,
    results: Sequence[Tensor],
    leaves: Sequence[Tensor],
    x_dots: Sequence[np.ndarray],
    at_other_numbers: bool = False,
) -> list[np.ndarray]:
    """Return the tangents of results, given those of the leaves; nothing is appended to the tape but copies.

    The rules are applied to arrays of the current run, so that a recording does not become longer, or to numbers beside
    those: then the tangents say nothing but which of them can be other than zero.
    """
    kind = _OtherStep if at_other_numbers else _ReadStep
    roots, inputs = ([each._slot_on(tape) for each in group] for group in (results, leaves))
    with listed(tape, roots, inputs) as instructions, _aside():
        found = _Tangents(tape)
        for slot, x_dot in zip(inputs, x_dots, strict=True):
            found.add(slot, fixed_constant(x_dot))
        forgotten = used_up(instructions, found.geometry, roots)
        for k, instruction in enumerate(instructions):
            dots = [
                found.get(slot) if kernel_table.takes_cotangent(instruction.op, j) else None
                for j, slot in enumerate(instruction.operands)
            ]
            if any(x_dot is not None for x_dot in dots):
                push(kind(tape, instruction, found, None), dots, found)
            for buffer in forgotten.get(k, ()):
                found.forget(buffer)
        return [_array(found, slot) for slot in roots]


def size_of_terms(
    tape: Tape, results: Sequence[Tensor], leaves: Sequence[Tensor], x_dots: Sequence[np.ndarray]
) -> float:
    """Return the largest product of a number of the run and a tangent: what terms that cancel are made of."""
    roots, inputs = ([each._slot_on(tape) for each in group] for group in (results, leaves))
    with listed(tape, roots, inputs) as found:
        slots = {slot for each in found for slot in (*each.operands, each.result) if slot >= 0}
        primals = [show(tape, slot, False) for slot in slots]
        inner = [tensor_on(tape, each.result) for each in found]
    x_dot = max(_largest(each) for each in x_dots)
    y_dot = max((_largest(each) for each in tangents(tape, inner, leaves, x_dots)), default=0.0)
    return max((_largest(each) for each in primals if each is not None), default=0.0) * max(x_dot, y_dot)


def _largest(array: np.ndarray) -> float:
    return float(abs(array)[np.isfinite(array)].max(initial=0.0))


def _array(found: Accumulator, slot: int) -> np.ndarray:
    value, geometry = found.get(slot), found.geometry(slot)
    if value is None:
        return np.zeros(geometry.shape, geometry.dtype)
    return materialize(value, geometry.shape, geometry.dtype).data_or_traced()


class _Tangents(Accumulator):
    """Tangents of a tape's slots that are no Tensors of the tape."""

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self._tape = EAGER


class _ReadStep(SweepStep):
    """Instruction whose primals are constants: the arrays of the current run."""

    __slots__ = ()

    def _tensor(self, slot: int) -> Tensor:
        with recording(self.tape):
            tensor = super()._tensor(slot)
        return from_array(tensor.data_or_traced(), constant=True)


class _OtherStep(_ReadStep):
    """Instruction whose primals are numbers beside those of the current run, in which nothing cancels or is zero."""

    __slots__ = ()

    def _tensor(self, slot: int) -> Tensor:
        tensor = super()._tensor(slot)
        array = tensor.data_or_traced()
        if array.dtype.kind not in "fc":
            return tensor
        generator = np.random.default_rng(slot)
        other = array * generator.uniform(0.5, 1.5, array.shape) + generator.uniform(0.1, 0.5, array.shape)
        return from_array(np.asarray(other, array.dtype), constant=True)


class _aside(ModeChange):
    """Compute eagerly, without derivatives, whatever is recorded or watched around."""

    _arguments = ("tape", "differentiate", "leaves", "anomaly")

    def _change(self, mode: Mode) -> Mode:
        return mode.but(tape=EAGER, differentiate=False, leaves=(), anomaly=None)
