"""Special functions by SciPy's names that are composed of others, and those of whole numbers.

Values are those of SciPy's loops, which are composed in the same way. Of whole numbers, such as degrees, no derivative
is known; they are constants.
"""

import math
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.elements.complex_parts import real
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.ufuncs import Ufunc, signature_of, with_arguments
from tapegrad.frontend.recording.unknown_derivatives import check_constant
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import renamed
from tapegrad.frontend.words.ufunc_docs import describe_as

_E = ELEMENTWISE
_SQRT_HALF, _SQRT_2PI = math.sqrt(0.5), math.sqrt(2.0 * math.pi)


def whole_number(name: str, argument: str, value: Any, least: float = 0.0) -> Any:
    """Return orders or degrees as floats; raise if they are not integers, too small, or not constant."""
    check_constant(f"scipy.special.{name}", argument, value)
    number = as_tensor(value, f"scipy.special.{name}").data
    if not np.array_equal(number, np.trunc(number)) or np.any(number < least):
        from_zero = " from 0 on" if least == 0.0 else ""
        raise ValueError(f"scipy.special.{name}: {argument} must be a whole number{from_zero}, not {value}")
    return float(number) if number.ndim == 0 else number.astype(float)


# --- distribution functions ------------------------------------------------------------------------------------------


def _number_below(name: str, k: Any) -> Any:
    """Return ``floor(k) + 1`` of constant counts, nan where they are negative."""
    check_constant(f"scipy.special.{name}", "k", k)
    counts = np.asarray(as_tensor(k, f"scipy.special.{name}").data, float)
    return np.where(counts < 0, np.nan, np.floor(counts) + 1.0)[()]


def _of_counts(name: str, row: str) -> Callable[..., Any]:
    """Make a function of counts, which are constants, and a mean or a probability."""
    return lambda k, x: _E[row](_number_below(name, k), x)


def _of_trials(name: str) -> Callable[..., Any]:
    def function(k: Any, n: Any, p: Any) -> Any:
        check_constant(f"scipy.special.{name}", "k", k)
        return _E[name](k, whole_number(name, "n", n, -math.inf), p)

    return function


def _negative_binomial(name: str) -> Callable[..., Any]:
    def function(k: Any, n: Any, p: Any) -> Any:
        return _E[name](whole_number(name, "k", k, -math.inf), whole_number(name, "n", n, -math.inf), p)

    return function


# --- orthogonal polynomials ------------------------------------------------------------------------------------------


def _row_of_degree(name: str, argument: str = "n", least: float = 0.0) -> Callable[..., Any]:
    """Make the function of a row whose first operand is a whole number."""
    return lambda n, *rest: _E[name](whole_number(name, argument, n, least), *rest)


def _at(name: str, row: str, scale: float, shift: float = 0.0, factor: float = 1.0) -> Callable[..., Any]:
    """Make a polynomial that is another one at ``scale * x + shift``."""

    def function(n: Any, x: Any) -> Any:
        moved = as_tensor(x, f"scipy.special.{name}") * scale
        value = _E[row](whole_number(name, "n", n), moved + shift if shift else moved)
        return value * factor if factor != 1.0 else value

    return function


def _laguerre(n: Any, x: Any) -> Any:
    return _E["eval_genlaguerre"](whole_number("eval_laguerre", "n", n), 0.0, x)


def _jacobi(n: Any, alpha: Any, beta: Any, x: Any, name: str = "eval_jacobi") -> Any:
    """Compute Jacobi polynomials by SciPy's recurrence, so that `alpha`, `beta` and `x` have derivatives."""
    degree = whole_number(name, "n", n)
    alpha, beta, x = (each if is_tensor(each) else np.asarray(each, float)[()] for each in (alpha, beta, x))
    d = (alpha + beta + 2.0) * (x - 1.0) / (2.0 * (alpha + 1.0))
    p = d + 1.0
    values = [_E["power"](p, 0.0), 0.5 * (2.0 * (alpha + 1.0) + (alpha + beta + 2.0) * (x - 1.0))]
    for k in range(1, int(np.max(degree, initial=0.0))):
        t = 2.0 * k + alpha + beta
        rise = (t * (t + 1.0) * (t + 2.0)) * (x - 1.0) * p + 2.0 * k * (k + beta) * (t + 2.0) * d
        d = rise / (2.0 * (k + alpha + 1.0) * (k + alpha + beta + 1.0) * t)
        p = d + p
        values.append(_E["binom"](k + 1.0 + alpha, k + 1.0) * p)
    if np.ndim(degree) == 0:
        return values[int(degree)]
    chosen = ((degree == k, value) for k, value in enumerate(values))
    return reduce(lambda rest, each: select(each[0], each[1], rest), chosen, values[0])


