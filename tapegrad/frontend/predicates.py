"""Functions that only look at values: their results are booleans and positions, through which no gradient flows.

In eager code NumPy answers. While a function is being recorded, a test that can be computed from the values is
computed anew at each replay, and its result is a Tensor of booleans, as that of a comparison; what becomes a plain
number, position or text is guarded by what it is.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversion import guarded_array
from tapegrad.frontend.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.elementwise import where as select
from tapegrad.frontend.function_names import full_name
from tapegrad.frontend.modes import no_grad
from tapegrad.frontend.outcomes import at_once, is_computed, is_recording, look
from tapegrad.frontend.record import apply
from tapegrad.frontend.reductions import max as largest
from tapegrad.frontend.reductions import min as smallest
from tapegrad.frontend.reductions import sum as total
from tapegrad.frontend.shape import reshape
from tapegrad.frontend.tensor import Tensor, bind_methods, is_tensor
from tapegrad.ops import CODES

Axis = int | tuple[int, ...] | None
_equal, _less, _less_equal = (ELEMENTWISE[name] for name in ("equal", "less", "less_equal"))
_isnan, _isfinite, _absolute = (ELEMENTWISE[name] for name in ("isnan", "isfinite", "absolute"))


def _is_recorded(*values: Any) -> bool:
    """Whether one of the values is a Tensor that a replay computes anew."""
    return is_recording() and bool([value for value in values if is_computed(value)])


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedError(
            f"{name}: the argument 'out' is not supported while a function is being recorded; use the result"
        )


def truths(x: Any) -> Any:
    """Where a recorded Tensor is not zero, as a Tensor of booleans that a replay computes anew."""
    if not is_tensor(x):
        return np.asarray(x, bool)
    return x if x.dtype == bool else apply(CODES["not_equal"], x, 0.0)


def _check(function: Any, a: Any, axis: Axis, keepdims: bool, where: Any) -> None:
    """Let NumPy refuse what it refuses."""
    a, where = (value.data_or_traced() if is_tensor(value) else value for value in (a, where))
    function(a, axis, keepdims=keepdims, where=where)


def _count(x: Any, axis: Axis, keepdims: bool) -> Any:
    """How many elements are true, as a float Tensor."""
    return total(select(x, 1.0, 0.0), axis, keepdims=keepdims)


def any(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether any element along `axis` is true, as ``numpy.any``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.any(tg.tensor([1.0, -1.0]) < 0)
    np.True_
    """
    if not _is_recorded(a, where):
        return look(np.any, a, axis, out, keepdims, where=where)
    _refuse_out("any", out)
    _check(np.any, a, axis, keepdims, where)
    with no_grad():
        found = truths(a) if where is True else truths(a) & truths(where)
        return _less(0.0, _count(found, axis, keepdims))


