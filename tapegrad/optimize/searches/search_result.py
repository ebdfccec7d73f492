"""Results of searches as notebooks show them. Imported with the first result, for it imports SciPy's optimisers."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult  # noqa: TID253  a subclass cannot be defined without it

from tapegrad.program.traces.listing import html_table
from tapegrad.pytree import flatten, paths

_NUMBERS = ("fun", "cost", "optimality", "constr_violation", "status", "nit", "nfev", "njev", "nhev")
_MAX_ELEMENTS = 20  # of an array that is shown in full


class SearchResult(OptimizeResult):  # type: ignore[misc]  # SciPy has no types
    """SciPy's result of a search, which notebooks show as tables of its numbers and of the parameters."""

    def _repr_html_(self) -> str:
        title = f"{'success' if self.get('success') else 'no success'}: {self.get('message', '')}"
        numbers = [name for name in _NUMBERS if np.ndim(self.get(name, ())) == 0 and name in self]
        leaves = [np.asarray(leaf) for leaf in flatten(self.x)[0]]
        columns = {"parameter": [f"x{path}" for path in paths(self.x)], "value": _texts(leaves)}
        if "covariance" in self:
            columns["standard error"] = _texts(_split(np.sqrt(np.diag(self.covariance)), leaves))
        parameters = [tuple(columns), *zip(*columns.values(), strict=True)]
        above = html_table(title, [numbers, _texts(np.asarray(self[name]) for name in numbers)])
        return above + html_table("", parameters)


def _split(values: np.ndarray, leaves: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Split a vector with an element for each parameter into arrays like the leaves."""
    parts = np.split(values, np.cumsum([leaf.size for leaf in leaves])[:-1])
    return [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]


def _texts(values: Iterable[np.ndarray]) -> list[str]:
    """Format arrays, long ones by their ends."""
    options: dict[str, Any] = {"threshold": _MAX_ELEMENTS, "formatter": {"float": lambda x: f"{x:.6g}"}}
    return [np.array2string(value, **options) for value in values]
