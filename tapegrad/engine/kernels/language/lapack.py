"""Shared code of kernels on matrices: routines of BLAS and LAPACK, copies, and solutions with triangles.

Matrices of few rows are handled here: there a call costs more than the work.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language import matmul
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.library import entry
from tapegrad.engine.kernels.language.matmul import Matrix, Routines
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i64,
    memcpy,
    memset,
    size_of,
    stack_i64,
    store_at,
    store_i64,
)

MAX_SMALL_ROWS = 12  # larger matrices are passed to LAPACK
_TILE = 16
_EPS, _SINGLE_EPS = 2.0**-52, 2.0**-23
_LETTERS, _COMPLEX_LETTERS = {"f64": "d", "f32": "s"}, {"c128": "z", "c64": "c"}
_UNITARY = {"orgqr": "ungqr"}  # what LAPACK calls routines of complex numbers otherwise
UPPER, LOWER = np.uint8(ord("U")), np.uint8(ord("L"))
LEFT, RIGHT = np.uint8(ord("L")), np.uint8(ord("R"))
PLAIN, TRANSPOSED = np.uint8(ord("N")), np.uint8(ord("T"))
ADJOINT = np.uint8(ord("C"))  # of real matrices the transpose
UNIT = np.uint8(ord("U"))
ALL = np.uint8(ord("A"))
SOME = np.uint8(ord("S"))
VECTORS, NO_VECTORS = np.uint8(ord("V")), np.uint8(ord("N"))


class Lapack(NamedTuple):
    """Routines for one dtype, by their entries in the table of loops, and the numbers one and zero."""

    trsm: int
    trsv: int
    getrf: int
    getri: int
    potrf: int
    syevd: int
    gesdd: int
    geqrf: int
    orgqr: int
    geev: int
    gees: int
    trsyl: int
    syrk: int
    symm: int
    potri: int
    part: int
    products: Routines
    zero: Any
    one: Any


def _lapack(dtype: str, products: Routines) -> Lapack:
    routines = {name: entry(_LETTERS[dtype] + name) for name in Lapack._fields[:-4]}
    part = entry(f"solution_part_{dtype}")
    return Lapack(**routines, part=part, products=products, zero=products.zero, one=products.one)


F64 = _lapack("f64", matmul.F64)
F32 = _lapack("f32", matmul.F32)


class Complexes(NamedTuple):
    """Routines for complex numbers of one precision, the numbers zero and one, and a real zero.

    `orgqr` is LAPACK's `ungqr`: code for all numbers calls it by the name that it has for real ones.
    """

    trsm: int
    trsv: int
    getrf: int
    getri: int
    potrf: int
    heevd: int
    gesdd: int
    geqrf: int
    orgqr: int
    geev: int
    gees: int
    trsyl: int
    part: int
    products: Routines
    zero: Any
    one: Any
    real: Any


def _complexes(dtype: str, products: Routines, real: Any) -> Complexes:
    letter = _COMPLEX_LETTERS[dtype]
    routines = {name: entry(letter + _UNITARY.get(name, name)) for name in Complexes._fields[:-5]}
    numbers = {"zero": products.zero, "one": products.one, "real": real}
    return Complexes(**routines, part=entry(f"solution_part_{dtype}"), products=products, **numbers)


C128 = _complexes("c128", matmul.C128, np.float64(0))
C64 = _complexes("c64", matmul.C64, np.float32(0))


def _libraries(
    ops: Iterable[str], letters: dict[str, str], routines: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    names = ("gemm", "gemv", "trsm", "trsv", *routines)
    return {
        f"{op}_{direction}_{dtype}": (
            *(letter + name for name in names),
            f"product_part_{dtype}",
            f"solution_part_{dtype}",
        )
        for op in ops
        for direction in ("forward", "reverse", "tangent")
        for dtype, letter in letters.items()
    }


def libraries(ops: Iterable[str], *routines: str) -> dict[str, tuple[str, ...]]:
    """Return the library functions that the kernels of ops call: products, triangles, and these routines."""
    return _libraries(ops, _LETTERS, routines)


def complex_libraries(ops: Iterable[str], *routines: str) -> dict[str, tuple[str, ...]]:
    """Return the library functions that the kernels of ops of complex matrices call."""
    return _libraries(ops, _COMPLEX_LETTERS, routines)


# --- matrices in memory ----------------------------------------------------------------------------------------


@always_inline
def by_rows(address: int, rows: int, columns: int, zero: Any) -> Matrix:
    """Describe a matrix in C order."""
    return Matrix(address, rows, columns, columns * size_of(zero), size_of(zero))


@always_inline
def by_columns(address: int, rows: int, columns: int, zero: Any) -> Matrix:
    """Describe a matrix in Fortran order."""
    return Matrix(address, rows, columns, size_of(zero), rows * size_of(zero))


@always_inline
def part(a: Matrix, row: int, column: int, rows: int, columns: int) -> Matrix:
    """Describe a block of a matrix: some rows and columns."""
    first = a.address + row * a.row_stride + column * a.column_stride
    return Matrix(first, rows, columns, a.row_stride, a.column_stride)


@always_inline
def at(a: Matrix, i: int, j: int, zero: Any) -> Any:
    """Load an element of a matrix."""
    return load_at(a.address, i * a.row_stride + j * a.column_stride, zero)


@always_inline
def put(a: Matrix, i: int, j: int, value: Any, zero: Any) -> None:
    """Set an element of a matrix."""
    store_at(a.address, i * a.row_stride + j * a.column_stride, value, zero)


@noinline
def copy(source: Matrix, into: Matrix, zero: Any) -> None:
    """Copy a matrix: by rows or columns if both have them contiguous, otherwise by tiles that fit into the cache."""
    size = size_of(zero)
    if source.column_stride == size and into.column_stride == size:
        for i in range(into.rows):
            row = into.address + i * into.row_stride
            memcpy(row, source.address + i * source.row_stride, into.columns * size)
        return
    if source.row_stride == size and into.row_stride == size:
        for j in range(into.columns):
            column = into.address + j * into.column_stride
            memcpy(column, source.address + j * source.column_stride, into.rows * size)
        return
    for top in range(0, into.rows, _TILE):
        for left in range(0, into.columns, _TILE):
            for i in range(top, min(top + _TILE, into.rows)):
                for j in range(left, min(left + _TILE, into.columns)):
                    put(into, i, j, at(source, i, j, zero), zero)


@noinline
def add(source: Matrix, into: Matrix, store: int, zero: Any) -> None:
    """Add a matrix to another one, or write it there."""
    for i in range(into.rows):
        for j in range(into.columns):
            before = zero if store else at(into, i, j, zero)
            put(into, i, j, before + at(source, i, j, zero), zero)


@noinline
def negate(a: Matrix, zero: Any) -> None:
    """Change the sign of each element."""
    for i in range(a.rows):
        for j in range(a.columns):
            put(a, i, j, -at(a, i, j, zero), zero)


@noinline
def conjugate(source: Matrix, into: Matrix, zero: Any) -> None:
    """Write the complex conjugates of a matrix; it may be the same matrix."""
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, np.conj(at(source, i, j, zero)), zero)


@always_inline
def conjugate_in_place(a: Matrix, zero: Any) -> None:
    """Replace the elements of a complex matrix by their conjugates; real ones stay."""
    if np.iscomplexobj(zero):
        conjugate(a, a, zero)


@always_inline
def eps_of(zero: Any) -> float:
    """Return the distance of 1 from the next number of a dtype, or of the dtype of a complex number's parts."""
    return _EPS if size_of(zero.real) == 8 else _SINGLE_EPS


