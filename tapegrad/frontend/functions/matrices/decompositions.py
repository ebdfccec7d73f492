"""Eigenvalues of symmetric matrices, QR factors, and singular values."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import (
    adjoint,
    conjugate,
    imag_part,
    is_complex,
    part_dtype,
    real_of,
)
from tapegrad.frontend.functions.matrices.matrices import (
    Systems,
    matrices,
    record_packed,
    square,
    transposed,
    triangle_solved,
)
from tapegrad.frontend.functions.matrices.ties import (
    TIE_ROUNDINGS,
    Ties,
    absolute,
    check_determined,
    column,
    diagonal_matrix,
    excess_of_pairs,
    excess_of_phases,
    extent_of,
    joined,
    maximum,
    row,
)
from tapegrad.frontend.functions.matrices.triangles import half_of_triangle
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.rules import Step, Value, state_rules
from tapegrad.frontend.recording.shape import in_c_order, packed_part, reshape, swapaxes
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, from_array, view_of
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import COPY


class EighResult(NamedTuple):
    """Result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Result of `qr`."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """Result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def part_of(packed: Tensor, first: int, shape: tuple[int, ...]) -> Tensor:
    """Return a part of each line of a packed result, as a view in a shape."""
    if len(shape) == 1 and (made := packed_part(packed, first, *shape)) is not None:
        return made
    array = packed.data_or_traced()
    lines = array[..., first : first + math.prod(shape)]
    return view_of(packed, lines.reshape(array.shape[:-1] + shape))


def columns_of(packed: Tensor, first: int, rows: int, columns: int) -> Tensor:
    """Return a part of each line as a matrix stored by columns."""
    if (made := packed_part(packed, first, rows, columns)) is not None:
        return made
    array = packed.data_or_traced()
    lines = array[..., first : first + rows * columns]
    return view_of(packed, lines.reshape((*array.shape[:-1], columns, rows)).swapaxes(-1, -2))


def by_lower_triangle(a: Any, name: str) -> Tensor:
    """Return the symmetric or Hermitian matrices given by the lower triangles of an operand."""
    x = square(a, name)
    if is_complex(x):
        half = half_of_triangle(x, True)
        return half + adjoint(half)
    symmetric: Tensor = where(np.tri(x.shape[-1], dtype=bool), x, transposed(x))
    return symmetric


# --- eigenvalues -----------------------------------------------------------------------------------------------


def eigen_packed(x: Tensor, lower: bool, vectors: bool, name: str) -> Tensor:
    """Record eigenvalues and eigenvectors, packed with the eigenvectors as rows."""
    n = x.shape[-1]
    return record_packed("eigh", x, n + n * n, (n, int(lower), int(vectors)), name)


def _is_lower(uplo: Any, name: str) -> bool:
    letter = uplo.upper() if isinstance(uplo, str) else uplo
    if letter not in ("L", "U"):
        raise ValueError(f"{name}: UPLO is 'L' or 'U', not {uplo!r}")
    return bool(letter == "L")


