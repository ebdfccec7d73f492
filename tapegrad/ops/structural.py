"""Structural ops, one row each: ops whose kernels are written by hand.

A new op takes these parts; a test names the missing one:

1. a row in this file, with all facts of the op, and a record in `params` if the op has parameters;
2. the kernels that the row names, in `engine.kernels`;
3. a function in `frontend` that records the op, by `record_new` or another call of `recording.record_structural`, and
   at the end of its file the derivative on Tensors, by `state_rules` of `recording.rules`; that of a linear op by
   `state_transpose`, unless the transpose in its row is another op;
4. a case in ``tests/autodiff/test_structural_rules.py``, which compares kernels and derivatives of all orders.

No other file names an op: passes, segments, lanes and the verifier read the fields of its row.
"""

from typing import Any

from tapegrad.ops import params
from tapegrad.ops.row import EMITTED, Structural

_ALL = ("f64", "f32", "i64", "b8")
_INTEGERS = ("add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum")


def _extreme(name: str, fused_as: str) -> Structural:
    kernels = f"lines.reduce.{name}_{{direction}}_{{dtype}}"
    return Structural(name, "reduction", kernels, (("x0", "y"),), fused_as=fused_as)


def _order(name: str, parameters: type[Any], batching: str, *dtypes: str) -> Structural:
    """Make the row of an op that returns positions in lines: integers, without a derivative."""
    kernels = f"lines.sorting.{name}_{{direction}}_{{dtype}}"
    return Structural(
        name,
        "opaque",
        kernels,
        (None,),
        parameters,
        dtypes=("f64", "f32", *dtypes),
        result="i64",
        batching=batching,
    )


def _cast(result: str, dtypes: tuple[str, ...], transpose: str | None) -> Structural:
    return Structural(
        f"cast_{result}",
        "elementwise",
        f"lines.cast.cast_to_{result}_{{direction}}_{{dtype}}",
        ((),) if transpose else (None,),
        dtypes=dtypes,
        result=result,
        transpose=transpose,
    )


def _csr(name: str, record: type, transpose: str) -> Structural:
    """Make the row of a product with a sparse matrix. x1: entries, x2: starts of rows, then columns."""
    return Structural(
        name,
        "opaque",
        f"indexing.sparse.{name}_{{direction}}_{{dtype}}",
        (("x1", "x2"), None, None),
        record,
        fixed_dtypes={2: "i64"},
        writes=(0,),
        transpose=transpose,
        batching="sparse",
    )


def _of_integers(name: str, arity: int, result: str = "i64") -> Structural:
    """Make the row of an elementwise op on indices. Of three operands the first is a condition."""
    return Structural(
        f"integer_{name}",
        "elementwise",
        f"lines.integers.{name}_{{direction}}_{{dtype}}",
        (None,) * arity,
        dtypes=("i64",),
        variant=arity - 1,
        fixed_dtypes={0: "b8"} if arity == 3 else {},
        result=result,
    )


def _of_matrices(
    name: str,
    file: str,
    reads: tuple[tuple[str, ...] | None, ...],
    record: type,
    factor: int | None = None,
    batching: str = "matrices",
    **others: Any,
) -> Structural:
    """Make the row of an op of stacks of matrices. Operand `factor` is a result of `lu`, without a derivative."""
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
        **others,
    )


