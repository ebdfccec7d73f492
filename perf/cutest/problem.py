"""A problem as functions of one vector: its objective, its constraints in one array, and their Lagrangian."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


def _same(tree: Any) -> Any:
    return tree


@dataclass(frozen=True, repr=False, eq=False)
class Problem:
    """A problem of sif2jax on one library.

    Parameters
    ----------
    problem : object
        Theirs, with its own code.
    library : module
        Either `tapegrad` or `jax.numpy`.
    into, out : callable
        What makes the problem's arrays of the library's, and back.
    """

    problem: Any
    library: Any
    into: Callable[[Any], Any] = _same
    out: Callable[[Any], Any] = _same

    @property
    def start(self) -> np.ndarray:
        return np.array(self.problem.y0, float)

    @property
    def constrained(self) -> bool:
        method = getattr(self.problem, "constraint", None)  # HS25 has one without constraints
        return method is not None and any(True for _ in _leaves(method(self.problem.y0)))

    def objective(self, y: Any) -> Any:
        """Return the number that is minimised."""
        return self.library.sum(self.out(self.problem.objective(self.into(y), self.problem.args)))

    def constraints(self, y: Any) -> Any:
        """Return equations, then inequalities, in one array."""
        found = self.out(self.problem.constraint(self.into(y)))
        return self.library.concatenate([self.library.ravel(leaf) for leaf in _leaves(found)])

    def lagrangian(self, y: Any, multipliers: Any) -> Any:
        """Return the objective, with a multiple of each constraint if there are any."""
        if not multipliers.size:
            return self.objective(y)
        return self.objective(y) + self.library.sum(multipliers * self.constraints(y))


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (tuple, list)):
        for each in tree:
            yield from _leaves(each)
    elif tree is not None:
        yield tree
