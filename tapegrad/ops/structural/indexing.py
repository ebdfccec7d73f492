"""Ops that take rows and regions by index, write to them, or multiply by sparse matrices.

The records of the parameters, then the rows.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tapegrad.ops.params import OperandView, Region
from tapegrad.ops.row import Structural

_NUMBERS = ("f64", "f32", "c128", "c64")
_ALL = (*_NUMBERS, "i64", "b8")


class GatherParams(NamedTuple):
    """Parameters of `gather`: operand 0 is `rows` rows of `length` elements; operand 1 lists the rows to take.

    A negative row number counts from the end. Where `by_columns` is 1, the result is the transposed array in memory.
    """

    rows: int
    length: int
    by_columns: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        source, listed = operands
        return _broken_rows(self, source, result, listed)


class ScatterAddParams(NamedTuple):
    """Parameters of `scatter_add`: the result is `rows` rows of `length` elements; operand 1 lists the rows to add to.

    Operand 0 has a row for each entry of the list, and is the transposed array in memory where `by_columns` is 1. A
    negative row number counts from the end.
    """

    rows: int
    length: int
    by_columns: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        source, listed = operands
        return _broken_rows(self, result, source, listed)


def _broken_rows(params: Sequence[int], whole: OperandView, taken: OperandView, listed: OperandView) -> str:
    """Describe views other than all rows, and a row for each entry of the list; empty if all fits."""
    rows, length, by_columns = params
    fits = min(params) >= 0 and (rows * length, listed.size * length) == (whole.size, taken.size)
    in_order = lies_by_columns(taken, listed.size) if by_columns else taken.contiguous
    if fits and whole.contiguous and in_order and listed.contiguous:
        return ""
    return (
        f"{rows} rows of {length}, of which {listed.size} are listed: shapes {whole.shape} and {taken.shape}"
    )


def lies_by_columns(taken: OperandView, count: int) -> bool:
    """Return whether `count` rows are the columns of an array that is contiguous in memory."""
    last = len(taken.shape)
    rows = next((k for k in range(last + 1) if math.prod(taken.shape[:k]) == count), None)
    if rows is None or taken.size == 0:
        return False
    whole = (*range(rows, last), *range(rows))
    shape, strides = (tuple(fields[d] for d in whole) for fields in (taken.shape, taken.strides))
    return taken.as_strided(taken.offset, shape, strides).contiguous


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


class CsrOuterParams(NamedTuple):
    """``y[p] = sum(x0[i] * x1[j])`` for each entry p of a sparse matrix, in row i and column j.

    The matrix has the shape (rows, columns); a row of x0 and of x1 has `width` elements. Operand 2 holds the pattern,
    as that of `CsrMatmulParams` does.
    """

    rows: int
    columns: int
    width: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        left, right, lists = operands
        return _broken_sparse(self, (right, result, lists), right, left)


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


# --- rows ------------------------------------------------------------------------------------------------------


def _csr(name: str, record: type, pattern: str, batching: str | None = None) -> Structural:
    """Make the row of a product of which one factor, or the result, is a sparse matrix. x2: its pattern."""
    return Structural(
        name,
        "opaque",
        f"indexing.sparse.{name}_{{direction}}_{{dtype}}",
        (("x1", "x2"), ("x0", "x2"), None),
        record,
        fixed_dtypes={2: "i64"},
        writes=(0, 1),
        batching=batching,
        pattern=pattern,
    )


INDEXING: tuple[Structural, ...] = (
    # x1: row numbers
    Structural(
        "gather",
        "opaque",
        "indexing.index.gather_{direction}_{dtype}",
        (("x1",), None),
        GatherParams,
        dtypes=_ALL,
        fixed_dtypes={1: "i64"},
        transpose="scatter_add",
        fused_as="rows",
        batching="gather",
        pattern="taken_rows",
    ),
    # x1: row numbers
    Structural(
        "scatter_add",
        "opaque",
        "indexing.index.scatter_add_{direction}_{dtype}",
        (("x1",), None),
        ScatterAddParams,
        dtypes=_NUMBERS,
        fixed_dtypes={1: "i64"},
        transpose="gather",
        batching="scatter_add",
        pattern="added_rows",
    ),
    # x0: rows of the other factor, x1: entries, x2: starts of rows, then columns
    _csr("csr_matmul", CsrMatmulParams, "sparse", "sparse"),
    _csr("csr_transposed_matmul", CsrTransposedMatmulParams, "sparse", "sparse"),
    # x0, x1: rows of both factors, x2: starts of rows, then columns
    _csr("csr_outer", CsrOuterParams, "sparse_outer"),
    # x0: old contents of a buffer, x1: values of a region
    Structural(
        "write",
        "opaque",
        "indexing.region.write_{direction}_{dtype}",
        ((), ()),
        WriteParams,
        dtypes=_ALL,
        writes=(0,),
        in_place=True,
        transpose="outside_and_inside_of_the_region",
        batching="write",
        pattern="written_region",
    ),
    # x0: old contents of a buffer, x1: values of rows, x2: row numbers
    Structural(
        "scatter_write",
        "opaque",
        "indexing.index.scatter_write_{direction}_{dtype}",
        (("x2",), ("x2",), None),
        ScatterWriteParams,
        dtypes=_ALL,
        fixed_dtypes={2: "i64"},
        writes=(0,),
        in_place=True,
        transpose="outside_and_inside_of_the_rows",
        batching="scatter_write",
        pattern="written_rows",
    ),
    # Operands copied to regions of a result of zeros; x1 and x2 may be absent
    Structural(
        "embed",
        "opaque",
        "indexing.embed.embed_{direction}_{dtype}",
        ((), (), ()),
        EmbedParams,
        dtypes=_NUMBERS,
        writes=(0, 1, 2),
        optional=2,
        transpose="views_of_the_regions",
        batching="embed",
        pattern="embedded",
    ),
    # x0: numbers of elements, x1: indices along an axis, added to x0
    Structural(
        "locate",
        "opaque",
        "indexing.locate.locate_{direction}_{dtype}",
        (None, None),
        LocateParams,
        dtypes=("i64",),
        batching="locate",
    ),
)
