"""Determinants and their logarithms."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.conversions.complex_views import adjoint, conjugate, imag_part, is_complex, real_part
from tapegrad.frontend.functions.matrices.decompositions import singular_packed, singular_parts
from tapegrad.frontend.functions.matrices.matrices import (
    inverse,
    of_squares,
    transposed,
)
from tapegrad.frontend.functions.matrices.ties import diagonal_matrix, maximum
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.rules import Step, Value, masked_multiply, state_rules
from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import COPY


class SlogdetResult(NamedTuple):
    """Result of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


def det(a: Any) -> Tensor:
    """Compute the determinants of matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    Tensor, shape (...)
        The determinants.

    Raises
    ------
    LinAlgError
        If the matrices are not square.

    See Also
    --------
    slogdet : The logarithm, which does not overflow.

    Notes
    -----
    The derivative is the adjugate, and right for singular matrices too. Second derivatives are right for every matrix,
    and those of higher orders where at most one singular value is zero.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[1.0, 2.0], [2.0, 4.0]])
    >>> tg.linalg.det(a).backward()
    >>> a.grad
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    return of_squares("det", a, "numpy.linalg.det", 1)


@like(
    det,
    ("square.", "square; and in a derivative of the logarithm, if one is singular."),
    summary="Compute the signs of determinants, and the logarithms of their sizes.",
    returns="""sign : Tensor, shape (...)
    1, -1, or 0 for a singular matrix, with derivative 0. Of a complex matrix a complex number of size 1, or 0.
logabsdet : Tensor, shape (...)
    The logarithm, -inf for a singular matrix, where it has no derivative.""",
    see_also="",
    notes="",
    examples=""">>> sign, logabsdet = tg.linalg.slogdet(tg.tensor([[0.0, 1.0], [1.0, 0.0]]))
>>> sign, logabsdet
(Tensor(-1.), Tensor(0.))""",
)
def slogdet(a: Any) -> SlogdetResult:
    both = of_squares("slogdet", a, "numpy.linalg.slogdet", 2)
    return SlogdetResult(both[0], real_part(both[1]) if is_complex(both) else both[1])


LINALG = {"det": det, "slogdet": slogdet}


# --- derivatives -----------------------------------------------------------------------------------------------


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
        size = where(s[..., :1] > 0.0, s[..., :1], float(np.finfo(s.dtype).tiny) ** 0.25)
        s = s / size
        values = concatenate([maximum(s[..., :-1], float(np.finfo(s.dtype).eps)), s[..., -1:]], -1)
        values, size = diagonal_matrix(values), expand_dims(size, -1)
    inner = values + matmul(matmul(adjoint(u), (x - fixed) / size), adjoint(vh))
    lead, right, below, last = (
        inner[..., :-1, :-1],
        inner[..., :-1, -1:],
        inner[..., -1:, :-1],
        inner[..., -1:, -1:],
    )
    inverted = inverse(lead, "det")
    across, down = matmul(inverted, right), matmul(below, inverted)
    complement = last - matmul(below, across)
    top = concatenate([complement * inverted + matmul(across, down), -across], -1)
    bottom = concatenate([-down, last * 0.0 + 1.0], -1)
    scale = expand_dims(det(lead), (-1, -2)) * sign * size ** (n - 1)
    adjugate = concatenate([top, bottom], -2) * scale
    return matmul(matmul(adjoint(vh), adjugate), adjoint(u))


def _det_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    return {0: adjoint(_adjugate(step.x(0))) * expand_dims(step.dense(y_bar, -1), (-1, -2))}


def _det_forward(step: Step, x_dot: Value, *_: None) -> Value:
    return sum(transposed(_adjugate(step.x(0))) * step.dense(x_dot, 0), (-1, -2))


state_rules("det", _det_reverse, _det_forward)


def _slogdet_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    """Return the cotangent through the logarithm, and the phase of a complex determinant; a sign has no derivative."""
    x, (phase_bar, y_bar) = step.x(0), step.dense(y_bar, -1)
    if is_complex(x):
        turned = conjugate(slogdet(x).sign) * phase_bar
        y_bar = real_part(y_bar) + 1j * imag_part(turned)
    return {0: masked_multiply(adjoint(inverse(x, "slogdet")), expand_dims(y_bar, (-1, -2)))}


def _slogdet_forward(step: Step, x_dot: Value, *_: None) -> Value:
    x = step.x(0)
    product = transposed(inverse(x, "slogdet")) * step.dense(x_dot, 0)
    along = sum(product, (-1, -2))
    if is_complex(x):
        return stack([1j * imag_part(along) * slogdet(x).sign, real_part(along).astype(along.dtype)])
    zeros = from_array(np.zeros(along.shape, along.dtype), constant=True)
    return stack([zeros, along])


state_rules("slogdet", _slogdet_reverse, _slogdet_forward)
