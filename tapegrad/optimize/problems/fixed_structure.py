"""Entries of sparse derivatives in one structure, which solvers ask for once, whatever branches a function takes.

The pattern of a derivative is that of a recording, and each branch of a function has one of its own. Entries of a
branch are put where they are in the union of all patterns that were met. If that grows, a solver has to begin anew.
"""

import warnings
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad.errors import GrownStructureError, RecordingWarning
from tapegrad.transforms.jacobians import sparse


class FixedStructure:
    """Function that returns the entries of a sparse derivative in a structure that does not change.

    Parameters
    ----------
    name
        The method of a problem that returns the entries.
    derivative
        The derivative, of format "csr".
    """

    def __init__(self, name: str, derivative: "sparse.SparseDerivative") -> None:
        self._name = name
        self._recorded = derivative.values.recorded
        self._pattern: Any = None  # the union of all patterns
        self._indices: tuple[np.ndarray, np.ndarray] | None = None
        # Of the recording whose entries are the structure's own; and the places that those of others have in it
        self._layout: Any = None
        self._places: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()

    def __call__(self, *args: Any) -> np.ndarray:
        """Return the entries as a new vector.

        Raises
        ------
        GrownStructureError
            If there are entries outside of the structure, which has them from now on.
        """
        entries, layout, _ = self._recorded(*args)
        if layout is not self._layout:
            entries = self._placed(entries, layout)
        return entries  # type: ignore[no-any-return]

    @property
    def known(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows and columns of the entries, int32; `None` before there was a call."""
        return self._indices

    def structure(self, *args: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and columns of the entries, int32: those that these arguments need, and all that were met."""
        with warnings.catch_warnings():
            # There is no dense derivative to choose instead
            warnings.filterwarnings("ignore", ".* of the entries may be other than zero", RecordingWarning)
            try:
                self(*args)
            except GrownStructureError:
                self(*args)
        assert self._indices is not None
        return self._indices

    def _placed(self, entries: np.ndarray, layout: Any) -> np.ndarray:
        """Return the entries of a recording where they are in the structure, with zeros elsewhere."""
        own = layout.patterns
        if self._pattern is None:
            self._set(own)
        if own == self._pattern:
            self._layout = layout
            return entries
        places = self._places.get(layout)
        if places is None:
            places = self._places[layout] = self._places_of(own)
        found = np.zeros(self._pattern.nnz)
        found[places] = entries
        return found

    def _set(self, pattern: Any) -> None:
        """Have a pattern be the structure."""
        self._pattern, self._indices = pattern, (pattern.rows, pattern.cols)
        self._layout, self._places = None, WeakKeyDictionary()

    def _places_of(self, pattern: Any) -> np.ndarray:
        """Return the places of the entries of a pattern in the structure, which has to have all of them."""
        if pattern.shape != self._pattern.shape:
            raise ValueError(
                f"{self._name}: of shape {pattern.shape}, but of {self._pattern.shape} before; the number of"
                " constraints must not change: make another problem"
            )
        union = self._pattern.union(pattern)
        if union.nnz > self._pattern.nnz:
            self._set(union)
            raise GrownStructureError(
                f"{self._name}: a branch of the function that was not taken before has entries outside of"
                f" {self._name}structure(), which has them now; pass the problem to the solver again"
            )
        return np.searchsorted(_numbers(self._pattern), _numbers(pattern))


def _numbers(pattern: Any) -> np.ndarray:
    """Return the number of each entry, counted row by row through the whole matrix."""
    numbers: np.ndarray = pattern.rows.astype(np.int64) * pattern.shape[1] + pattern.cols
    return numbers
