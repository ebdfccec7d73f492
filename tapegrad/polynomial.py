"""Polynomials in six bases with Tensors for coefficients and arguments, by the names of `numpy.polynomial`.

NumPy's functions and classes of polynomials are written in Python, of functions of arrays, and make arrays of their
arguments before any protocol applies. Here is the same code with the functions of this package in their place. So
results are Tensors, of plain arguments too; nodes and weights of quadratures are NumPy's. Complex roots are refused,
because NumPy sorts them; `tapegrad.roots` has them.

>>> import tapegrad as tg
>>> tg.polynomial.chebyshev.chebval(0.5, tg.tensor([1.0, 2.0, 3.0]))
Tensor(0.5)
>>> p = tg.polynomial.Polynomial(tg.tensor([1.0, 2.0, 3.0]))
>>> p.deriv()(tg.tensor([0.0, 1.0]))
Tensor([2., 8.])
"""

import functools
import inspect
import sys
import types
from typing import Any

import numpy as np
import numpy.polynomial

from tapegrad.frontend.numpy_face.numpy_protocols import CREATION, FUNCTIONS, LINALG
from tapegrad.frontend.tensor.tensor import Tensor

_COPIES = {
    f"numpy.polynomial.{name}": types.ModuleType(f"tapegrad.polynomial.{name}")
    for name in (
        "polyutils", "_polybase", "polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre",
    )
}  # fmt: skip
_LINALG = types.SimpleNamespace(**{**vars(np.linalg), **LINALG})
# `isinstance(x, np.ndarray)` is asked of arguments.
_NUMPY = types.SimpleNamespace(
    **{**vars(np), **CREATION, **FUNCTIONS, "linalg": _LINALG, "ndarray": (np.ndarray, Tensor)}
)
_OF_NUMBERS = ("gauss", "pts1", "pts2")  # ends of the names of functions whose results are of NumPy
_OF_CLASSES = ("__dict__", "__weakref__", "_abc_impl", "__abstractmethods__")  # of a class, not of its body


def _copied(value: Any) -> Any:
    """Return the copy of what a module or a class of NumPy's polynomials has; the same of anything else."""
    if value is np:
        return _NUMPY
    if value is np.linalg:
        return _LINALG
    if isinstance(value, types.ModuleType):
        return _COPIES.get(value.__name__, value)
    if isinstance(value, staticmethod | classmethod):
        return type(value)(_copied(value.__func__))
    if isinstance(value, property):
        return property(_copied(value.fget), doc=value.__doc__)
    value = inspect.unwrap(value) if callable(value) else value  # NumPy dispatches some
    if getattr(value, "__module__", None) not in _COPIES:
        return value
    return _copied_class(value) if isinstance(value, type) else _copied_function(value)


@functools.cache
def _copied_function(function: Any) -> Any:
    """Return the function with the names of the copied module."""
    names = vars(_COPIES[function.__module__])
    copy = types.FunctionType(function.__code__, names, None, function.__defaults__, function.__closure__)
    return functools.update_wrapper(copy, function, ("__doc__", "__kwdefaults__", "__name__", "__qualname__"))


@functools.cache
def _copied_class(kind: Any) -> Any:
    body = {name: _copied(value) for name, value in vars(kind).items() if name not in _OF_CLASSES}
    body |= {"__module__": __name__, "__repr__": _repr, "__str__": _repr, "__format__": object.__format__}
    return types.new_class(
        kind.__name__,
        tuple(map(_copied, kind.__bases__)),
        {"metaclass": type(kind)},
        lambda names: names.update(body),
    )


def _repr(series: Any) -> str:
    return f"{type(series).__name__}({series.coef}, domain={series.domain}, window={series.window})"


for _name, _copy in _COPIES.items():
    vars(_copy)["__builtins__"] = __builtins__
    for _key, _value in vars(sys.modules[_name]).items():
        if not _key.startswith("__") or _key in ("__all__", "__doc__"):
            vars(_copy)[_key] = _value if _key.endswith(_OF_NUMBERS) else _copied(_value)
globals().update({name: _copied(getattr(np.polynomial, name)) for name in np.polynomial.__all__})
__all__ = sorted(np.polynomial.__all__)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__"]