def eigh(a: Any, UPLO: Literal["L", "U"] = "L") -> EighResult:  # noqa: N803  NumPy's name
    """Compute the eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Symmetric matrices, or complex Hermitian ones.
    UPLO : {'L', 'U'}, default 'L'
        Which triangle is read, the lower or the upper one.

    Returns
    -------
    eigenvalues : Tensor, shape (..., m)
        In ascending order, real.
    eigenvectors : Tensor, shape (..., m, m)
        Columns of length 1.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or if LAPACK does not converge. In a derivative, if eigenvalues are equal and
        it is not determined by what is known there.

    Notes
    -----
    Derivatives are by the triangle that is read, whose elements stand for those of the other one too: there a gradient
    is zero [1]_. A vector is determined up to its sign, and vectors of equal eigenvalues up to a rotation; a function
    of them is differentiable there if it depends on their space alone, as a projection to all of it does. For other
    functions of equal eigenvalues, and for any whose value depends on both eigenvalues and vectors in more than a
    common multiple, the derivative raises. `eigvalsh` has derivatives everywhere: equal eigenvalues share theirs
    equally. A complex vector is determined up to its phase: of a function that depends on it the derivative raises.

    References
    ----------
    .. [1] M. B. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
       2008.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[2.0, 0.0], [0.0, 3.0]])
    >>> w, v = tg.linalg.eigh(a)
    >>> w
    Tensor([2., 3.])
    >>> w[1].backward()
    >>> a.grad
    array([[0., 0.],
           [0., 1.]])
    """
    x = square(a, "numpy.linalg.eigh")
    packed = eigen_packed(x, _is_lower(UPLO, "numpy.linalg.eigh"), True, "numpy.linalg.eigh")
    n = x.shape[-1]
    return EighResult(real_of(part_of(packed, 0, (n,))), columns_of(packed, n, n, n))


@like(
    eigh,
    summary="Compute the eigenvalues of symmetric or Hermitian matrices.",
    returns="Tensor, shape (..., m)\n    In ascending order.",
    raises="""LinAlgError
    If the matrices are not square, or if LAPACK does not converge. In a second derivative, if eigenvalues are
    equal and it is not determined.""",
    notes="""\
Derivatives are by the triangle that is read, as those of `eigh`. Where eigenvalues are equal, functions that treat
them alike have their derivatives. For other functions they share theirs equally.""",
    references="",
    examples=">>> tg.linalg.eigvalsh(tg.tensor([[2.0, 0.0], [0.0, 3.0]]))\nTensor([2., 3.])",
)
def eigvalsh(a: Any, UPLO: Literal["L", "U"] = "L") -> Tensor:  # noqa: N803  NumPy's name
    x = square(a, "numpy.linalg.eigvalsh")
    packed = eigen_packed(x, _is_lower(UPLO, "numpy.linalg.eigvalsh"), False, "numpy.linalg.eigvalsh")
    return real_of(part_of(packed, 0, (x.shape[-1],)))


# --- QR factors ------------------------------------------------------------------------------------------------


def completed(vectors: Tensor, others: Tensor) -> Tensor:
    """Return vectors that complete an orthonormal basis, as a function of the first ones, from their own values.

    They are projected out of the space of the first ones, and orthonormal to third order.
    """
    constant = others.detach()
    inside = matmul(adjoint(vectors), constant)
    outside = constant - matmul(vectors, inside)
    return outside + matmul(outside, matmul(adjoint(inside), inside)) / 2


def _complete(columns: Tensor, k: int) -> Tensor:
    """Return an orthonormal basis whose first k vectors have derivatives."""
    if columns.constant or columns.shape[-1] == k:
        return columns
    thin = columns[..., :k]
    return concatenate([thin, completed(thin, columns[..., k:])], axis=-1)


