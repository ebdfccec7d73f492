"""Elementwise functions, named by the table of ops, and the operators of a Tensor."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime import library_loops
from tapegrad.foreign import is_pandas, is_sparse, is_xarray
from tapegrad.frontend.recording.calls import make_binary_function, make_unary_function, select
from tapegrad.frontend.recording.lists import holds_tensors, in_numbers
from tapegrad.frontend.recording.outputs import deliver_broadcast, one_output
from tapegrad.frontend.recording.record import (
    OWN,
    apply,
    apply_to_any,
    binary,
    list_as_tensor,
    unary,
    unary_operator,
)
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.ufuncs import Ufunc, in_dtype, signature_of, with_arguments
from tapegrad.frontend.recording.unknown_derivatives import full_name, refusing
from tapegrad.frontend.tensor.array_checks import complex_seen, plain, real_numbers
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, is_tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import BY_NAME, CODES, ELEMENTWISE, Op
from tapegrad.ops.documentation import arguments_of, docstring

FLOOR_DIVIDE, REMAINDER = CODES["floor_divide"], CODES["remainder"]
ADD, SUBTRACT, MULTIPLY, DIVIDE = CODES["add"], CODES["subtract"], CODES["multiply"], CODES["divide"]
POWER, NEGATIVE, POSITIVE, ABSOLUTE = CODES["power"], CODES["negative"], CODES["positive"], CODES["absolute"]
_SQUARE = CODES["square"]
_POWERS = {2: _SQUARE, 0.5: CODES["sqrt"], -1: CODES["reciprocal"], 1: POSITIVE}
_ALIASES = {
    "abs": "absolute",
    "mod": "remainder",
    "true_divide": "divide",
    "pow": "power",
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "atan2": "arctan2",
}


# Exponents of complex numbers for which NumPy's operator leaves the ufunc, whose signs of zeros and parts of infinite
# numbers are others. From NumPy 2.3 on it does so for 2 and -1 alone, not for 2.0 and -1.0: these stay as fast here.
_COMPLEX_POWERS = (2, 0.5, -1)


def _row_of_power(x: Tensor, exponent: Any, as_operator: bool = False) -> int | None:
    """Return the op that is equal to a power by this exponent, if there is one."""
    kind = type(exponent)
    if kind is not int and kind is not float:
        return None
    code = _POWERS.get(exponent)
    if code is None or x.dtype.kind == "f":
        return code
    return code if as_operator and x.dtype.kind == "c" and exponent in _COMPLEX_POWERS else None


def _product(x: Tensor, exponent: Any) -> Tensor | None:
    """Record a power as a product, in a tenth of the time and with the same accuracy: two or three roundings.

    The square of a factor overflows or underflows only where the power does, and signs of zeros and infinities agree.
    """
    kind = type(exponent)
    if (kind is not int and kind is not float) or exponent not in (3, 4) or x.dtype.kind != "f":
        return None
    squared = unary(_SQUARE, x)
    return _multiplied(squared, x) if exponent == 3 else unary(_SQUARE, squared)


_raise, _RAISE = binary(POWER), binary(POWER, as_operator=True)
_multiplied = binary(MULTIPLY)


def _raised(x: Tensor, exponent: Any) -> Tensor:
    product = _product(x, exponent)
    return _raise(x, exponent) if product is None else product


def _power(x: Any, exponent: Any, /, *out: Any, **options: Any) -> Any:
    if out or options:
        return _power_with_arguments(x, exponent, *out, **options)
    if not is_tensor(x):
        return apply_to_any(POWER, x, exponent)
    code = _row_of_power(x, exponent)
    return _raised(x, exponent) if code is None else unary(code, x)


_power_with_arguments = with_arguments(Ufunc("numpy.power", _power, np.power))


def _power_operator(x: Tensor, exponent: Any) -> Tensor:
    code = _row_of_power(x, exponent, as_operator=True)
    if code is not None:
        return unary(code, x, as_operator=True)
    product = _product(x, exponent)
    return _RAISE(x, exponent) if product is None else product


def _function(row: Op) -> Callable[..., Any]:
    """Make the public function of a row."""
    code = CODES[row.name]
    if row.predicate:
        function = _predicate(row)
    elif row.name == "power":
        function = _power
    elif row.arity < 3:

        def compute(*operands: Any) -> Any:
            return function(*operands)

        function = (make_unary_function, make_binary_function)[row.arity - 1](code, _general(row, compute))
    else:
        function = _of_three(row)
    if row.unknown:
        function = refusing(row, function)
    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = docstring(row)
    vars(function)["__signature__"] = signature_of(arguments_of(row))
    return function


def _of_three(row: Op) -> Callable[..., Any]:
    """Make the function of a row with three operands."""
    code = CODES[row.name]

    def function(*operands: Any, **options: Any) -> Any:
        if not options and len(operands) == 3:
            return apply(code, *operands)
        return with_arguments(Ufunc(full_name(row), function, library_loops.ufunc(row.name)))(
            *operands, **options
        )

    return function


def _general(row: Op, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function of a row with all arguments of a ufunc.

    A row without a ufunc in NumPy has the dtype rules of a ufunc of floats.
    """
    rules = getattr(np, row.ufunc) if row.ufunc else (np.sqrt, np.hypot)[row.arity - 1]
    return with_arguments(Ufunc(full_name(row), compute, rules))


