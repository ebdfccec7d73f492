"""Derivatives of decompositions and determinants, as expressions on Tensors.

The formulas are those of the kernels. Where the kernels find a derivative undetermined, a sweep raises here too.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.rules.step import Step
from tapegrad.autodiff.rules.ties import (
    TIE_ROUNDINGS,
    Ties,
    absolute,
    check_determined,
    column,
    diagonal_matrix,
    excess_of_pairs,
    extent_of,
    joined,
    maximum,
    row,
)
from tapegrad.frontend.functions.matrices.decompositions import columns_of, singular_packed, singular_parts
from tapegrad.frontend.functions.matrices.determinants import det
from tapegrad.frontend.functions.matrices.matrices import Systems, inverse, transposed, triangle_solved
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes import joining
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.recording import elementwise
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.shape import expand_dims, in_c_order, reshape
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import COPY

# --- QR factors ------------------------------------------------------------------------------------------------


def _divided(x: Tensor, r: Tensor, transpose: bool) -> Tensor:
    """Return ``x @ r^-1``, or ``x @ r^-T``, for an upper triangle."""
    r, right = in_c_order(r), in_c_order(transposed(x))
    n, k = right.shape[-2:]
    system = Systems(r, right, math.prod(right.shape[:-2]), n, k, True)
    return transposed(triangle_solved(system, not transpose, False, False, "qr"))


def _factors(packed: Tensor, p: Any) -> tuple[Tensor, Tensor]:
    """Return Q and R of a packed result, without further columns of a complete Q."""
    k = min(p.m, p.n)
    q, r = columns_of(packed, 0, p.m, p.full), columns_of(packed, p.m * p.full, p.full, p.n)
    return q[..., :k], r[..., :k, :]


def _qr_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, x = step.params, step.x(0)
    k, (q, r), (q_bar, r_bar) = min(p.m, p.n), _factors(step.y, p), _factors(step.dense(y_bar, -1), p)
    own, rest_bar = r[..., :k], r_bar[..., k:]
    if p.n > k:
        q_bar = q_bar + matmul(x[..., k:], transposed(rest_bar))
    m = matmul(own, transposed(r_bar[..., :k])) - matmul(transposed(q_bar), q)
    ones = np.ones((k, k), x.dtype)
    symmetric = m * np.tril(ones) + transposed(m * np.tril(ones, -1))
    first = _divided(q_bar + matmul(q, symmetric), own, True)
    return {0: first if p.n == k else joining.concatenate([first, matmul(q, rest_bar)], -1)}


def _qr_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    k, (q, r) = min(p.m, p.n), _factors(step.y, p)
    own, moved = r[..., :k], _divided(x_dot[..., :k], r[..., :k], False)
    s = matmul(transposed(q), moved)
    below = s * np.tril(np.ones((k, k), x_dot.dtype), -1)
    upper = s - below + transposed(below)
    q_dot, r_dot = moved - matmul(q, upper), matmul(upper, own)
    if p.n > k:
        rotated = matmul(matmul(transposed(q_dot), q), r[..., k:])
        r_dot = joining.concatenate([r_dot, rotated + matmul(transposed(q), x_dot[..., k:])], -1)
    return joined([_more_rows(transposed(q_dot), p.full), transposed(_more_rows(r_dot, p.full))])


def _more_rows(x: Tensor, rows: int) -> Tensor:
    """Return matrices with rows of zeros appended."""
    missing = rows - x.shape[-2]
    if missing == 0:
        return x
    zeros = from_array(np.zeros((*x.shape[:-2], missing, x.shape[-1]), x.dtype), constant=True)
    return joining.concatenate([x, zeros], -2)


# --- singular values -------------------------------------------------------------------------------------------


def _singular(step: Step, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return s, U and V of a packed result, without further columns of complete factors."""
    p = step.params
    k, (u, s, vh) = min(p.m, p.n), singular_parts(packed, p.m, p.n, bool(p.full))
    return s, u[..., :k], transposed(vh[..., :k, :])


