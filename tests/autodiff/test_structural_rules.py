"""The rules of structural ops on Tensors, against their kernels and against differences of the gradient.

The table of structural ops is gone through: an op without a rule, or without a case here, is a failure.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped
from tapegrad.frontend.functions.products.sparse import csr_outer
from tapegrad.frontend.functions.reductions.scans import linear_recurrence
from tapegrad.frontend.functions.sparse_systems import instructions
from tapegrad.frontend.recording.record_structural import record_new
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.ops import CODES, STRUCTURAL
from tapegrad.ops.structural.fourier import FourierParams
from tapegrad.ops.structural.indexing import CsrOuterParams
from tapegrad.ops.structural.sparse_systems import SparseOuterParams

DERIVED = [row.name for row in STRUCTURAL if row.differentiable]


@tg.custom_op("scaled", vjp=lambda y_bar, y, x, c: (c * c * y_bar, None), jvp=lambda dots, y, x, c: c * c * dots[0],
              differentiable=True)  # fmt: skip
def scaled(x, c):
    return c * c * x


def cube_vjp(y_bar, y, x):
    return 3.0 * x * x * y_bar


cube = tg.custom_op(
    "cube", lambda x: x**3, cube_vjp, lambda dots, y, x: 3.0 * x * x * dots[0], differentiable=True
)


def written(key, *, into=None, out=lambda x: x):
    """A write of the second operand, or of a constant, into a copy of the first."""

    def function(x, value=2.5):
        y = (x * 1.0) if into is None else into(x * 1.0)
        y[key] = value
        return out(y)

    return function


def added(key):
    def function(x, value):
        y = x * 1.0
        y[key] += value
        return y

    return function


def written_through_a_view(x, value):
    y = x * 1.0
    y.T[::-1][1:] = value
    return y


def written_twice(x, value):
    y = x * 1.0
    y[0] = value
    y[:, 1:] = y[:, :-1] * value[1]
    y[[0, 1]] = y[[1, 0]]
    return y * x


def masked(x, value):
    y = x * 1.0
    y[np.array([[True, False, True], [False, False, True]])] = value
    return y


def transform(name, lines, length, inner, halves):
    """A recorded Fourier transform, and the shapes of its operands: floats, or pairs for all or half of the rows."""
    floats, half = (lines, length, inner), (lines, length // 2 + 1, inner, 2)
    source, made = {
        **dict.fromkeys(("fft", "ifft"), ((*floats, 2), (*floats, 2))),
        **dict.fromkeys(("rfft", "irfft_back"), (floats, half)),
        **dict.fromkeys(("irfft", "rfft_back"), (half, floats)),
    }[name]
    params = FourierParams(lines, length, inner, halves)
    return (lambda x: record_new(CODES[name], [in_c_order(x)], made, params, name)), [source]


EXTENTS = ((1, 6, 1, 0), (2, 5, 3, 1), (3, 4, 1, 2), (1, 1, 2, 0), (2, 2, 1, 1), (0, 3, 2, 0))
PICK = np.array([0, 2, 2, -1, 0])
ROWS, COLUMNS = np.array([0, 1, 1, 0]), np.array([2, 0, 0, 1])

SPARSE = scipy.sparse.coo_array([[0.0, 2.0, 0.0], [1.5, 0.0, -3.0], [0.0, 0.0, 0.0], [0.0, -0.5, 4.0]])

REDUCE = {"prod_reduce": tg.prod, "max_reduce": tg.max, "min_reduce": tg.min, "logsumexp": tg.logsumexp}


def apart(a):
    """Matrices whose singular values are apart from each other."""
    m, n = a.shape[-2:]
    return a * 0.3 + np.eye(m, n) * (2.0 * np.arange(n) + 2.0)


TRIANGLES = np.array([[2.0, 1.0, 0.5], [0.5, 3.0, 1.0], [0.2, -0.5, 2.0]])


def regular(a):
    """Matrices that are far from singular, and lie in memory as they come."""
    return a + 3.0 * np.eye(a.shape[-1])


def in_band(above):
    """Return a function from bands and right sides to solutions, whose matrices are far from singular."""

    def solution(a, b):
        below = a.shape[-2] - 1 - above
        main = 3.0 * (np.arange(a.shape[-2]) == above)[:, None]
        return tg.linalg.solve_banded((below, above), a + main, b)

    return solution


def positive(a):
    """Positive definite matrices with eigenvalues of their own."""
    return a @ tg.swapaxes(a, -1, -2) + np.diag(np.arange(a.shape[-1]) + 1.0)


# Lower triangles: of a chain with a branch, whose updates are listed, and of a matrix that is one dense front
CHAIN = scipy.sparse.csr_array(np.diag(np.full(4, 3.0)) + np.eye(4, k=-1) + np.diag([1.0], -3))
FULL = scipy.sparse.csr_array(np.tril(np.ones((11, 11))) + 11.0 * np.eye(11))
CHOLESKY = {matrix.nnz: (tg.linalg.SparseCholesky(matrix), matrix.data) for matrix in (CHAIN, FULL)}


def factored(x):
    """The factor of a sparse matrix near one of the two, by the number of its entries."""
    cholesky, entries = CHOLESKY[x.size]
    return cholesky.factor(entries + 0.1 * x)


def times(x, y):
    return CHOLESKY[x.size][0].matmul(x, y)


def along(x, directions):
    """The derivative of the inverse on the pattern."""
    factor = factored(x)
    plan, rows = factor.cholesky._constant(), list(directions)
    return instructions.derivative(factor.matrix, rows, plan, factor._params, "derivative")


def on_pattern(x, y):
    """The outer product of two operands of four rows on a pattern: the cotangent of a product by its entries."""
    cholesky, _ = CHOLESKY[CHAIN.nnz]
    params = SparseOuterParams(CHAIN.nnz, len(cholesky._plan), 4, x.size // 4)
    return instructions.outer(x, y, cholesky._constant(), params, "outer")


LISTS = np.concatenate([SPARSE.tocsr().indptr, SPARSE.tocsr().indices], dtype=np.int64)


def outer_on_pattern(x, y):
    """The products of rows at the entries of a matrix in CSR format: the cotangent of a product by its entries."""
    params = CsrOuterParams(4, 3, x.size // 4)
    return csr_outer(x, y, tg.tensor(LISTS), params, "outer")


# For each op: how it is recorded, and the shapes of the operands.
CASES = {
    "sum": [
        (tg.sum, [(3, 4)]),
        (lambda x: tg.sum(x, 0), [(3, 4)]),
        (lambda x: tg.sum(x, (0, 2), keepdims=True), [(2, 3, 4)]),
        (lambda x: tg.sum(x[::-1, ::2], 1), [(3, 4)]),
        (lambda x: tg.sum(x.T, 0), [(2, 3)]),
        (lambda x: tg.sum(tg.broadcast_to(x, (2, 3)), 0), [(3,)]),
        (lambda x: tg.sum(x, 0), [(0, 3)]),
        (lambda x: tg.sum(x, 1), [(0, 3)]),
        (tg.sum, [()]),
        (lambda x: tg.mean(x, -1), [(2, 1, 3)]),
    ],
    **{
        name: [
            (lambda x, f=REDUCE[name]: f(x * 0.5), [(3, 2)]),
            (lambda x, f=REDUCE[name]: f(x, 0), [(3, 2)]),
            (lambda x, f=REDUCE[name]: f(x, 1, keepdims=True), [(2, 3, 2)]),
            (lambda x, f=REDUCE[name]: f(x[::-1, ::2], 0), [(3, 4)]),
            (lambda x, f=REDUCE[name]: f(tg.broadcast_to(x, (4, 3)), 1), [(3,)]),
            (lambda x, f=REDUCE[name]: f(x, 1), [(0, 3)]),
            (lambda x, f=REDUCE[name]: f(x, 0), [(1, 3)]),
            (lambda x, f=REDUCE[name]: f(x * 0.5, 0), [(7,)]),
        ]
        for name in REDUCE
    },
    "deviations": [
        (tg.var, [(3, 4)]),
        (lambda x: tg.std(x, 0), [(3, 2)]),
        (lambda x: tg.var(x[::-1, ::2], (0, -1), ddof=1, keepdims=True), [(3, 4, 2)]),
        (lambda x: tg.var(tg.broadcast_to(x, (2, 3)), 1), [(3,)]),
        (lambda x: tg.var(x, 1), [(0, 3)]),
        (lambda x: tg.var(x, 1), [(3, 1)]),
    ],
    "recurrence": [
        (lambda x: tg.cumprod(x * 0.4), [(5,)]),
        (lambda x: tg.cumprod(x, 0), [(3, 2)]),
        (lambda x: tg.cumprod(x[::-1, ::2], 1), [(2, 5)]),
        (lambda x: tg.cumprod(tg.broadcast_to(x, (3, 2)), 0), [(2,)]),
        (lambda x: tg.cumprod(x, 0), [(0, 3)]),
        (lambda a, b: linear_recurrence(a * 0.3, b), [(2, 4), (2, 4)]),
        (lambda a, b: linear_recurrence(tg.broadcast_to(a, (2, 4)), b), [(), (2, 4)]),
        (lambda a: linear_recurrence(a[..., ::-1], a), [(2, 3)]),
    ],
    "cross": [
        (tg.cross, [(3,), (3,)]),
        (tg.cross, [(2, 1, 3), (4, 3)]),
        (tg.cross, [(2, 3), (3,)]),
        (lambda a, b: tg.cross(a, b, axis=0), [(3, 2), (3, 2)]),
        (lambda a: tg.cross(a, a[..., ::-1]), [(2, 3)]),
        (tg.cross, [(0, 3), (0, 3)]),
        (tg.cross, [(2, 2), (2, 3)]),
    ],
    **{
        name: [transform(name, *extents) for extents in EXTENTS]
        for name in ("fft", "ifft", "rfft", "rfft_back", "irfft", "irfft_back")
    },
    "cumsum": [
        (tg.cumsum, [(5,)]),
        (lambda x: tg.cumsum(x, 0), [(3, 2)]),
        (lambda x: tg.cumsum(x, 1), [(3, 2)]),
        (lambda x: tg.cumsum(x[::-1, ::2], 1), [(2, 5)]),
        (lambda x: tg.cumsum(tg.broadcast_to(x, (3, 2)), 0), [(2,)]),
        (lambda x: tg.cumsum(x, 0), [(0, 3)]),
    ],
    "matmul": [
        (tg.matmul, [(2, 3), (3, 4)]),
        (tg.matmul, [(3,), (3,)]),
        (tg.matmul, [(3,), (3, 2)]),
        (tg.matmul, [(2, 3), (3,)]),
        (tg.matmul, [(2, 2, 3), (2, 3, 2)]),
        (tg.matmul, [(2, 1, 2, 3), (3, 3, 2)]),
        (tg.matmul, [(3, 2), (4, 2, 2)]),
        (lambda a, b: tg.matmul(a.T, b[::-1, ::2]), [(3, 2), (3, 4)]),
        (lambda a: tg.matmul(a, a.T), [(3, 2)]),
        (lambda a, b: tg.matmul(tg.broadcast_to(a, (3, 2, 2)), b), [(2, 2), (2, 1)]),
        (tg.matmul, [(2, 0), (0, 3)]),
        (tg.matmul, [(0, 2), (2, 3)]),
    ],
    **{
        name: [
            (lambda x, a=a: tg.matmul(a, x), [(3,)]),
            (lambda x, a=a: tg.matmul(a, x), [(3, 2)]),
            (lambda x, a=a: tg.matmul(a, x[::-1].T), [(2, 3)]),
            (lambda x, a=a: tg.matmul(x, a.T), [(3,)]),
            (lambda x, a=a: tg.matmul(x, a.T), [(2, 3)]),
            (lambda x, a=a: tg.matmul(a, x), [(3, 0)]),
            (lambda x, a=a: tg.matmul(a, tg.broadcast_to(x, (3, 2))), [(2,)]),
            (lambda d, x, a=a: tg.sparse.csr_array(a).asformat(a.format).with_data(d) @ x, [(5,), (3,)]),
            (lambda d, x, a=a: tg.sparse.csr_array(a).asformat(a.format).with_data(d) @ x, [(5,), (3, 2)]),
        ]
        for name, a in (("csr_matmul", SPARSE.tocsr()), ("csr_transposed_matmul", SPARSE.tocsc()))
    },
    "csr_outer": [
        (outer_on_pattern, [(4,), (3,)]),
        (outer_on_pattern, [(4, 2), (3, 2)]),
        (outer_on_pattern, [(4, 0), (3, 0)]),
    ],
    "gather": [
        (lambda x: x[PICK], [(3,)]),
        (lambda x: x[PICK], [(3, 2)]),
        (lambda x: x[:, PICK], [(2, 3)]),
        (lambda x: x[ROWS, COLUMNS], [(2, 3)]),
        (lambda x: x[::-1].T[PICK], [(2, 3)]),
        (lambda x: x[np.array([[True, False, True], [False, True, True]])], [(2, 3)]),
        (lambda x: x[np.zeros(0, int)], [(3, 2)]),
        (lambda x: tg.broadcast_to(x, (3, 2))[PICK], [(2,)]),
    ],
    "scatter_add": [
        (lambda x, w: tg.grad(lambda z: tg.sum(z[PICK] ** 2 * w))(x), [(3,), (5,)]),
        (lambda x, w: tg.grad(lambda z: tg.sum(z[:, PICK] ** 2 * w))(x), [(2, 3), (5,)]),
        (lambda x, w: tg.grad(lambda z: tg.sum(z[ROWS, COLUMNS] ** 2 * w))(x), [(2, 3), (4,)]),
    ],
    "write": [
        (written((slice(None), 1)), [(2, 3), (2,)]),
        (written((slice(None), 1)), [(2, 3)]),
        (written((slice(None, None, -1), slice(None, None, 2))), [(2, 3), (2, 2)]),
        (written((0,)), [(2, 3), ()]),
        (written((0,)), [(2, 3), (3,)]),
        (written((Ellipsis,)), [(2, 3), (2, 3)]),
        (written((slice(0, 0),)), [(2, 3), (3,)]),
        (written((0,)), [(3,), ()]),
        (written((slice(1, None),)), [(4,), (3,)]),
        (written((Ellipsis,)), [(3,), (3,)]),
        (written((slice(1, None),), into=lambda y: y.T), [(2, 3), (2,)]),
        (written_through_a_view, [(2, 3), (2, 2)]),
        (lambda x, value: written((Ellipsis,))(x, value.T), [(2, 3), (3, 2)]),
        (lambda x, value: written((0,))(x, value[::-2]), [(2, 3), (5,)]),
        (lambda x, value: written((Ellipsis,))(x, tg.broadcast_to(value[::-1], (2, 3))), [(2, 3), (3,)]),
        (lambda x, value: written((slice(1, None),))(x, tg.broadcast_to(value, (2, 3)).T), [(4, 2), (3,)]),
        (written_twice, [(2, 3), (3,)]),
        (added((slice(None), slice(0, 2))), [(2, 3), (2,)]),
    ],
    "scatter_write": [
        (written(PICK), [(3,), (5,)]),
        (written(PICK), [(3,), ()]),
        (written(PICK), [(3,)]),
        (written(PICK), [(3, 2), (5, 2)]),
        (written((ROWS, COLUMNS)), [(2, 3), (4,)]),
        (written((slice(None), PICK)), [(2, 3), (5,)]),
        (written((slice(None), PICK)), [(2, 3), (2, 1)]),
        (written_twice, [(2, 3), (3,)]),
        (masked, [(2, 3), (3,)]),
        (masked, [(2, 3), ()]),
        (added(PICK), [(3,), (5,)]),
    ],
    "correlate": [
        (tg.convolve, [(4,), (3,)]),
        (lambda x, v: tg.convolve(x[::-1], v, "valid"), [(2,), (4,)]),
        (lambda x, v: tg.correlate(x, v, "same"), [(4,), (3,)]),
        (lambda x: tg.correlate(x, x[::-2], "full"), [(5,)]),
        (lambda x: tg.convolve(x, x, "same"), [(4,)]),
    ],
    "embed": [
        (lambda x, w: tg.grad(lambda z: tg.sum(z[1:] * z[:-1] * w) + tg.sum(z[::-2] ** 3))(x), [(5,), (4,)]),
        (lambda x, w: tg.grad(lambda z: tg.sum(z[1:] * z.T[::-1, :2].T * w))(x), [(3, 2), (2, 2)]),
        (lambda x: tg.grad(lambda z: sum((z[k] - z[k + 1]) ** 4 for k in range(5)))(x), [(6,)]),
    ],
    "lu_solve": [
        (lambda a, b: tg.linalg.solve(regular(a), b), [(3, 3), (3,)]),
        (lambda a, b: tg.linalg.solve(regular(a).T, b), [(3, 3), (3, 2)]),
        (lambda a, b: tg.linalg.solve(regular(a), b), [(3, 3), (2, 3, 1)]),
        (lambda a, b: tg.linalg.solve(regular(a), b), [(2, 1, 3, 3), (2, 3, 2)]),
        (lambda a, b: tg.linalg.solve(regular(a), b[::-1]), [(13, 13), (13, 2)]),
        (lambda a, b: tg.linalg.solve(a, b), [(0, 0), (0, 2)]),
    ],
    "lu_triangles": [(lambda a: tg.linalg.lu_factor(a)[0], [shape]) for shape in [(3, 3), (2, 2, 2), (13, 13)]],
    "exchange_rows": [
        (lambda a, b: tg.linalg.lu_solve(tg.linalg.lu_factor(a), b), [(3, 3), (3,)]),
        (lambda b: tg.linalg.lu_solve((TRIANGLES, [1, 2, 2]), b, trans=1), [(2, 3, 2)]),
    ],
    "inv": [(lambda a: tg.linalg.inv(regular(a)), [shape]) for shape in [(3, 3), (2, 2, 2), (13, 13), (0, 0)]],
    "det": [(tg.linalg.det, [shape]) for shape in [(1, 1), (3, 3), (2, 2, 2)]],
    "slogdet": [(lambda a: tg.linalg.slogdet(regular(a))[1], [shape]) for shape in [(1, 1), (3, 3), (2, 2, 2)]],
    "solve_triangular": [
        (lambda a, b: tg.linalg.solve_triangular(regular(a), b), [(3, 3), (3,)]),
        (lambda a, b: tg.linalg.solve_triangular(regular(a), b, lower=True), [(3, 3), (3, 2)]),
        (lambda a, b: tg.linalg.solve_triangular(regular(a).T, b, trans=1), [(3, 3), (2, 3, 2)]),
        (lambda a, b: tg.linalg.solve_triangular(a / 3, b, lower=True, unit_diagonal=True), [(3, 3), (3, 2)]),
        (lambda a, b: tg.linalg.solve_triangular(regular(a), b[::-1], trans="T"), [(2, 13, 13), (13, 2)]),
    ],
    "solve_banded": [
        (in_band(1), [(3, 5), (5,)]),
        (in_band(0), [(3, 4), (4, 2)]),
        (lambda a, b: in_band(1)(a, b[::-1]), [(2, 4), (4, 2)]),
        (in_band(2), [(4, 4), (2, 4, 2)]),
        (in_band(1), [(2, 1, 3, 4), (2, 4, 1)]),
        (in_band(3), [(6, 2), (2, 3)]),
        (in_band(1), [(3, 0), (0, 2)]),
    ],
    "cholesky": [(lambda a: tg.linalg.cholesky(positive(a)), [shape]) for shape in [(3, 3), (2, 2, 2), (40, 40)]],
    "sparse_cholesky": [(lambda x: factored(x).logdet(), [(size,)]) for size in CHOLESKY],
    "sparse_logdet": [(lambda x: factored(x).logdet() * x, [(CHAIN.nnz,)])],
    "sparse_gradient": [(lambda x: factored(x).inverse_on_pattern(), [(size,)]) for size in CHOLESKY],
    "sparse_derivative": [
        (lambda x, s: along(x, s[None]), [(CHAIN.nnz,), (CHAIN.nnz,)]),
        (along, [(CHAIN.nnz,), (2, CHAIN.nnz)]),
    ],
    "sparse_solve": [
        (lambda x, b: factored(x).solve(b), [(CHAIN.nnz,), (4,)]),
        (lambda x, b: factored(x).solve(b[:, ::-1]), [(FULL.nnz,), (11, 2)]),
    ],
    "sparse_product": [(times, [(CHAIN.nnz,), (4,)]), (times, [(CHAIN.nnz,), (4, 3)])],
    "sparse_outer": [(on_pattern, [(4,), (4,)]), (on_pattern, [(4, 2), (4, 2)])],
    "eigh": [
        (lambda a: tg.linalg.eigh(positive(a))[1], [(3, 3)]),
        (lambda a: tg.linalg.eigh(positive(a))[0], [(2, 2, 2)]),
        (lambda a: tg.linalg.eigvalsh(positive(a)), [(3, 3)]),
    ],
    "eig": [
        (lambda a: tg.linalg.eig(apart(a))[1], [(3, 3)]),
        (lambda a: tg.linalg.eig(apart(a))[0], [(2, 2, 2)]),
        (lambda a: tg.linalg.eigvals(apart(a)), [(3, 3)]),
    ],
    "qr": [
        (lambda a, k=k, mode=mode: tg.linalg.qr(apart(a), mode)[k], [shape])
        for shape in [(3, 3), (2, 3, 2), (2, 4)] for k in (0, 1) for mode in ("reduced", "complete")
    ],
    "svd": [
        (lambda a, k=k, full=full: tg.linalg.svd(apart(a), full)[k], [shape])
        for shape in [(3, 3), (2, 3, 2), (2, 3)] for k in (0, 1, 2) for full in (False, True)
    ] + [(lambda a: tg.linalg.svdvals(apart(a)), [(3, 2)])],
    "expm": [(lambda a: tg.linalg.expm(a / 8), [shape]) for shape in [(3, 3), (2, 2, 2)]],
    "sqrtm": [(lambda a: tg.linalg.sqrtm(regular(a)), [shape]) for shape in [(3, 3), (2, 2, 2)]],
    "sylvester": [
        (lambda a, b, q: tg.linalg.solve_sylvester(regular(a), regular(b), q), [(3, 3), (2, 2), (3, 2)]),
        (lambda a, q: tg.linalg.solve_continuous_lyapunov(regular(a), q), [(2, 2, 2), (2, 2)]),
    ],
    "pinv": [(tg.linalg.pinv, [shape]) for shape in [(3, 3), (2, 4, 2), (2, 3)]],
    "determined": [(lambda x: tg.grad(lambda z: tg.sum(tg.linalg.eigh(positive(z))[1] ** 3))(x), [(3, 3)])],
    "cast_f64": [(lambda x: x.astype("f4").astype("f8"), [(2, 3)])],
    "cast_f32": [(lambda x: x.astype("f4"), [(2, 3)]), (lambda x: x[::-1].astype("f4").astype("f8"), [(3,)])],
    "cast_c128": [
        (lambda x: x.astype(complex).view(float), [(2, 3)]),
        (lambda x: (x[::-1].astype(complex) * (1 + 2j)).view(float), [(3,)]),
    ],
    "cast_c64": [(lambda x: x.astype("c8").real, [(2, 3)])],
    "custom": [
        (lambda x: scaled(x, 3), [(2, 3)]),
        (lambda x: scaled(x[::-1, ::2], np.arange(2)), [(2, 3)]),
        (cube, [(3,)]),
        (cube, [()]),
        (cube, [(0, 2)]),
    ],
}  # fmt: skip
# What is recorded as elementwise copies into parts of a buffer, or as views only.
OTHERS = {
    "joined": [
        (lambda x, y: tg.concatenate([x, y[::-1], x]), [(2,), (3,)]),
        (lambda x, y: tg.concatenate([x.T, y], axis=1), [(3, 2), (2, 2)]),
        (lambda x, y: tg.stack([x, y, x], axis=1), [(3,), (3,)]),
        (lambda x, y: tg.concatenate([x, y]), [(0,), (3,)]),
    ],
    "written nowhere": [(written(np.zeros(0, int)), [(3,), (0,)])],
    "viewed": [
        (lambda x: x[::-1].T, [(3, 2)]),
        (lambda x: tg.broadcast_to(x[:, None], (3, 2)), [(3,)]),
        (lambda x: tg.reshape(x[:, ::2] * 2, -1)[::-1], [(2, 4)]),
    ],
}


def parameters(cases):
    return [
        pytest.param(name, *case, id=f"{name}-{k}") for name in cases for k, case in enumerate(cases[name])
    ]


by_op = grouped("name")
FIRST = {cases[0][0] for cases in (*CASES.values(), *OTHERS.values())}
every_case = pytest.mark.parametrize(("name", "function", "shapes"), parameters({**CASES, **OTHERS}))
third = daily(every=3, always=lambda function: function in FIRST)  # and the first case of each op
SINGLE = frozenset(("cast_f64", "cast_f32", "cast_c64"))  # results have seven digits


def operands(shapes, count=3):
    """The operands, and as many directions."""
    rng = np.random.default_rng(7)
    xs = [np.asarray(rng.uniform(0.5, 2, shape)) for shape in shapes]
    return xs, [[np.asarray(rng.standard_normal(shape)) for shape in shapes] for _ in range(count)]


def close(found, expected, name="", loose=1e-11):
    tolerance = 3e-6 if name in SINGLE else loose
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=tolerance, atol=tolerance)


def test_every_structural_op_has_cases():
    unknown, missing = CASES.keys() - set(DERIVED), [name for name in DERIVED if not CASES.get(name)]
    assert not unknown, f"{unknown}: CASES has them, but no row of ops/structural that is differentiable"
    assert not missing, (
        f"{missing}: CASES of {Path(__file__).name} does not say by which public function they are recorded"
    )


@by_op
@pytest.mark.parametrize(("name", "function", "shapes"), parameters(CASES))
def test_the_case_records_the_op(name, function, shapes):
    leaves = [tg.tensor(x) for x in operands(shapes)[0]]
    y = function(*leaves)
    assert y.shape is not None
    named = {"custom": ("scaled(", "cube(")}.get(name, (f" {name}(",))
    assert any(text in str(tg.tape()) for text in named)


# --- against the kernels -----------------------------------------------------------------------------------------


@by_op
@third
@every_case
def test_reverse_rule_is_the_kernel(name, function, shapes):
    xs, _ = operands(shapes)
    leaves = [tg.tensor(x) for x in xs]
    y = function(*leaves)
    y_bar = np.asarray(np.random.default_rng(1).standard_normal(y.shape)).astype(y.dtype)
    y.backward(y_bar, retain_graph=True)
    expected = [np.zeros(t.shape) if t.grad is None else t.grad.copy() for t in leaves]
    y.backward(y_bar, retain_graph=True, create_graph=True, accumulate=False)
    found = [np.zeros(t.shape) if t.grad is None else t.grad for t in leaves]
    assert [getattr(each, "dtype", None) for each in found] == [t.dtype for t in leaves]
    close([np.asarray(getattr(each, "data", each)) for each in found], expected, name)
    for leaf in leaves:
        leaf.null_grad()
    y.null_grad()


@by_op
@third
@every_case
def test_reverse_rule_of_a_number(name, function, shapes):
    """All elements have one cotangent, which the sweep carries as a number."""
    xs, _ = operands(shapes)
    for gradient in (None, 1.0, -2.5, 0.0):
        leaves = [tg.tensor(x) for x in xs]
        y = function(*leaves)
        y.backward(gradient, retain_graph=True)
        expected = [np.zeros(t.shape) if t.grad is None else t.grad.copy() for t in leaves]
        y.backward(gradient, retain_graph=True, create_graph=True, accumulate=False)
        found = [np.zeros(t.shape) if t.grad is None else t.grad.data for t in leaves]
        close(found, expected, name)
        for t in (y, *leaves):
            t.null_grad()


# Ops whose patterns have no entry but those that are other than zero somewhere
EXACT = frozenset(
    ("sum", "gather", "scatter_add", "write", "scatter_write", "embed", "csr_matmul", "csr_transposed_matmul", "matmul",
     "cast_f64", "cast_f32", "cast_c128", "cast_c64", "joined", "written nowhere", "viewed")
)  # fmt: skip


@by_op
@third
@pytest.mark.parametrize(
    ("name", "function", "shapes"),
    parameters({name: cases if name in EXACT else cases[:1] for name, cases in {**CASES, **OTHERS}.items()}),
)
def test_sparse_jacobian_is_the_dense_one(name, function, shapes):
    """The pattern has all entries that are other than zero, and these are what the dense sweep finds."""
    rng, places = np.random.default_rng(7), tuple(range(len(shapes)))
    sparse, dense = (tg.jacobian(function, places, sparse=kind) for kind in (True, False))
    ever = [0] * len(shapes)
    for _ in range(3 if name in EXACT else 1):
        xs = [np.asarray(rng.uniform(0.5, 2, shape)) for shape in shapes]
        found = sparse(*xs)
        whole = [np.reshape(each, m.shape) for each, m in zip(dense(*xs), found, strict=True)]
        close([each.toarray() for each in found], whole, name)
        ever = [before | (each != 0) for before, each in zip(ever, whole, strict=True)]
    if name in EXACT:
        assert [each.nnz for each in found] == [np.count_nonzero(each) for each in ever]


def mirrored(array):
    """A Tensor that shows an array through negative strides, with gaps between the elements."""
    array = np.asarray(array)
    if array.ndim == 0:
        return tg.tensor(np.array([1.0, array, 2.0], array.dtype))[1]
    flipped = tuple(slice(None, None, -1) for _ in array.shape)
    return tg.tensor(np.repeat(array[flipped], 2, axis=-1))[flipped][..., ::2]


@by_op
@third
@every_case
def test_rules_of_values_in_another_order(name, function, shapes):
    """Cotangents and tangents that are views of Tensors, which do not lie in C order."""
    xs, (dots, *_) = operands(shapes)
    leaves = [tg.tensor(x) for x in xs]
    y = function(*leaves)
    y_bar = np.asarray(np.random.default_rng(2).standard_normal(y.shape)).astype(y.dtype)
    y.backward(y_bar, retain_graph=True)
    expected = [np.zeros(t.shape) if t.grad is None else t.grad.copy() for t in leaves]
    y.backward(mirrored(y_bar), retain_graph=True, create_graph=True, accumulate=False)
    close([np.zeros(t.shape) if t.grad is None else t.grad.data for t in leaves], expected, name)
    for t in (y, *leaves):
        t.null_grad()
    along = [mirrored(x_dot) for x_dot in dots]
    close([tg.jvp(function, xs, along)[1].data], [tg.jvp(function, xs, dots)[1]], name)


@by_op
@third
@every_case
def test_reverse_rule_asked_for_one_operand(name, function, shapes):
    xs, _ = operands(shapes)
    for k in range(len(xs)):
        leaves = [tg.tensor(x, constant=j != k) for j, x in enumerate(xs)]
        y = function(*leaves)
        if y.constant:
            continue
        y.backward(retain_graph=True)
        expected = np.zeros(xs[k].shape) if leaves[k].grad is None else leaves[k].grad.copy()
        y.backward(retain_graph=True, create_graph=True, accumulate=False, inputs=leaves[k])
        found = leaves[k].grad
        close([expected * 0 if found is None else found.data], [expected], name)
        y.null_grad()
        leaves[k].null_grad()


@by_op
@third
@every_case
def test_forward_rule_is_the_kernel(name, function, shapes):
    xs, (dots, *_) = operands(shapes)
    value, expected = tg.jvp(function, xs, dots)
    tensors = [tg.tensor(x) for x in xs]
    y, y_dot = tg.jvp(function, tensors, dots)
    assert (y_dot.shape, y_dot.dtype) == (np.shape(expected), expected.dtype)
    close([y.data, y_dot.data], [value, expected], name)
    close(tg.jit(lambda *xs: tg.jvp(function, xs, dots))(*xs), [value, expected], name)
    for k in range(len(xs)):  # of a single operand
        single = [x_dot if j == k else np.zeros_like(x_dot) for j, x_dot in enumerate(dots)]
        rest = list(tensors)

        def alone(x, k=k, rest=rest):
            return function(*[x if j == k else t for j, t in enumerate(rest)])

        close([tg.jvp(alone, (tensors[k],), (dots[k],))[1].data], [tg.jvp(function, xs, single)[1]], name)


# --- second order ------------------------------------------------------------------------------------------------


def scalar_of(function, shapes):
    """A scalar that is not linear in what the function gives, nor in its operands."""

    def scalar(*xs):
        y = function(*[tg.sin(x) * 2.0 + x for x in xs])
        weights = np.linspace(0.5, 1.5, y.size).reshape(y.shape).astype(y.dtype)
        return tg.sum(tg.exp(y * 0.3) * weights)

    return scalar


def differences(gradient, xs, dots):
    """The derivative of a gradient along a direction, extrapolated from two differences."""

    def difference(h):
        ends = [gradient(*[x + s * h * d for x, d in zip(xs, dots, strict=True)]) for s in (1, -1)]
        return [(a - b) / (2 * h) for a, b in zip(*ends, strict=True)]

    return [(4 * a - b) / 3 for a, b in zip(difference(5e-4), difference(1e-3), strict=True)]


@grouped("name", limit=6)
@third
@every_case
def test_second_order(name, function, shapes):
    xs, (dots, others, _) = operands(shapes)
    scalar, every = scalar_of(function, shapes), tuple(range(len(xs)))
    product = tg.hvp(scalar, every)(*xs, tuple(dots))
    if name in SINGLE:
        expected = reference_in_double(xs, dots, function)
    else:
        expected = differences(tg.grad(scalar, every), xs, dots)
    close(product, expected, name, 3e-8)
    for way in (replayed_product, reverse_over_reverse, replayed_reverse_over_reverse, reverse_over_forward):
        close(way(scalar, every, xs, dots), product, name)
    symmetric = [
        sum(np.sum(a * b) for a, b in zip(tg.hvp(scalar, every)(*xs, tuple(u)), v, strict=True))
        for u, v in ((dots, others), (others, dots))
    ]
    assert symmetric[0] == pytest.approx(symmetric[1], rel=1e-4 if name in SINGLE else 1e-11, abs=1e-11)


def reference_in_double(xs, dots, function):
    """Return the reference without the casts, which change nothing but digits."""
    plain = {True: lambda x: x[::-1] * 1.0, False: lambda x: x * 1.0}[xs[0].ndim == 1]
    return tg.hvp(scalar_of(plain, None), (0,))(*xs, tuple(dots))


def replayed_product(scalar, every, xs, dots):
    return tg.hvp(tg.jit(scalar), every)(*xs, tuple(dots))


def slope(scalar, every, dots):
    """The inner product of the gradient with a direction."""

    def function(*xs):
        gradients = tg.grad(scalar, every)(*xs)
        return sum(tg.sum(g * d) for g, d in zip(gradients, dots, strict=True))

    return function


def reverse_over_reverse(scalar, every, xs, dots):
    return tg.grad(slope(scalar, every, dots), every)(*xs)


def replayed_reverse_over_reverse(scalar, every, xs, dots):
    return tg.grad(tg.jit(slope(scalar, every, dots)), every)(*xs)


def reverse_over_forward(scalar, every, xs, dots):
    return tg.grad(lambda *ys: tg.jvp(scalar, ys, tuple(dots))[1], every)(*xs)


THIRD = [pytest.param(name, *CASES[name][0], id=name) for name in CASES if name not in SINGLE]


@daily(every=3)
@pytest.mark.parametrize(("name", "function", "shapes"), THIRD)
def test_third_order(name, function, shapes):
    xs, (dots, others, _) = operands(shapes)
    scalar, every = scalar_of(function, shapes), tuple(range(len(xs)))
    second = slope(scalar, every, dots)
    product = tg.hvp(second, every)(*xs, tuple(others))
    close(product, differences(tg.grad(second, every), xs, others), name, 3e-8)
    close(tg.hvp(tg.jit(second), every)(*xs, tuple(others)), product, name)
    close(reverse_over_reverse(second, every, xs, others), product, name)


# --- places where rules are delicate -----------------------------------------------------------------------------


ZEROS = [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0], [0.0, 2.0, 3.0, 0.0, 5.0]]


@pytest.mark.parametrize("how", ["plain", "jit"])
@pytest.mark.parametrize("line", ZEROS, ids=str)
def test_products_with_zeros(line, how):
    x = np.array(line)
    n = x.size
    expected = np.array(
        [[0.0 if j == k else np.prod(np.delete(x, [j, k])) for k in range(n)] for j in range(n)]
    )
    function = tg.jit(tg.prod) if how == "jit" else tg.prod
    np.testing.assert_allclose(tg.hessian(function)(x), expected)
    np.testing.assert_allclose(tg.jacrev(tg.grad(function))(x), expected)


@pytest.mark.parametrize("how", ["plain", "jit"])
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("line", [[2.0, 2.0, 1.0], [2.0, 2.0], [1.0, 1.0, 2.0, 1.0]], ids=str)
def test_tied_extremes_have_no_second_derivative(line, name, how):
    extreme, x = getattr(tg, name), np.array(line)
    share = (x == getattr(np, name)(x)) / np.sum(x == getattr(np, name)(x))
    function = lambda x: extreme(x) ** 2  # noqa: E731
    function = tg.jit(function) if how == "jit" else function
    np.testing.assert_allclose(tg.hessian(function)(x), 2 * np.outer(share, share))


@pytest.mark.parametrize("how", ["plain", "jit"])
def test_masked_infinities_in_lines(how):
    def function(x):
        y = tg.where(x > 0, tg.log(x), 0.0)
        return tg.prod(y) + tg.max(y) ** 2 + tg.sum(tg.cumsum(y) ** 2) + tg.sum(y[[0, 1, 1]] * y)

    x, prepared = np.array([0.0, 2.0, 3.0]), tg.jit(function) if how == "jit" else function
    hessian = tg.hessian(prepared)(x)
    assert np.isfinite(hessian).all()
    assert not hessian[0].any()
    assert not hessian[:, 0].any()
    np.testing.assert_allclose(
        hessian[1:, 1:], tg.hessian(lambda z: function(tg.concatenate([[0.0], z])))(x[1:])
    )
