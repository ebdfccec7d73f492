"""Parameters of structural ops: one record of named 64-bit integers for each op that has parameters.

A record alone states the meaning, number and legal values of an op's parameters. The recorder builds a record, kernels
load its fields by the same names, and derivative rules, verifier and printer read it back from an instruction. Compiled
code imports this module but no other of the table, so this module imports nothing of the package.

In memory a field of type `int` is one integer. A `Region` takes ``2 + 3 * ndim`` integers; a tuple of regions is
preceded by their number.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class OperandView(Protocol):
    """The layout of an operand or a result, as a record of parameters reads it."""

    @property
    def offset(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def contiguous(self) -> bool: ...
    @property
    def bounds(self) -> tuple[int, int]: ...
    def as_strided(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> "OperandView": ...


class Params(Protocol):
    """Record of parameters: a NamedTuple that can be checked against the views of an instruction."""

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        """Describe a mismatch with the operands and the result; empty if all fits."""


# Integers of a region: the first two, and the first of the extents
OFFSET, NDIM, EXTENTS = range(3)


class Region(NamedTuple):
    """Strided region of a buffer, and the strides of another view in the region's shape; offset and strides in bytes.

    In memory: ``[offset, ndim, extents..., strides..., strides of the other view...]``.
    """

    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    other_strides: tuple[int, ...]

    @property
    def words(self) -> list[int]:
        return [self.offset, len(self.extents), *self.extents, *self.strides, *self.other_strides]

    @classmethod
    def read(cls, words: Iterator[int]) -> "Region":
        offset, ndim = next(words), next(words)
        extents, strides, others = [tuple([next(words) for _ in range(ndim)]) for _ in range(3)]
        return cls(offset, extents, strides, others)

    def broken(self, buffer: OperandView, other: OperandView) -> str:
        """Describe a region outside the buffer, or strides that leave the other view; empty if all fits."""
        first, end = buffer.as_strided(self.offset, self.extents, self.strides).bounds
        bytes_ = buffer.size * buffer.itemsize
        if first < 0 or end > bytes_:
            return f"a region from byte {first} to {end} of a buffer of {bytes_}"
        if first == end:
            return ""
        own = other.bounds
        reached = other.as_strided(other.offset, self.extents, self.other_strides).bounds
        if other.size > 0 and own[0] <= reached[0] and reached[1] <= own[1]:
            return ""
        return f"a view of shape {other.shape} is read with strides {self.other_strides} over {self.extents}"


# --- one record for each op ------------------------------------------------------------------------------------


class MatmulParams(NamedTuple):
    """``y = x0 @ x1`` with x0 of shape (m, k) and x1 of shape (k, n); the strides of each matrix are in bytes."""

    m: int
    n: int
    k: int
    row_stride0: int
    column_stride0: int
    row_stride1: int
    column_stride1: int
    row_stride_y: int
    column_stride_y: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        m, n, k, *strides = self
        views = [*operands, result]
        if [view.shape[-2:] for view in views] != [(m, k), (k, n), (m, n)]:
            return f"matrices of shapes {[view.shape for view in views]}, but m={m}, n={n}, k={k}"
        for view, steps in zip(views, (strides[:2], strides[2:4], strides[4:]), strict=True):
            if _steps_elsewhere(view, steps):
                return f"strides {steps} of a matrix whose strides are {view.strides}"
        return ""


def _steps_elsewhere(view: OperandView, steps: Sequence[int]) -> bool:
    """Return whether strides differ from those of a view's matrices in a dimension of more than one element."""
    axes = zip(view.shape[-2:], view.strides[-2:], steps, strict=True)
    return view.size > 0 and any(extent > 1 and own != step for extent, own, step in axes)


class GatherParams(NamedTuple):
    """Parameters of `gather`: operand 0 is `rows` rows of `length` elements; operand 1 lists the rows to take.

    A negative row number counts from the end.
    """

    rows: int
    length: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        source, listed = operands
        return _broken_rows(self, source, result, listed)


