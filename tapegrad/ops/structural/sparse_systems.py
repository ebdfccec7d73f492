"""Ops of sparse symmetric matrices with a constant pattern: Cholesky factors, solutions, log-determinants, inverses.

A matrix is given by the entries of its lower triangle. Its symbolic factorisation, the *plan*, is one list of int64,
the last operand of each op (`engine.kernels.fronts.plan` has the layout). A *factored matrix* is one vector: the
entries, then the elements of the factor L. Derivatives flow through the entries alone, as the elements of L are a
function of them: in a cotangent or a tangent of a factored matrix they are zero.

*Derivatives of the log-determinant* of order k + 1 in k directions are vectors of entries: the gradient (k = 0) is the
inverse on the pattern, off-diagonal entries doubled, as an entry of the lower triangle stands for two elements. The
form is symmetric in its directions, so the ops are closed under differentiation.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad.ops.params import OperandView
from tapegrad.ops.row import Structural

MAX_DIRECTIONS = 5  # of a derivative of the log-determinant: it takes 2**count times the memory of the factor


class SparseCholeskyParams(NamedTuple):
    """Parameters of `sparse_cholesky`: a matrix of `entries` entries, whose factor has `elements` elements.

    `fields` is the length of the plan. A matrix that is not positive definite stops the sweep or, if `nan_on_failure`
    is 1, has nan for a factored matrix.
    """

    entries: int
    elements: int
    fields: int
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        entries, plan = operands
        sizes = self.entries, self.entries + self.elements, self.fields
        return _broken(self, sizes, (entries, result, plan))


class SparseLogdetParams(NamedTuple):
    """Parameters of `sparse_logdet` and `sparse_gradient`: those of the factored matrix."""

    entries: int
    elements: int
    fields: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        factored, plan = operands
        if result.size not in (1, self.entries):
            return f"{self}: a result of shape {result.shape}"
        return _broken(
            self, (self.entries + self.elements, self.fields, result.size), (factored, plan, result)
        )


class SparseDerivativeParams(NamedTuple):
    """Parameters of `sparse_derivative`: those of the factored matrix, and the number of directions."""

    entries: int
    elements: int
    fields: int
    directions: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        factored, along, plan = operands
        sizes = self.entries + self.elements, self.directions * self.entries, self.fields, self.entries
        if not 1 <= self.directions <= MAX_DIRECTIONS:
            return f"{self}: {self.directions} directions"
        return _broken(self, sizes, (factored, along, plan, result))


class SparseSolveParams(NamedTuple):
    """Parameters of `sparse_solve`: those of the factored matrix; right sides of `n` rows and `k` columns."""

    entries: int
    elements: int
    fields: int
    n: int
    k: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        factored, sides, plan = operands
        sizes = self.entries + self.elements, self.n * self.k, self.fields, self.n * self.k
        return _broken(self, sizes, (factored, sides, plan, result))


class SparseProductParams(NamedTuple):
    """Parameters of `sparse_product`, a matrix times `k` columns of `n` rows."""

    entries: int
    fields: int
    n: int
    k: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        entries, columns, plan = operands
        sizes = self.entries, self.n * self.k, self.fields, self.n * self.k
        return _broken(self, sizes, (entries, columns, plan, result))


class SparseOuterParams(NamedTuple):
    """Parameters of `sparse_outer`: for each entry of a pattern the sum of both products of rows of two operands.

    The operands have `n` rows and `k` columns: entry (i, j) is ``x0[i] @ x1[j] + x0[j] @ x1[i]``, and ``x0[i] @ x1[i]``
    on the diagonal. This is the transpose of `sparse_product` by its entries.
    """

    entries: int
    fields: int
    n: int
    k: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        left, right, plan = operands
        sizes = self.n * self.k, self.n * self.k, self.fields, self.entries
        return _broken(self, sizes, (left, right, plan, result))


def _broken(params: Any, sizes: Sequence[int], views: Sequence[OperandView]) -> str:
    """Describe views of other sizes, or that are not contiguous; empty if all fits."""
    found = tuple(view.size for view in views)
    if min(params) >= 0 and found == tuple(sizes) and all(view.contiguous for view in views):
        return ""
    return f"{params}: sizes {found}, expected {tuple(sizes)}, on contiguous slots"


# --- rows ------------------------------------------------------------------------------------------------------


def _of_plan(name: str, file: str, reads: tuple[tuple[str, ...], ...], record: type) -> Structural:
    """Make the row of an op whose last operand is a plan."""
    return Structural(
        name,
        "opaque",
        f"fronts.{file}.{name}_{{direction}}_{{dtype}}",
        (*reads, None),
        record,
        fixed_dtypes={len(reads): "i64"},
        writes=tuple(range(len(reads))),
        pattern="whole",
    )


SPARSE_SYSTEMS: tuple[Structural, ...] = (
    # x0: entries
    _of_plan("sparse_cholesky", "factors", ((),), SparseCholeskyParams),
    # x0: factored matrix
    _of_plan("sparse_logdet", "determinants", (("x0", "x1"),), SparseLogdetParams),
    _of_plan("sparse_gradient", "determinants", (("x0", "x1"),), SparseLogdetParams),
    # x0: factored matrix, x1: directions
    _of_plan(
        "sparse_derivative", "determinants", (("x0", "x1", "x2"), ("x0", "x1", "x2")), SparseDerivativeParams
    ),
    # x0: factored matrix, x1: right sides
    _of_plan("sparse_solve", "solutions", (("x0", "x2", "y"), ("x0", "x2")), SparseSolveParams),
    # x0: entries, x1: columns
    _of_plan("sparse_product", "entries", (("x1", "x2"), ("x0", "x2")), SparseProductParams),
    # x0, x1: rows
    _of_plan("sparse_outer", "entries", (("x1", "x2"), ("x0", "x2")), SparseOuterParams),
)