def _predicate(row: Op) -> Callable[..., Any]:
    """Make a predicate: it returns NumPy's booleans, or while recording booleans that each replay computes."""
    code, arity, test = CODES[row.name], row.arity, getattr(np, row.name)

    def predicate(*operands: Any, **options: Any) -> Any:
        if options or len(operands) != arity:
            return general(*operands, **options)
        if thread.mode.recorder is not None:
            return apply(code, *operands)
        values = [x.data_or_traced() if is_tensor(x) else _numbers(x, row.name) for x in operands]
        return test(*values if row.takes_complex else [real_numbers(x, row.name) for x in values])

    general = _general(row, predicate)
    return predicate


def _numbers(value: Any, name: str) -> Any:
    """Return the array or number that NumPy computes with in place of an operand."""
    return in_numbers(value, name) if holds_tensors(value) else value


FUNCTIONS: dict[str, Callable[..., Any]] = {row.name: _function(row) for row in ELEMENTWISE}
FUNCTIONS.update({alias: FUNCTIONS[name] for alias, name in _ALIASES.items()})


def where(condition: Any, x: Any, y: Any, /) -> Tensor:
    """Select from `x` where `condition`, a number that is not 0, holds, from `y` elsewhere."""
    return select(condition, x, y)


def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    **kwargs: Any,
) -> Any:
    """Limit elements to a closed interval.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to limit.
    a_min, a_max : Tensor or array_like, optional
        Ends of the interval; they broadcast with `a`. None is no limit. Where `a_min` is greater than `a_max`, the
        result is `a_max`.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.
    min, max : Tensor or array_like, optional
        Other names of `a_min` and `a_max`.
    **kwargs
        `where`, `casting`, `order`, `dtype` and `subok`, as every ufunc takes them.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to.

    Notes
    -----
    The derivative by an element is 1 on the closed interval, ends included. Outside it is 0, and that by the end of the
    interval is 1.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([-1.0, 0.0, 3.0])
    >>> y = tg.clip(x, 0.0, 2.0)
    >>> y
    Tensor([0., 0., 2.])
    >>> y.backward()
    >>> x.grad
    array([0., 1., 0.])
    """
    if not (a_min is None and a_max is None) and not (min is None and max is None):
        raise ValueError("clip: a_min or a_max is given, and min or max too; give clip(a, low, high)")
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if kwargs.get("dtype") is not None:
        a, low, high = (x if x is None else _cast(x, **kwargs) for x in (a, low, high))
    result = _clipped(a, low, high)
    return result if out is None and not kwargs else _delivered(result, out, **kwargs)


def _cast(x: Any, dtype: Any, casting: Any = "same_kind", **others: Any) -> Any:
    """Convert an operand of clip to the dtype in which to compute."""
    given = as_tensor(x, "numpy.clip")
    if not np.can_cast(given.dtype, dtype, casting):
        raise TypeError(
            f"numpy.clip: cannot convert {given.dtype} to {dtype} by the casting rule {casting!r}"
        )
    return in_dtype(given, np.dtype(dtype), "numpy.clip")