def _shifted_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    degree = whole_number("eval_sh_jacobi", "n", n)
    p, q, x = (each if is_tensor(each) else np.asarray(each, float)[()] for each in (p, q, x))
    return _jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0, "eval_sh_jacobi") / _E["binom"](
        2.0 * degree + p - 1.0, degree
    )


# --- others ----------------------------------------------------------------------------------------------------------


def _voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    """Compute the Voigt profile; of width 0 it is Cauchy's density c, up to ``sigma**2 / 2`` times its curvature."""
    x, sigma, gamma = (as_tensor(each, "scipy.special.voigt_profile") for each in (x, sigma, gamma))
    is_wide = sigma != 0.0
    width, one = select(is_wide, sigma, 1.0), select(is_wide, 0.0, 1.0)
    z = x / width * _SQRT_HALF + 1j * (gamma / width * _SQRT_HALF)
    wide = real(_E["wofz"](z)) / width / _SQRT_2PI
    distance = select(one * (x * x + gamma * gamma) != 0.0, x * x + gamma * gamma, 1.0)
    density = gamma / math.pi / distance
    curvature = density * (6.0 * x * x - 2.0 * gamma * gamma) / (distance * distance)
    narrow = density + 0.5 * sigma * sigma * curvature
    at_point = select((x == 0.0) & (gamma == 0.0), math.inf, narrow)
    return select(is_wide, wide, at_point)


def _gauss(a: Any, b: Any, c: Any, z: Any) -> Any:
    """Compute Gauss's function by an op that is compiled when it is first asked for."""
    op = import_module("tapegrad.autodiff.custom.gauss_hypergeometric").of_tensors
    return op(*(as_tensor(each, "scipy.special.hyp2f1") for each in (a, b, c, z)))


_RULES: dict[str, tuple[str, Callable[..., Any]]] = {
    "chdtr": ("v x", lambda v, x: _E["gammainc"](v / 2.0, x / 2.0)),
    "chdtrc": ("v x", lambda v, x: _E["gammaincc"](v / 2.0, x / 2.0)),
    "chdtri": ("v p", lambda v, p: 2.0 * _E["gammainccinv"](0.5 * v, p)),
    "gdtr": ("a b x", lambda a, b, x: _E["gammainc"](b, a * x)),
    "gdtrc": ("a b x", lambda a, b, x: _E["gammaincc"](b, a * x)),
    "gdtrix": ("a b p", lambda a, b, p: _E["gammaincinv"](b, p) / a),
    "pdtr": ("k m", _of_counts("pdtr", "gammaincc")),
    "pdtrc": ("k m", _of_counts("pdtrc", "gammainc")),
    "pdtri": ("k y", _of_counts("pdtri", "gammainccinv")),
    "bdtr": ("k n p", _of_trials("bdtr")),
    "bdtrc": ("k n p", _of_trials("bdtrc")),
    "nbdtr": ("k n p", _negative_binomial("nbdtr")),
    "nbdtrc": ("k n p", _negative_binomial("nbdtrc")),
    "smirnov": ("n d", _row_of_degree("smirnov")),
    **{
        f"eval_{name}": ("n x", _row_of_degree(f"eval_{name}"))
        for name in ("legendre", "chebyt", "chebyu", "hermite", "hermitenorm")
    },
    "eval_genlaguerre": ("n alpha x", _row_of_degree("eval_genlaguerre")),
    "eval_gegenbauer": ("n alpha x", _row_of_degree("eval_gegenbauer")),
    "eval_laguerre": ("n x", _laguerre),
    "eval_chebyc": ("n x", _at("eval_chebyc", "eval_chebyt", 0.5, factor=2.0)),
    "eval_chebys": ("n x", _at("eval_chebys", "eval_chebyu", 0.5)),
    **{
        f"eval_sh_{name}": ("n x", _at(f"eval_sh_{name}", f"eval_{name}", 2.0, -1.0))
        for name in ("legendre", "chebyt", "chebyu")
    },
    "eval_jacobi": ("n alpha beta x", _jacobi),
    "eval_sh_jacobi": ("n p q x", _shifted_jacobi),
    "lpmv": ("m v x", _row_of_degree("lpmv", "m", -math.inf)),
    "voigt_profile": ("x sigma gamma", _voigt),
    "hyp2f1": ("a b c z", _gauss),
}


