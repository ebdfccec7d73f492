"""Special functions by SciPy's names: those of the op table, and what is made of them."""

import math
from collections.abc import Callable
from typing import Any

from tapegrad.frontend.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.elementwise import where as select
from tapegrad.frontend.functions.exponentials import log_softmax, logsumexp, softmax
from tapegrad.frontend.outputs import deliver
from tapegrad.frontend.record_structural import as_tensor
from tapegrad.frontend.tensor import Tensor
from tapegrad.frontend.unknown_derivatives import check_constant
from tapegrad.ops import ELEMENTWISE as ROWS

_digamma, _gamma, _power, _equal = (ELEMENTWISE[name] for name in ("digamma", "gamma", "power", "equal"))
_hurwitz, _riemann = ELEMENTWISE["zeta"], ELEMENTWISE["riemann_zeta"]


def i0(x: Any) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 0.

    Parameters
    ----------
    x : Tensor or array_like
        Elements to compute it of.

    Returns
    -------
    Tensor
        Of the shape of `x`.

    See Also
    --------
    tapegrad.special.i0 : The same with the arguments of a ufunc.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([0.0, 1.0])
    >>> tg.i0(x)
    Tensor([1.        , 1.26606588])
    """
    result: Tensor = ELEMENTWISE["i0"](x)
    return result


def polygamma(n: Any, x: Any) -> Any:
    """Compute the derivative of order `n` of the digamma function.

    Parameters
    ----------
    n : int or array_like of int
        Orders of the derivative; constants.
    x : Tensor or array_like
        Elements to compute it of; broadcasts with `n`.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to.

    See Also
    --------
    scipy.special.polygamma : The same for arrays.

    Notes
    -----
    The derivative by `x` is ``polygamma(n + 1, x)`` (DLMF 5.15). That by `n` is refused.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.polygamma(1, tg.tensor([1.0, 2.0]))
    Tensor([1.64493407, 0.64493407])
    """
    check_constant("scipy.special.polygamma", "n", n)
    if type(n) is int and n >= 0:
        return _digamma(x) if n == 0 else _factor(n) * _hurwitz(n + 1.0, x)
    order = as_tensor(n, "scipy.special.polygamma")
    sign = _power(-1.0, order + 1.0)
    return select(_equal(order, 0), _digamma(x), sign * _gamma(order + 1.0) * _hurwitz(order + 1.0, x))


def _factor(n: int) -> float:
    """``(-1)**(n+1) * n!`` as a float."""
    size = math.gamma(n + 1.0) if n < 171 else math.inf
    return size if n % 2 else -size


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Compute the Riemann zeta function, or with `q` that of Hurwitz.

    Parameters
    ----------
    x : array_like
        Exponents; constants.
    q : Tensor or array_like, optional
        Where the sum of ``1 / (k + q)**x`` over ``k = 0, 1, ...`` begins; by default the function is Riemann's.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to.

    See Also
    --------
    scipy.special.zeta : The same for arrays.

    Notes
    -----
    The derivative by `q` is ``-x * zeta(x + 1, q)`` (DLMF 25.11.17). That by `x` is refused.

    Examples
    --------
    >>> import tapegrad as tg
    >>> q = tg.tensor([1.0, 2.0])
    >>> tg.special.zeta(2.0, q)
    Tensor([1.64493407, 0.64493407])
    """
    check_constant("scipy.special.zeta", "x", x)
    result = _riemann(x) if q is None else _hurwitz(x, q)
    return result if out is None else deliver(result, out, name="scipy.special.zeta")


_ROWS = {row.name: ELEMENTWISE[row.name] for row in ROWS if row.home == "tapegrad.special"}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_ROWS,
    **{name: ELEMENTWISE[name] for name in ("digamma", "erf", "erfc", "expm1", "log1p", "sinc")},
    "expit": ELEMENTWISE["sigmoid"],
    "gammaln": ELEMENTWISE["lgamma"],
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "polygamma": polygamma,
    "psi": ELEMENTWISE["digamma"],
    "softmax": softmax,
    "zeta": zeta,
}
# Functions whose home is `tapegrad.special`; the others have names in `tapegrad`, too.
OWN = (*_ROWS.values(), polygamma, zeta)
