"""Vector-valued functions for `scipy.optimize.least_squares`: residuals and their Jacobians, by replay."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.optimize.flat import FlatVector
from tapegrad.optimize.vector_function import VectorFunction
from tapegrad.transforms.jacobians.jacobian import jacobian


class Residuals(VectorFunction):
    """Vector-valued function of a vector with its Jacobian; made by `residuals`.

    Attributes
    ----------
    function
        The function as it was given, recorded by `jit`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> r = tg.optimize.residuals(lambda p: p**2, [1.0, 3.0])
    >>> r.fun(r.x0)
    array([1., 9.])
    """

    _kind = FlatVector

    def _bind(self, layout: LeafLayout) -> None:
        super()._bind(layout)
        self._jacobian = jacobian(self._replayed)
        self._sparse: Any = None  # until it is asked for

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the residuals at a vector.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args, **kwargs
            Further arguments of the function.

        Returns
        -------
        numpy.ndarray, shape (m,)
            A new vector.

        Examples
        --------
        >>> import tapegrad as tg
        >>> r = tg.optimize.residuals(lambda x: x**3, [1.0, 2.0])
        >>> r.fun(r.x0)
        array([1., 8.])
        """
        x = self._vector(x)
        residuals: np.ndarray = self._replayed(x, *args, **kwargs)
        return residuals

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the Jacobian of the residuals.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args, **kwargs
            Further arguments of the function.

        Returns
        -------
        numpy.ndarray, shape (m, n)
            A new matrix with a row for each residual.

        Examples
        --------
        >>> import tapegrad as tg
        >>> r = tg.optimize.residuals(lambda x: x**3, [1.0, 2.0])
        >>> r.jac(r.x0)
        array([[ 3.,  0.],
               [ 0., 12.]])
        """
        x = self._vector(x)
        matrix: np.ndarray = self._jacobian(x, *args, **kwargs)
        return matrix

    def sparse_jac(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the Jacobian of the residuals as a sparse matrix, whose pattern is detected.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args, **kwargs
            Further arguments of the function.

        Returns
        -------
        scipy.sparse.csr_array, shape (m, n)
            A new matrix with a row for each residual.

        Examples
        --------
        >>> import tapegrad as tg
        >>> r = tg.optimize.residuals(lambda x: x**3, [1.0, 2.0])
        >>> r.sparse_jac(r.x0).toarray()
        array([[ 3.,  0.],
               [ 0., 12.]])
        """
        x = self._vector(x)
        if self._sparse is None:
            self._sparse = jacobian(self._replayed, sparse=True)
        return self._sparse(x, *args, **kwargs)


def residuals(function: Callable[..., Any] | Residuals, x0: Any = None) -> Residuals:
    """Make what `scipy.optimize.least_squares` needs of a function: residuals and their Jacobian, by replay.

    Parameters
    ----------
    function : callable or Residuals
        As for `objective`, but returns an array of any shape, or a list, tuple or dict of arrays; the residuals are
        all their elements, one after the other.
    x0 : array_like or structure of arrays, optional
        As for `objective`.

    Returns
    -------
    Residuals
        Its methods ``fun(x, *args)`` and ``jac(x, *args)`` take a vector and return new arrays; ``ravel``,
        ``unravel`` and ``x0`` as for `objective`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> r = tg.optimize.residuals(lambda p: [10 * (p[1] - p[0] ** 2), 1 - p[0]], [3.0, 1.0])
    >>> r.jac(r.x0)
    array([[-60.,  10.],
           [ -1.,   0.]])
    """
    return function.at(x0) if isinstance(function, Residuals) else Residuals(function, x0)