class ScatterAddParams(NamedTuple):
    """Parameters of `scatter_add`: the result is `rows` rows of `length` elements; operand 1 lists the rows to add to.

    Operand 0 has a row for each entry of the list. A negative row number counts from the end.
    """

    rows: int
    length: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        source, listed = operands
        return _broken_rows(self, result, source, listed)


def _broken_rows(params: Sequence[int], whole: OperandView, taken: OperandView, listed: OperandView) -> str:
    """Describe views other than all rows, and a row for each entry of the list; empty if all fits."""
    rows, length = params[:2]
    fits = min(params) >= 0 and (rows * length, listed.size * length) == (whole.size, taken.size)
    if fits and whole.contiguous and taken.contiguous and listed.contiguous:
        return ""
    return (
        f"{rows} rows of {length}, of which {listed.size} are listed: shapes {whole.shape} and {taken.shape}"
    )


class CsrMatmulParams(NamedTuple):
    """``y = a @ x0`` for a sparse matrix `a` of shape (rows, columns); a row of x0 and of y has `width` elements.

    Operand 1 holds the entries of `a`. Operand 2 holds the ``rows + 1`` starts of its rows, then the column of each
    entry.
    """

    rows: int
    columns: int
    width: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_sparse(self, operands, operands[0], result)


class CsrTransposedMatmulParams(NamedTuple):
    """``y = a.T @ x0`` for the transpose of a sparse matrix, which has the shape (rows, columns).

    Operands 1 and 2 hold `a`, as those of `CsrMatmulParams` do.
    """

    rows: int
    columns: int
    width: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_sparse(self, operands, result, operands[0])


def _broken_sparse(
    params: Sequence[int], operands: Sequence[OperandView], multiplied: OperandView, product: OperandView
) -> str:
    """Describe views that the sparse matrix cannot be applied to; empty if all fits."""
    rows, columns, width = params
    _, entries, lists = operands
    sizes = multiplied.size, product.size, lists.size
    fits = min(params) >= 0 and sizes == (columns * width, rows * width, rows + 1 + entries.size)
    if fits and all(view.contiguous for view in (multiplied, product, entries, lists)):
        return ""
    return (
        f"a sparse matrix of {rows} by {columns} with {entries.size} entries, lists of {lists.size}: shapes"
        f" {multiplied.shape} and {product.shape}"
    )


class ScatterWriteParams(NamedTuple):
    """Parameters of `scatter_write`: a buffer of `rows` rows of `length` elements; operand 2 lists the rows to write.

    Of several values for one row the last is kept. `value_stride` is the distance of the values in bytes: 0 if one
    value is written to all.
    """

    rows: int
    length: int
    value_stride: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        values, listed = operands[1:]
        found = _broken_buffer(self.rows * self.length, operands[0], result)
        if found or min(self) < 0 or not (values.contiguous and listed.contiguous):
            return found or f"negative, or not on contiguous slots: {self}"
        count = listed.size * self.length
        read = (count - 1) * self.value_stride + values.itemsize if count else 0
        if read <= values.size * values.itemsize:
            return ""
        return f"{read} bytes of values are read from a value of shape {values.shape}"


class WriteParams(NamedTuple):
    """Parameters of `write`: the region of a buffer of `total` elements that operand 1 is written to."""

    total: int
    region: Region

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_buffer(self.total, operands[0], result) or self.region.broken(result, operands[1])


def _broken_buffer(total: int, *views: OperandView) -> str:
    """Describe a view that is not the whole buffer of `total` elements; empty if all are."""
    for view in views:
        if view.size != total or not view.contiguous:
            return f"a buffer of {total} elements is seen in shape {view.shape}"
    return ""


class EmbedParams(NamedTuple):
    """Parameters of `embed`: the region of each operand in a result of `total` elements."""

    total: int
    regions: tuple[Region, ...]

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count = len(self.regions)
        if count != len(operands):
            return f"{count} regions for {len(operands)} operands"
        if found := _broken_buffer(self.total, result):
            return found
        parts = zip(self.regions, operands, strict=True)
        return next((found for region, view in parts if (found := region.broken(result, view))), "")


class RecurrenceParams(NamedTuple):
    """Parameters of `recurrence`: `masked` is 1 in derivatives, where zero times anything is zero, else 0."""

    masked: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return "" if self.masked in (0, 1) else f"masked is {self.masked}"