def qr(a: Any, mode: str = "reduced") -> Any:
    """Compute QR factors: ``a == q @ r`` with orthonormal columns of `q`, and `r` with zeros below its diagonal.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, n)
        Matrices.
    mode : {'reduced', 'complete', 'r'}, default 'reduced'
        Whether `q` has ``min(m, n)`` columns, or m, or whether `r` alone is returned.

    Returns
    -------
    Q : Tensor, shape (..., m, k)
        The orthonormal factor.
    R : Tensor, shape (..., k, n)
        The triangular factor; the only result for ``mode='r'``.

    Raises
    ------
    LinAlgError
        In a derivative, if the first ``min(m, n)`` columns of a matrix are linearly dependent.
    UnsupportedError
        For ``mode='raw'``, whose results are no matrices.

    Notes
    -----
    Derivatives are those of [1]_, and for matrices that are wider than high of [2]_. The columns beyond the first n of
    a complete `q` are determined up to a rotation; functions that depend on their space alone have derivatives.

    References
    ----------
    .. [1] S. F. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions with application in
       optimum experimental design, 2010.
    .. [2] D. A. O. Roberts and L. R. Roberts, QR and LQ decomposition matrix backpropagation algorithms for square,
       wide, and deep matrices, 2020.

    Examples
    --------
    >>> import tapegrad as tg
    >>> q, r = tg.linalg.qr(tg.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r)
    Tensor([[5. , 2.2],
            [0. , 0.4]])
    """
    if mode == "raw":
        raise UnsupportedError("numpy.linalg.qr: mode='raw' is not supported for Tensors; use 'reduced'")
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(
            f"numpy.linalg.qr: mode is 'reduced', 'complete' or 'r', not {mode!r}; for SciPy's 'full' write 'complete',"
            " for 'economic' 'reduced'"
        )
    x = matrices(a, "numpy.linalg.qr")
    m, n = x.shape[-2:]
    k = min(m, n)
    full = m if mode == "complete" else k
    length, params = full * (m + n), (m, n, full)
    packed = record_packed("qr", x, length, params, "numpy.linalg.qr")
    r = columns_of(packed, m * full, full, n)
    return r if mode == "r" else QRResult(_complete(columns_of(packed, 0, m, full), k), r)


# --- singular values -------------------------------------------------------------------------------------------


def singular_packed(x: Tensor, full: bool, vectors: bool, name: str) -> Tensor:
    """Record singular values, U and V^H, both stored by columns."""
    m, n = x.shape[-2:]
    k = min(m, n)
    left, right = (m, n) if full else (k, k)
    length, params = k + m * left + n * right, (m, n, int(full), int(vectors))
    return record_packed("svd", x, length, params, name)


