"""Coverage of NumPy's and `scipy.special`'s public functions: three kinds, by the result for a Tensor.

A function that NumPy dispatches is refused if the protocols have no implementation. The others are called with
Tensors: they may ask for plain arrays, which is refused, or give results with or without a gradient.
"""

import contextlib
import importlib
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.errors import LostGradientWarning, UnsupportedError
from tapegrad.frontend.numpy_face.numpy_protocols import (
    CONSTANTS,
    CONSTANTS_ONLY,
    REFUSING,
    TAKING_TENSORS,
    implementation,
)
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.frontend.words.scipys_functions import remedy

DIFFERENTIATES, CONSTANT, REFUSED = KINDS = ("differentiates", "constant", "refused")
MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.lib.scimath", "scipy.special")
_DISPATCHED = (np.ufunc, type(np.sum))
# Functions of settings, types and plain integers: they take no arrays, and are not called.
NOT_CALLED = {
    *("base_repr", "binary_repr", "format_float_positional", "format_float_scientific", "mintypecode"),
    *("errstate", "geterr", "seterr", "geterrcall", "seterrcall", "getbufsize", "setbufsize"),
    *("get_printoptions", "set_printoptions", "printoptions"),
    *("get_include", "info", "show_config", "show_runtime", "test"),
}
# Calls of functions whose first arguments are not Tensors.
_CALLED: dict[str, Any] = {
    "bmat": lambda function: lambda x: function([[x]]),
    "fromfunction": lambda function: lambda x: function(lambda i: x * i, (2,)),
    "fromiter": lambda function: lambda x: function(x, float),
    "frompyfunc": lambda function: function(abs, 1, 1),
    "histogram2d": lambda function: lambda x: function([0.0, 1.0], [0.0, 1.0], weights=x),
    "histogramdd": lambda function: lambda x: function([[0.0, 1.0]], weights=x),
    "nditer": lambda function: lambda x: function(x, op_flags=["readonly"]),
    "nested_iters": lambda function: lambda x: function(x, [[0], []], op_flags=["readonly"]),
    "vectorize": lambda function: function(abs),
}


def public_functions(module: str) -> dict[str, Any]:
    """Return the public callables of a module by their names."""
    home = importlib.import_module(module)
    names = (name for name in dir(home) if not name.startswith("_"))
    return {name: getattr(home, name) for name in names if callable(getattr(home, name))}


def kind_of(name: str, function: Any) -> str:
    """Return the kind of a public function of that name: one of `KINDS`."""
    if name in NOT_CALLED or (isinstance(function, type) and issubclass(function, Exception)):
        return CONSTANT
    if not isinstance(function, _DISPATCHED):
        return _kind_of_results(called(name, function))
    known = implementation(function)
    if known is None or known in REFUSING:
        return REFUSED
    if known in CONSTANTS:
        return CONSTANT
    return CONSTANT if _gives_constants(called(name, function)) else DIFFERENTIATES


def _gives_constants(function: Callable[..., Any]) -> bool:
    """Return whether a function takes Tensors alone, and neither returns nor writes to one that is not constant."""
    tried = [(xs, _result(function, xs)) for xs in trials() if len(xs) <= operands_of(function)]
    given = [xs for xs, result in tried if not isinstance(result, Exception)]
    return any(all(map(is_tensor, xs)) for xs in given) and not any(
        result is None or depends(result) for _, result in tried
    )


def operands_of(function: Any) -> int:
    """Return how many arguments of a function may be operands: those before the outputs of a ufunc."""
    return int(function.nin) if isinstance(function, np.ufunc) else 5


def called(name: str, function: Any) -> Any:
    """Return the function of that name, or a call of it, that takes a Tensor as its first argument."""
    return _CALLED[name](function) if name in _CALLED else function


def _kind_of_results(function: Callable[..., Any]) -> str:
    """Return the kind of a function by calls with Tensors."""
    for arguments in trials():
        result = _result(function, arguments)
        if isinstance(result, UnsupportedError | LostGradientWarning):
            return REFUSED
        if depends(result):
            return DIFFERENTIATES
    return CONSTANT


def depends(result: Any) -> bool:
    """Return whether a result is, or contains, a Tensor that is not constant."""
    if isinstance(result, list | tuple):
        return any(map(depends, result))
    return is_tensor(result) and not result.constant


def trials() -> Iterator[tuple[Any, ...]]:
    """Return the arguments for trial calls: Tensors alone, and Tensors after numbers (orders).

    Arrays come first: some of SciPy's functions of arrays take numbers by arithmetic, which says nothing of arrays.
    """
    number, vector = (_leaf(value) for value in (0.5, [0.5, 0.75]))
    for count, (x, before) in itertools.product(range(5), ((vector, 2), (number, 2), ([number, 1.0], 1))):
        yield (x,) * (count + 1)
        if count:
            yield (*(before,) * count, x)


def _leaf(value: Any) -> Tensor:
    return from_array(np.array(value), constant=False)


def _result(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call, or the error that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", LostGradientWarning)
        try:
            return function(*arguments)
        except Exception as error:
            return error


def note_on(full: str) -> str:
    """Return the replacement for a refused function, or the reason; empty if neither is known."""
    module, _, name = full.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    if isinstance(function, type) and issubclass(function, np.generic):
        return "write t.astype"
    if implementation(function) in CONSTANTS_ONLY:
        return "but for constants"
    return f"write tapegrad.{name}" if module == "numpy" and name in TAKING_TENSORS else remedy(full)[2:]


def table() -> dict[str, dict[str, str]]:
    """Return the kind of every public function, by module and name."""
    return {
        module: {name: kind_of(name, function) for name, function in public_functions(module).items()}
        for module in MODULES
    }
