"""Sums of exponentials: their logarithm, and the share of each element in them."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.extremes import largest_finite
from tapegrad.frontend.functions.reductions.lines import by_lines, floating, operand
from tapegrad.frontend.functions.reductions.reductions import rules_of_weights, sum
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.rules import Step, state_rules
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import CODES

_LOGSUMEXP = CODES["logsumexp"]
_exp, _log, _absolute, _sign, _isfinite, _equal = (
    ELEMENTWISE[name] for name in ("exp", "log", "absolute", "sign", "isfinite", "equal")
)


def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Compute the logarithm of the sum of exponentials along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Exponents.
    axis : int or tuple of int, optional
        Axes to sum over; all by default.
    b : Tensor or array_like, optional
        Factors of the exponentials, of any sign; they broadcast with `a`.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    return_sign : bool, default False
        Return the logarithm of the absolute value of the sum, and its sign. Without it, that of a negative sum is nan.

    Returns
    -------
    Tensor or tuple of Tensor
        The logarithm, and with `return_sign` the sign, which is a constant.

    See Also
    --------
    scipy.special.logsumexp : The same for arrays.

    Notes
    -----
    Nothing overflows, and no digits are lost where the result is near zero. The derivative by an element is its share
    in the sum; in a sum of nothing but ``exp(-inf)`` it is zero, and by each element that is inf it is 1.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1000.0, 1000.0])
    >>> tg.logsumexp(x).backward()
    >>> x.grad
    array([0.5, 0.5])
    """
    x = floating(a, "logsumexp")
    if b is not None:
        return _weighted(x, operand(b, "logsumexp"), axis, keepdims, return_sign)
    result = by_lines(_LOGSUMEXP, "logsumexp", x, axis, keepdims)
    if not return_sign:
        return result
    with no_grad():
        return result, select(_equal(result, -np.inf), 0.0, select(_equal(result, result), 1.0, result))


def _weighted(x: Tensor, factors: Tensor, axis: Axis, keepdims: bool, return_sign: bool) -> Any:
    with no_grad():
        none = _equal(factors, 0)
        centre = largest_finite(select(none, -np.inf, x), axis)
    powers = _exp(x - centre)
    powers = select(none & ~_isfinite(powers), 0.0, powers)  # masked elements may be infinite
    total = sum(factors * powers, axis, keepdims=keepdims)
    result = _log(_absolute(total) if return_sign else total) + reshape(centre, total.shape)
    if not return_sign:
        return result
    with no_grad():
        return result, _sign(total)


def softmax(x: Any, axis: Axis = None) -> Tensor:
    """Compute the share of each exponential in the sum of all along axes.

    Parameters
    ----------
    x : Tensor or array_like
        Exponents.
    axis : int or tuple of int, optional
        Axes to sum over; all by default.

    Returns
    -------
    Tensor
        Same shape as `x`; its elements sum to 1 along the axes.

    See Also
    --------
    scipy.special.softmax : The same for arrays.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.softmax(tg.tensor([1000.0, 1000.0]))
    Tensor([0.5, 0.5])
    """
    result: Tensor = _exp(log_softmax(x, axis))
    return result


@like(
    softmax,
    ("`x`; its elements sum to 1 along the axes.", "`x`."),
    summary="Compute the logarithm of `softmax`.",
    see_also="scipy.special.log_softmax : The same for arrays.",
    examples=">>> tg.log_softmax(tg.tensor([0.0, -1000.0]))\nTensor([    0., -1000.])",
)
def log_softmax(x: Any, axis: Axis = None) -> Tensor:
    exponents = floating(x, "log_softmax")
    return exponents - by_lines(_LOGSUMEXP, "log_softmax", exponents, axis, True)


FUNCTIONS = {"logsumexp": logsumexp, "softmax": softmax, "log_softmax": log_softmax}


# --- derivatives -----------------------------------------------------------------------------------------------


def _shares(step: Step) -> Tensor:
    """Return the share of each element in a sum of exponentials, given the logarithm of the sum."""
    x, y = step.x(0), step.y
    zero = np.zeros((), x.dtype)
    share = _exp(select(x == y, zero, x - y))
    return select(x == -np.inf, zero, share)


state_rules("logsumexp", *rules_of_weights(_shares))
