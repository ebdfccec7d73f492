"""Random functions of three real arrays, which tests with checks of their own record, map and differentiate.

They copy, view, write to, gather and join arrays. Their programs are those of `generate`; the first argument of
every twentieth has no elements.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.compositions.generate import generate
from helpers.compositions.program import Arrays, Program

_FEATURES = (
    "elementwise", "arithmetic", "reductions", "choices", "views", "views", "writes", "writes", "gathers", "joins",
)  # fmt: skip


EVERY = (0, 1, 2)  # the arguments


class Sample:
    """A random function of three real arrays.

    Parameters
    ----------
    seed : int
        What the function is drawn from.
    statements : int
        How many there are, or fewer where NumPy refused many.
    features : sequence of str
        Features in place of those that move elements.

    Attributes
    ----------
    vector, number : callable
        The function: the elements of its result, (n,) float64, and the sum of them times `weights`.
    value : numpy.ndarray
        The elements on plain arrays, (n,) float64.
    """

    def __init__(self, seed: int, statements: int = 20, features: Sequence[str] = _FEATURES) -> None:
        others = ("three", "empties") if seed % 20 == 0 else ("three",)
        self.program: Program = generate(seed, (*features, *others), vector_of=statements)
        self.rng = np.random.default_rng([seed, 2])
        self.inputs: Arrays = tuple(x[()] for x in self.program.points[0])
        self.value = np.ravel(self.program.reference(self.program.points[0]))
        self.weights = np.cos(np.arange(1.0, self.value.size + 1))
        self.vector, self.number = _functions(self.program, self.weights)

    def __str__(self) -> str:
        return f"seed {self.program.seed}:\n{self.program.text}"

    def varied(self, scale: float) -> Arrays:
        """Return other arguments, uniform between minus and plus a scale."""
        return tuple(np.asarray(self.rng.uniform(-scale, scale, np.shape(x)))[()] for x in self.inputs)

    def directions(self) -> Arrays:
        """Return a normal direction of each argument."""
        return tuple(np.asarray(self.rng.standard_normal(np.shape(x)))[()] for x in self.inputs)


def _functions(program: Program, weights: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return both functions, which reach no more than the program does: what one reaches is watched."""
    f = program.on_tensors()["f"]
    return lambda *arguments: np.ravel(f(*arguments)), lambda *arguments: np.sum(
        np.ravel(f(*arguments)) * weights
    )
