"""What a recorded function sees beside its arguments, so that a replay notices when something there has changed."""

from collections.abc import Callable, Iterable
from typing import Any

from tapegrad.program.watch.places import compiled
from tapegrad.program.watch.reach import Reach


class CapturedState:
    """Everything that a function can see, as it is now.

    Numbers and text are compared by type and bits, containers element by element, all else by identity.

    Parameters
    ----------
    roots
        The function, or objects that it is called with.
    base
        The surroundings of the function, where these are those of objects.

    Attributes
    ----------
    holds
        Whether every place has the same object as before: asked before every replay.
    """

    __slots__ = ("_base", "_roots", "holds", "reach")

    def __init__(self, roots: Iterable[Any], base: "CapturedState | None" = None) -> None:
        self._roots = tuple(roots)
        self._base = base
        self.reach: Reach = Reach(self._roots, None if base is None else base.reach)
        self.holds: Callable[[], bool] = compiled(self.reach.places)

    def changed(self) -> bool:
        """Whether a function that runs now may find something else."""
        return not self.holds() and not all(place.holds() for place in self.reach.places)

    def renewed(self) -> "CapturedState | None":
        """The surroundings as they are now, if what was changed is equal to what was there; else `None`."""
        now = CapturedState(self._roots, self._base)
        return now if now.reach.tokens == self.reach.tokens else None
