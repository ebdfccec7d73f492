"""Special functions by SciPy's names: those of the op table, and compositions of them."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tapegrad.engine.runtime import library_loops
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.elements.special_compositions import (
    COMPOSED,
    diric,
    sph_harm_y,
    whole_number,
)
from tapegrad.frontend.functions.reductions.exponentials import log_softmax, logsumexp, softmax
from tapegrad.frontend.functions.reductions.lines import floating
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.frontend.recording.ufuncs import Ufunc, signature_of, with_arguments
from tapegrad.frontend.recording.unknown_derivatives import check_constant
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like, renamed
from tapegrad.frontend.words.ufunc_docs import describe_as
from tapegrad.ops import ELEMENTWISE as ROWS

_digamma, _gamma, _power, _equal = (ELEMENTWISE[name] for name in ("digamma", "gamma", "power", "equal"))
_betainc = ELEMENTWISE["betainc"]
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
        Same shape as `x`.

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
    """Return ``(-1)**(n+1) * n!`` as a float."""
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
        Destination of the result; a plain array takes constants only.

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


def _of_integer_order(name: str) -> Callable[..., Tensor]:
    """Make the Bessel function `kn` or `yn` from the one of real order."""
    of_real_order = ELEMENTWISE[f"{name[0]}v"]

    def bessel(n: Any, x: Any) -> Tensor:
        """Compute the modified Bessel function of the second kind of integer order `n`.

        Parameters
        ----------
        n : int or array_like of int
            Orders; constants.
        x : Tensor or array_like
            Elements to compute it of; broadcasts with `n`.

        Returns
        -------
        Tensor
            Has the shape that the operands broadcast to.

        Raises
        ------
        ValueError
            For orders that are not whole numbers; `kv` takes them.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.special.kn(1, tg.tensor([1.0, 2.0]))
        Tensor([0.60190723, 0.13986588])
        """
        result: Tensor = of_real_order(_whole(name, n), x)
        return result

    return renamed(bessel, name)


def expn(n: Any, x: Any) -> Tensor:
    """Compute the generalised exponential integral of integer order `n`.

    Parameters
    ----------
    n : int or array_like of int
        Orders from 0 on; constants.
    x : Tensor or array_like
        Elements to compute it of; broadcasts with `n`.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to; nan for negative `x`. The derivative is ``-expn(n-1, x)`` (DLMF
        8.19.13).

    Raises
    ------
    ValueError
        For orders that are not whole numbers.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.expn(2, tg.tensor([0.5, 1.0]))
    Tensor([0.32664386, 0.14849551])
    """
    result: Tensor = ELEMENTWISE["expn"](_whole("expn", n), x)
    return result


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Tensor:
    """Compute Lambert's function W, which solves ``W*exp(W) = z``: one of its real branches.

    Parameters
    ----------
    z : Tensor or array_like
        Real elements. The branch 0 is real from -1/e on, the branch -1 from -1/e to 0.
    k : int, default 0
        The branch: 0 or -1.
    tol : float, default 1e-8
        Not used: results are right to the last places. It is there for calls that SciPy takes.

    Returns
    -------
    Tensor
        Real, of the shape of `z`; nan where the branch is complex. The derivative is ``exp(-W)/(1+W)``.

    Raises
    ------
    UnsupportedError
        For other branches, which are complex everywhere.

    Notes
    -----
    Corless, Gonnet, Hare, Jeffrey, Knuth, On the Lambert W function, 1996.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.lambertw(tg.tensor([0.0, 1.0]))
    Tensor([0.        , 0.56714329])
    >>> tg.special.lambertw(tg.tensor(-0.1), -1)
    Tensor(-3.57715206)
    """
    check_constant("scipy.special.lambertw", "k", k)
    branches = {0: "lambertw0", -1: "lambertwm1"}
    branch = np.asarray(k)
    if branch.ndim or branch.item() not in branches:
        raise UnsupportedError(
            f"scipy.special.lambertw: the branch {k} is complex; the real ones are k=0 and k=-1"
        )
    result: Tensor = ELEMENTWISE[branches[branch.item()]](z)
    return result


def _whole(name: str, n: Any) -> Any:
    """Return orders as floats; raise if they are not integers, or not constant."""
    check_constant(f"scipy.special.{name}", "n", n)
    order = as_tensor(n, f"scipy.special.{name}").data
    if not np.array_equal(order, np.trunc(order)):
        raise ValueError(
            f"scipy.special.{name}: the order must be a whole number"
            + (f"; {name[0]}v takes real ones" if name in ("kn", "yn") else "")
        )
    return float(order) if order.ndim == 0 else order.astype(float)


kn = _of_integer_order("kn")
yn = like(
    kn,
    ("modified Bessel", "Bessel"),
    ("`kv`", "`yv`"),
    examples=">>> tg.special.yn(1, tg.tensor([1.0, 2.0]))\nTensor([-0.78121282, -0.10703243])",
)(_of_integer_order("yn"))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tensor:  # noqa: N803  as SciPy has it
    """Compute the number of combinations of `N` things taken `k` at a time, for real arguments.

    Parameters
    ----------
    N, k : Tensor or array_like
        They broadcast with each other.
    exact : bool, default False
        Whether to compute with integers of any size, which have no derivative: only False.
    repetition : bool, default False
        Whether things may be taken several times.

    Returns
    -------
    Tensor
        0 where ``k > N`` or one of them is negative.

    Raises
    ------
    UnsupportedError
        With ``exact=True``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.comb(tg.tensor(5.0), 2.0)
    Tensor(10.)
    """
    if exact:
        raise UnsupportedError("scipy.special.comb: exact=True computes with integers; write exact=False")
    if repetition:
        return comb(ELEMENTWISE["subtract"](ELEMENTWISE["add"](N, k), 1.0), k)
    less_equal, found = ELEMENTWISE["less_equal"], ELEMENTWISE["binom"](N, k)
    for below, above in ((k, N), (0.0, N), (0.0, k)):
        found = select(less_equal(below, above), found, 0.0)
    return as_tensor(found, "scipy.special.comb")


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Tensor:
    """Compute the factorial, ``gamma(n + 1)``, for real arguments.

    Parameters
    ----------
    n : Tensor or array_like
        Elements to compute it of.
    exact : bool, default False
        Whether to compute with integers of any size, which have no derivative: only False.
    extend : {"zero"}
        What the factorials of negative numbers are.

    Returns
    -------
    Tensor
        Same shape as `n`; 0 where it is negative.

    Raises
    ------
    UnsupportedError
        With ``exact=True`` or ``extend="complex"``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.factorial(tg.tensor([3.0, 2.5, -1.0]))
    Tensor([6.        , 3.32335097, 0.        ])
    """
    if exact or extend != "zero":
        raise UnsupportedError(
            "scipy.special.factorial: exact=True computes with integers, and extend='complex' with complex numbers;"
            " write exact=False and extend='zero', or special.gamma(n + 1)"
        )
    found = select(ELEMENTWISE["less"](n, 0.0), 0.0, _gamma(ELEMENTWISE["add"](n, 1.0)))
    return as_tensor(found, "scipy.special.factorial")


def multigammaln(a: Any, d: int) -> Tensor:
    """Compute the logarithm of the multivariate gamma function.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compute it of, greater than ``(d - 1) / 2``.
    d : int
        The dimension.

    Returns
    -------
    Tensor
        Same shape as `a`; nan where the function is not defined, where SciPy raises an error.

    Raises
    ------
    ValueError
        If `d` is no positive integer.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.multigammaln(tg.tensor([2.0, 3.0]), 2)
    Tensor([0.45158271, 1.55019499])
    """
    x = floating(a, "scipy.special.multigammaln")
    if d != int(d) or d < 1:
        raise ValueError(f"scipy.special.multigammaln: d must be a positive integer, not {d!r}")
    terms = ELEMENTWISE["lgamma"](expand_dims(x, -1) - 0.5 * np.arange(int(d), dtype=x.dtype))
    total = sum(terms, -1) + 0.25 * d * (d - 1) * math.log(math.pi)
    result: Tensor = select(x > 0.5 * (d - 1), total, math.nan)
    return result


def fdtr(dfn: Any, dfd: Any, x: Any, out: Any = None) -> Any:
    """Compute the distribution function of F.

    Parameters
    ----------
    dfn, dfd : Tensor or array_like
        Degrees of freedom of the numerator and the denominator.
    x : Tensor or array_like
        Ratios.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to.

    See Also
    --------
    scipy.special.fdtr : The same for arrays.
    betainc : Of which it is made, with its derivatives by every argument.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.fdtr(2, 4, tg.tensor([0.5, 1.0]))
    Tensor([0.36      , 0.55555556])
    """
    dfn, dfd, x = (as_tensor(operand, "scipy.special.fdtr") for operand in (dfn, dfd, x))
    result = _betainc(dfn / 2.0, dfd / 2.0, dfn * x / (dfd + dfn * x))
    return result if out is None else deliver(result, out, name="scipy.special.fdtr")


@like(
    fdtr,
    ("scipy.special.fdtr", "scipy.special.fdtrc"),
    summary="Compute one minus the distribution function of F, without cancellation.",
    examples=">>> tg.special.fdtrc(2, 4, tg.tensor([0.5, 1.0]))\nTensor([0.64      , 0.44444444])",
)
def fdtrc(dfn: Any, dfd: Any, x: Any, out: Any = None) -> Any:
    dfn, dfd, x = (as_tensor(operand, "scipy.special.fdtrc") for operand in (dfn, dfd, x))
    result = _betainc(dfd / 2.0, dfn / 2.0, dfd / (dfd + dfn * x))
    return result if out is None else deliver(result, out, name="scipy.special.fdtrc")


def _of_several_results(name: str, arguments: str, *rows: str) -> Callable[..., tuple[Any, ...]]:
    """Make a function whose results are those of rows."""
    functions, path, names = (
        [ELEMENTWISE[row] for row in rows],
        f"scipy.special.{name}",
        tuple(arguments.split()),
    )

    def function(*operands: Any, **options: Any) -> tuple[Any, ...]:
        if options or len(operands) != len(names):
            ufunc = Ufunc(path, function, library_loops.ufunc(rows[0]))
            return cast(tuple[Any, ...], with_arguments(ufunc)(*operands, **options))
        return tuple([each(*operands) for each in functions])

    vars(function)["__signature__"] = signature_of(names, len(rows))
    describe_as(function, path, names, len(rows))
    return renamed(function, name)


airy = _of_several_results("airy", "z", "airy_ai", "airy_ai_dot", "airy_bi", "airy_bi_dot")
airye = _of_several_results("airye", "z", "airye_ai", "airye_ai_dot", "airye_bi", "airye_bi_dot")
fresnel = _of_several_results("fresnel", "z", "fresnel_s", "fresnel_c")
sici = _of_several_results("sici", "x", "sici_s", "sici_c")
shichi = _of_several_results("shichi", "x", "shichi_s", "shichi_c")
ellipj = _of_several_results("ellipj", "u m", *(f"ellipj_{result}" for result in ("sn", "cn", "dn", "ph")))


def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Compute the spherical Bessel function of the first kind of whole order `n`.

    Parameters
    ----------
    n : int or array_like of int
        Orders from 0 on; constants.
    z : Tensor or array_like
        Elements to compute it of; broadcasts with `n`.
    derivative : bool, default False
        Whether to compute the derivative by `z` instead.

    Returns
    -------
    Tensor
        Has the shape that the operands broadcast to. SciPy's values are nan for some negative `z`.

    Raises
    ------
    ValueError
        For orders that are not whole numbers from 0 on.

    Notes
    -----
    Derivatives are functions of the orders ``n-1`` and ``n+1`` (DLMF 10.51.2 and 10.51.5), at 0 as well.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.spherical_jn(1, tg.tensor([0.0, 1.0]))
    Tensor([0.        , 0.30116868])
    """
    return _spherical("j", n, z, derivative)


