"""Eigenvalues of square matrices that need not be symmetric, as long as they are real."""

from typing import Any, NamedTuple

from tapegrad.engine.sweep.eager import eager_matrices
from tapegrad.frontend.functions.matrices.decompositions import columns_of, part_of
from tapegrad.frontend.functions.matrices.matrices import square
from tapegrad.frontend.recording.record_structural import record_by
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES

_EIG = CODES["eig"]


class EigResult(NamedTuple):
    """Result of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def general_packed(x: Tensor, vectors: bool, name: str) -> Tensor:
    """Record eigenvalues and eigenvectors, packed with the eigenvectors as rows."""
    n = x.shape[-1]
    packed = record_by(eager_matrices.record_packed, _EIG, x, n + n * n, (n, int(vectors)), name)
    assert packed is not None
    return packed


def real_eigenvalues(a: Any, name: str) -> Tensor:
    """Record eigenvalues alone."""
    x = square(a, name)
    return part_of(general_packed(x, False, name), 0, (x.shape[-1],))


def eig(a: Any) -> EigResult:
    """Compute the eigenvalues and right eigenvectors of square matrices whose eigenvalues are real.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    eigenvalues : Tensor, shape (..., m)
        In no particular order.
    eigenvectors : Tensor, shape (..., m, m)
        Columns of length 1.

    Raises
    ------
    LinAlgError
        If an eigenvalue is complex, since Tensors are real; if the matrices are not square, or not finite. In a
        derivative, if eigenvalues are equal and it is not determined by what is known there, or if the eigenvectors are
        no basis.

    See Also
    --------
    eigh : The same for symmetric matrices, which takes less time and has real eigenvalues only.

    Notes
    -----
    Derivatives are those of [1]_ and [2]_ for vectors of length 1. A vector is determined up to its sign.

    References
    ----------
    .. [1] M. B. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
       2008.
    .. [2] C. Boeddeker et al., On the computation of complex-valued gradients with application to statistically optimum
       beamforming, 2017.

    Examples
    --------
    >>> import tapegrad as tg
    >>> eigenvalues, eigenvectors = tg.linalg.eig(tg.tensor([[2.0, 0.0], [1.0, 3.0]]))
    >>> tg.sort(eigenvalues)
    Tensor([2., 3.])
    """
    x = square(a, "numpy.linalg.eig")
    packed, n = general_packed(x, True, "numpy.linalg.eig"), x.shape[-1]
    return EigResult(part_of(packed, 0, (n,)), columns_of(packed, n, n, n))


def eigvals(a: Any) -> Tensor:
    """Compute the eigenvalues of square matrices whose eigenvalues are real.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    Tensor, shape (..., m)
        In no particular order.

    Raises
    ------
    LinAlgError
        If an eigenvalue is complex, since Tensors are real; if the matrices are not square, or not finite. In a
        derivative, if the eigenvectors are no basis.

    See Also
    --------
    eigvalsh : The same for symmetric matrices.

    Notes
    -----
    Where eigenvalues are equal, functions that treat them alike have their derivatives. For other functions they share
    theirs equally.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sort(tg.linalg.eigvals(tg.tensor([[2.0, 0.0], [1.0, 3.0]])))
    Tensor([2., 3.])
    """
    return real_eigenvalues(a, "numpy.linalg.eigvals")


LINALG = {"eig": eig, "eigvals": eigvals}
