"""Functions of structures that optimisers call with one vector: what objectives and residuals share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.frontend.tensor.copying import described
from tapegrad.implicit.known import known, lifted, recurring
from tapegrad.optimize.flat import flat_jit, layout_of, raveled, raveled_numbers, unraveled
from tapegrad.pytree import unflatten
from tapegrad.transforms.base import Transform
from tapegrad.transforms.jit import Jit, jit

FLOAT = np.dtype(np.float64)
_ndarray = np.ndarray


class VectorFunction:
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
        check_function(type(self).__name__.lower(), function)
        self.function = function if isinstance(function, Jit) else jit(function)
        self._x0 = x0
        self._layout: LeafLayout | None = None
        self._shape: tuple[int, ...] = ()  # of vectors, once the layout is known
        if x0 is not None:
            self._bind(layout_of(x0))

    def __reduce__(self) -> Any:
        return type(self), (self.function, self._x0)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({described(self.function.function)})"

    def _bind(self, layout: LeafLayout) -> None:
        """Fix the layout of the vectors."""
        self._layout, self._shape = layout, (layout.size,)
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
    def layout(self) -> LeafLayout:
        """The layout of `x0`, or of the first vector that the function was called with."""
        if self._layout is None:
            raise ValueError(f"{self!r} does not know its arguments' structure yet; pass x0")
        return self._layout

    @property
    def x0(self) -> np.ndarray:
        """The starting point as a vector."""
        if self._x0 is None:
            raise ValueError(f"{self!r} was made without a starting point; pass x0")
        return raveled_numbers(self._x0, self.layout)

    def ravel(self, structure: Any) -> Any:
        """Return the leaves of a structure as one vector.

        Parameters
        ----------
        structure
            Of the structure of `x0`.

        Returns
        -------
        numpy.ndarray or Tensor, shape (n,)
            A new vector of float64: the leaves one after the other, each in C order. It is a Tensor if a leaf is one.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda p: p["a"] * tg.sum(p["b"]), {"a": 1.0, "b": tg.ones(2).data})
        >>> f.ravel({"a": 5.0, "b": tg.zeros(2).data})
        array([5., 0., 0.])
        """
        return raveled(structure, self.layout)

    def unravel(self, vector: Any) -> Any:
        """Return a vector as a structure like that of `x0`.

        Parameters
        ----------
        vector : array_like or Tensor, shape (n,)
            The leaves one after the other.

        Returns
        -------
        structure
            Arrays of the shapes and dtypes of the leaves of `x0`; of a Tensor views of it, through which gradients flow
            back.

        See Also
        --------
        tapegrad.flatten : Does both for any structure.

        Examples
        --------
        >>> import tapegrad as tg
        >>> f = tg.optimize.objective(lambda p: p["a"] * tg.sum(p["b"]), {"a": 1.0, "b": tg.ones(2).data})
        >>> f.unravel([5.0, 6.0, 7.0])
        {'a': np.float64(5.0), 'b': array([6., 7.])}
        """
        return unraveled(vector, self.layout)

    def _vector(self, x: Any) -> np.ndarray:
        """Return the argument as a vector of float64. The first one fixes the layout if no `x0` was given."""
        layout = self._layout
        if type(x) is _ndarray and x.shape == self._shape:
            return x if x.dtype is FLOAT else real(x, "x")
        if self._x0 is None and (layout is None or layout.is_vector):
            self._bind(layout_of(x))
        return raveled_numbers(x, self.layout)


def known_target(kind: Any, function: Any, x0: Any, args: Any, kwargs: Any = None) -> tuple[Any, ...]:
    """Return what is known of a user's function, that as a function of a vector like `x0`, and its arguments."""
    layout = layout_of(x0)
    if isinstance(function, kind):
        return known(function.function, (args, kwargs), layout), function.at(x0), args
    function, args = lifted(function, args)
    found = known(function, (args, kwargs), layout)
    plain = unflatten(layout.definition, list(map(np.zeros, layout.shapes, layout.dtypes)))
    return found, found.once(kind.__name__, lambda: kind(found.recorded, plain)), args


def recurring_target(kind: Any, function: Any, *others: Any) -> Any:
    """Return a function with the recordings of an earlier call, unless `others` may assign to what it closes over."""
    if isinstance(function, kind | Transform | Jit) or any(others):
        return function
    return recurring(function).recorded
