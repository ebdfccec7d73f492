"""Functions whose results are booleans and indices, without a gradient.

NumPy computes them in eager code. While a function is being recorded, a predicate of the values is an instruction,
whose result is a Tensor of booleans; a result that becomes a plain number, index or text is guarded.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import imag_part
from tapegrad.frontend.conversions.conversion import guarded_array
from tapegrad.frontend.conversions.guarded_results import at_once, call_guarded, is_computed, is_recording
from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.frontend.recording.calls import select
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.record import apply
from tapegrad.frontend.recording.ufuncs import Ufunc, with_arguments
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, is_tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like
from tapegrad.frontend.words.function_names import full_name
from tapegrad.frontend.words.numpy_docs import LOOKS, STRUCTURE, TESTS, describe
from tapegrad.ops import CODES

_ABSENT: Any = np._NoValue
_equal, _less, _less_equal = (ELEMENTWISE[name] for name in ("equal", "less", "less_equal"))
_isnan, _isfinite, _absolute = (ELEMENTWISE[name] for name in ("isnan", "isfinite", "absolute"))


def _is_recorded(*values: Any) -> bool:
    """Return whether any value is a Tensor that each replay computes."""
    return is_recording() and bool([value for value in values if is_computed(value)])


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedError(
            f"{name}: the argument 'out' is not supported while a function is being recorded; use the result"
        )


def truths(x: Any) -> Any:
    """Return the mask of nonzero elements of a recorded Tensor, as a Tensor that each replay computes."""
    if not is_tensor(x):
        return np.asarray(x, bool)
    return x if x.dtype == bool else apply(CODES["not_equal"], x, 0.0)


def _check(function: Any, a: Any, axis: Axis, keepdims: bool, where: Any) -> None:
    """Call NumPy's function for its errors."""
    a, where = (value.data_or_traced() if is_tensor(value) else value for value in (a, where))
    function(a, axis, keepdims=keepdims, where=where)


def _count(x: Any, axis: Axis, keepdims: bool) -> Any:
    """Count the true elements, as a float Tensor."""
    return total(select(x, 1.0, 0.0), axis, keepdims=keepdims)


