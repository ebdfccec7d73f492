"""Functions that take Tensors, in place of functions of NumPy and SciPy that convert them to arrays.

NumPy's ufuncs and most of its functions dispatch on Tensors, and stay as they are: what has no Tensor among its
arguments remains plain NumPy. New arrays are Tensors, which Tensors may be written into.
"""

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import tapegrad.special
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.numpy_face.numpy_protocols import CREATION
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.stats.functions import (
    expm1,
    gammainc,
    gammaincc,
    log1mexp,
    xlogy,
)

Function = Callable[..., Any]
_EXTRA = "scipy._lib.array_api_extra"  # of SciPy from 1.15 on
_NEW_ARRAYS = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like")


def has_tensors(*args: Any) -> bool:
    """Return whether an argument is a Tensor, or a list or tuple that holds some."""
    return any(is_tensor(value) or holds_tensors(value) for value in args)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Select; of plain arrays a plain array."""
    return (select if has_tensors(condition, x, y) else np.where)(condition, x, y)


def refuse(reason: str) -> Function:
    """Return a function that raises for a reason."""

    def refusing(*args: Any, **kwds: Any) -> NoReturn:
        raise UnsupportedError(reason)

    return refusing


def _of_tensors(theirs: Function, ours: Function) -> Function:
    """Return a function that is ours where an argument is a Tensor, and NumPy's or SciPy's of anything else."""

    @functools.wraps(theirs)
    def function(*args: Any, **kwds: Any) -> Any:
        return (ours if has_tensors(*args, *kwds.values()) else theirs)(*args, **kwds)

    return function


def apply_where(cond: Any, args: Any, f1: Function, f2: Any = None, fill_value: Any = None, **_: Any) -> Any:
    """Compute one function where a condition holds, another one or a value elsewhere; for `xpx.apply_where`."""
    args = args if isinstance(args, tuple | list) else (args,)
    return where(cond, f1(*args), fill_value if f2 is None else f2(*args))


def _lazywhere(cond: Any, arrays: Any, f: Function, fillvalue: Any = None, f2: Any = None) -> Any:
    return apply_where(cond, arrays, f, f2, fillvalue)


def lazyselect(condlist: Any, choicelist: Any, arrays: Any, default: Any = 0) -> Any:
    """Compute the function whose condition holds, the last of several; for `_lazyselect`."""
    value = default
    for cond, function in zip(condlist, choicelist, strict=True):
        value = where(cond, function(*arrays), value)
    return value


def _promote(*args: Any, **_: Any) -> Any:
    """Return arguments as they are, for `xp_promote`: all are float64."""
    return args if len(args) > 1 else args[0]


# --- private ufuncs of SciPy ---------------------------------------------------------------------------------------


_PRIVATE: dict[str, Function] = {
    "_beta_ppf": lambda q, a, b: tapegrad.special.betaincinv(a, b, q),
    "_log1mexp": lambda x: log1mexp(-x),
}
# Public ones of which tapegrad.special has others that compute the same.
_PUBLIC: dict[str, Function] = {
    "k0e": lambda x: tapegrad.special.kve(0.0, x),
    "k1e": lambda x: tapegrad.special.kve(1.0, x),
    "chdtr": lambda v, x: gammainc(0.5 * v, 0.5 * x),
    "chdtrc": lambda v, x: gammaincc(0.5 * v, 0.5 * x),
    "powm1": lambda x, y: expm1(xlogy(y, x)),
    "pdtr": lambda k, m: gammaincc(k + 1.0, m),
    "pdtrc": lambda k, m: gammainc(k + 1.0, m),
}


@functools.cache
def substitutes() -> dict[Any, Any]:
    """Return the substitutes by the functions whose place they take."""
    import scipy.special
    import scipy.special._ufuncs as private
    from scipy._lib import _array_api, _util

    names: dict[Any, Any] = {getattr(np, name): CREATION[name] for name in _NEW_ARRAYS}
    pairs = [(np, name, ours) for name, ours in CREATION.items() if name not in _NEW_ARRAYS]
    pairs += [(private, name, ours) for name, ours in _PRIVATE.items()]
    pairs += [
        (scipy.special, name, ours) for name, ours in _PUBLIC.items() if name not in tapegrad.special.__all__
    ]
    pairs += [(scipy.special, name, getattr(tapegrad.special, name)) for name in tapegrad.special.__all__]
    for module, name, ours in pairs:
        theirs = getattr(module, name, None)
        if callable(theirs) and theirs not in names and not (_dispatches(theirs) and module is not private):
            names[theirs] = _of_tensors(theirs, ours)
    extra: Any = importlib.import_module(_EXTRA) if importlib.util.find_spec(_EXTRA) else None
    for module, name, ours in (
        (_util, "_lazywhere", _lazywhere), (_util, "_lazyselect", lazyselect), (_array_api, "xp_promote", _promote),
        (extra, "apply_where", apply_where),
    ):  # fmt: skip
        names[getattr(module, name, name)] = ours
    names[np.nditer] = _of_tensors(
        np.nditer, refuse("numpy.nditer takes no Tensors")
    )  # it crashes in NumPy 2.2
    return {**names, np.ndarray: (np.ndarray, Tensor)}


def _dispatches(function: Any) -> bool:
    return isinstance(function, np.ufunc) and function.__name__ in tapegrad.special.__all__
