"""Ufuncs composed of others: quotients and remainders, parts of a number, its bits, and units."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import call_guarded, is_computed
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import clip
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor
from tapegrad.frontend.recording.ufuncs import Ufunc, in_one_dtype, with_arguments
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods
from tapegrad.frontend.words.ufunc_docs import describe

_copysign, _fmod, _trunc, _floor = (ELEMENTWISE[name] for name in ("copysign", "fmod", "trunc", "floor"))
_absolute, _multiply, _power, _sign, _log2 = (
    ELEMENTWISE[name] for name in ("absolute", "multiply", "power", "sign", "log2")
)
_isinf, _isfinite, _equal, _less = (ELEMENTWISE[name] for name in ("isinf", "isfinite", "equal", "less"))


def _floats(x: Any, name: str) -> Tensor:
    """Return an operand as a Tensor of floats; a Python number becomes a float64."""
    tensor = as_tensor(x, name)
    return tensor if tensor.dtype.kind == "f" else tensor.astype(float)


# --- quotients and parts -----------------------------------------------------------------------------------------


def _divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    return ELEMENTWISE["floor_divide"](x1, x2), ELEMENTWISE["remainder"](x1, x2)


def _modf(x: Any) -> tuple[Any, Any]:
    """Return the fractional part, which is 0 for infinities, and the integral part."""
    x = _floats(x, "modf")
    return select(_isinf(x), _copysign(0.0, x), _fmod(x, 1.0)), _trunc(x)


def _frexp(x: Any) -> tuple[Any, Any]:
    """Return the mantissa, in [0.5, 1), and the exponent of 2."""
    x = _floats(x, "frexp")
    if not is_computed(x):
        exponent = call_guarded(lambda values: np.frexp(values)[1], x)
        return _scaled(x, -exponent), exponent
    with no_grad():
        exponent = _exponent(x)
        whole = exponent.astype(np.int64)
    return _scaled(x, -exponent), whole


def _exponent(x: Tensor) -> Tensor:
    """Compute the exponent while recording, as a float: by a logarithm, which may be off by one."""
    about = select(_isfinite(x) & (x != 0), _floor(_log2(_absolute(x))) + 1, 0.0)
    size = _absolute(_scaled(x, -about))
    return about + select(_isfinite(x) & (size >= 1), 1.0, select((size < 0.5) & (x != 0), -1.0, 0.0))


def _ldexp(x1: Any, x2: Any) -> Any:
    exponent = as_tensor(x2, "ldexp")
    if exponent.dtype.kind not in "iub":
        raise TypeError(f"numpy.ldexp: the exponent must be of integers, not of {exponent.dtype}")
    return _scaled(
        _floats(x1, "ldexp"), exponent if is_computed(exponent) else call_guarded(np.asarray, exponent)
    )


def _scaled(x: Tensor, exponent: Any) -> Any:
    """Multiply by a power of two that may overflow or underflow in the dtype."""
    for factor in _factors(exponent, x.dtype):
        x = _multiply(x, factor)
    return x


def _factors(exponent: Any, dtype: np.dtype[Any]) -> Iterator[Any]:
    """Return powers of two that are numbers of the dtype, and whose product is the requested one."""
    largest_exponent, steps = (1000, 3) if dtype == np.float64 else (120, 4)
    if is_computed(exponent):
        rest = exponent.astype(dtype)
        for _ in range(steps):
            step = clip(rest, -largest_exponent, largest_exponent)
            yield _power(2.0, step)
            rest = rest - step
        return
    rest = np.clip(exponent.astype(np.int64), -largest_exponent * steps, largest_exponent * steps)
    while True:
        step = np.clip(rest, -largest_exponent, largest_exponent)
        yield np.ldexp(dtype.type(1), step)
        rest = rest - step
        if not rest.any():
            return


def _signbit(x: Any) -> Any:
    if not is_computed(x):
        return call_guarded(np.signbit, x)
    return _less(_copysign(1.0, x) if x.dtype.kind == "f" else x, 0)


def _heaviside(x1: Any, x2: Any) -> Any:
    x1, x2 = in_one_dtype("numpy.heaviside", x1, x2)
    return select(_equal(x1, 0), x2, _sign(x1) * 0.5 + 0.5)


# --- other units, other dtypes -------------------------------------------------------------------------------------


def _degrees(x: Any) -> Any:
    return _times_ratio(_floats(x, "degrees"), 180.0, np.pi)


def _radians(x: Any) -> Any:
    return _times_ratio(_floats(x, "radians"), np.pi, 180.0)


def _times_ratio(x: Tensor, a: float, b: float) -> Any:
    """Multiply by a ratio rounded to the dtype, as NumPy's loops do."""
    kind = x.dtype.type
    return _multiply(x, float(kind(a) / kind(b)))


def _fabs(x: Any) -> Any:
    return _absolute(_floats(x, "fabs"))


def _float_power(x1: Any, x2: Any) -> Any:
    return _power(*(_in_double(as_numbers(x, "float_power")) for x in (x1, x2)))


def _in_double(x: Tensor) -> Tensor:
    return x.astype(np.promote_types(x.dtype, np.float64), copy=False)


def _conjugate(x: Any) -> Any:
    given = as_numbers(x, "conjugate")
    return ELEMENTWISE["conjugate" if given.dtype.kind == "c" else "positive"](given)


# --- the functions -------------------------------------------------------------------------------------------------

_COMPUTED: dict[str, Callable[..., Any]] = {
    "divmod": _divmod, "modf": _modf, "frexp": _frexp, "ldexp": _ldexp, "signbit": _signbit,
    "heaviside": _heaviside, "degrees": _degrees, "rad2deg": _degrees, "radians": _radians, "deg2rad": _radians,
    "fabs": _fabs, "float_power": _float_power, "conjugate": _conjugate,
}  # fmt: skip


def _made(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    function = with_arguments(Ufunc(f"numpy.{name}", compute, getattr(np, name)))
    function.__name__ = function.__qualname__ = name
    describe(function, name)
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _made(name, compute) for name, compute in _COMPUTED.items()}
UFUNCS: dict[Any, Any] = {getattr(np, name): function for name, function in FUNCTIONS.items()}
FUNCTIONS["conj"] = FUNCTIONS["conjugate"]


def _divmod_operator(x: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    return x // other, x % other


def _reflected_divmod(x: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    return other // x, other % x


bind_methods(__divmod__=_divmod_operator, __rdivmod__=_reflected_divmod)