def singular_parts(packed: Tensor, m: int, n: int, full: bool) -> SVDResult:
    """Return the parts of a result of `singular_packed`."""
    k = min(m, n)
    left, right = (m, n) if full else (k, k)
    u, v = columns_of(packed, k, m, left), columns_of(packed, k + m * left, right, n)
    return SVDResult(u, real_of(part_of(packed, 0, (k,))), v)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Compute singular value decompositions: ``a == (U * S) @ Vh``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, n)
        Matrices.
    full_matrices : bool, default True
        Whether U and Vh are square, or have ``min(m, n)`` columns and rows.
    compute_uv : bool, default True
        Whether to return U and Vh.
    hermitian : bool, default False
        Take the matrices for symmetric: their lower triangles are read.

    Returns
    -------
    U : Tensor, shape (..., m, m) or (..., m, k)
        Orthonormal columns.
    S : Tensor, shape (..., k)
        Singular values in descending order; the only result for ``compute_uv=False``.
    Vh : Tensor, shape (..., n, n) or (..., k, n)
        Orthonormal rows.

    Raises
    ------
    LinAlgError
        If LAPACK does not converge. In a derivative, if singular values are equal, or zero, and it is not determined by
        what is known there.

    Notes
    -----
    Derivatives are those of [1]_ and [2]_. A pair of vectors is determined up to its sign, and those of equal singular
    values up to a rotation; in stacks of small matrices the signs are others than NumPy's. What `eigh` says of equal
    eigenvalues holds for equal singular values. `svdvals` has derivatives everywhere.

    References
    ----------
    .. [1] M. Seeger et al., Auto-differentiating linear algebra, 2017.
    .. [2] J. Townsend, Differentiating the singular value decomposition, 2016.

    Examples
    --------
    >>> import tapegrad as tg
    >>> u, s, vh = tg.linalg.svd(tg.tensor([[0.0, 2.0], [3.0, 0.0]]))
    >>> s
    Tensor([3., 2.])
    """
    x = by_lower_triangle(a, "numpy.linalg.svd") if hermitian else matrices(a, "numpy.linalg.svd")
    if not compute_uv:
        return singular_values(x, "numpy.linalg.svd")
    m, n = x.shape[-2:]
    u, s, vh = singular_parts(
        singular_packed(x, full_matrices, True, "numpy.linalg.svd"), m, n, full_matrices
    )
    if full_matrices and m != n:
        k = min(m, n)
        u, vh = _complete(u, k), swapaxes(_complete(swapaxes(vh, -1, -2), k), -1, -2)
    return SVDResult(u, s, vh)


def singular_values(x: Tensor, name: str) -> Tensor:
    """Record singular values alone."""
    return real_of(part_of(singular_packed(x, False, False, name), 0, (min(x.shape[-2:]),)))


def svdvals(x: Any, /) -> Tensor:
    """Compute the singular values of matrices.

    Parameters
    ----------
    x : Tensor or array_like, shape (..., m, n)
        Matrices.

    Returns
    -------
    Tensor, shape (..., min(m, n))
        In descending order.

    Raises
    ------
    LinAlgError
        If LAPACK does not converge. In a second derivative, if singular values are equal, or zero, and it is not
        determined.

    Notes
    -----
    Where singular values are equal, functions that treat them alike have their derivatives; for other functions they
    share theirs equally. That of a zero is 0, as that of ``abs``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.svdvals(tg.tensor([[0.0, 2.0], [3.0, 0.0]]))
    Tensor([3., 2.])
    """
    return singular_values(matrices(x, "numpy.linalg.svdvals"), "numpy.linalg.svdvals")


LINALG = {"eigh": eigh, "eigvalsh": eigvalsh, "qr": qr, "svd": svd, "svdvals": svdvals}


# --- derivatives of eigenvalues --------------------------------------------------------------------------------


def eigen_parts(packed: Tensor, n: int, are_real: bool) -> tuple[Tensor, Tensor, Ties]:
    """Return eigenvalues, real ones of Hermitian matrices, eigenvectors as rows, and ties."""
    values, rows = part_of(packed, 0, (n,)), part_of(packed, n, (n, n))
    values = real_of(values) if are_real else values
    with no_grad():
        return values, rows, Ties(unary(COPY, values), n)


def _eigen(step: Step) -> tuple[Tensor, Tensor, Ties]:
    """Return the parts of a result. Higher derivatives differentiate the eigenvectors too."""
    p = step.params
    return eigen_parts(
        step.y if p.vectors else eigen_packed(step.x(0), bool(p.lower), True, "eigh"), p.n, True
    )


def _excess_of_vectors(values_bar: Tensor, m: Tensor, bars: Sequence[Tensor], ties: Ties) -> Tensor:
    """Return the amount by which a function depends on the choice of vectors: of equal values, or on phases."""
    excess = excess_of_pairs(values_bar, m, ties)
    return maximum(excess, excess_of_phases(m, bars, ties)) if is_complex(m) else excess


def _eigh_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, bar = step.params, step.dense(y_bar, -1)
    values, rows, ties = _eigen(step)
    values_bar, rows_bar = real_of(part_of(bar, 0, (p.n,))), part_of(bar, p.n, (p.n, p.n))
    m = matmul(conjugate(rows), transposed(rows_bar))
    values_bar = ties.determined(
        values_bar, p.vectors, lambda: _excess_of_vectors(values_bar, m, [rows_bar], ties)
    )
    gaps = row(values) - column(values)
    g = (m - adjoint(m)) * ties.inverse(2.0 * gaps, ties.tied) + diagonal_matrix(values_bar)
    x_bar = matmul(matmul(transposed(rows), g), conjugate(rows))
    return {0: 2.0 * half_of_triangle(x_bar, bool(p.lower))}


def _eigh_forward(step: Step, x_dot: Value) -> Value:
    p, half = step.params, half_of_triangle(step.dense(x_dot, 0), bool(step.params.lower))
    values, rows, ties = _eigen(step)
    m = matmul(matmul(conjugate(rows), half + adjoint(half)), transposed(rows))
    values_dot = real_of(diagonal(m, 0, -2, -1))

    def excess() -> Tensor:
        mixed = maximum(absolute(m), absolute(row(values_dot) - column(values_dot)))
        found: Tensor = ties.others * (mixed - ties.slack * extent_of(m))
        return found

    values_dot = ties.determined(values_dot, p.vectors, excess)
    gaps = column(values) - row(values)
    return joined([values_dot, matmul(conjugate(m) * ties.inverse(gaps, ties.tied), rows)])


state_rules("eigh", _eigh_reverse, _eigh_forward)


# --- derivatives of QR factors ---------------------------------------------------------------------------------


def _divided(x: Tensor, r: Tensor, is_adjoint: bool) -> Tensor:
    """Return ``x @ r^-1``, or ``x @ r^-H``, for an upper triangle."""
    r, right = in_c_order(r), in_c_order(adjoint(x) if is_adjoint else transposed(x))
    n, k = right.shape[-2:]
    system = Systems(r, right, math.prod(right.shape[:-2]), n, k, True)
    found = triangle_solved(system, not is_adjoint, False, False, "qr")
    return adjoint(found) if is_adjoint else transposed(found)


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
        q_bar = q_bar + matmul(x[..., k:], adjoint(rest_bar))
    m = matmul(own, adjoint(r_bar[..., :k])) - matmul(adjoint(q_bar), q)
    first = _divided(q_bar + matmul(q, _by_lower(m)), own, True)
    return {0: first if p.n == k else concatenate([first, matmul(q, rest_bar)], -1)}


def _by_lower(m: Tensor) -> Tensor:
    """Return the symmetric or Hermitian matrices with the lower triangles of others, and their real diagonals."""
    ones = np.ones(m.shape[-2:], part_dtype(m.dtype))
    below = m * np.tril(ones, -1)
    if is_complex(m):
        return below + adjoint(below) + diagonal_matrix(real_of(diagonal(m, 0, -2, -1)))
    return m * np.tril(ones) + transposed(below)


def _qr_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    k, (q, r) = min(p.m, p.n), _factors(step.y, p)
    own, moved = r[..., :k], _divided(x_dot[..., :k], r[..., :k], False)
    s = matmul(adjoint(q), moved)
    below = s * np.tril(np.ones((k, k), part_dtype(x_dot.dtype)), -1)
    upper = s - below + adjoint(below)
    if is_complex(s):
        upper = upper - diagonal_matrix(1j * imag_part(diagonal(s, 0, -2, -1)))
    q_dot, r_dot = moved - matmul(q, upper), matmul(upper, own)
    if p.n > k:
        rotated = matmul(matmul(adjoint(q_dot), q), r[..., k:])
        r_dot = concatenate([r_dot, rotated + matmul(adjoint(q), x_dot[..., k:])], -1)
    return joined([_more_rows(transposed(q_dot), p.full), transposed(_more_rows(r_dot, p.full))])


def _more_rows(x: Tensor, rows: int) -> Tensor:
    """Return matrices with rows of zeros appended."""
    missing = rows - x.shape[-2]
    if missing == 0:
        return x
    zeros = from_array(np.zeros((*x.shape[:-2], missing, x.shape[-1]), x.dtype), constant=True)
    return concatenate([x, zeros], -2)


state_rules("qr", _qr_reverse, _qr_forward)


# --- derivatives of singular values ----------------------------------------------------------------------------


def _singular(step: Step, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return s, U and V of a packed result, without further columns of complete factors."""
    p = step.params
    k, (u, s, vh) = min(p.m, p.n), singular_parts(packed, p.m, p.n, bool(p.full))
    return s, u[..., :k], adjoint(vh[..., :k, :])


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
    of_vectors = [absolute(m - adjoint(m)) - ties.slack * extent_of(m) for m in (of_u, of_v)]
    excess: Tensor = pairs * maximum(of_values, maximum(*of_vectors))
    return excess