def _spherical(kind: str, n: Any, z: Any, derivative: bool) -> Any:
    name = f"spherical_{kind}n"
    order = whole_number(name, "n", n)
    if not derivative:
        return as_tensor(ELEMENTWISE[name](order, z), f"scipy.special.{name}")
    below = order * ELEMENTWISE[name](np.maximum(order - 1.0, 0.0), z)
    above = (order + 1.0) * ELEMENTWISE[name](order + 1.0, z)
    total = below - above if kind in "jy" else below + above
    return total / (-2.0 * order - 1.0 if kind == "k" else 2.0 * order + 1.0)


@like(
    spherical_jn, ("Bessel function of the first kind", "Bessel function of the second kind"),
    (" SciPy's values are nan for some negative `z`.", ""), (", at 0 as well", ""),
    examples=">>> tg.special.spherical_yn(1, tg.tensor([1.0, 2.0]))\nTensor([-1.38177329, -0.350612  ])",
)  # fmt: skip
def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("y", n, z, derivative)


@like(
    spherical_jn, ("spherical Bessel", "modified spherical Bessel"),
    examples=">>> tg.special.spherical_in(1, tg.tensor([0.0, 1.0]))\nTensor([0.        , 0.36787944])",
)  # fmt: skip
def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("i", n, z, derivative)