def all(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether all elements along `axis` are true, as ``numpy.all``."""
    if not _is_recorded(a, where):
        return look(np.all, a, axis, out, keepdims, where=where)
    _refuse_out("all", out)
    _check(np.all, a, axis, keepdims, where)
    with no_grad():
        missing = ~truths(a) if where is True else ~truths(a) & truths(where)
        return _equal(_count(missing, axis, keepdims), 0.0)


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """How many elements along `axis` are not zero, as ``numpy.count_nonzero``."""
    if _is_recorded(a):
        with no_grad():
            guarded_array(_count(truths(a), axis, keepdims))
        a = a.data_or_traced()
    return look(np.count_nonzero, a, axis, keepdims=keepdims)


def _of_truths(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that depends on which elements are true, and on nothing else."""

    @functools.wraps(function)
    def positions(a: Any) -> Any:
        if not _is_recorded(a):
            return look(function, a)
        with no_grad():
            return function(guarded_array(_in_order(truths(a))))

    return positions


def _in_order(mask: Any) -> Any:
    """A recorded mask side by side in memory."""
    return mask if mask.data_or_traced().flags.c_contiguous else _equal(select(mask, 1.0, 0.0), 1.0)


def where(condition: Any, /, *choices: Any) -> Any:
    """Elements of `x` where `condition` holds, of `y` elsewhere: ``where(condition, x, y)``.

    An element that is not selected gets the gradient 0, whatever its partial.

    Parameters
    ----------
    condition, x, y
        Tensors, arrays or numbers that broadcast. `condition` is taken as true where it is not 0. Without `x` and
        `y` the positions where it holds are returned, as by `nonzero`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([0.0, 4.0])
    >>> tg.where(x > 0, tg.sqrt(x), 0).backward()
    >>> x.grad
    array([0.  , 0.25])
    """
    if not choices:
        return FUNCTIONS["nonzero"](condition)
    if len(choices) == 1:
        raise ValueError("where: give both x and y, or neither for the positions where `condition` holds")
    return select(condition, *choices)


def _extreme_at(name: str, extreme: Callable[..., Any]) -> Callable[..., Any]:
    function = getattr(np, name)

    def position(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        if not _is_recorded(a) or a.dtype.kind != "f":
            return look(function, a, axis, out, keepdims=keepdims)
        _refuse_out(name, out)
        found = function(a.data_or_traced(), axis, keepdims=keepdims)
        with no_grad():
            guarded_array(_first(a, extreme, axis))
        return found

    position.__name__ = position.__qualname__ = name
    position.__doc__ = (
        f"Position of the {name[3:]}imum along `axis`, the first of several, as ``numpy.{name}``."
    )
    return position


def _first(x: Any, extreme: Callable[..., Any], axis: int | None) -> Any:
    """The first position where `x` attains its extreme, nan if there is one, as a float Tensor."""
    if axis is None:
        x, axis = reshape(x, -1), 0
    count, behind = x.shape[axis], len(x.shape[axis:]) - 1 if axis >= 0 else -1 - axis
    numbers = np.arange(float(count)).reshape((-1,) + (1,) * behind)
    later = select(_isnan(x), numbers, float(count))
    return smallest(select(_equal(x, extreme(x, axis, keepdims=True)), numbers, later), axis)


argmax, argmin = _extreme_at("argmax", largest), _extreme_at("argmin", smallest)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether elements are equal within tolerances, as ``numpy.isclose``."""
    if not _is_recorded(a, b):
        return look(np.isclose, a, b, rtol, atol, equal_nan)
    with no_grad():
        x, y = _float(a), _float(b)
        size = _absolute(y)
        near = _less_equal(_absolute(ELEMENTWISE["subtract"](x, y)), atol + rtol * size) & _isfinite(size)
        close = near | _equal(x, y)
        return close | (_isnan(x) & _isnan(y)) if equal_nan else close


def _float(x: Any) -> Any:
    return x.astype(float) if is_tensor(x) and x.dtype.kind != "f" else x


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are equal within tolerances, as ``numpy.allclose``."""
    if not _is_recorded(a, b):
        return look(np.allclose, a, b, rtol, atol, equal_nan)
    return all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and elements are the same, as ``numpy.array_equal``."""
    if not _is_recorded(a1, a2):
        return look(np.array_equal, a1, a2, equal_nan)
    if np.shape(a1) != np.shape(a2):
        return False
    with no_grad():
        same = _equal(a1, a2)
        return all(same | (_isnan(a1) & _isnan(a2)) if equal_nan else same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether elements are the same after broadcasting, as ``numpy.array_equiv``."""
    if not _is_recorded(a1, a2):
        return look(np.array_equiv, a1, a2)
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return all(_equal(a1, a2))


def _infinite(name: str, infinity: float) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function)
    def test(x: Any, out: Any = None) -> Any:
        if not _is_recorded(x):
            return look(function, x, out)
        _refuse_out(name, out)
        return _equal(x, infinity)

    return test


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that NumPy computes, guarded by its outcome while recording."""
    return functools.wraps(function)(functools.partial(look, function))


def _of_integers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of integers and booleans only: of floats the result would carry a gradient."""

    @functools.wraps(function)
    def of_integers(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if is_tensor(value) and value.dtype.kind == "f":
                raise UnsupportedError(
                    f"{full_name(function)} of a Tensor of {value.dtype} is not supported, for its result would have a"
                    " gradient; use .data to leave the graph"
                )
        return look(function, *args, **kwargs)

    return of_integers


def _of_structure(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's of shapes, dtypes and memory."""

    @functools.wraps(function)
    def of_structure(*args: Any, **kwargs: Any) -> Any:
        return at_once(function, args, kwargs)

    return of_structure


def _logical(name: str) -> Callable[..., Any]:
    """A logical function, of values or in a recording of Tensors of booleans."""
    function, combine = getattr(np, name), _LOGIC[name]

    def logical(*operands: Any) -> Any:
        if not _is_recorded(*operands):
            return look(function, *operands)
        with no_grad():
            return combine(*map(truths, operands))

    logical.__name__ = logical.__qualname__ = name
    logical.__doc__ = f"{function.__name__}, element by element, as ``numpy.{name}``."
    return logical


_LOGIC: dict[str, Callable[..., Any]] = {
    "logical_and": lambda x, y: x & y,
    "logical_or": lambda x, y: x | y,
    "logical_xor": lambda x, y: x ^ y,
    "logical_not": lambda x: ~x,
}
_OF_TRUTHS = ("nonzero", "flatnonzero", "argwhere")
_OF_VALUES = (
    "argsort", "argpartition", "lexsort", "searchsorted", "digitize", "isin", "nanargmax", "nanargmin", "signbit",
    "min_scalar_type", "array2string", "array_repr", "array_str",
)  # fmt: skip
_OF_INTEGERS = ("unique", "bincount")
# What is known of a Tensor without a look at its elements: the same in every replay.
_OF_STRUCTURE = (
    "shape", "ndim", "size", "result_type", "can_cast", "common_type", "iscomplexobj", "isrealobj", "iscomplex",
    "isreal", "shares_memory", "may_share_memory", "diag_indices_from", "tril_indices_from", "triu_indices_from",
)  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            any, all, where, count_nonzero, argmax, argmin, isclose, allclose, array_equal, array_equiv
        )
    },
    **{name: _logical(name) for name in _LOGIC},
    **{name: _of_truths(getattr(np, name)) for name in _OF_TRUTHS},
    **{name: _of_values(getattr(np, name)) for name in _OF_VALUES},
    **{name: _of_integers(getattr(np, name)) for name in _OF_INTEGERS},
    **{name: _of_structure(getattr(np, name)) for name in _OF_STRUCTURE},
    "isposinf": _infinite("isposinf", np.inf),
    "isneginf": _infinite("isneginf", -np.inf),
}  # fmt: skip
# Operators of an array on the left and a Tensor on the right come as these.
_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.bitwise_and: operator.and_, np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor,
}  # fmt: skip