class CrossParams(NamedTuple):
    """Parameters of `cross`: `masked` is 1 in derivatives, where zero times anything is zero, else 0."""

    masked: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        if self.masked not in (0, 1):
            return f"masked is {self.masked}"
        return "" if result.shape[-1:] == (3,) else f"lines of {result.shape[-1:]} components"


class ArgsortParams(NamedTuple):
    """Parameters of `argsort`: `lines` lines of `length` elements, each of which is sorted.

    Elements are numbered within their line; through all lines if `numbered_through` is 1.
    """

    lines: int
    length: int
    numbered_through: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        fits = self.numbered_through in (0, 1) and result.size == operands[0].size
        return "" if fits and _are_lines(self.lines, self.length, operands[0], result) else _odd_lines(self)


class ArgextremeParams(NamedTuple):
    """Parameters of `argextreme`: `lines` lines of `length` elements; `sign` is 1 for maxima, -1 for minima."""

    lines: int
    length: int
    sign: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        fits = self.sign in (1, -1) and self.length > 0 and result.size == self.lines
        return "" if fits and _are_lines(self.lines, self.length, operands[0], result) else _odd_lines(self)


def _are_lines(lines: int, length: int, *views: OperandView) -> bool:
    """Return whether the first view has `lines` lines of `length` elements, and all views are contiguous."""
    return (
        min(lines, length) >= 0 and lines * length == views[0].size and all(view.contiguous for view in views)
    )


def _odd_lines(params: Params) -> str:
    return f"other lines, or not on contiguous slots: {params}"


class SearchParams(NamedTuple):
    """Parameters of `searchsorted`: the size of sorted operand 0; `right` is 1 to insert after equal ones, else 0."""

    size: int
    right: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        numbers, values = operands
        fits = (numbers.size, values.size) == (self.size, result.size) and self.right in (0, 1)
        if fits and numbers.contiguous and values.contiguous and result.contiguous:
            return ""
        return f"{self}: shapes {numbers.shape}, {values.shape} and {result.shape}"


RAISE, WRAP, CLIP = range(3)  # treatment of an index that is out of range


class LocateParams(NamedTuple):
    """Parameters of `locate`: an axis of `extent` elements, `step` elements apart; `mode` is RAISE, WRAP or CLIP.

    `stride` is 1 if operand 0 has a number for each index, 0 if it has one for all.
    """

    extent: int
    step: int
    mode: int
    stride: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        numbers, indices = operands
        fits = self.extent >= 0 and self.mode in (RAISE, WRAP, CLIP) and indices.size == result.size
        fits &= self.stride in (0, 1)
        fits &= numbers.size == (indices.size if self.stride else 1) or result.size == 0
        if fits and numbers.contiguous and indices.contiguous and result.contiguous:
            return ""
        return f"{self}: shapes {numbers.shape}, {indices.shape} and {result.shape}"


class CorrelateParams(NamedTuple):
    """``y[i] = sum(w[k] * x[i + k + offset])`` with `sums` elements of y, `size` of x and `taps` of w.

    `flipped` is 1 to read w from its end. `masked` is 1 in derivatives, where zero times anything is zero.
    """

    sums: int
    size: int
    taps: int
    offset: int
    flipped: int
    masked: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        views = (result, *operands)
        fits = [view.size for view in views] == [self.sums, self.size, self.taps]
        fits &= self.flipped in (0, 1) and self.masked in (0, 1)
        if fits and all(view.contiguous for view in views):
            return ""
        return f"{self}: shapes {[view.shape for view in views]}"


class SquareParams(NamedTuple):
    """Parameters of ops of square matrices: `matrices` matrices of `n` rows and columns."""

    matrices: int
    n: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_stack(self, self.matrices * self.n**2, operands[0], *operands, result)


class SylvesterParams(NamedTuple):
    """`matrices` equations ``A X + X B = Q``, where A has m rows and columns, and B n."""

    matrices: int
    m: int
    n: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n = self
        sizes = [view.size for view in (*operands, result)]
        if sizes != [count * m * m, count * n * n, count * m * n, count * m * n]:
            return f"{self}: sizes {sizes}"
        return _broken_stack(self, count * m * m, operands[0], *operands, result)