STRUCTURAL: tuple[Structural, ...] = (
    Structural("sum", "broadcast_sum", EMITTED, ((),), transpose="broadcast", fused_as="sum"),
    Structural("prod_reduce", "reduction", "lines.prod.prod_reduce_{direction}_{dtype}", (("x0", "y"),)),
    _extreme("max_reduce", "maximum"),
    _extreme("min_reduce", "minimum"),
    # squared deviations from the mean, summed
    Structural("deviations", "reduction", "lines.deviations.deviations_{direction}_{dtype}", (("x0",),)),
    Structural(
        "logsumexp",
        "reduction",
        "lines.logsumexp.logsumexp_{direction}_{dtype}",
        (("x0", "y"),),
        takes_lines=True,
        fused_as="exponentials",
    ),
    Structural(
        "cumsum", "scan", "lines.scan.cumsum_{direction}_{dtype}", ((),), transpose="sum_from_the_end"
    ),
    # x0: factors, x1: terms
    Structural(
        "recurrence",
        "scan",
        "lines.recurrence.recurrence_{direction}_{dtype}",
        (("x0", "y"), ("x0",)),
        params.RecurrenceParams,
    ),
    # of vectors of three components each
    Structural(
        "cross", "scan", "lines.cross.cross_{direction}_{dtype}", (("x1",), ("x0",)), params.CrossParams
    ),
    _order("argsort", params.ArgsortParams, "argsort", "i64"),
    _order("argextreme", params.ArgextremeParams, "lines"),
    Structural(
        "matmul",
        "matmul",
        "language.matmul.matmul_{direction}_{dtype}",
        (("x1",), ("x0",)),
        params.MatmulParams,
    ),
    # x1: row numbers
    Structural(
        "gather",
        "opaque",
        "indexing.index.gather_{direction}_{dtype}",
        (("x1",), None),
        params.GatherParams,
        dtypes=_ALL,
        fixed_dtypes={1: "i64"},
        transpose="scatter_add",
        batching="gather",
    ),
    # x1: row numbers
    Structural(
        "scatter_add",
        "opaque",
        "indexing.index.scatter_add_{direction}_{dtype}",
        (("x1",), None),
        params.ScatterAddParams,
        fixed_dtypes={1: "i64"},
        transpose="gather",
        batching="scatter_add",
    ),
    _csr("csr_matmul", params.CsrMatmulParams, "csr_transposed_matmul"),
    _csr("csr_transposed_matmul", params.CsrTransposedMatmulParams, "csr_matmul"),
    # x0: old contents of a buffer, x1: values of a region
    Structural(
        "write",
        "opaque",
        "indexing.region.write_{direction}_{dtype}",
        ((), ()),
        params.WriteParams,
        dtypes=_ALL,
        writes=(0,),
        in_place=True,
        transpose="outside_and_inside_of_the_region",
        batching="write",
    ),
    # x0: old contents of a buffer, x1: values of rows, x2: row numbers
    Structural(
        "scatter_write",
        "opaque",
        "indexing.index.scatter_write_{direction}_{dtype}",
        (("x2",), ("x2",), None),
        params.ScatterWriteParams,
        dtypes=_ALL,
        fixed_dtypes={2: "i64"},
        writes=(0,),
        in_place=True,
        transpose="outside_and_inside_of_the_rows",
        batching="scatter_write",
    ),
    # Operands copied to regions of a result of zeros; x1 and x2 may be absent
    Structural(
        "embed",
        "opaque",
        "indexing.embed.embed_{direction}_{dtype}",
        ((), (), ()),
        params.EmbedParams,
        writes=(0, 1, 2),
        optional=2,
        transpose="views_of_the_regions",
        batching="embed",
    ),
    # x0: a line, x1: weights
    Structural(
        "correlate",
        "opaque",
        "lines.correlate.correlate_{direction}_{dtype}",
        (("x1",), ("x0",)),
        params.CorrelateParams,
        writes=(0, 1),
    ),
    # x0: sorted numbers, x1: numbers to insert
    Structural(
        "searchsorted",
        "opaque",
        "lines.search.searchsorted_{direction}_{dtype}",
        (None, None),
        params.SearchParams,
        dtypes=("f64", "f32", "i64"),
        result="i64",
        batching="searchsorted",
    ),
    # x0: numbers of elements, x1: indices along an axis, added to x0
    Structural(
        "locate",
        "opaque",
        "indexing.locate.locate_{direction}_{dtype}",
        (None, None),
        params.LocateParams,
        dtypes=("i64",),
        batching="locate",
    ),
    # Factors and row exchanges of matrices, as integers; ops that read them have the derivative by the matrices
    _of_matrices("lu", "systems.lu", (None,), params.SquareParams, result="i64"),
    # x0: matrices, x1: right sides, x2: the factors of the matrices
    _of_matrices(
        "lu_solve",
        "systems.lu",
        (("x0", "x2", "y"), ("x0", "x2"), None),
        params.LuSolveParams,
        factor=2,
        shared_operands=(0, 2),
        of_columns=True,
    ),
    _of_matrices("lu_triangles", "systems.lu_factor", (("x1", "y"), None), params.SquareParams, factor=1),
    # x0: factors, as integers
    Structural(
        "lu_pivots",
        "opaque",
        "systems.lu_factor.lu_pivots_{direction}_{dtype}",
        (None,),
        params.PivotParams,
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
        params.ExchangeParams,
        fixed_dtypes={1: "i64"},
        writes=(0,),
        transpose="exchanged_back",
        batching="matrices",
        shared_operands=(1,),
    ),
    _of_matrices("inv", "systems.inverses", (("y",),), params.SquareParams),
    _of_matrices("det", "systems.determinants", (("x0", "x1"), None), params.SquareParams, factor=1),
    _of_matrices(
        "slogdet",
        "systems.determinants",
        (("x0", "x1"), None),
        params.SquareParams,
        factor=1,
        batching="slogdet",
    ),
    # x0: triangles, x1: right sides
    _of_matrices(
        "solve_triangular",
        "systems.triangular",
        (("x0", "y"), ("x0",)),
        params.TriangularParams,
        shared_operands=(0,),
        of_columns=True,
    ),
    _of_matrices("cholesky", "systems.cholesky", (("y",),), params.SquareParams),
    _of_matrices("expm", "spectra.expm", (("x0",),), params.SquareParams),
    _of_matrices("sqrtm", "spectra.sylvester", (("y",),), params.SquareParams),
    _of_matrices(
        "sylvester", "spectra.sylvester", (("x0", "x1", "y"),) * 2 + (("x0", "x1"),), params.SylvesterParams
    ),
    # x0: matrices, x1: cutoff of singular values, relative to the largest
    _of_matrices("pinv", "spectra.pinv", (("x0", "y"), None), params.PinvParams, shared_operands=(1,)),
    # Results of several parts, which are views of one buffer
    _of_matrices("eigh", "spectra.eigh", (("x0", "y"),), params.EighParams),
    _of_matrices("eig", "spectra.eig", (("x0", "y"),), params.EigParams),
    _of_matrices("qr", "systems.qr", (("x0", "y"),), params.QrParams),
    _of_matrices("svd", "spectra.svd", (("x0", "y"),), params.SvdParams),
    # x0: values, x1: flags; a sweep stops if a flag is set
    Structural(
        "determined",
        "opaque",
        "control.checked_copy.determined_{direction}_{dtype}",
        ((), None),
        params.DeterminedParams,
        fixed_dtypes={1: "b8"},
        writes=(0,),
        transpose="as_it_is",
        batching="determined",
    ),
    *[_of_integers(name, 2) for name in _INTEGERS],
    *[_of_integers(name, 2, "b8") for name in ("less", "less_equal", "equal", "not_equal")],
    _of_integers("where", 3),
    _cast("f64", ("f32", "i64", "b8"), "cast_back"),
    _cast("f32", ("f64", "i64", "b8"), "cast_back"),
    # Integers and booleans, without a derivative; from the same dtype a copy
    _cast("i64", _ALL, None),
    _cast("b8", ("i64", "b8"), None),
    # A user's op. x0: float operands end to end, x1: descriptor of the functions, x2: other operands as float64
    Structural(
        "custom",
        "callback",
        "control.callback.custom_{direction}",
        (("x0", "x2", "y"), None, None),
        params.CustomParams,
        fixed_dtypes={1: "i64", 2: "f64"},
    ),
    # A replay stops if a value differs from the one that Python saw while recording
    Structural(
        "guard",
        "guard",
        "control.guard.guard_{direction}",
        (None,),
        params.GuardParams,
        dtypes=_ALL,
        result="b8",
    ),
    Structural(
        "truth_guard",
        "guard",
        "control.guard.truth_guard_{direction}_{dtype}",
        (None,),
        params.TruthGuardParams,
        dtypes=_ALL,
        result="b8",
    ),
)
