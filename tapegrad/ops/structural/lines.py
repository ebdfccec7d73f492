"""Ops along lines, and of elements of several dtypes: reductions, scans, order, products of neighbours, conversions.

The records of the parameters, then the rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad.ops.params import OperandView, Params
from tapegrad.ops.row import EMITTED, Structural

_ALL = ("f64", "f32", "i64", "b8")
_FAR = 1 << 60  # bound of an offset, so that no sum of places overflows
_INTEGERS = ("add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum")


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


class CorrelateParams(NamedTuple):
    """``y[i] = sum(w[k] * x[i + k + offset])`` along three axes: extents `sums` of y, `size` of x and `taps` of w.

    `flipped` is 1 to read w from its end. `masked` is 1 in derivatives, where zero times anything is zero.
    """

    sums0: int
    sums1: int
    sums2: int
    size0: int
    size1: int
    size2: int
    taps0: int
    taps1: int
    taps2: int
    offset0: int
    offset1: int
    offset2: int
    flipped: int
    masked: int

    @property
    def sums(self) -> tuple[int, ...]:
        return self[0:3]

    @property
    def size(self) -> tuple[int, ...]:
        return self[3:6]

    @property
    def taps(self) -> tuple[int, ...]:
        return self[6:9]

    @property
    def offset(self) -> tuple[int, ...]:
        return self[9:12]

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        views, extents = (result, *operands), (self.sums, self.size, self.taps)
        fits = [view.size for view in views] == [a * b * c for a, b, c in extents] and min(self[:9]) >= 0
        fits &= self.flipped in (0, 1) and self.masked in (0, 1) and max(map(abs, self.offset)) < _FAR
        if fits and all(view.contiguous for view in views):
            return ""
        return f"{self}: shapes {[view.shape for view in views]}"


# --- rows ------------------------------------------------------------------------------------------------------


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


LINES: tuple[Structural, ...] = (
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
        "cumsum",
        "scan",
        "lines.scan.cumsum_{direction}_{dtype}",
        ((),),
        transpose="sum_from_the_end",
        pattern="prefixes",
    ),
    # x0: factors, x1: terms
    Structural(
        "recurrence",
        "scan",
        "lines.recurrence.recurrence_{direction}_{dtype}",
        (("x0", "y"), ("x0",)),
        RecurrenceParams,
        pattern="prefixes",
    ),
    # of vectors of three components each
    Structural("cross", "scan", "lines.cross.cross_{direction}_{dtype}", (("x1",), ("x0",)), CrossParams),
    _order("argsort", ArgsortParams, "argsort", "i64"),
    _order("argextreme", ArgextremeParams, "lines"),
    # x0: a line, x1: weights
    Structural(
        "correlate",
        "opaque",
        "lines.correlate.correlate_{direction}_{dtype}",
        (("x1",), ("x0",)),
        CorrelateParams,
        writes=(0, 1),
        pattern="windows",
    ),
    # x0: sorted numbers, x1: numbers to insert
    Structural(
        "searchsorted",
        "opaque",
        "lines.search.searchsorted_{direction}_{dtype}",
        (None, None),
        SearchParams,
        dtypes=("f64", "f32", "i64"),
        result="i64",
        batching="searchsorted",
    ),
    *[_of_integers(name, 2) for name in _INTEGERS],
    *[_of_integers(name, 2, "b8") for name in ("less", "less_equal", "equal", "not_equal")],
    _of_integers("where", 3),
    _cast("f64", ("f32", "i64", "b8"), "cast_back"),
    _cast("f32", ("f64", "i64", "b8"), "cast_back"),
    _cast("c128", ("c64", *_ALL), "cast_back"),
    _cast("c64", ("c128", *_ALL), "cast_back"),
    # Integers and booleans, without a derivative; from the same dtype a copy
    _cast("i64", _ALL, None),
    _cast("b8", ("i64", "b8"), None),
)
