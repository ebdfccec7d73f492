"""The table's texts evaluated by NumPy: for operands that no kernel takes, and as a reference for kernels."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.library import SCIPY
from tapegrad.engine.runtime.library_loops import ufunc
from tapegrad.ops import BY_NAME, CONSTANTS, PRIMALS, Op, evaluate, names_in


class _NumPyNames(dict[str, Any]):
    """NumPy's functions by name, SciPy's under ours, and the rows that neither of them has."""

    def __missing__(self, name: str) -> Any:
        if name in SCIPY:
            self[name] = ufunc(name)
        else:
            self[name] = getattr(np, name) if hasattr(np, name) else _function(BY_NAME[name])
        return self[name]


def _function(row: Op) -> Any:
    """The primal of a row as a function of NumPy arrays."""
    return lambda *operands: evaluate_numpy(row.primal, **{f"x{j}": x for j, x in enumerate(operands)})


_NUMPY = _NumPyNames()


def evaluate_numpy(text: str, **values: Any) -> Any:
    """Value of `text` with NumPy's functions; floating-point warnings are silent."""
    functions = names_in(text) - PRIMALS - CONSTANTS.keys()
    with np.errstate(all="ignore"):
        return evaluate(text, {name: _NUMPY[name] for name in functions}, **values)