@noinline
def largest(a: Matrix, zero: Any) -> float:
    """Return the largest absolute value."""
    found = 0.0
    for i in range(a.rows):
        for j in range(a.columns):
            found = max(found, np.float64(abs(at(a, i, j, zero))))
    return found


@noinline
def write_identity(a: Matrix, zero: Any) -> None:
    """Write ones on the diagonal, and zeros."""
    for i in range(a.rows):
        for j in range(a.columns):
            put(a, i, j, zero + (i == j), zero)


@noinline
def clear(a: Matrix, zero: Any) -> None:
    """Fill a matrix with contiguous rows with zeros."""
    for i in range(a.rows):
        memset(a.address + i * a.row_stride, np.int32(0), a.columns * size_of(zero))


@noinline
def clear_triangle(a: Matrix, lower: int, zero: Any) -> None:
    """Fill one side of the diagonal with zeros: below if `lower`, else above."""
    for i in range(a.rows):
        for j in range(0 if lower else i + 1, min(i, a.columns) if lower else a.columns):
            put(a, i, j, zero, zero)


# --- symmetric and Hermitian matrices given by one triangle -----------------------------------------------------------


@noinline
def read_symmetric(a: Matrix, lower: int, into: Matrix, zero: Any) -> None:
    """Write the symmetric matrix given by one triangle of `a`; of complex numbers the Hermitian one."""
    for i in range(a.rows):
        for j in range(i + 1):
            value = at(a, i, j, zero) if lower else np.conj(at(a, j, i, zero))
            put(into, i, j, value, zero)
            put(into, j, i, np.conj(value), zero)
        if np.iscomplexobj(zero):
            put(into, i, i, at(into, i, i, zero).real, zero)


@noinline
def add_to_triangle(source: Matrix, into: Matrix, lower: int, store: int, zero: Any) -> None:
    """Add (store: write) the cotangent of a symmetric matrix to the triangle that was read, both triangles summed.

    Of complex numbers both are Hermitian, and the diagonal is real.
    """
    for i in range(source.rows):
        for j in range(source.rows):
            value = zero
            if (j <= i) if lower else (j >= i):
                value = at(source, i, j, zero)
                value = value if i == j else value + value
                if np.iscomplexobj(zero):
                    value = zero + value.real if i == j else value
            elif store == 0:
                continue
            put(into, i, j, value if store else at(into, i, j, zero) + value, zero)


# --- LU factors, with row exchanges after the triangles --------------------------------------------------------


