"""Roles of the arguments of a joint density: which are parameters, and which are effects."""

from dataclasses import dataclass
from typing import Any

from tapegrad.latent.effects import Random
from tapegrad.optimize.flat import as_vector


@dataclass(frozen=True)
class ArgumentRoles:
    """Roles of arguments: parameters, and effects, are one argument by itself, or several in a tuple or a dict.

    Attributes
    ----------
    random
        Which arguments are effects, or which keys of the only one.
    count
        Number of arguments.
    """

    random: Random
    count: int

    @property
    def _keys(self) -> list[str]:
        given = self.random if isinstance(self.random, tuple) else ()
        return [key for key in given if isinstance(key, str)]

    @property
    def _numbers(self) -> list[int]:
        """Numbers of the arguments that are effects."""
        given = self.random if isinstance(self.random, tuple) else (self.random,)
        numbers = [int(number) % self.count for number in given if -self.count <= int(number) < self.count]
        if len(numbers) < len(given):
            raise ValueError(f"laplace: random={self.random!r}, but x0 has {self.count} arguments")
        return numbers

    @property
    def has_several(self) -> bool:
        """True if the parameters are several arguments."""
        return not self._keys and self.count - len(self._numbers) != 1

    def split(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the parameters and the effects of arguments."""
        if keys := self._keys:
            (given,) = args
            own = {key: as_vector(given[key]) for key in keys}
            parameters = {key: given[key] for key in given if key not in own}
            return parameters, own[keys[0]] if len(own) == 1 else own
        numbers, given = self._numbers, list(map(as_vector, args))
        others = [given[k] for k in range(self.count) if k not in numbers]
        return _alone(others), _alone([given[k] for k in numbers])

    def join(self, parameters: Any, effects: Any) -> tuple[Any, ...]:
        """Return the arguments, given parameters and effects."""
        if keys := self._keys:
            return ({**parameters, **({keys[0]: effects} if len(keys) == 1 else effects)},)
        numbers = self._numbers
        placed = dict(zip(numbers, [effects] if len(numbers) == 1 else effects, strict=True))
        own = iter(parameters if self.has_several else [parameters])
        return tuple(placed[k] if k in placed else next(own) for k in range(self.count))


def roles_of(x0: Any, random: Random) -> tuple[ArgumentRoles, tuple[Any, ...]]:
    """Return the roles of the arguments that the argument `x0` of a fit has, and these.

    Raises
    ------
    TypeError, ValueError
        If `x0` is no tuple or, for keys, no dict that has them.
    """
    if isinstance(random, tuple) and any(isinstance(key, str) for key in random):
        missing = [key for key in random if not isinstance(x0, dict) or key not in x0]
        if missing:
            raise ValueError(f"laplace: random={random!r}, so x0 must be a dict with {missing[0]!r}")
        return ArgumentRoles(random, 1), (x0,)
    if not isinstance(x0, tuple | list):
        raise TypeError("laplace: x0 must be the tuple of all arguments; or a dict, if random= has its keys")
    return ArgumentRoles(random, len(x0)), tuple(x0)


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)
