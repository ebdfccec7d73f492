"""Results of searches whose solutions are differentiated."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.implicit.eager_root import RuleCalls
from tapegrad.implicit.solutions import Formulation, Solution, is_recording, plain, with_derivatives
from tapegrad.implicit.solver_calls import called

# Attributes of SciPy's results that a replay can return
_NUMBERS = ("success", "status", "nfev", "njev", "nhev", "nit", "fun", "cost", "jac", "grad", "optimality")


class Search:
    """Search by SciPy, or one like it, as a solver: one instruction in a function that is recorded.

    Parameters
    ----------
    find
        Takes the start and the arguments of the user's function; returns the solution as a structure, a result of
        SciPy's, and further arguments of the residual.
    """

    def __init__(self, find: Callable[..., tuple[Any, Any, tuple[Any, ...]]]) -> None:
        self._find, self._is_replayed = find, is_recording()

    def __call__(self, x0: Any, *args: Any) -> Any:
        """Return the solution, the result, of which a replay has the numbers alone, and the further arguments."""
        x, result, more = self._find(x0, *args)
        if not self._is_replayed:
            return x, [result], more
        numbers = {name: result[name] for name in _NUMBERS if _is_number(result.get(name))}
        return x, numbers, more


def _is_number(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind in "biuf"


def differentiated(
    formulation: Formulation,
    search: Callable[..., Any],
    x0: Any,
    args: Any,
    check: bool,
    rules: dict[Any, RuleCalls],
    record: bool = False,
) -> Any:
    """Return the result of a search, whose solution has derivatives.

    Parameters
    ----------
    formulation
        What a solution is.
    search
        A `Search`, or a recorded solver that returns the same of Tensors.
    check
        Whether derivatives of a solution that was not found raise.
    rules
        Rules of this formulation that are known.
    record
        Whether a recording has the instructions of the search.
    """
    from tapegrad.optimize.searches.search_result import SearchResult

    x, found, more = called(formulation.name, search, (x0, *args), {}, record)
    if not is_recording():
        x, found = plain(x), plain(found)
    result = SearchResult(found[0] if isinstance(found, list) else found)
    failed = 1.0 - np.where(result["success"], 1.0, 0.0)
    solution = Solution(formulation.name, formulation, x, (*args, *more), {})
    result["x"] = with_derivatives(solution, rules, failed if check else None)
    return result
