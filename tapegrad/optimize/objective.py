"""Values, gradients, Hessians and Jacobians for optimisers: replayed functions of one vector."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.optimize.flat import FlatScalar, FlatVector, flat_jit
from tapegrad.optimize.ravel import Layout, layout_of
from tapegrad.transforms.grad import value_and_grad
from tapegrad.transforms.hessian import hessian, hvp
from tapegrad.transforms.jacobian import jacobian
from tapegrad.transforms.jit import Jit, jit

_FLOAT = np.dtype(np.float64)
_ndarray = np.ndarray


class _VectorFunction:
    """A function of a structure, called with a vector.

    Attributes
    ----------
    function
        The function of a structure, a ``jit(f)``.
    layout
        The elements of the vector that belong to each leaf of the structure.
    """

    _kind: Any

    def __init__(self, function: Callable[..., Any], x0: Any = None) -> None:
        self.function = function if isinstance(function, Jit) else jit(function)
        self._x0 = x0
        self._layout: Layout | None = None
        if x0 is not None:
            self._bind(layout_of(x0))

    def __reduce__(self) -> Any:
        return type(self), (self.function, self._x0)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({self.function.function!r})"

    def _bind(self, layout: Layout) -> None:
        """Fix the layout of the vectors."""
        self._layout = layout
        self._replayed = flat_jit(self._kind, self.function, layout)

    def at(self, x0: Any) -> Any:
        """Return the same function for structures like `x0`.

        Parameters
        ----------
        x0
            Any point of the structure.

        Returns
        -------
        Objective or Residuals
            This one itself if the structure is the same.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda p: p["a"] * tg.sum(p["b"]), {"a": 1.0, "b": tg.ones(2).data})
        >>> f.at({"a": 5.0, "b": tg.zeros(2).data}) is f
        True
        """
        layout = layout_of(x0)
        return self if layout == self._layout else type(self)(self.function, x0)

    @property
    def replayed(self) -> Jit[..., Any]:
        """The function of one vector, which is recorded and replayed."""
        return self._replayed

    @property
    def layout(self) -> Layout:
        """The layout of `x0`, or of the first vector that the function was called with."""
        if self._layout is None:
            raise ValueError(f"{self!r} does not know its arguments' structure yet; pass x0")
        return self._layout

    @property
    def x0(self) -> np.ndarray:
        """The starting point as a vector."""
        if self._x0 is None:
            raise ValueError(f"{self!r} was made without a starting point; pass x0")
        return self.ravel(self._x0)

    def ravel(self, structure: Any) -> np.ndarray:
        """Return the leaves of a structure as one vector.

        Parameters
        ----------
        structure
            Of the structure of `x0`.

        Returns
        -------
        numpy.ndarray, shape (n,)
            A new vector of float64: the leaves one after the other, each in C order.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda p: p["a"] * tg.sum(p["b"]), {"a": 1.0, "b": tg.ones(2).data})
        >>> f.ravel({"a": 5.0, "b": tg.zeros(2).data})
        array([5., 0., 0.])
        """
        return self.layout.ravel(structure)

    def unravel(self, vector: Any) -> Any:
        """Return a vector as a structure like that of `x0`.

        Parameters
        ----------
        vector : array_like, shape (n,)
            The leaves one after the other.

        Returns
        -------
        structure
            Arrays of the shapes and dtypes of the leaves of `x0`.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda p: p["a"] * tg.sum(p["b"]), {"a": 1.0, "b": tg.ones(2).data})
        >>> f.unravel([5.0, 6.0, 7.0])
        {'a': np.float64(5.0), 'b': array([6., 7.])}
        """
        return self.layout.unravel(vector)

    def _vector(self, x: Any) -> np.ndarray:
        """Return the argument as a vector of float64. The first one fixes the layout if no `x0` was given."""
        layout = self._layout
        if layout is not None and type(x) is _ndarray and x.shape == (layout.size,):
            return x if x.dtype is _FLOAT else x.astype(_FLOAT)
        if self._x0 is None and (layout is None or layout.is_vector):
            self._bind(layout_of(x))
        return self.ravel(x)


class Objective(_VectorFunction):
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

    def _bind(self, layout: Layout) -> None:
        super()._bind(layout)
        self._both = value_and_grad(self._replayed)
        self._hessian = hessian(self._replayed)
        self._product = hvp(self._replayed)

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
        x, v = self._vector(x), np.asarray(v, _FLOAT)
        product: np.ndarray = self._product(x, *args, v)
        return product


class Residuals(_VectorFunction):
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

    def _bind(self, layout: Layout) -> None:
        super()._bind(layout)
        self._jacobian = jacobian(self._replayed)

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