@like(
    spherical_yn, ("spherical Bessel", "modified spherical Bessel"),
    examples=">>> tg.special.spherical_kn(1, tg.tensor([1.0, 2.0]))\nTensor([1.15572735, 0.15943812])",
)  # fmt: skip
def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    return _spherical("k", n, z, derivative)


_ROWS = {row.name: ELEMENTWISE[row.name] for row in ROWS if row.home == "tapegrad.special"}
_MORE: dict[str, Callable[..., Any]] = {
    **COMPOSED,
    **{
        function.__name__: function
        for function in (diric, ellipj, sph_harm_y, spherical_in, spherical_jn, spherical_kn, spherical_yn)
    },
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_ROWS,
    **_MORE,
    **{
        name: ELEMENTWISE[name]
        for name in ("cbrt", "digamma", "erf", "erfc", "exp2", "expm1", "log1p", "sinc", "softplus")
    },
    "airy": airy,
    "airye": airye,
    "comb": comb,
    "expit": ELEMENTWISE["sigmoid"],
    "gammaln": ELEMENTWISE["lgamma"],
    "jn": ELEMENTWISE["jv"],
    "expn": expn,
    "factorial": factorial,
    "fdtr": fdtr,
    "fdtrc": fdtrc,
    "fresnel": fresnel,
    "kn": kn,
    "lambertw": lambertw,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "multigammaln": multigammaln,
    "polygamma": polygamma,
    "psi": ELEMENTWISE["digamma"],
    "shichi": shichi,
    "sici": sici,
    "softmax": softmax,
    "yn": yn,
    "zeta": zeta,
}
# Functions that are public in `tapegrad.special` only; the others are public in `tapegrad`, too.
OWN = (
    *_ROWS.values(), *_MORE.values(), airy, airye, comb, expn, factorial, fdtr, fdtrc, fresnel, kn, lambertw,
    multigammaln, polygamma, shichi, sici, yn, zeta,
)  # fmt: skip
