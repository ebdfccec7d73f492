"""Sparse matrices with computed entries: value and gradient of a finite element problem, beside SciPy by hand.

A plate of square cells conducts heat from its interior to a corner. The compliance is differentiated by the densities
of the cells. By hand, the matrix is assembled in COO format and factorised once; the gradient is known in closed form.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from tapegrad.testing.timer import Contender, Timing, race

_M = 100  # cells along a side
_CELL = np.array([[4.0, -1, -2, -1], [-1, 4, -1, -2], [-2, -1, 4, -1], [-1, -2, -1, 4]]) / 6
_ORDER = "MMD_AT_PLUS_A"


class _Plate:
    """The problem: positions of the entries of all cells, without those of the cold corner."""

    def __init__(self, m: int) -> None:
        first = (np.arange(m)[:, None] * (m + 1) + np.arange(m)).reshape(-1, 1)
        self.nodes = np.add(first, [0, 1, m + 2, m + 1])
        self.unknowns = (m + 1) ** 2 - 1  # the last node is cold
        rows, columns = np.repeat(self.nodes, 4, axis=1).ravel(), np.tile(self.nodes, 4).ravel()
        self.inside = np.flatnonzero((rows < self.unknowns) & (columns < self.unknowns))
        self.positions = rows[self.inside], columns[self.inside]
        self.heat = np.full(self.unknowns, 1.0 / self.unknowns)
        self.densities = np.random.default_rng(0).uniform(0.2, 1.0, m * m)

    def entries(self, x: Any) -> Any:
        """Return the entries of all cells: the conductivity is the cube of the density."""
        return ((0.001 + x**3)[:, None] * _CELL.ravel()).reshape(-1)[self.inside]

    def by_hand(self) -> tuple[Any, Any]:
        """Return value and gradient by SciPy and the adjoint, which is the temperature itself."""
        x, shape = self.densities, (self.unknowns, self.unknowns)
        matrix = scipy.sparse.coo_array((self.entries(x), self.positions), shape=shape).tocsc()
        u = np.append(splu(matrix, permc_spec=_ORDER).solve(self.heat), 0.0)
        cells = u[self.nodes]
        slope = -3 * x**2 * np.sum((cells @ _CELL) * cells, axis=1)
        return self.heat @ u[:-1], slope


def _objectives(library: Any, plate: _Plate) -> dict[str, Callable[[Any], Any]]:
    """Return the compliance by either solver."""
    shape = plate.unknowns, plate.unknowns

    def matrix(x: Any) -> Any:
        return library.sparse.coo_array((plate.entries(x), plate.positions), shape=shape)

    cholesky = library.linalg.SparseCholesky(matrix(plate.densities))

    def by_superlu(x: Any) -> Any:
        return plate.heat @ library.linalg.spsolve(matrix(x), plate.heat, permc_spec=_ORDER)

    def by_cholesky(x: Any) -> Any:
        return plate.heat @ cholesky.factor(matrix(x)).solve(plate.heat)

    return {"spsolve": by_superlu, "SparseCholesky": by_cholesky}


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    library, plate = tapegrad(), _Plate(_M)
    counter = np.zeros(1)  # in the last digits, so that no call finds the factors of the one before

    def evaluate(function: Any) -> Any:
        counter[0] += 1e-14
        return function(plate.densities + counter[0])

    contenders = [
        Contender(name, partial(evaluate, library.value_and_grad(library.jit(function))))
        for name, function in _objectives(library, plate).items()
    ]
    contenders.append(Contender("SciPy by hand", plate.by_hand))
    own = race(contenders, [plate.by_hand()] * len(contenders), settings.budget)
    medians: dict[str, float] = {timing.name: timing.median for timing in own}
    targets = [
        Target(f"{name}, of SciPy by hand", medians[name] / medians["SciPy by hand"], limit, "x")
        for name, limit in (("spsolve", 1.25), ("SparseCholesky", 0.8))
    ]
    timings = [
        Timing(f"{plate.unknowns:,} unknowns: {t.name}", t.median, t.low, t.high, t.rounds, t.calls)
        for t in own
    ]
    return Outcome(targets, timings)


SPARSE_MATRICES = (
    Figure(
        "linalg-elements", "Value and gradient of a finite element problem, beside SciPy by hand", _measure
    ),
)
