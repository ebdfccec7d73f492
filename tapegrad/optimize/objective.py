"""Scalar functions for `scipy.optimize.minimize`: values, gradients and Hessians, by replay."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.optimize.flat import FlatScalar
from tapegrad.optimize.vector_function import VectorFunction
from tapegrad.transforms.grad import value_and_grad
from tapegrad.transforms.jacobians.hessian import hessian, hvp


class Objective(VectorFunction):
    """Scalar function of a vector with its derivatives; made by `objective`.

    Attributes
    ----------
    function
        The function as it was given, recorded by `jit`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> f = tg.optimize.objective(lambda p: p["a"] ** 2 * p["b"], {"a": 1.0, "b": 3.0})
    >>> f.fun(f.x0)
    (np.float64(3.0), array([6., 1.]))
    """

    _kind = FlatScalar

    def _bind(self, layout: LeafLayout) -> None:
        super()._bind(layout)
        self._both = value_and_grad(self._replayed)
        self._hessian = hessian(self._replayed)
        self._product = hvp(self._replayed)
        self._sparse: Any = None  # the sparse Hessian, until it is asked for

    def fun(self, x: Any, *args: Any) -> tuple[float, np.ndarray]:
        """Return the value at a vector, and the gradient: what SciPy wants for ``jac=True``.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args
            Further arguments of the function.

        Returns
        -------
        value : float
            The value.
        gradient : numpy.ndarray, shape (n,)
            A new vector.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda x: tg.sum(x**3), [1.0, 2.0])
        >>> f.fun(f.x0)
        (np.float64(9.0), array([ 3., 12.]))
        """
        x = self._vector(x)  # first, for it may fix the layout
        return self._both(x, *args)

    def value(self, x: Any, *args: Any) -> float:
        """Return the value alone: for methods that use no gradient.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args
            Further arguments of the function.

        Returns
        -------
        float
            The value.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda x: tg.sum(x**3), [1.0, 2.0])
        >>> f.value(f.x0)
        np.float64(9.0)
        """
        x = self._vector(x)
        value: float = self._replayed(x, *args)
        return value

    def grad(self, x: Any, *args: Any) -> np.ndarray:
        """Return the gradient alone.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args
            Further arguments of the function.

        Returns
        -------
        numpy.ndarray, shape (n,)
            A new vector.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda x: tg.sum(x**3), [1.0, 2.0])
        >>> f.grad(f.x0)
        array([ 3., 12.])
        """
        return self.fun(x, *args)[1]

    def hess(self, x: Any, *args: Any) -> np.ndarray:
        """Return the Hessian.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args
            Further arguments of the function.

        Returns
        -------
        numpy.ndarray, shape (n, n)
            A new matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda x: tg.sum(x**3), [1.0, 2.0])
        >>> f.hess(f.x0)
        array([[ 6.,  0.],
               [ 0., 12.]])
        """
        x = self._vector(x)
        matrix: np.ndarray = self._hessian(x, *args)
        return matrix

    def sparse_hess(self, x: Any, *args: Any) -> Any:
        """Return the Hessian as a sparse matrix, whose pattern is detected.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        *args
            Further arguments of the function.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n)
            A new matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda x: tg.sum(x**3), [1.0, 2.0])
        >>> f.sparse_hess(f.x0).toarray()
        array([[ 6.,  0.],
               [ 0., 12.]])
        """
        x = self._vector(x)
        if self._sparse is None:
            self._sparse = hessian(self._replayed, sparse=True)
        return self._sparse(x, *args)

    def hessp(self, x: Any, v: Any, *args: Any) -> np.ndarray:
        """Return the product of the Hessian with a vector.

        Parameters
        ----------
        x : array_like, shape (n,)
            The parameters.
        v : array_like, shape (n,)
            The vector.
        *args
            Further arguments of the function.

        Returns
        -------
        numpy.ndarray, shape (n,)
            A new vector.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda x: tg.sum(x**3), [1.0, 2.0])
        >>> f.hessp(f.x0, [1.0, 1.0])
        array([ 6., 12.])
        """
        x, v = self._vector(x), real(v, "hessp: v")
        product: np.ndarray = self._product(x, *args, v)
        return product


def objective(function: Callable[..., Any] | Objective, x0: Any = None) -> Objective:
    """Make what `scipy.optimize.minimize` needs of a function: values, gradients and Hessians, by replay.

    Parameters
    ----------
    function : callable or Objective
        Takes an array, or a list, tuple or dict of arrays, nested, then any other arguments; returns a scalar. It is
        recorded even if it is not a ``jit(f)``; recordings of a ``jit(f)`` are kept for other objectives of it.
    x0 : array_like or structure of arrays, optional
        The starting point, or any point of its structure. A list of numbers is a vector. Without it the structure
        is that of the first argument.

    Returns
    -------
    Objective
        Its methods ``fun(x, *args)``, which returns value and gradient, ``value``, ``grad``, ``hess`` and
        ``hessp(x, v, *args)`` take a vector, all leaves of the structure one after the other, and return new
        arrays. ``ravel(structure)`` and ``unravel(vector)`` convert, ``x0`` is the starting point as a vector.

    Notes
    -----
    The vector is float64. Leaves of float32 are computed with in float32, and have that type again when they are
    unravelled; an optimiser that is to converge further than their 7 digits needs float64.

    Examples
    --------
    >>> import numpy as np, scipy.optimize, tapegrad as tg
    >>> line = {"slope": 0.0, "offset": 0.0}
    >>> x = np.arange(4.0)
    >>> loss = tg.optimize.objective(lambda p: tg.sum((p["slope"] * x + p["offset"] - 2 * x - 1) ** 2), line)
    >>> found = scipy.optimize.minimize(loss.fun, loss.x0, jac=True)
    >>> found.x.round(4)  # in the order of sorted keys
    array([1., 2.])
    """
    return function.at(x0) if isinstance(function, Objective) else Objective(function, x0)
