"""Full names of NumPy's and SciPy's functions, for messages, with the module that users import them from."""

import inspect
import sys
from typing import Any

import numpy as np

_HOMES = ("numpy", "numpy.strings", "scipy.special", "scipy.special._ufuncs")


def full_name(function: Any) -> str:
    """Return a function's module and name; for a ufunc with several names, all of them."""
    if isinstance(function, np.ufunc):
        return _name_by_identity(function) or function.__name__
    owner = getattr(function, "__objclass__", None)  # a method has no module of its own
    if owner is not None:
        return f"{full_name(owner)}.{function.__name__}"
    if not hasattr(function, "__name__"):
        return _name_by_identity(function) or full_name(type(function))
    name = getattr(function, "__qualname__", function.__name__)
    return f"{_public_module(function, name.partition('.')[0])}.{name}"


def receiver_name(receiver: Any) -> str:
    """Return the full name of the object whose method is called, if a module of SciPy's has it: `scipy.stats.norm`.

    A frozen distribution has the name of its distribution, a sparse matrix that of its class.
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and getattr(sparse, type(receiver).__name__, None) is type(receiver):
        return f"scipy.sparse.{type(receiver).__name__}"
    made = getattr(receiver, "dist", None) or getattr(receiver, "_dist", None) or receiver
    kind = type(made)
    module, short = sys.modules.get("scipy.stats"), kind.__name__.removesuffix("_gen")
    for name in (getattr(made, "name", None), short):
        if isinstance(name, str) and module is not None and type(vars(module).get(name, module)) is kind:
            return f"scipy.stats.{name}"
    return ""


def _public_module(function: Any, name: str) -> str:
    """Return the module nearest to the root of its package in which a function, or its class, has a name."""
    module = getattr(function, "__module__", None) or ""
    own = _attribute(module, name)
    parts = module.split(".")
    homes = (".".join(parts[:count]) for count in range(1, len(parts)))
    return next((home for home in homes if own is not None and _attribute(home, name) is own), module)


def _attribute(module: str, name: str) -> Any:
    """Return what a module has under a name, without the wrapper that SciPy's functions have under SCIPY_ARRAY_API."""
    return inspect.unwrap(vars(sys.modules[module]).get(name)) if module in sys.modules else None  # type: ignore[arg-type]


def _name_by_identity(function: Any) -> str:
    """Return the name of an object without a module attribute: search the modules that hold such objects."""
    for home in _HOMES:
        module = sys.modules.get(home)
        names = sorted(name for name, value in vars(module).items() if value is function) if module else []
        if names:
            known = getattr(function, "__name__", None)
            own = known if known in names else names[0]
            others = [name for name in names if name != own]
            return f"{home}.{own}" + (f" (also called {', '.join(others)})" if others else "")
    return ""
