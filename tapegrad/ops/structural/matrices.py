"""Ops of stacks of matrices: products, factors, systems of equations, decompositions.

The records of the parameters, then the rows. In records, `nan_on_failure` is 1 if a matrix for which an op, or its
derivative, fails has nan for a result; it is 0 if that stops the sweep.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad.ops.params import OperandView
from tapegrad.ops.row import Structural


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


class SquareParams(NamedTuple):
    """Parameters of ops of square matrices: `matrices` matrices of `n` rows and columns."""

    matrices: int
    n: int
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_stack(self, self.matrices * self.n**2, operands[0], *operands, result)


class SylvesterParams(NamedTuple):
    """`matrices` equations ``A X + X B = Q``, where A has m rows and columns, and B n."""

    matrices: int
    m: int
    n: int
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, _ = self
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
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, stride, _ = self
        if (result.size, operands[1].size) != (count * m * n, count if stride else 1):
            return f"{self}: cutoffs of shape {operands[1].shape}, a result of shape {result.shape}"
        return _broken_stack(self, count * m * n, operands[0], *operands, result)


class PivotParams(NamedTuple):
    """Parameters of pivots: `matrices` matrices of `n` rows, and the number of fields of their factors."""

    matrices: int
    n: int
    fields: int

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        if result.size != self.matrices * self.n:
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, self.matrices * self.fields, operands[0], *operands, result)


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
    nan_on_failure: int = 0

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
    nan_on_failure: int = 0

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
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, full, _ = self
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
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        count, m, n, full, vectors, _ = self
        k = min(m, n)
        left, right = (m, n) if full else (k, k)
        if result.size != count * (k + m * left + n * right) or not {full, vectors} <= {0, 1}:
            return f"{self}: a result of shape {result.shape}"
        return _broken_stack(self, count * m * n, operands[0], *operands, result)


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
    nan_on_failure: int = 0

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
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        return _broken_systems(self, operands, result)


class BandedParams(NamedTuple):
    """Parameters of `solve_banded`: those of `LuSolveParams`, and the diagonals below and above the main one.

    Matrices are stored by their diagonals: element ``[i, j]`` is at ``[above + i - j, j]``.
    """

    matrices: int
    n: int
    k: int
    transpose: int
    stride: int
    below: int
    above: int
    nan_on_failure: int = 0

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        bands, sides = operands
        fits = sides.size == result.size == self.matrices * self.n * self.k
        if not fits or not {self.transpose, self.stride} <= {0, 1}:
            return f"{self}: right sides of shape {sides.shape}, solutions of shape {result.shape}"
        count = self.matrices if self.stride else 1
        size = count * (self.below + self.above + 1) * self.n
        return _broken_stack(self, size, bands, *operands, result)


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
    is_choice = getattr(params, "nan_on_failure", 0) in (0, 1)
    if is_choice and min(params) >= 0 and matrices.size == size and all(view.contiguous for view in views):
        return ""
    return f"{params}: matrices of shape {matrices.shape}, or not on contiguous slots"


# --- rows ------------------------------------------------------------------------------------------------------


_NUMBERS = ("f64", "f32", "c128", "c64")


def _of_matrices(
    name: str,
    file: str,
    reads: tuple[tuple[str, ...] | None, ...],
    record: type,
    factor: int | None = None,
    batching: str = "matrices",
    complexes: str | None = None,
    **others: Any,
) -> Structural:
    """Make the row of an op of stacks of matrices.

    Operand `factor` is a result of `lu`, without a derivative. `complexes` is the file of kernels of complex matrices.
    """
    if complexes is not None:
        others["dtypes"] = _NUMBERS
        others["complex_functions"] = f"{complexes}.{name}_{{direction}}_{{dtype}}"
    return Structural(
        name,
        "opaque",
        f"{file}.{name}_{{direction}}_{{dtype}}",
        reads,
        record,
        fixed_dtypes={} if factor is None else {factor: "i64"},
        writes=tuple(j for j, names in enumerate(reads) if names is not None),
        factors=None if factor is None else (factor, "lu"),
        batching=batching,
        **{"pattern": "matrices", **others},
    )


MATRICES: tuple[Structural, ...] = (
    Structural(
        "matmul",
        "matmul",
        "language.matmul.matmul_{direction}_{dtype}",
        (("x1",), ("x0",)),
        MatmulParams,
        dtypes=_NUMBERS,
        complex_functions="systems.complex_products.matmul_{direction}_{dtype}",
    ),
    # Factors and row exchanges of matrices, as integers; ops that read them have the derivative by the matrices
    _of_matrices("lu", "systems.lu", (None,), SquareParams, result="i64", complexes="complexes.systems"),
    # x0: matrices, x1: right sides, x2: the factors of the matrices
    _of_matrices(
        "lu_solve",
        "systems.lu",
        (("x0", "x2", "y"), ("x0", "x2"), None),
        LuSolveParams,
        factor=2,
        shared_operands=(0, 2),
        of_columns=True,
        complexes="complexes.systems",
    ),
    _of_matrices(
        "lu_triangles",
        "systems.lu_factor",
        (("x1", "y"), None),
        SquareParams,
        factor=1,
        complexes="systems.lu_factor",
    ),
    # x0: factors, as integers
    Structural(
        "lu_pivots",
        "opaque",
        "systems.lu_factor.lu_pivots_{direction}_{dtype}",
        (None,),
        PivotParams,
        dtypes=("i64",),
        factors=(0, "lu"),
        batching="matrices",
    ),
    # x1: for each row the number of the row to exchange it with
    Structural(
        "exchange_rows",
        "opaque",
        "systems.lu_factor.exchange_rows_{direction}_{dtype}",
        (("x1",), None),
        ExchangeParams,
        dtypes=_NUMBERS,
        fixed_dtypes={1: "i64"},
        writes=(0,),
        transpose="exchanged_back",
        batching="matrices",
        pattern="matrices",
        shared_operands=(1,),
    ),
    _of_matrices("inv", "systems.inverses", (("y",),), SquareParams, complexes="complexes.systems"),
    _of_matrices(
        "det",
        "systems.determinants",
        (("x0", "x1"), None),
        SquareParams,
        factor=1,
        complexes="complexes.determinants",
    ),
    _of_matrices(
        "slogdet",
        "systems.determinants",
        (("x0", "x1"), None),
        SquareParams,
        factor=1,
        batching="slogdet",
        pattern="matrices_last",
        complexes="complexes.determinants",
    ),
    # x0: triangles, x1: right sides
    _of_matrices(
        "solve_triangular",
        "systems.triangular",
        (("x0", "y"), ("x0",)),
        TriangularParams,
        shared_operands=(0,),
        of_columns=True,
        complexes="systems.triangular",
    ),
    # x0: diagonals of matrices, x1: right sides
    _of_matrices(
        "solve_banded",
        "systems.banded",
        (("x0", "y"), ("x0",)),
        BandedParams,
        shared_operands=(0,),
        of_columns=True,
        complexes="systems.banded",
    ),
    _of_matrices("cholesky", "systems.cholesky", (("y",),), SquareParams, complexes="complexes.cholesky"),
    _of_matrices("expm", "spectra.expm", (("x0",),), SquareParams, complexes="spectra.expm"),
    _of_matrices("sqrtm", "spectra.sylvester", (("y",),), SquareParams, complexes="spectra.sylvester"),
    _of_matrices(
        "sylvester",
        "spectra.sylvester",
        (("x0", "x1", "y"),) * 2 + (("x0", "x1"),),
        SylvesterParams,
        complexes="spectra.sylvester",
    ),
    # x0: matrices, x1: cutoff of singular values, relative to the largest
    _of_matrices("pinv", "spectra.pinv", (("x0", "y"), None), PinvParams, shared_operands=(1,)),
    # Results of several parts, which are views of one buffer
    _of_matrices("eigh", "spectra.eigh", (("x0", "y"),), EighParams, complexes="complexes.eigh"),
    _of_matrices("eig", "spectra.eig", (("x0", "y"),), EigParams, complexes="complexes.eig"),
    _of_matrices("qr", "systems.qr", (("x0", "y"),), QrParams, complexes="complexes.qr"),
    _of_matrices("svd", "spectra.svd", (("x0", "y"),), SvdParams, complexes="complexes.svd"),
)
