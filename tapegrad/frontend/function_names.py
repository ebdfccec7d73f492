"""Full names of NumPy's and SciPy's functions, for messages: with the module where a user finds them."""

import sys
from typing import Any

import numpy as np

_HOMES = ("numpy", "numpy.strings", "scipy.special", "scipy.special._ufuncs")


def full_name(function: Any) -> str:
    """A function's module and name; for a ufunc that has several names, all of them."""
    if isinstance(function, np.ufunc):
        return _name_of_ufunc(function)
    return f"{function.__module__}.{function.__name__}"


def _name_of_ufunc(ufunc: np.ufunc) -> str:
    """A ufunc does not know its module: look for it where ufuncs are."""
    for home in _HOMES:
        module = sys.modules.get(home)
        names = sorted(name for name, value in vars(module).items() if value is ufunc) if module else []
        if names:
            own = ufunc.__name__ if ufunc.__name__ in names else names[0]
            others = [name for name in names if name != own]
            return f"{home}.{own}" + (f" (also called {', '.join(others)})" if others else "")
    return ufunc.__name__