class PinvParams(NamedTuple):
    """Parameters of `pinv`: `matrices` matrices of `m` rows and `n` columns.

    `stride` is 1 if each matrix has a cutoff of its own, 0 if all share one.
    """

    matrices: int
    m: int
    n: int
    stride: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, stride = self
        if (result.size, operands[1].size) != (count * m * n, count if stride else 1):
            return f"{self}: cutoffs of shape {operands[1].shape}, a result of shape {result.shape}"
        return _broken_stack(self, count * m * n, operands[0], *operands, result)


class PivotParams(NamedTuple):
    """Parameters of pivots: `matrices` matrices of `n` rows, and the number of fields of their factors."""

    matrices: int
    n: int
    words: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        if result.size != self.matrices * self.n:
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, self.matrices * self.words, operands[0], *operands, result)


class ExchangeParams(NamedTuple):
    """Parameters of row exchanges: `matrices` matrices of `n` rows and `k` columns.

    `stride` is 1 if each matrix has exchanges of its own, 0 if all share them; `back` is 1 to undo them.
    """

    matrices: int
    n: int
    k: int
    stride: int
    back: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, n, k, stride, _ = self
        if operands[1].size != (count if stride else 1) * n or result.size != count * n * k:
            return f"{self}: rows of shape {operands[1].shape}, a result of shape {result.shape}"
        return _broken_stack(self, count * n * k, operands[0], *operands, result)


class EighParams(NamedTuple):
    """Parameters of `eigh`: `matrices` matrices of `n` rows and columns.

    `lower` is 1 to read the lower triangle, 0 the upper one. `vectors` is 0 if only eigenvalues are used, else 1.
    """

    matrices: int
    n: int
    lower: int
    vectors: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        if result.size != self.matrices * (self.n + self.n**2) or not {self.lower, self.vectors} <= {0, 1}:
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, self.matrices * self.n**2, operands[0], *operands, result)


class EigParams(NamedTuple):
    """Parameters of `eig`: `matrices` matrices of `n` rows and columns.

    `vectors` is 0 if only eigenvalues are used, else 1.
    """

    matrices: int
    n: int
    vectors: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        if result.size != self.matrices * (self.n + self.n**2) or self.vectors not in (0, 1):
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, self.matrices * self.n**2, operands[0], *operands, result)


class QrParams(NamedTuple):
    """Parameters of `qr`: `matrices` matrices of `m` rows and `n` columns; Q has `full` columns."""

    matrices: int
    m: int
    n: int
    full: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, full = self
        if result.size != count * (m + n) * full or full not in (m, min(m, n)):
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, count * m * n, operands[0], *operands, result)


class SvdParams(NamedTuple):
    """Parameters of `svd`: `matrices` matrices of `m` rows and `n` columns.

    `full` is 1 if U and V are square. `vectors` is 0 if only singular values are used, else 1.
    """

    matrices: int
    m: int
    n: int
    full: int
    vectors: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, full, vectors = self
        k = min(m, n)
        left, right = (m, n) if full else (k, k)
        if result.size != count * (k + m * left + n * right) or not {full, vectors} <= {0, 1}:
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, count * m * n, operands[0], *operands, result)


class DeterminedParams(NamedTuple):
    """Parameters of a checked copy: the number of values, and the number of flags."""

    size: int
    truths: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        values, truths = operands
        fits = (values.size, result.size, truths.size) == (self.size, self.size, self.truths)
        if fits and all(view.contiguous for view in (values, truths, result)):
            return ""
        return f"{self}: shapes {values.shape}, {truths.shape} and {result.shape}"


class LuSolveParams(NamedTuple):
    """Parameters of `lu_solve`: `matrices` systems of `n` equations, each for `k` right sides.

    `transpose` is 1 to solve with the transposed matrices. `stride` is 1 if each system has a matrix of its own,
    0 if all share one.
    """

    matrices: int
    n: int
    k: int
    transpose: int
    stride: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_systems(self, operands, result)


