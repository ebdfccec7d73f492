"""Determinants and their logarithms."""

from typing import Any, NamedTuple

from tapegrad.frontend.functions.matrices.matrices import of_squares
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


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
    1, -1, or 0 for a singular matrix. Its derivative is 0.
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
    return SlogdetResult(both[0], both[1])


LINALG = {"det": det, "slogdet": slogdet}