def _primals(step: Step) -> tuple[Tensor, Tensor, Tensor, Ties]:
    """Return s, U, V and ties. Higher derivatives differentiate the singular vectors too."""
    p = step.params
    packed = step.y if p.vectors else singular_packed(step.x(0), bool(p.full), True, "svd")
    s, u, v = _singular(step, packed)
    with no_grad():
        ties = Ties(unary(COPY, s), max(p.m, p.n))
    return s, u, v, ties


def _excess_of_zeros(s_bar: Tensor, of_u: Tensor, of_v: Tensor, ties: Ties) -> Tensor:
    """Return the amount by which zeros are told apart, for each pair of them."""
    pairs = ties.others * ties.zeros * transposed(ties.zeros)
    of_values = absolute(column(s_bar)) - ties.slack * extent_of(column(s_bar))
    of_vectors = [absolute(m - transposed(m)) - ties.slack * extent_of(m) for m in (of_u, of_v)]
    excess: Tensor = pairs * maximum(of_values, maximum(*of_vectors))
    return excess


def _inverses(s: Tensor, ties: Ties) -> tuple[Tensor, Tensor]:
    """Return ``1 / (s_j - s_i)`` and ``1 / (s_j + s_i)``, without ties, zeros, and the diagonal."""
    apart, together = row(s) - column(s), row(s) + column(s)
    eye = np.eye(s.shape[-1], dtype=s.dtype)
    with no_grad():
        none = maximum(ties.tied * ties.zeros * transposed(ties.zeros), eye)
    return ties.inverse(apart, ties.tied), ties.inverse(together, none)


def _outside(vectors: Tensor, inner: Tensor, bar: Tensor, s: Tensor, ties: Ties) -> Tensor:
    """Return the part of a cotangent or tangent outside of the vectors' space, divided by s."""
    rest = bar - matmul(vectors, inner)
    zeros = transposed(ties.zeros)
    with no_grad():
        slack = TIE_ROUNDINGS * float(np.finfo(s.dtype).eps) * bar.shape[-2]
        excess = zeros * (absolute(rest) - slack * extent_of(bar))
    return check_determined(rest, excess) * ties.inverse(row(s), zeros)


def _svd_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p = step.params
    s, u, v, ties = _primals(step)
    s_bar, u_bar, v_bar = _singular(step, step.dense(y_bar, -1))
    of_u, of_v = matmul(transposed(u), u_bar), matmul(transposed(v), v_bar)
    if p.vectors:
        with no_grad():
            excess = excess_of_pairs(s_bar, of_u + of_v, ties)
            excess = maximum(excess, _excess_of_zeros(s_bar, of_u, of_v, ties))
        s_bar = check_determined(s_bar, excess)
    else:
        s_bar = ties.shared(s_bar) * (1 - reshape(ties.zeros, s_bar.shape))
    first, second = of_u - transposed(of_u), of_v - transposed(of_v)
    apart, together = _inverses(s, ties)
    g = ((first + second) * apart + (first - second) * together) / 2 + diagonal_matrix(s_bar)
    x_bar = matmul(matmul(u, g), transposed(v))
    k = min(p.m, p.n)
    if p.m > k and p.vectors:
        x_bar = x_bar + matmul(_outside(u, of_u, u_bar, s, ties), transposed(v))
    if p.n > k and p.vectors:
        x_bar = x_bar + matmul(u, transposed(_outside(v, of_v, v_bar, s, ties)))
    return {0: x_bar}


def _excess_of_moves(m: Tensor, ties: Ties) -> Tensor:
    """Return the amount by which equal values separate or mix; see `kernels.svd`."""
    slack, own = ties.slack * extent_of(m), diagonal(m, 0, -2, -1)
    apart = maximum(absolute(m + transposed(m)), absolute(row(own) - column(own)))
    of_zeros = maximum(absolute(m - transposed(m)), absolute(column(own)))
    zeros = ties.zeros * transposed(ties.zeros)
    excess: Tensor = ties.others * maximum(apart - slack, zeros * (of_zeros - slack))
    return excess


