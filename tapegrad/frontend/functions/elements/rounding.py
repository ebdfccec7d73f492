"""Rounding to decimals and to integers, and replacement of numbers that are not finite."""

import operator
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import made_complex, pairs_of
from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.frontend.words.derived_docs import like

_rint, _trunc, _multiply, _divide = (ELEMENTWISE[name] for name in ("rint", "trunc", "multiply", "divide"))
_isnan, _equal = ELEMENTWISE["isnan"], ELEMENTWISE["equal"]


def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Round elements to a number of decimals, halves to even.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to round.
    decimals : int, default 0
        Number of digits to keep behind the point; a negative number rounds in front of it.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Same shape and dtype as `a`; both parts of complex numbers are rounded. The derivative is 0, at the
        jumps as well.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.round(tg.tensor([1.2345, -0.5]), 2)
    Tensor([ 1.23, -0.5 ])
    """
    x, count = as_numbers(a, "numpy.round"), operator.index(decimals)
    if x.dtype.kind == "c":
        return deliver(made_complex(round(pairs_of(x), count)), out, name="numpy.round")
    if x.dtype.kind != "f":
        return deliver(from_array(call_guarded(np.round, x, count), constant=True), out, name="numpy.round")
    if count == 0:
        return deliver(_rint(x), out, name="numpy.round")
    scale = 10.0 ** abs(count)
    first, second = (_multiply, _divide) if count > 0 else (_divide, _multiply)
    return deliver(second(_rint(first(x, scale)), scale), out, name="numpy.round")


@like(
    round,
    (", halves to even.", ": another name of `tapegrad.round`."),
    examples=">>> tg.around(tg.tensor([1234.5]), -2)\nTensor([1200.])",
)
def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return round(a, decimals, out)


def fix(x: Any, out: Any = None) -> Any:
    """Round elements towards zero, as `tapegrad.trunc` does.

    Parameters
    ----------
    x : Tensor or array_like
        Elements to round.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Same shape and dtype as `x`. The derivative is 0, at the jumps as well.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fix(tg.tensor([1.5, -1.5]))
    Tensor([ 1., -1.])
    """
    return deliver(_trunc(x), out, name="numpy.fix")


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replace what is not finite by numbers.

    Parameters
    ----------
    x : Tensor or array_like
        Elements to look at.
    copy : bool, default True
        If False, write into `x` where that is a Tensor.
    nan : Tensor or array_like, default 0.0
        Replacement of nan.
    posinf, neginf : Tensor or array_like, optional
        Replacements of inf and -inf; by default the largest and the smallest number of the dtype.

    Returns
    -------
    Tensor
        Same shape and dtype as `x`; in complex numbers each part is looked at. The derivative by elements
        that are replaced is 0.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nan_to_num(tg.tensor([1.0, tg.nan]), nan=-1.0)
    Tensor([ 1., -1.])
    """
    tensor = as_numbers(x, "numpy.nan_to_num")
    if tensor.dtype.kind not in DIFFERENTIABLE_KINDS:
        return tensor.copy() if copy else tensor
    if tensor.dtype.kind == "c":
        result = made_complex(_finite(pairs_of(tensor), *map(_of_both_parts, (nan, posinf, neginf))))
    else:
        result = _finite(tensor, nan, posinf, neginf)
    if copy or tensor is not x:
        return result
    return deliver(result, tensor, name="numpy.nan_to_num")


def _of_both_parts(value: Any) -> Any:
    """Return a replacement of parts of complex numbers in a shape that broadcasts against pairs."""
    return value if np.ndim(value) == 0 else as_numbers(value, "numpy.nan_to_num")[..., None]


def _finite(tensor: Tensor, nan: Any, posinf: Any, neginf: Any) -> Tensor:
    ends = np.finfo(tensor.dtype)
    result = select(_isnan(tensor), nan, tensor)
    result = select(_equal(tensor, np.inf), float(ends.max) if posinf is None else posinf, result)
    result = select(_equal(tensor, -np.inf), float(ends.min) if neginf is None else neginf, result)
    return result.astype(tensor.dtype, copy=False)


FUNCTIONS = {"round": round, "around": around, "fix": fix, "nan_to_num": nan_to_num}


@like(
    round,
    ("a : Tensor or array_like\n    Elements to round.\n", ""),
    ("dtype as `a`;", "dtype;"),
    see_also="tapegrad.round : The same as a function.",
    examples=">>> tg.tensor([1.26, -0.5]).round(1)\nTensor([ 1.3, -0.5])",
)
def _round_method(a: Tensor, decimals: Any = 0, out: Any = None) -> Any:
    return round(a, decimals, out)


def _rounded(x: Tensor, ndigits: Any = None) -> Any:
    """Return ``round(x)``: an int for a single number, as in Python; a Tensor for an array or with digits."""
    return int(_rint(x)) if ndigits is None and x.ndim == 0 else round(x, ndigits or 0)


def _whole(name: str) -> Any:
    """Make the method that a rounding function of the module `math` calls; it returns an int."""
    to_whole = ELEMENTWISE[name]

    def method(x: Tensor) -> int:
        return int(to_whole(x))

    return method


bind_methods(
    round=_round_method,
    __round__=_rounded,
    __floor__=_whole("floor"),
    __ceil__=_whole("ceil"),
    __trunc__=_whole("trunc"),
)
