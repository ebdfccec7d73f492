"""Systems of linear equations and inverses, by LU factors."""

from typing import Any

from tapegrad.frontend.functions.matrices import (
    inverse,
    like_vectors,
    lu_factors,
    promoted,
    solved,
    square,
    systems,
    turned,
)
from tapegrad.frontend.record_structural import as_tensor
from tapegrad.frontend.shape import in_c_order
from tapegrad.frontend.tensor import Tensor


def solve(a: Any, b: Any) -> Tensor:
    """Solve systems of linear equations, ``a @ x == b``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Coefficients.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides. What has one dimension is a vector, all else a stack of matrices. Leading dimensions broadcast.

    Returns
    -------
    Tensor, shape (..., m) or (..., m, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If a matrix is singular or not square.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The matrix is factored once. The reverse sweep solves with the transposed factors: ``b_bar = solve(a.T, x_bar)``
    and ``a_bar = -outer(b_bar, x)`` [1]_.

    References
    ----------
    .. [1] M. B. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
       2008.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> x = tg.linalg.solve(a, [2.0, 9.0])
    >>> x
    Tensor([1., 2.])
    >>> x.sum().backward()
    >>> a.grad
    array([[-0.375, -0.75 ],
           [-0.25 , -0.5  ]])
    """
    name = "numpy.linalg.solve"
    matrix, side = promoted(square(a, name), as_tensor(b, name))
    system = systems(matrix, side, name)
    own, is_turned = turned(system.a)
    system = system._replace(a=own, b=in_c_order(system.b))
    return like_vectors(solved(system, lu_factors(own, name), is_turned, name), side)


def inv(a: Any) -> Tensor:
    """Compute the inverses of matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    Tensor, shape (..., m, m)
        The inverses. To multiply by one, `solve` takes less time and keeps more digits.

    Raises
    ------
    LinAlgError
        If a matrix is singular or not square.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.inv(tg.tensor([[2.0, 0.0], [1.0, 4.0]]))
    Tensor([[ 0.5  ,  0.   ],
            [-0.125,  0.25 ]])
    """
    return inverse(square(a, "numpy.linalg.inv"), "numpy.linalg.inv")


LINALG = {"solve": solve, "inv": inv}