def _svd_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    s, u, v, ties = _primals(step)
    moved_u, moved_v = matmul(x_dot, v), matmul(transposed(x_dot), u)
    m, k = matmul(transposed(u), moved_u), min(p.m, p.n)
    s_dot = diagonal(m, 0, -2, -1)
    if not p.vectors:
        s_dot = ties.shared(s_dot) * (1 - reshape(ties.zeros, s_dot.shape))
        return _packed_tangent(s_dot, u * 0.0, v * 0.0, p)
    with no_grad():
        excess = _excess_of_moves(m, ties)
    s_dot = check_determined(s_dot, excess)
    apart, together = _inverses(s, ties)
    even, odd = (m + transposed(m)) / 2 * apart, (m - transposed(m)) / 2 * together
    u_dot, v_dot = matmul(u, even + odd), matmul(v, even - odd)
    if p.m > k:
        u_dot = u_dot + _outside(u, m, moved_u, s, ties)
    if p.n > k:
        v_dot = v_dot + _outside(v, transposed(m), moved_v, s, ties)
    return _packed_tangent(s_dot, u_dot, v_dot, p)


def _packed_tangent(s_dot: Tensor, u_dot: Tensor, v_dot: Tensor, p: Any) -> Tensor:
    left, right = (p.m, p.n) if p.full else (s_dot.shape[-1],) * 2
    return joined(
        [s_dot, _more_rows(transposed(u_dot), left), transposed(_more_rows(transposed(v_dot), right))]
    )


# --- determinants ----------------------------------------------------------------------------------------------


def _adjugate(x: Tensor) -> Tensor:
    """Return the adjugates of matrices, with derivatives also where a matrix is singular.

    Between bases in which a matrix is diagonal, and which are constants here, the adjugate is written with the Schur
    complement of all singular values but the smallest: it divides by those alone, in units of the largest.
    """
    n = x.shape[-1]
    if n == 1:
        return x * 0.0 + 1.0
    with no_grad():
        fixed = unary(COPY, x)
        u, s, vh = singular_parts(singular_packed(fixed, False, True, "det"), n, n, False)
        sign = expand_dims(det(u) * det(vh), (-1, -2))
        # all singular values are 0: any unit will do, and a nonzero remainder is rounding
        size = elementwise.where(s[..., :1] > 0.0, s[..., :1], float(np.finfo(s.dtype).tiny) ** 0.25)
        s = s / size
        values = joining.concatenate([maximum(s[..., :-1], float(np.finfo(s.dtype).eps)), s[..., -1:]], -1)
        values, size = diagonal_matrix(values), expand_dims(size, -1)
    inner = values + matmul(matmul(transposed(u), (x - fixed) / size), transposed(vh))
    lead, right, below, last = (
        inner[..., :-1, :-1],
        inner[..., :-1, -1:],
        inner[..., -1:, :-1],
        inner[..., -1:, -1:],
    )
    inverted = inverse(lead, "det")
    across, down = matmul(inverted, right), matmul(below, inverted)
    complement = last - matmul(below, across)
    top = joining.concatenate([complement * inverted + matmul(across, down), -across], -1)
    bottom = joining.concatenate([-down, last * 0.0 + 1.0], -1)
    scale = expand_dims(det(lead), (-1, -2)) * sign * size ** (n - 1)
    adjugate = joining.concatenate([top, bottom], -2) * scale
    return matmul(matmul(transposed(vh), adjugate), transposed(u))


def _det_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    return {0: transposed(_adjugate(step.x(0))) * expand_dims(step.dense(y_bar, -1), (-1, -2))}


def _det_forward(step: Step, x_dot: Value, *_: None) -> Value:
    return reductions.sum(transposed(_adjugate(step.x(0))) * step.dense(x_dot, 0), (-1, -2))


RULES: dict[str, tuple[Callable[..., dict[int, Value]], Callable[..., Value]]] = {
    "qr": (_qr_reverse, _qr_forward),
    "svd": (_svd_reverse, _svd_forward),
    "det": (_det_reverse, _det_forward),
}