def _inverses(s: Tensor, ties: Ties, turns: bool) -> tuple[Tensor, Tensor]:
    """Return ``1 / (s_j - s_i)`` and ``1 / (s_j + s_i)``, without ties, zeros, and the diagonal.

    The diagonal of the second one turns pairs of complex vectors (`turns`).
    """
    apart, together = row(s) - column(s), row(s) + column(s)
    eye = np.eye(s.shape[-1], dtype=s.dtype) * (not turns)
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
    of_u, of_v = matmul(adjoint(u), u_bar), matmul(adjoint(v), v_bar)
    if p.vectors:
        with no_grad():
            excess = _excess_of_vectors(s_bar, of_u + of_v, [u_bar, v_bar], ties)
            excess = maximum(excess, _excess_of_zeros(s_bar, of_u, of_v, ties))
            if is_complex(of_u):
                excess = maximum(excess, ties.zeros * excess_of_phases(of_u - of_v, [u_bar, v_bar], ties))
        s_bar = check_determined(s_bar, excess)
    else:
        s_bar = ties.shared(s_bar) * (1 - reshape(ties.zeros, s_bar.shape))
    first, second = of_u - adjoint(of_u), of_v - adjoint(of_v)
    apart, together = _inverses(s, ties, is_complex(u))
    g = ((first + second) * apart + (first - second) * together) / 2 + diagonal_matrix(s_bar)
    x_bar = matmul(matmul(u, g), adjoint(v))
    k = min(p.m, p.n)
    if p.m > k and p.vectors:
        x_bar = x_bar + matmul(_outside(u, of_u, u_bar, s, ties), adjoint(v))
    if p.n > k and p.vectors:
        x_bar = x_bar + matmul(u, adjoint(_outside(v, of_v, v_bar, s, ties)))
    return {0: x_bar}