class TriangularParams(NamedTuple):
    """Parameters of `solve_triangular`: those of `LuSolveParams`, and the triangle of the matrices.

    `lower` is 1 for lower triangles, 0 for upper ones; `unit` is 1 if all diagonal elements are 1.
    """

    matrices: int
    n: int
    k: int
    transpose: int
    stride: int
    lower: int
    unit: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_systems(self, operands, result)


def _broken_systems(params: Any, operands: Sequence[OperandView], result: OperandView) -> str:
    """Describe right sides and solutions of other sizes than the parameters'; empty if all fits."""
    matrices, sides, *_ = operands
    flags = params[3:]
    if sides.size == result.size == params.matrices * params.n * params.k and set(flags) <= {0, 1}:
        matrix_count = params.matrices if params.stride else 1
        return _broken_stack(params, matrix_count * params.n**2, matrices, *operands, result)
    return f"{params}: right sides of shape {sides.shape}, solutions of shape {result.shape}"


def _broken_stack(params: Any, size: int, matrices: OperandView, *views: OperandView) -> str:
    """Describe matrices without `size` elements, or a view that is not contiguous; empty if all fits."""
    if min(params) >= 0 and matrices.size == size and all(view.contiguous for view in views):
        return ""
    return f"{params}: matrices of shape {matrices.shape}, or not on contiguous slots"


class CustomParams(NamedTuple):
    """Parameters of a user's op: the address of its descriptor (see `kernels.callback`), and its number in prints."""

    descriptor: int
    number: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        packed = all(len(view.shape) == 1 and view.contiguous for view in (*operands, result))
        return (
            ""
            if packed and self.descriptor != 0
            else f"nothing is called, or not on contiguous slots: {self}"
        )


class GuardParams(NamedTuple):
    """Parameters of `guard`: the number of bytes to compare, and the address of the expected ones."""

    bytes: int
    address: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        (guarded,) = operands
        inside = guarded.contiguous and 0 <= self.bytes <= guarded.size * guarded.itemsize
        if inside and (self.address != 0 or self.bytes == 0):
            return ""
        return f"{self.bytes} bytes of an operand of shape {guarded.shape} are compared with those at {self.address}"


class TruthGuardParams(NamedTuple):
    """Parameters of `truth_guard`: the truth value, 0 or 1, that the element must have."""

    truth: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        fits = operands[0].size == 1 and self.truth in (0, 1)
        return "" if fits else f"truth {self.truth} of shape {operands[0].shape}"


# --- to integers and back --------------------------------------------------------------------------------------


def words_of(params: Any) -> Sequence[int]:
    """Return the 64-bit fields of a record in their order."""
    record: Any = type(params)
    if _one_word_each(record):
        fields: Sequence[int] = params
        return fields
    words: list[int] = []
    for value in params:
        if isinstance(value, Region):
            words += value.words
        elif isinstance(value, tuple):
            words += [len(value), *(word for region in value for word in region.words)]
        else:
            words.append(value)
    return words


@functools.cache
def _one_word_each(record: Any) -> bool:
    return all(kind is int for kind in record.__annotations__.values())


def read(record: type[Any], words: Sequence[int]) -> Any:
    """Rebuild a record from its 64-bit fields.

    Raises
    ------
    ValueError
        If there are more or fewer integers than the record has.
    """
    left = iter(words)
    try:
        values = [_value(record.__annotations__[name], left) for name in record._fields]
    except StopIteration:
        raise ValueError(f"{len(words)} words are too few for {record.__name__}") from None
    if next(left, None) is not None:
        raise ValueError(f"{len(words)} words are too many for {record.__name__}")
    return record(*values)


def _value(kind: Any, words: Iterator[int]) -> Any:
    """Take a field's value from the remaining integers."""
    if kind is int:
        return next(words)
    if kind is Region:
        return Region.read(words)
    # A list: a generator would turn StopIteration into an error.
    return tuple([Region.read(words) for _ in range(next(words))])


def word(record: type[Any], field: str) -> int:
    """Return the number of the first integer of a field; fields before it take one integer each."""
    at: int = record._fields.index(field)
    assert all(record.__annotations__[name] is int for name in record._fields[:at])
    return at
