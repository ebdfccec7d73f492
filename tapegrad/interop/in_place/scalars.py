"""Functions of `math` for Tensors: NumPy's, of one number in float64."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad import special
from tapegrad.frontend.tensor.tensor import is_tensor

_OF_NUMPY = (
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "pow", "fabs", "copysign", "fmod", "degrees", "radians",
)  # fmt: skip


def _number(value: Any, name: str) -> Any:
    """Return an argument as a number in float64."""
    if not is_tensor(value):
        return float(value)
    if value.ndim or value.dtype.kind == "c":
        raise TypeError(
            f"math.{name} takes one real number, but got a Tensor of shape {value.shape} and dtype {value.dtype}; of"
            " arrays write the function of numpy"
        )
    return value.astype(np.float64)


def _by(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function of `math` that is computed by another one."""
    return lambda *values: function(*[_number(value, name) for value in values])


def _truth(function: Callable[..., Any], name: str) -> Callable[..., bool]:
    """Return a predicate of `math`: a recording branches by it."""
    return lambda value: bool(function(_number(value, name)))


def _log(x: Any, *base: Any) -> Any:
    first, *others = (np.log(_number(each, "log")) for each in (x, *base))
    return first / others[0] if others else first


def _hypot(*coordinates: Any) -> Any:
    return functools.reduce(np.hypot, [_number(each, "hypot") for each in coordinates], 0.0)


def _dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    return _hypot(*[_number(a, "dist") - _number(b, "dist") for a, b in zip(p, q, strict=True)])


def _fsum(seq: Iterable[Any]) -> Any:
    return np.sum(np.stack([_number(each, "fsum") for each in seq]))


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    a, b = _number(a, "isclose"), _number(b, "isclose")
    largest = np.maximum(np.abs(a), np.abs(b))
    close = (np.abs(a - b) <= np.maximum(rel_tol * largest, abs_tol)) & np.isfinite(largest)
    return bool((a == b) | close)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _by(getattr(np, name), name) for name in _OF_NUMPY},
    **{name: _by(getattr(special, name), name) for name in ("erf", "erfc", "gamma")},
    **{name: _truth(getattr(np, name), name) for name in ("isnan", "isinf", "isfinite")},
    "lgamma": _by(special.gammaln, "lgamma"),
    "log": _log,
    "hypot": _hypot,
    "dist": _dist,
    "fsum": _fsum,
    "isclose": _isclose,
}
