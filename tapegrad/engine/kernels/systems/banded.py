"""Solutions of systems with banded matrices, by Gauss's elimination with exchanges of rows, and their derivatives.

A band of a matrix in memory is a matrix whose strides go along its diagonals, so elements are read as ``A[i, j]``.
``A X = B`` has the cotangents ``B_bar = A^-H X_bar`` and ``A_bar = -B_bar X^H``, of the elements in the band
(Giles 2008); the elimination is LAPACK's `gbtf2` (Golub, Van Loan, "Matrix Computations", 2013, section 4.3).
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import add, at, by_rows, put
from tapegrad.engine.kernels.language.matmul import Matrix, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.lu import exchange_pair, pivot_size
from tapegrad.engine.kernels.systems.stacks import (
    Sizes,
    SystemFrame,
    for_each_system,
    write_nan,
    write_nothing,
)
from tapegrad.ops.structural.matrices import BandedParams


class Band(NamedTuple):
    """Banded matrix: its elements, and the numbers of diagonals below and above the main one."""

    a: Matrix
    below: int
    above: int


@always_inline
def _band(address: int, p: Any, zero: Any) -> Band:
    """Describe the band of an operand: element ``[i, j]`` is at ``[above + i - j, j]`` of its rows."""
    row = p.n * size_of(zero)
    matrix = Matrix(address + p.above * row, p.n, p.n, row, size_of(zero) - row)
    return Band(transposed(matrix), p.above, p.below) if p.transpose else Band(matrix, p.below, p.above)


@always_inline
def _adjoint(band: Band) -> Band:
    return Band(transposed(band.a), band.above, band.below)


@always_inline
def _scratch_bytes(p: Any, zero: Any) -> int:
    """Return the size of a band with the diagonals that exchanges of rows fill."""
    return p.n * (2 * p.below + 2 * p.above + 1) * size_of(zero)


@noinline
def _copied(band: Band, scratch: int, is_adjoint: bool, zero: Any) -> Matrix:
    """Copy a band, or its conjugate, by rows, with zeros in as many diagonals above it as there are below."""
    n, below, above = band.a.rows, band.below, band.above
    size, width = size_of(zero), 2 * below + above + 1
    memset(scratch, np.int32(0), n * width * size)
    own = Matrix(scratch + below * size, n, n, (width - 1) * size, size)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            value = at(band.a, i, j, zero)
            put(own, i, j, np.conj(value) if is_adjoint else value, zero)
    return own


@always_inline
def _exchange(a: Matrix, c: int, other: int, end: int, zero: Any) -> None:
    for j in range(c, end):
        before = at(a, c, j, zero)
        put(a, c, j, at(a, other, j, zero), zero)
        put(a, other, j, before, zero)


@always_inline
def _subtract(a: Matrix, i: int, c: int, factor: Any, first: int, end: int, zero: Any) -> None:
    """Subtract a multiple of row c from row i."""
    for j in range(first, end):
        put(a, i, j, at(a, i, j, zero) - factor * at(a, c, j, zero), zero)


@noinline
def _solve(band: Band, scratch: int, x: Matrix, is_adjoint: bool, zero: Any) -> int:
    """Solve in place for right sides, with a band or the conjugate of one; return a status."""
    a, n, below = _copied(band, scratch, is_adjoint, zero), x.rows, band.below
    reach = below + band.above + 1
    for c in range(n):
        pivot_row, largest, end = c, pivot_size(at(a, c, c, zero)), min(n, c + reach)
        for i in range(c + 1, min(n, c + below + 1)):
            if pivot_size(at(a, i, c, zero)) > largest:
                pivot_row, largest = i, pivot_size(at(a, i, c, zero))
        if largest == 0:
            return SINGULAR
        if pivot_row != c:
            _exchange(a, c, pivot_row, end, zero)
            exchange_pair(x, c, pivot_row, zero)
        pivot = at(a, c, c, zero)
        for i in range(c + 1, min(n, c + below + 1)):
            factor = at(a, i, c, zero) / pivot
            _subtract(a, i, c, factor, c + 1, end, zero)
            _subtract(x, i, c, factor, 0, x.columns, zero)
    for step in range(n):
        c = n - 1 - step
        for j in range(c + 1, min(n, c + reach)):
            _subtract(x, c, j, at(a, c, j, zero), 0, x.columns, zero)
        for k in range(x.columns):
            put(x, c, k, at(x, c, k, zero) / at(a, c, c, zero), zero)
    return 0


@noinline
def _subtract_outer(u: Matrix, y: Matrix, into: Band, zero: Any) -> None:
    """Subtract ``u @ y^H`` from a band; of a matrix that is used transposed the band is transposed as well."""
    for i in range(u.rows):
        for j in range(max(0, i - into.below), min(u.rows, i + into.above + 1)):
            total = at(into.a, i, j, zero)
            for k in range(u.columns):
                total -= at(u, i, k, zero) * np.conj(at(y, j, k, zero))
            put(into.a, i, j, total, zero)


@noinline
def _subtract_product(band: Band, y: Matrix, into: Matrix, zero: Any) -> None:
    """Subtract the product of a band with columns."""
    for i in range(y.rows):
        for j in range(max(0, i - band.below), min(y.rows, i + band.above + 1)):
            _subtract_row(into, i, y, j, at(band.a, i, j, zero), zero)


@always_inline
def _subtract_row(into: Matrix, i: int, y: Matrix, j: int, factor: Any, zero: Any) -> None:
    for k in range(y.columns):
        put(into, i, k, at(into, i, k, zero) - factor * at(y, j, k, zero), zero)


@always_inline
def solve_banded_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the solutions with the bands X[0] and the right sides X[1] to Y."""
    p = load_record(load_i64(frame, PARAMS), BandedParams)
    bands, y, bytes_ = load_i64(frame, X), load_i64(frame, Y), p.n * p.k * size_of(zero)
    scratch, status = malloc(_scratch_bytes(p, zero) + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    memcpy(y, load_i64(frame, X + 1), p.matrices * bytes_)
    for _ in range(p.matrices):
        status = _solve(_band(bands, p, zero), scratch, by_rows(y, p.n, p.k, zero), False, zero)
        if status != 0:
            if p.nan_on_failure == 0:
                break
            write_nan(y, bytes_, zero)
            status = 0
        bands += p.stride * (p.below + p.above + 1) * p.n * size_of(zero)
        y += bytes_
    free(scratch)
    return status


@always_inline
def _cotangents(loops: int, zero: Any, own: SystemFrame, p: Any) -> int:
    n, k, of_band = p.n, p.k, (p.below + p.above + 1) * p.n * size_of(zero)
    x, y = by_rows(own.scratch, n, k, zero), by_rows(own.y, n, k, zero)
    band, scratch = _adjoint(_band(own.a, p, zero)), own.scratch + n * k * size_of(zero)
    write_nothing(own.a_bar, of_band, own.store & 1)
    status = _solve(band, scratch, x, True, zero)
    if status == 0 and own.b_bar != 0:
        add(x, by_rows(own.b_bar, n, k, zero), own.store & 2, zero)
    if status == 0 and own.a_bar != 0:
        _subtract_outer(x, y, _band(own.a_bar, p, zero), zero)
    return status


@always_inline
def solve_banded_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangents of bands and right sides: solutions with the conjugate transposes."""
    p, size = load_record(load_i64(frame, PARAMS), BandedParams), size_of(zero)
    bands, of_band = load_i64(frame, X), (p.below + p.above + 1) * p.n * size
    sizes = Sizes(of_band, of_band, p.n * p.k * size, _scratch_bytes(p, zero))
    return for_each_system(frame, loops, zero, p, bands, sizes, zero, _cotangents)


@always_inline
def solve_banded_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the solutions for ``b_dot - a_dot @ y`` to Y_BAR; either tangent may be absent."""
    p = load_record(load_i64(frame, PARAMS), BandedParams)
    bands, y, y_dot, n, k = load_i64(frame, X), load_i64(frame, Y), load_i64(frame, Y_BAR), p.n, p.k
    bands_dot, b_dot, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    of_bands = (p.below + p.above + 1) * n * size_of(zero)
    scratch, status = malloc(_scratch_bytes(p, zero) + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        into = by_rows(y_dot, n, k, zero)
        if b_dot != 0:
            memcpy(y_dot, b_dot, bytes_)
            b_dot += bytes_
        else:
            memset(y_dot, np.int32(0), bytes_)
        if bands_dot != 0:
            _subtract_product(_band(bands_dot, p, zero), by_rows(y, n, k, zero), into, zero)
            bands_dot += p.stride * of_bands
        status = _solve(_band(bands, p, zero), scratch, into, False, zero)
        if status != 0:
            if p.nan_on_failure == 0:
                break
            write_nan(y_dot, bytes_, zero)
            status = 0
        bands += p.stride * of_bands
        y += bytes_
        y_dot += bytes_
    free(scratch)
    return status