def _delivered(result: Tensor, out: Any, where: Any = True, casting: Any = "same_kind", **others: Any) -> Any:
    unknown = others.keys() - {"order", "dtype", "subok"}
    if unknown:
        raise TypeError(f"clip() got an unexpected keyword argument {min(unknown)!r}")
    return deliver_broadcast(result, one_output(out, "numpy.clip"), where, casting, name="numpy.clip")


def _clipped(a: Any, low: Any, high: Any) -> Tensor:
    if holds_tensors(a):
        a = list_as_tensor(a, "clip")
    if low is not None and high is not None:
        return apply(CODES["clip"], a, low, high)
    if low is None and high is None:
        return apply(POSITIVE, a)
    if (a.dtype if is_tensor(a) else np.asarray(a).dtype).kind in "biu":  # integers remain integers
        return apply(CODES["maximum"], a, low) if high is None else apply(CODES["minimum"], a, high)
    return apply(CODES["clip"], a, -np.inf if low is None else low, np.inf if high is None else high)


FUNCTIONS["where"] = where
FUNCTIONS["clip"] = clip


_REAL = frozenset((Tensor, float, int))  # classes of operands that are real before a complex Tensor was made


def _compare(name: str, of_arrays: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make a comparison operator: NumPy's on arrays, or while recording booleans that each replay computes."""
    code, of_order = CODES[name], not BY_NAME[name].takes_complex

    def compare(self: Tensor, other: Any) -> Any:
        if of_order and (complex_seen[0] or type(other) not in _REAL):
            self, other = real_numbers(self, name), real_numbers(other, name)
        if thread.mode.recorder is None and type(other) is Tensor:
            return of_arrays(self.data_or_traced(), other.data_or_traced())
        if type(other) not in OWN and is_xarray(other):
            return NotImplemented
        if thread.mode.recorder is not None:
            return apply(code, self, other)
        if type(other) not in OWN and (is_pandas(other) or is_sparse(other)):
            other = plain(other, name)
        if is_tensor(other):
            other = other.data_or_traced()
        elif type(other) not in OWN:
            other = _numbers(other, name)
        return of_arrays(self.data_or_traced(), other)

    compare.__name__ = f"__{name}__"
    return compare


@like(
    clip,
    parameters="""min, max : Tensor or array_like, optional
    Ends of the interval; they broadcast with the Tensor. None is no limit.
out : Tensor or numpy.ndarray, optional
    Destination of the result; a plain array takes constants only.
**kwargs
    `where`, `casting`, `order`, `dtype` and `subok`, as every ufunc takes them.""",
    see_also="tapegrad.clip : The same as a function, with the derivatives at the ends.",
    notes="",
    examples=">>> tg.tensor([-1.0, 0.5, 3.0]).clip(0.0, 2.0)\nTensor([0. , 0.5, 2. ])",
)
def _clip_method(x: Tensor, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return clip(x, min, max, out, **kwargs)


bind_methods(
    __add__=binary(ADD, as_operator=True),
    __radd__=binary(ADD, as_operator=True, is_reflected=True),
    __sub__=binary(SUBTRACT, as_operator=True),
    __rsub__=binary(SUBTRACT, as_operator=True, is_reflected=True),
    __mul__=binary(MULTIPLY, as_operator=True),
    __rmul__=binary(MULTIPLY, as_operator=True, is_reflected=True),
    __truediv__=binary(DIVIDE, as_operator=True),
    __rtruediv__=binary(DIVIDE, as_operator=True, is_reflected=True),
    __pow__=_power_operator,
    __rpow__=binary(POWER, as_operator=True, is_reflected=True),
    __neg__=unary_operator(NEGATIVE),
    __pos__=unary_operator(POSITIVE),
    __abs__=unary_operator(ABSOLUTE),
    __floordiv__=binary(FLOOR_DIVIDE, as_operator=True),
    __rfloordiv__=binary(FLOOR_DIVIDE, as_operator=True, is_reflected=True),
    __mod__=binary(REMAINDER, as_operator=True),
    __rmod__=binary(REMAINDER, as_operator=True, is_reflected=True),
    __lt__=_compare("less", operator.lt),
    __le__=_compare("less_equal", operator.le),
    __gt__=_compare("greater", operator.gt),
    __ge__=_compare("greater_equal", operator.ge),
    __eq__=_compare("equal", operator.eq),
    __ne__=_compare("not_equal", operator.ne),
    clip=_clip_method,
)