def any(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Test whether any element along axes is true.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to test; those that are not 0 are true.
    axis : int or tuple of int, optional
        Axes to test along; all by default.
    out : numpy.ndarray, optional
        Array to write the result to; not supported while a function is being recorded.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    where : array_like of bool, default True
        Which elements to test; broadcasts to the shape of `a`.

    Returns
    -------
    numpy.ndarray of bool or numpy.bool
        While a function is being recorded, a Tensor of booleans that each replay computes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.any(tg.tensor([1.0, -1.0]) < 0)
    np.True_
    """
    if not _is_recorded(a, where):
        return call_guarded(np.any, a, axis, out, keepdims, where=where)
    _refuse_out("any", out)
    _check(np.any, a, axis, keepdims, where)
    with no_grad():
        found = truths(a) if where is True else truths(a) & truths(where)
        return _less(0.0, _count(found, axis, keepdims))


@like(
    any,
    ("any element along axes is", "all elements along axes are"),
    examples=">>> tg.all(tg.tensor([1.0, -1.0]) < 0)\nnp.False_",
)
def all(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    if not _is_recorded(a, where):
        return call_guarded(np.all, a, axis, out, keepdims, where=where)
    _refuse_out("all", out)
    _check(np.all, a, axis, keepdims, where)
    with no_grad():
        missing = ~truths(a) if where is True else ~truths(a) & truths(where)
        return _equal(_count(missing, axis, keepdims), 0.0)


def _of_truths(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a NumPy function that depends only on which elements are true."""

    @functools.wraps(function)
    def positions(a: Any) -> Any:
        if not _is_recorded(a):
            return call_guarded(function, a)
        with no_grad():
            return function(guarded_array(_in_order(truths(a))))

    return positions


def _in_order(mask: Any) -> Any:
    """Return a recorded mask in C order."""
    return mask if mask.data_or_traced().flags.c_contiguous else _equal(select(mask, 1.0, 0.0), 1.0)


def where(condition: Any, x: Any = _ABSENT, y: Any = _ABSENT, /) -> Any:
    """Select elements of `x` where `condition` holds, and of `y` elsewhere.

    Parameters
    ----------
    condition : Tensor or array_like
        Taken as true where it is not 0.
    x, y : Tensor or array_like, optional
        They broadcast with `condition`. Without them the indices where it holds are returned, as by `nonzero`.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to and the dtype that `x` and `y` promote to.

    Raises
    ------
    ValueError
        If only one of `x` and `y` is given.

    Notes
    -----
    An element that is not selected has the derivative 0, however it was computed: zero times anything is zero.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([0.0, 4.0])
    >>> tg.where(x > 0, tg.sqrt(x), 0).backward()
    >>> x.grad
    array([0.  , 0.25])
    """
    if x is _ABSENT:
        return FUNCTIONS["nonzero"](condition)
    if y is _ABSENT:
        raise ValueError("where: give both x and y, or neither for the positions where `condition` holds")
    return select(condition, x, y)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Test which elements are equal within tolerances: ``abs(a - b) <= atol + rtol * abs(b)``.

    Parameters
    ----------
    a, b : Tensor or array_like
        Elements to compare; they broadcast.
    rtol, atol : array_like, optional
        Relative and absolute tolerance.
    equal_nan : bool, default False
        Whether nan equals nan.

    Returns
    -------
    numpy.ndarray of bool
        While a function is being recorded, a Tensor of booleans that each replay computes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.isclose(tg.tensor([1.0, 2.0]), [1.0 + 1e-9, 2.1])
    array([ True, False])
    """
    if not _is_recorded(a, b):
        return call_guarded(np.isclose, a, b, rtol, atol, equal_nan)
    with no_grad():
        x, y = _float(a), _float(b)
        size = _absolute(y)
        near = _less_equal(_absolute(ELEMENTWISE["subtract"](x, y)), atol + rtol * size) & _isfinite(size)
        close = near | _equal(x, y)
        return close | (_isnan(x) & _isnan(y)) if equal_nan else close


def _float(x: Any) -> Any:
    return x.astype(float) if is_tensor(x) and x.dtype.kind not in DIFFERENTIABLE_KINDS else x


@like(
    isclose,
    ("tolerance.", "tolerance, as for `isclose`."),
    summary="Test whether all elements are equal within tolerances.",
    returns="""bool
    While a function is being recorded, a Tensor of one boolean that each replay computes.""",
    examples=">>> tg.allclose(tg.tensor([1.0, 2.0]), [1.0, 2.0 + 1e-9])\nTrue",
)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    if not _is_recorded(a, b):
        return call_guarded(np.allclose, a, b, rtol, atol, equal_nan)
    return all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Test whether two Tensors have the same shape and the same elements.

    Parameters
    ----------
    a1, a2 : Tensor or array_like
        Arrays to compare.
    equal_nan : bool, default False
        Whether nan equals nan.

    Returns
    -------
    bool
        While a function is being recorded, a Tensor of one boolean that each replay computes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.array_equal(tg.tensor([1.0, 2.0]), [1.0, 2.0])
    True
    """
    if not _is_recorded(a1, a2):
        return call_guarded(np.array_equal, a1, a2, equal_nan)
    if np.shape(a1) != np.shape(a2):
        return False
    with no_grad():
        same = _equal(a1, a2)
        return all(same | (_isnan(a1) & _isnan(a2)) if equal_nan else same)


@like(
    array_equal,
    ("\nequal_nan : bool, default False\n    Whether nan equals nan.", ""),
    summary="Test whether two Tensors have the same elements after broadcasting.",
    examples=">>> tg.array_equiv(tg.tensor([1.0, 1.0]), 1.0)\nTrue",
)
def array_equiv(a1: Any, a2: Any) -> Any:
    if not _is_recorded(a1, a2):
        return call_guarded(np.array_equiv, a1, a2)
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
            return call_guarded(function, x, out)
        _refuse_out(name, out)
        return _equal(x, infinity)

    return test


def _has_imaginary(name: str) -> Callable[..., Any]:
    """Make `iscomplex` or `isreal`, which read the imaginary parts of complex numbers, and nothing of real ones."""
    function, compare = getattr(np, name), ELEMENTWISE["not_equal" if name == "iscomplex" else "equal"]

    @functools.wraps(function)
    def test(x: Any) -> Any:
        if not (_is_recorded(x) and x.dtype.kind == "c"):
            return call_guarded(function, x) if np.iscomplexobj(x) else at_once(function, (x,), {})
        with no_grad():
            return compare(imag_part(x), 0.0)

    return test


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a NumPy function; a recording guards its result."""

    @functools.wraps(function)
    def of_values(*args: Any, **kwargs: Any) -> Any:
        return call_guarded(function, *args, **kwargs)

    return of_values


def of_integers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of integers and booleans; it raises for floats, whose result would carry a gradient."""

    @functools.wraps(function)
    def of_integers(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if is_tensor(value) and value.dtype.kind in DIFFERENTIABLE_KINDS:
                raise UnsupportedError(
                    f"{full_name(function)} of a Tensor of {value.dtype} is not supported, for its result would have a"
                    " gradient; use .data to leave the graph"
                )
        return call_guarded(function, *args, **kwargs)

    return of_integers


def _of_structure(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a NumPy function that depends on shapes, dtypes and memory only."""

    @functools.wraps(function)
    def of_structure(*args: Any, **kwargs: Any) -> Any:
        return at_once(function, args, kwargs)

    return of_structure


def _logical(name: str) -> Callable[..., Any]:
    """Make a logical function: NumPy's on values, or an instruction on booleans while recording."""
    function, combine = getattr(np, name), _LOGIC[name]

    def logical(*operands: Any) -> Any:
        if not _is_recorded(*operands):
            return call_guarded(function, *operands)
        with no_grad():
            return combine(*map(truths, operands))

    return with_arguments(Ufunc(f"numpy.{name}", logical, function))


_LOGIC: dict[str, Callable[..., Any]] = {
    "logical_and": lambda x, y: x & y,
    "logical_or": lambda x, y: x | y,
    "logical_xor": lambda x, y: x ^ y,
    "logical_not": lambda x: ~x,
}
_OF_TRUTHS = ("nonzero", "flatnonzero", "argwhere")
_OF_VALUES = (
    "isin",
    "min_scalar_type", "array2string", "array_repr", "array_str",
)  # fmt: skip
# Functions that do not read the elements: their results are the same in every replay.
_OF_STRUCTURE = (
    "shape", "ndim", "size", "result_type", "can_cast", "common_type", "iscomplexobj", "isrealobj",
    "shares_memory", "may_share_memory", "diag_indices_from", "tril_indices_from", "triu_indices_from",
)  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            any, all, where, isclose, allclose, array_equal, array_equiv
        )
    },
    **{name: _logical(name) for name in _LOGIC},
    **{name: _of_truths(getattr(np, name)) for name in _OF_TRUTHS},
    **{name: _of_values(getattr(np, name)) for name in _OF_VALUES},
    **{name: _of_structure(getattr(np, name)) for name in _OF_STRUCTURE},
    "iscomplex": _has_imaginary("iscomplex"),
    "isreal": _has_imaginary("isreal"),
    "isposinf": _infinite("isposinf", np.inf),
    "isneginf": _infinite("isneginf", -np.inf),
}  # fmt: skip
for _name in (*TESTS, *LOOKS, *STRUCTURE):
    describe(FUNCTIONS[_name], _name)
UFUNCS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): FUNCTIONS[name] for name in _LOGIC},
}
matrix_rank = _of_values(np.linalg.matrix_rank)
describe(matrix_rank, "matrix_rank", "numpy.linalg")


def _contains(x: Tensor, value: Any) -> bool:
    return bool(any(x == value))


bind_methods(
    any=any,
    all=all,
    nonzero=FUNCTIONS["nonzero"],
    __contains__=_contains,
)