def _rules_of(name: str) -> Any:
    """Return SciPy's ufunc, which has the rules of its arguments."""
    return getattr(import_module("scipy.special._ufuncs"), name)


def _composed(name: str) -> Callable[..., Any]:
    """Make the function of a name, with all arguments of a ufunc."""
    listed, compute = _RULES[name]
    arguments, path = tuple(listed.split()), f"scipy.special.{name}"

    def function(*operands: Any, **options: Any) -> Any:
        if options or len(operands) != len(arguments):
            return with_arguments(Ufunc(path, function, _rules_of(name)))(*operands, **options)
        return as_tensor(
            compute(*(each if is_tensor(each) else np.asarray(each)[()] for each in operands)), path
        )

    vars(function)["__signature__"] = signature_of(arguments)
    describe_as(function, path, arguments, 1)
    return renamed(function, name)


COMPOSED: dict[str, Callable[..., Any]] = {name: _composed(name) for name in _RULES}

# --- functions that are no ufuncs ------------------------------------------------------------------------------------


def diric(x: Any, n: Any) -> Tensor:
    """Compute Dirichlet's kernel ``sin(n*x/2) / (n*sin(x/2))``, the periodic sinc function.

    Parameters
    ----------
    x : Tensor or array_like
        Angles.
    n : int
        Number of frequencies: a constant.

    Returns
    -------
    Tensor
        Same shape as `x`, with derivatives at the multiples of ``2*pi`` as well.

    Raises
    ------
    ValueError
        If `n` is not a positive integer.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.diric(tg.tensor([0.0, 1.0]), 3)
    Tensor([1.        , 0.69353487])
    """
    number = whole_number("diric", "n", n, 1.0)
    angle = as_tensor(x, "scipy.special.diric") / 2.0
    return as_tensor(_E["eval_chebyu"](number - 1.0, _E["cos"](angle)) / number, "scipy.special.diric")


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Tensor:
    """Compute spherical harmonics of degree `n` and order `m`.

    Parameters
    ----------
    n, m : int or array_like of int
        Degrees from 0 on, and orders; constants. They broadcast with each other and with the angles.
    theta : Tensor or array_like
        Polar angles.
    phi : Tensor or array_like
        Azimuths.
    diff_n : {0}
        Number of derivatives to return beside the values: only 0; differentiate instead.

    Returns
    -------
    Tensor
        Complex, with derivatives by both angles, at the poles as well; 0 where ``abs(m) > n``.

    Raises
    ------
    ValueError
        If `n` or `m` is no whole number.
    UnsupportedError
        If `diff_n` is not 0.

    Notes
    -----
    A power of ``sin(theta)`` times a Gegenbauer polynomial of ``cos(theta)`` (DLMF 14.30.1 and 18.11.1).

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.special.sph_harm_y(1, 1, tg.tensor(1.0), 0.5)
    Tensor(-0.2551337-0.13938018j, dtype=complex128)
    """
    if diff_n:
        raise UnsupportedError(
            "scipy.special.sph_harm_y: diff_n must be 0; tapegrad.jacobian has the derivatives"
        )
    degree, order = np.broadcast_arrays(
        whole_number("sph_harm_y", "n", n), whole_number("sph_harm_y", "m", m, -math.inf)
    )
    polar, azimuth = as_tensor(theta, "scipy.special.sph_harm_y"), as_tensor(phi, "scipy.special.sph_harm_y")
    size, is_there = np.abs(order), np.abs(order) <= degree
    rest = np.where(is_there, degree - size, 0.0)
    scale = np.vectorize(_harmonic_scale, otypes=[float])(rest, order)
    value = _E["power"](_E["sin"](polar), size) * _E["eval_gegenbauer"](rest, size + 0.5, _E["cos"](polar))
    wave = _E["exp"](1j * order * azimuth)
    result: Tensor = select(is_there, scale * value, 0.0) * wave
    return result


def _harmonic_scale(rest: float, order: float) -> float:
    """Return the factor of ``sin(theta)**m`` and of a polynomial of degree `rest`, for any sign of the order."""
    m = abs(order)
    log = (
        math.lgamma(rest + 1.0)
        - math.lgamma(rest + 2.0 * m + 1.0)
        + 2.0 * (math.lgamma(2.0 * m + 1.0) - math.lgamma(m + 1.0))
    )
    size = math.sqrt((2.0 * (rest + m) + 1.0) / (4.0 * math.pi)) * math.exp(0.5 * log - m * math.log(2.0))
    return -size if order > 0 and order % 2 else size