def _with_array(combine: Callable[..., Any]) -> Callable[..., Any]:
    """A commutative operator with a Tensor on either side."""
    return lambda x, y: combine(x, y) if is_tensor(x) else combine(y, x)


UFUNCS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): FUNCTIONS[name] for name in (*_LOGIC, "signbit")},
    **{ufunc: _with_array(combine) for ufunc, combine in _OPERATORS.items()},
    np.invert: operator.invert,
}
matrix_rank = _of_values(np.linalg.matrix_rank)


def argsort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: bool | None = None) -> Any:
    """Positions of the elements in ascending order along `axis`."""
    return look(np.argsort, a, axis, kind, stable=stable)


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Any:
    """Positions in an order that puts the element `kth` where sorting would."""
    return look(np.argpartition, a, kth, axis, kind)


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Where the elements of `v` would have to be inserted to keep the order."""
    return look(np.searchsorted, a, v, side, sorter)


def _contains(x: Tensor, value: Any) -> bool:
    return bool(any(x == value))


bind_methods(
    any=any,
    all=all,
    argmax=argmax,
    argmin=argmin,
    argsort=argsort,
    argpartition=argpartition,
    searchsorted=searchsorted,
    nonzero=FUNCTIONS["nonzero"],
    __contains__=_contains,
)