def _excess_of_moves(m: Tensor, ties: Ties) -> Tensor:
    """Return the amount by which equal values separate or mix; see `kernels.svd`."""
    slack, own = ties.slack * extent_of(m), diagonal(m, 0, -2, -1)
    apart = maximum(absolute(m + adjoint(m)), absolute(row(own) - column(own)))
    of_zeros = maximum(absolute(m - adjoint(m)), absolute(column(own)))
    zeros = ties.zeros * transposed(ties.zeros)
    excess: Tensor = ties.others * maximum(apart - slack, zeros * (of_zeros - slack))
    return excess


def _svd_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    s, u, v, ties = _primals(step)
    moved_u, moved_v = matmul(x_dot, v), matmul(adjoint(x_dot), u)
    m, k = matmul(adjoint(u), moved_u), min(p.m, p.n)
    s_dot = real_of(diagonal(m, 0, -2, -1))
    if not p.vectors:
        s_dot = ties.shared(s_dot) * (1 - reshape(ties.zeros, s_dot.shape))
        return _packed_tangent(s_dot, u * 0.0, v * 0.0, p)
    with no_grad():
        excess = _excess_of_moves(m, ties)
    s_dot = check_determined(s_dot, excess)
    apart, together = _inverses(s, ties, is_complex(u))
    even, odd = (m + adjoint(m)) / 2 * apart, (m - adjoint(m)) / 2 * together
    u_dot, v_dot = matmul(u, even + odd), matmul(v, even - odd)
    if p.m > k:
        u_dot = u_dot + _outside(u, m, moved_u, s, ties)
    if p.n > k:
        v_dot = v_dot + _outside(v, adjoint(m), moved_v, s, ties)
    return _packed_tangent(s_dot, u_dot, v_dot, p)


def _packed_tangent(s_dot: Tensor, u_dot: Tensor, v_dot: Tensor, p: Any) -> Tensor:
    left, right = (p.m, p.n) if p.full else (s_dot.shape[-1],) * 2
    return joined([s_dot, _more_rows(transposed(u_dot), left), transposed(_more_rows(adjoint(v_dot), right))])


state_rules("svd", _svd_reverse, _svd_forward)