@always_inline
def triangle_bytes(n: int, zero: Any) -> int:
    """Return the bytes of the triangles, a multiple of 8; the row exchanges follow them."""
    return (n * n * size_of(zero) + 7) // 8 * 8


@always_inline
def factor_bytes(n: int, zero: Any) -> int:
    """Return the bytes of the factors of a matrix."""
    return triangle_bytes(n, zero) + (4 * n + 7) // 8 * 8


# --- triangles -------------------------------------------------------------------------------------------------


@noinline
def is_singular(t: Matrix, zero: Any) -> bool:
    """Return whether an element of the diagonal is zero."""
    for i in range(t.rows):
        if at(t, i, i, zero) == zero:
            return True
    return False


@noinline
def _substitute_few(t: Matrix, x: Matrix, lower: int, unit: int, zero: Any) -> None:
    n = t.rows
    for step in range(n):
        i = step if lower else n - 1 - step
        for j in range(0 if lower else i + 1, i if lower else n):
            factor = at(t, i, j, zero)
            for c in range(x.columns):
                put(x, i, c, at(x, i, c, zero) - factor * at(x, j, c, zero), zero)
        if not unit:
            pivot = at(t, i, i, zero)
            for c in range(x.columns):
                put(x, i, c, at(x, i, c, zero) / pivot, zero)


@always_inline
def _trsm(loops: int, routines: Lapack, t: Matrix, x: Matrix, lower: int, unit: int) -> None:
    """Solve T X = B in place by BLAS."""
    size, n = size_of(routines.zero), t.rows
    columns_first = t.row_stride == size
    uplo = LOWER if (lower != 0) == columns_first else UPPER
    diag = UNIT if unit else PLAIN
    leading = np.int32((t.column_stride if columns_first else t.row_stride) // size)
    if x.columns == 1:
        letter = PLAIN if columns_first else TRANSPOSED
        increment = np.int32(x.row_stride // size)
        call_by_reference(
            loops, routines.trsv, (uplo, letter, diag, np.int32(n), t.address, leading, x.address, increment)
        )
        return
    from_right = x.column_stride == size
    letter = TRANSPOSED if columns_first == from_right else PLAIN
    m = np.int32(x.columns if from_right else n)
    k = np.int32(n if from_right else x.columns)
    stride = np.int32((x.row_stride if from_right else x.column_stride) // size)
    side = RIGHT if from_right else LEFT
    call_by_reference(
        loops,
        routines.trsm,
        (side, uplo, letter, diag, m, k, routines.one, t.address, leading, x.address, stride),
    )


# Fields of the frame of a solution in parts: triangle and right sides, which triangle it is, and if its diagonal is 1.
_LOOPS, _PARTS, _T, _X, _LOWER, _UNIT = 0, 1, 2, 7, 12, 13
_FIELDS = 14


@always_inline
def solution_part(frame: int, part: int, routines: Lapack) -> int:
    """Solve for some of the right sides."""
    columns = matmul.transposed(matmul.load_matrix(frame, _X))
    first, stop = matmul.part_bounds(columns.rows, load_i64(frame, _PARTS), part)
    x = matmul.transposed(matmul.some_rows(columns, first, stop))
    t, lower, unit = matmul.load_matrix(frame, _T), load_i64(frame, _LOWER), load_i64(frame, _UNIT)
    _trsm(load_i64(frame, _LOOPS), routines, t, x, lower, unit)
    return 0


@noinline
def _in_parts(loops: int, routines: Lapack, t: Matrix, x: Matrix, lower: int, unit: int, parts: int) -> None:
    frame = stack_i64(_FIELDS)
    store_i64(frame, _LOOPS, loops)
    store_i64(frame, _PARTS, parts)
    matmul.store_matrix(frame, _T, t)
    matmul.store_matrix(frame, _X, x)
    store_i64(frame, _LOWER, lower)
    store_i64(frame, _UNIT, unit)
    matmul.run_parts(loops, routines.part, frame, parts)


@noinline
def substitute(loops: int, routines: Lapack, t: Matrix, x: Matrix, lower: int, unit: int) -> None:
    """Solve T X = B in place, for a triangle and right sides with contiguous rows or columns."""
    if t.rows <= MAX_SMALL_ROWS:
        _substitute_few(t, x, lower, unit, routines.zero)
        return
    work = t.rows * t.rows * x.columns
    parts = matmul.part_count(loops, routines.part, work, 2 * matmul.MIN_PART_PRODUCTS, x.columns)
    if parts > 1:
        _in_parts(loops, routines, t, x, lower, unit, parts)
    else:
        _trsm(loops, routines, t, x, lower, unit)


@always_inline
def substitute_adjoint(loops: int, routines: Lapack, t: Matrix, x: Matrix, lower: int, unit: int) -> None:
    """Solve ``T^H X = B`` in place, of real numbers ``T^T X = B``; `lower` says which triangle T^H is."""
    conjugate_in_place(x, routines.zero)
    substitute(loops, routines, matmul.transposed(t), x, lower, unit)
    conjugate_in_place(x, routines.zero)


@always_inline
def info_i64() -> int:
    """Return the address of the integer in which LAPACK reports its status."""
    return stack_i64(1)
