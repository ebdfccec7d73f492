"""A function of arrays with the functions that are its derivatives, each of which is replayed."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.grad import value_and_grad
from tapegrad.transforms.jit import jit
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp
from tapegrad.transforms.vmap.vmap import vmap


def of_leaves(function: Callable[..., Any], definition: Any) -> Callable[..., Any]:
    """Return a function of the leaves of a structure of arguments."""

    def of_values(*values: Any) -> Any:
        return function(*unflatten(definition, list(values)))

    return of_values


class Derived:
    """A function of arrays in no structure, and the functions that are its derivatives, of any order.

    Attributes
    ----------
    replayed
        The function, which is replayed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.replayed = jit(function)
        self._derived: dict[Any, Derived] = {}
        self._gradients: dict[tuple[int, ...], Callable[..., tuple[Any, Any]]] = {}  # by positions
        self._is_number: dict[tuple[Any, ...], bool] = {}  # of the result, by shapes of the arguments

    def value(self, arrays: Sequence[Any]) -> Any:
        """Compute the result."""
        return self.replayed(*arrays)

    def value_and_gradient(self, arrays: Sequence[Any], wanted: tuple[int, ...]) -> tuple[Any, Any]:
        """Compute the result, and for a number the gradient by the arguments at these positions, else `None`."""
        shapes = tuple([getattr(x, "shape", None) for x in arrays])
        if not self._is_number.get(shapes):
            value = self.value(arrays)
            self._is_number[shapes] = isinstance(value, np.floating)
            if not self._is_number[shapes]:
                return value, None
        gradient = self._gradients.get(wanted)
        if gradient is None:
            gradient = self._gradients[wanted] = value_and_grad(self.replayed, argnums=wanted)
        return gradient(*arrays)

    def pullback(self, count: int, wanted: tuple[int, ...]) -> "Derived":
        """Return the function that maps `count` arguments and the cotangents of results to those of some arguments."""

        def pull(*values: Any) -> Any:
            chosen, function = self._of_some(values[:count], wanted)
            _, pulled = vjp(function, *chosen)
            return pulled(values[count:])

        return self._derive(("pullback", count, wanted), pull)

    def pushforward(self, count: int, wanted: tuple[int, ...]) -> "Derived":
        """Return the function that maps `count` arguments and tangents of some of them to tangents of the results."""

        def push(*values: Any) -> Any:
            chosen, function = self._of_some(values[:count], wanted)
            return jvp(function, chosen, values[count:])[1]

        return self._derive(("pushforward", count, wanted), push)

    def batched(self, axes: tuple[int | None, ...]) -> "Derived":
        """Return the function of a batch of arguments, with the batch as the first axis of each result."""
        return self._derive(("batched", axes), vmap(self.replayed, in_axes=axes))

    def _of_some(
        self, values: Sequence[Any], wanted: tuple[int, ...]
    ) -> tuple[tuple[Any, ...], Callable[..., Any]]:
        """Return the arguments at some positions, and the function of them that returns a tuple of all results."""

        def of_some(*chosen: Any) -> tuple[Any, ...]:
            given = dict(zip(wanted, chosen, strict=True))
            return self._results([given.get(k, value) for k, value in enumerate(values)])

        return tuple(values[k] for k in wanted), of_some

    def _results(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(flatten(self._function(*values))[0])

    def _derive(self, key: Any, function: Callable[..., Any]) -> "Derived":
        found = self._derived.get(key)
        if found is None:
            found = self._derived[key] = Derived(function)
        return found
