"""Random effects among the arguments of a joint density, as one vector."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.latent.tied import tie
from tapegrad.transforms.base import without_jit
from tapegrad.transforms.calling.argnums import Argnums, checked_argnums, select

Random = Argnums | tuple[str, ...]


def checked_random(random: Any) -> Random:
    """Return which arguments are effects: numbers of arguments, or keys of a first argument that is a dict.

    Raises
    ------
    TypeError
        For anything else.
    """
    keys = (random,) if isinstance(random, str) else tuple(random) if isinstance(random, list | tuple) else ()
    if keys and all(isinstance(key, str) for key in keys):
        return keys
    return checked_argnums(random)


class Effects:
    """Random effects of one call.

    Parameters
    ----------
    args
        Positional arguments of the joint density.
    random
        Which of them are effects.

    Attributes
    ----------
    shapes
        Shapes of the leaves that are effects.
    """

    def __init__(self, args: tuple[Any, ...], random: Random) -> None:
        self._args, self._keys = args, _keys_of(random)
        if self._keys:
            chosen: tuple[Any, ...] = ({key: _at(args, key) for key in self._keys},)
            self._selection = select(chosen, 0)
        else:
            assert not isinstance(random, tuple) or not random or isinstance(random[0], int)
            self._selection = select(args, random)  # type: ignore[arg-type]
        self.shapes = [np.shape(leaf) for leaf in self._selection.leaves]
        self._sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes]
        self.size = sum(self._sizes)
        if not self.size:
            raise ValueError(
                f"laplace: random={random!r} has no elements, so there is nothing to integrate out"
            )

    @property
    def vector(self) -> Any:
        """The effects as a Tensor, one after the other in C order."""
        return concatenate([_as_tensor(leaf).reshape(-1) for leaf in self._selection.leaves])

    def structure(self, vector: Any) -> Any:
        """Return a vector in the structure of the effects: of one argument, a tuple of arguments, or a dict."""
        built = self._selection.unflatten_results(self._split(vector))
        return built[self._keys[0]] if len(self._keys) == 1 else built

    def substitute(self, vector: Any) -> tuple[Any, ...]:
        """Return all arguments, with the effects taken from a vector."""
        found = self._selection.substitute(self._split(vector))
        return ({**self._args[0], **found[0]}, *self._args[1:]) if self._keys else tuple(found)

    def _split(self, vector: Any) -> list[Any]:
        ends = np.cumsum(self._sizes).tolist()
        parts = zip(ends, self._sizes, self.shapes, strict=True)
        return [vector[end - size : end].reshape(shape) for end, size, shape in parts]


def with_tied(args: tuple[Any, ...], random: Random, map_: Any) -> tuple[Any, ...]:
    """Return arguments with parameters fixed or tied: those in the first argument that is no effect.

    Raises
    ------
    ValueError
        If all arguments are effects.
    """
    if keys := _keys_of(random):
        parameters = {key: args[0][key] for key in args[0] if key not in keys}
        return ({**args[0], **tie(parameters, map_)}, *args[1:])
    numbers = {number % len(args) for number in (random if isinstance(random, tuple) else (random,))}
    first = next((k for k in range(len(args)) if k not in numbers), None)
    if first is None:
        raise ValueError("laplace: map= is of parameters, but all arguments are random")
    return (*args[:first], tie(args[first], map_), *args[first + 1 :])


def joint_of(function: Callable[..., Any], effects: Effects, kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """Return minus the logarithm of a joint density as a function of the vector of effects."""
    called = without_jit(function)

    def value(vector: Any) -> Any:
        found = called(*effects.substitute(vector), **kwargs)
        return found.reshape(()) if is_tensor(found) and found.size == 1 and found.ndim else found

    return value


def _keys_of(random: Random) -> Sequence[str]:
    return [key for key in random if isinstance(key, str)] if isinstance(random, tuple) else []


def _at(args: tuple[Any, ...], key: str) -> Any:
    """Return an entry of the first argument.

    Raises
    ------
    TypeError, KeyError
        If that is no dict, or has no such key.
    """
    if not args or not isinstance(args[0], dict):
        raise TypeError(
            f"laplace: random={key!r} is a key, so the first argument must be a dict of parameters"
        )
    if key not in args[0]:
        raise KeyError(f"laplace: random={key!r}, but the parameters are {', '.join(map(repr, args[0]))}")
    return args[0][key]


def _as_tensor(leaf: Any) -> Any:
    return leaf if is_tensor(leaf) else from_array(np.asarray(leaf, np.float64), constant=True)
