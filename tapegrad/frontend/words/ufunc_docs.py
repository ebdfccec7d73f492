"""Docstrings of ufuncs that are composed of others."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.ops.documentation import argument_names, parameters_of


class UfuncDoc(NamedTuple):
    """Summary, note on the derivatives, lines of an example, and the results if they are not one Tensor."""

    summary: str
    notes: str
    example: str
    returns: str = ""


_EACH = "Each result is computed by itself, by a loop of SciPy's that computes all of them."
_STEPS = "The derivative is taken to be 0, at the jumps as well."
_INTEGERS = "Integers and booleans are constants, and so is the result. Of floats NumPy's error is raised."
_BITS = "tg.tensor([5, 6])"


def _bits(summary: str, call: str, printed: str) -> UfuncDoc:
    """Return the docstring parts of a function of integers."""
    returns = (
        "numpy.ndarray of int or bool\n    While a function is being recorded, the result of booleans is a Tensor; that"
        " of integers is guarded."
    )
    return UfuncDoc(summary, _INTEGERS, f">>> tg.{call}\n{printed}", returns)


_OF_COMPLEX = "Real of real operands, complex of complex ones."
DOCS: dict[str, UfuncDoc] = {
    "airy": UfuncDoc(
        "Compute Airy's functions Ai and Bi and their derivatives.",
        "The second derivatives are ``z * Ai(z)`` and ``z * Bi(z)`` (DLMF 9.2.1). SciPy gives nan for large"
        f"\nreal `z`, from 104 on.\n\n{_EACH}",
        ">>> ai, ai_dot, bi, bi_dot = tg.special.airy(tg.tensor([0.0, 1.0]))\n>>> ai\n"
        "Tensor([0.35502805, 0.13529242])",
        f"Ai, Aip, Bi, Bip : Tensor\n    {_OF_COMPLEX}",
    ),
    "airye": UfuncDoc(
        "Compute Airy's functions and their derivatives, scaled by an exponential.",
        "With ``t = 2/3 * z**1.5`` the factor of Ai is ``exp(t)``, that of Bi ``exp(-abs(t.real))``, which is not\n"
        "analytic: it has a derivative by each part. Ai of negative real `z` is nan. Far out the derivatives on the\n"
        f"positive axis are continued fractions (DLMF 9.6; Temme 1975).\n\n{_EACH}",
        ">>> ai, ai_dot, bi, bi_dot = tg.special.airye(tg.tensor([0.0, 1.0]))\n>>> ai\n"
        "Tensor([0.35502805, 0.26351364])",
        f"eAi, eAip, eBi, eBip : Tensor\n    {_OF_COMPLEX}",
    ),
    "fresnel": UfuncDoc(
        "Compute the Fresnel integrals of ``sin(pi*t**2/2)`` and ``cos(pi*t**2/2)`` from 0 on.",
        f"The derivatives are ``sin(pi*z**2/2)`` and ``cos(pi*z**2/2)`` (DLMF 7.2.7 and 7.2.8).\n\n{_EACH}",
        ">>> tg.special.fresnel(tg.tensor([0.5, 1.0]))\n"
        "(Tensor([0.06473243, 0.43825915]), Tensor([0.49234423, 0.7798934 ]))",
        f"S, C : Tensor\n    {_OF_COMPLEX}",
    ),
    "sici": UfuncDoc(
        "Compute the sine and cosine integrals.",
        "The derivatives are ``sin(x)/x`` and ``cos(x)/x`` (DLMF 6.2.9 and 6.2.11). The cosine integral of"
        f"\nnegative real `x` is that of ``-x``; complex `x` have a cut there.\n\n{_EACH}",
        ">>> tg.special.sici(tg.tensor([0.5, 1.0]))\n"
        "(Tensor([0.49310742, 0.94608307]), Tensor([-0.17778408,  0.33740392]))",
        f"si, ci : Tensor\n    {_OF_COMPLEX}",
    ),
    "shichi": UfuncDoc(
        "Compute the hyperbolic sine and cosine integrals.",
        "The derivatives are ``sinh(x)/x`` and ``cosh(x)/x`` (DLMF 6.2.15 and 6.2.16). The cosine integral of"
        f"\nnegative real `x` is that of ``-x``; complex `x` have a cut there.\n\n{_EACH}",
        ">>> tg.special.shichi(tg.tensor([0.5, 1.0]))\n"
        "(Tensor([0.50699675, 1.05725088]), Tensor([-0.05277684,  0.83786694]))",
        f"shi, chi : Tensor\n    {_OF_COMPLEX}",
    ),
    "chdtr": UfuncDoc(
        "Compute the distribution function of chi-squared with `v` degrees of freedom.",
        "``gammainc(v/2, x/2)``, and so are the derivatives.",
        ">>> tg.special.chdtr(2, tg.tensor([0.5, 1.0]))\nTensor([0.22119922, 0.39346934])",
    ),
    "chdtrc": UfuncDoc(
        "Compute one minus the distribution function of chi-squared, without cancellation.",
        "``gammaincc(v/2, x/2)``, and so are the derivatives.",
        ">>> tg.special.chdtrc(2, tg.tensor([0.5, 1.0]))\nTensor([0.77880078, 0.60653066])",
    ),
    "chdtri": UfuncDoc(
        "Compute the inverse of `chdtrc` by its second argument.",
        "``2*gammainccinv(v/2, p)``, and so are the derivatives.",
        ">>> tg.special.chdtri(2, tg.tensor([0.5, 0.1]))\nTensor([1.38629436, 4.60517019])",
    ),
    "gdtr": UfuncDoc(
        "Compute the distribution function of the gamma distribution of rate `a` and shape `b`.",
        "``gammainc(b, a*x)``, and so are the derivatives.",
        ">>> tg.special.gdtr(1.0, 2.0, tg.tensor([0.5, 1.0]))\nTensor([0.09020401, 0.26424112])",
    ),
    "gdtrc": UfuncDoc(
        "Compute one minus the distribution function of the gamma distribution, without cancellation.",
        "``gammaincc(b, a*x)``, and so are the derivatives.",
        ">>> tg.special.gdtrc(1.0, 2.0, tg.tensor([0.5, 1.0]))\nTensor([0.90979599, 0.73575888])",
    ),
    "gdtrix": UfuncDoc(
        "Compute the inverse of `gdtr` by its third argument.",
        "``gammaincinv(b, p)/a``, and so are the derivatives.",
        ">>> tg.special.gdtrix(1.0, 2.0, tg.tensor([0.5, 0.9]))\nTensor([1.67834699, 3.88972017])",
    ),
    "pdtr": UfuncDoc(
        "Compute the distribution function of Poisson's distribution of mean `m`.",
        "``gammaincc(floor(k)+1, m)``. The counts `k` are constants.",
        ">>> tg.special.pdtr(2, tg.tensor([0.5, 1.0]))\nTensor([0.98561232, 0.9196986 ])",
    ),
    "pdtrc": UfuncDoc(
        "Compute one minus the distribution function of Poisson's distribution, without cancellation.",
        "``gammainc(floor(k)+1, m)``. The counts `k` are constants.",
        ">>> tg.special.pdtrc(2, tg.tensor([0.5, 1.0]))\nTensor([0.01438768, 0.0803014 ])",
    ),
    "pdtri": UfuncDoc(
        "Compute the inverse of `pdtr` by its second argument.",
        "``gammainccinv(floor(k)+1, y)``. The counts `k` are constants.",
        ">>> tg.special.pdtri(2, tg.tensor([0.5, 0.9]))\nTensor([2.67406031, 1.10206533])",
    ),
    "bdtr": UfuncDoc(
        "Compute the distribution function of the binomial distribution of `n` trials.",
        "The derivative by `p` is minus a beta density. `k` and `n` are constants, and `n` is whole.",
        ">>> tg.special.bdtr(1, 3, tg.tensor([0.2, 0.5]))\nTensor([0.896, 0.5  ])",
    ),
    "bdtrc": UfuncDoc(
        "Compute one minus the distribution function of the binomial distribution, without cancellation.",
        "The derivative by `p` is a beta density. `k` and `n` are constants, and `n` is whole.",
        ">>> tg.special.bdtrc(1, 3, tg.tensor([0.2, 0.5]))\nTensor([0.104, 0.5  ])",
    ),
    "nbdtr": UfuncDoc(
        "Compute the distribution function of failures before `n` successes, the negative binomial one.",
        "The derivative by `p` is a beta density. `k` and `n` are whole constants.",
        ">>> tg.special.nbdtr(1, 3, tg.tensor([0.2, 0.5]))\nTensor([0.0272, 0.3125])",
    ),
    "nbdtrc": UfuncDoc(
        "Compute one minus the negative binomial distribution function, without cancellation.",
        "The derivative by `p` is minus a beta density. `k` and `n` are whole constants.",
        ">>> tg.special.nbdtrc(1, 3, tg.tensor([0.2, 0.5]))\nTensor([0.9728, 0.6875])",
    ),
    "smirnov": UfuncDoc(
        "Compute the share above `d` of the one-sided Kolmogorov-Smirnov statistic of `n` samples.",
        "The first derivative by `d` is known; a second one is refused. `n` is a whole constant.",
        ">>> tg.special.smirnov(4, tg.tensor([0.2, 0.5]))\nTensor([0.6544 , 0.09375])",
    ),
    "eval_legendre": UfuncDoc(
        "Compute Legendre polynomials of degree `n`.",
        "Derivative: DLMF 18.9.19. Degrees are whole constants.",
        ">>> tg.special.eval_legendre(2, tg.tensor([0.5, 1.0]))\nTensor([-0.125,  1.   ])",
    ),
    "eval_chebyt": UfuncDoc(
        "Compute Chebyshev polynomials of the first kind of degree `n`.",
        "Derivative: DLMF 18.9.21. Degrees are whole constants.",
        ">>> tg.special.eval_chebyt(2, tg.tensor([0.5, 1.0]))\nTensor([-0.5,  1. ])",
    ),
    "eval_chebyu": UfuncDoc(
        "Compute Chebyshev polynomials of the second kind of degree `n`.",
        "Derivative: DLMF 18.9.19. Degrees are whole constants.",
        ">>> tg.special.eval_chebyu(2, tg.tensor([0.5, 1.0]))\nTensor([0., 3.])",
    ),
    "eval_chebyc": UfuncDoc(
        "Compute Chebyshev polynomials of the first kind on the interval from -2 to 2.",
        "``2*eval_chebyt(n, x/2)``. Degrees are whole constants.",
        ">>> tg.special.eval_chebyc(2, tg.tensor([0.5, 2.0]))\nTensor([-1.75,  2.  ])",
    ),
    "eval_chebys": UfuncDoc(
        "Compute Chebyshev polynomials of the second kind on the interval from -2 to 2.",
        "``eval_chebyu(n, x/2)``. Degrees are whole constants.",
        ">>> tg.special.eval_chebys(2, tg.tensor([0.5, 2.0]))\nTensor([-0.75,  3.  ])",
    ),
    "eval_hermite": UfuncDoc(
        "Compute Hermite polynomials of degree `n`, as physicists define them.",
        "Derivative: DLMF 18.9.25. Degrees are whole constants.",
        ">>> tg.special.eval_hermite(2, tg.tensor([0.5, 1.0]))\nTensor([-1.,  2.])",
    ),
    "eval_hermitenorm": UfuncDoc(
        "Compute Hermite polynomials of degree `n`, as probabilists define them.",
        "Derivative: DLMF 18.9.27. Degrees are whole constants.",
        ">>> tg.special.eval_hermitenorm(2, tg.tensor([0.5, 1.0]))\nTensor([-0.75,  0.  ])",
    ),
    "eval_laguerre": UfuncDoc(
        "Compute Laguerre polynomials of degree `n`.",
        "``eval_genlaguerre(n, 0, x)``. Degrees are whole constants.",
        ">>> tg.special.eval_laguerre(2, tg.tensor([0.5, 1.0]))\nTensor([ 0.125, -0.5  ])",
    ),
    "eval_genlaguerre": UfuncDoc(
        "Compute generalised Laguerre polynomials of degree `n`.",
        "Derivative: DLMF 18.9.23. Degrees are whole constants. So is `alpha`.",
        ">>> tg.special.eval_genlaguerre(2, 0.5, tg.tensor([0.5, 1.0]))\nTensor([ 0.75 , -0.125])",
    ),
    "eval_gegenbauer": UfuncDoc(
        "Compute Gegenbauer polynomials of degree `n`.",
        "Derivative: DLMF 18.9.19. Degrees are whole constants. So is `alpha`.",
        ">>> tg.special.eval_gegenbauer(2, 0.5, tg.tensor([0.5, 1.0]))\nTensor([-0.125,  1.   ])",
    ),
    "eval_jacobi": UfuncDoc(
        "Compute Jacobi polynomials of degree `n`.",
        "Composed by the recurrence that SciPy computes, and so are the derivatives by `alpha`, `beta` and `x`."
        " Degrees are\nwhole constants.",
        ">>> tg.special.eval_jacobi(2, 0.5, 1.5, tg.tensor([0.5, 1.0]))\nTensor([-0.3125,  1.875 ])",
    ),
    "eval_sh_legendre": UfuncDoc(
        "Compute Legendre polynomials on the interval from 0 to 1.",
        "``eval_legendre(n, 2*x-1)``. Degrees are whole constants.",
        ">>> tg.special.eval_sh_legendre(2, tg.tensor([0.5, 1.0]))\nTensor([-0.5,  1. ])",
    ),
    "eval_sh_chebyt": UfuncDoc(
        "Compute Chebyshev polynomials of the first kind on the interval from 0 to 1.",
        "``eval_chebyt(n, 2*x-1)``. Degrees are whole constants.",
        ">>> tg.special.eval_sh_chebyt(2, tg.tensor([0.5, 1.0]))\nTensor([-1.,  1.])",
    ),
    "eval_sh_chebyu": UfuncDoc(
        "Compute Chebyshev polynomials of the second kind on the interval from 0 to 1.",
        "``eval_chebyu(n, 2*x-1)``. Degrees are whole constants.",
        ">>> tg.special.eval_sh_chebyu(2, tg.tensor([0.5, 1.0]))\nTensor([-1.,  3.])",
    ),
    "eval_sh_jacobi": UfuncDoc(
        "Compute Jacobi polynomials on the interval from 0 to 1.",
        "``eval_jacobi(n, p-q, q-1, 2*x-1) / binom(2*n+p-1, n)``. Degrees are whole constants.",
        ">>> tg.special.eval_sh_jacobi(2, 2.5, 1.5, tg.tensor([0.5, 1.0]))\nTensor([-0.0530303 ,  0.24242424])",
    ),
    "lpmv": UfuncDoc(
        "Compute associated Legendre functions of whole order `m` and real degree `v`.",
        "Derivative: DLMF 14.10.2, at -1 and 1 its limit. `m` and `v` are constants.",
        ">>> tg.special.lpmv(1, 2.0, tg.tensor([0.5, -0.5]))\nTensor([-1.29903811,  1.29903811])",
    ),
    "voigt_profile": UfuncDoc(
        "Compute the Voigt profile: a normal density folded with Cauchy's of width `gamma`.",
        "The real part of `wofz`. At ``sigma = 0`` it is Cauchy's density, where derivatives by `sigma` are right up\n"
        "to the third.",
        ">>> tg.special.voigt_profile(tg.tensor([0.0, 1.0]), 1.0, 0.5)\nTensor([0.27895547, 0.20017964])",
    ),
    "hyp2f1": UfuncDoc(
        "Compute Gauss's hypergeometric function.",
        "By `z` the derivative is ``a*b/c * hyp2f1(a+1, b+1, c+1, z)`` (DLMF 15.5.1), of any order where `a`, `b` and\n"
        "`c` are constants. By them two derivatives are sums of series for `z` below 1. Where the series is too long,\n"
        "near 1, an error says so.",
        ">>> tg.special.hyp2f1(1.0, 2.0, 3.0, tg.tensor([0.5, -1.0]))\nTensor([1.54517744, 0.61370564])",
    ),
    "ellipj": UfuncDoc(
        "Compute Jacobi's elliptic functions sn, cn, dn, and the amplitude.",
        "Derivatives by `u`: DLMF 22.13.1. Those by `m` follow from ``ellipkinc(ph, m) = u``.\n\n" + _EACH,
        ">>> sn, cn, dn, ph = tg.special.ellipj(tg.tensor([0.5, 1.0]), 0.3)\n>>> sn\nTensor([0.47421562, 0.81877071])",
        "sn, cn, dn, ph : Tensor",
    ),
    "divmod": UfuncDoc(
        "Compute quotient and remainder of a division, rounded down, as ``divmod(x1, x2)`` does.",
        "The quotient has the derivative 0; the remainder has 1 by `x1` and ``-floor(x1/x2)`` by `x2`.",
        ">>> tg.divmod(tg.tensor([5.5, -5.5]), 2.0)\n(Tensor([ 2., -3.]), Tensor([1.5, 0.5]))",
        "quotient, remainder : Tensor",
    ),
    "modf": UfuncDoc(
        "Return the part of each element that is behind the point, and the whole part.",
        "The derivatives are 1 and 0. Both parts have the sign of the element.",
        ">>> tg.modf(tg.tensor([1.25, -2.5]))\n(Tensor([ 0.25, -0.5 ]), Tensor([ 1., -2.]))",
        "fraction, whole : Tensor",
    ),
    "frexp": UfuncDoc(
        "Return mantissas, between 0.5 and 1 but for the sign, and exponents: ``x = mantissa * 2**exponent``.",
        "The derivative of the mantissa is ``2**-exponent``, that of the exponent 0.",
        ">>> mantissa, exponent = tg.frexp(tg.tensor([8.0, -0.75]))\n>>> mantissa\nTensor([ 0.5 , -0.75])\n"
        ">>> exponent\narray([4, 0], dtype=int32)",
        "mantissa : Tensor\n    With the gradient.\nexponent : numpy.ndarray of int\n    While a function is being"
        " recorded, a Tensor of integers.",
    ),
    "ldexp": UfuncDoc(
        "Compute ``x1 * 2**x2`` without overflow on the way; `x2` are integers.",
        "The derivative by `x1` is ``2**x2``.",
        ">>> tg.ldexp(tg.tensor([0.5, -0.75]), [4, 0])\nTensor([ 8.  , -0.75])",
    ),
    "signbit": UfuncDoc(
        "Test which elements have the sign bit set.",
        "",
        ">>> tg.signbit(tg.tensor([-0.0, 1.0]))\narray([ True, False])",
        "numpy.ndarray of bool\n    While a function is being recorded, a Tensor of booleans.",
    ),
    "heaviside": UfuncDoc(
        "Compute the step function: 0 below 0, 1 above, and `x2` at 0.",
        "The derivative by `x1` is taken to be 0, at the jump as well; that by `x2` is 1 where `x1` is 0.",
        ">>> tg.heaviside(tg.tensor([-1.0, 0.0, 1.0]), 0.5)\nTensor([0. , 0.5, 1. ])",
    ),
    "degrees": UfuncDoc(
        "Convert angles from radians to degrees.",
        "The derivative is ``180/pi``.",
        ">>> tg.degrees(tg.tensor([0.0, tg.pi]))\nTensor([  0., 180.])",
    ),
    "rad2deg": UfuncDoc(
        "Convert angles from radians to degrees.",
        "The derivative is ``180/pi``.",
        ">>> tg.rad2deg(tg.tensor([0.0, tg.pi]))\nTensor([  0., 180.])",
    ),
    "radians": UfuncDoc(
        "Convert angles from degrees to radians.",
        "The derivative is ``pi/180``.",
        ">>> tg.radians(tg.tensor([0.0, 180.0]))\nTensor([0.        , 3.14159265])",
    ),
    "deg2rad": UfuncDoc(
        "Convert angles from degrees to radians.",
        "The derivative is ``pi/180``.",
        ">>> tg.deg2rad(tg.tensor([0.0, 180.0]))\nTensor([0.        , 3.14159265])",
    ),
    "fabs": UfuncDoc(
        "Compute the absolute value of each element, as a float.",
        "The derivative is the sign; at 0 it is 0.",
        ">>> tg.fabs(tg.tensor([-3.0, 0.0, 2.0]))\nTensor([3., 0., 2.])",
    ),
    "float_power": UfuncDoc(
        "Raise the first operand to the power of the second in float64.",
        "The derivatives are those of `tapegrad.power`.",
        ">>> tg.float_power(tg.tensor([1.0, 2.0]), 3)\nTensor([1., 8.])",
    ),
    "conjugate": UfuncDoc(
        "Copy each element: real numbers are their own conjugates.",
        "The derivative is 1.",
        ">>> tg.conjugate(tg.tensor([1.0, 2.0]))\nTensor([1., 2.])",
    ),
    "bitwise_and": _bits("Compute the AND of the bits of two operands.", f"bitwise_and({_BITS}, 4)", "array([4, 4])"),
    "bitwise_or": _bits("Compute the OR of the bits of two operands.", f"bitwise_or({_BITS}, 3)", "array([7, 7])"),
    "bitwise_xor": _bits("Compute the XOR of the bits of two operands.", f"bitwise_xor({_BITS}, 3)", "array([6, 5])"),
    "invert": _bits("Compute the NOT of the bits of each element.", f"invert({_BITS})", "array([-6, -7])"),
    "left_shift": _bits("Compute ``x1 << x2``: bits moved up.", f"left_shift({_BITS}, 1)", "array([10, 12])"),
    "right_shift": _bits("Compute ``x1 >> x2``: bits moved down.", f"right_shift({_BITS}, 1)", "array([2, 3])"),
    "bitwise_count": _bits(
        "Count the bits of each element that are 1.", f"bitwise_count({_BITS})", "array([2, 2], dtype=uint8)"
    ),
    "gcd": _bits("Compute the greatest common divisor of two operands.", f"gcd({_BITS}, 4)", "array([1, 2])"),
    "lcm": _bits("Compute the least common multiple of two operands.", f"lcm({_BITS}, 4)", "array([20, 12])"),
}  # fmt: skip
_RETURNS = "Tensor\n    Has the shape that the operands broadcast to. A constant if all operands are."


def describe(function: Callable[..., Any], name: str) -> None:
    """Set the docstring of a function by its name in NumPy."""
    ufunc = getattr(np, name)
    describe_as(function, f"numpy.{name}", argument_names(ufunc.nin), ufunc.nout)


def describe_as(function: Callable[..., Any], full_name: str, names: tuple[str, ...], results: int) -> None:
    """Set the docstring of a function of arguments of these names, by its full name in NumPy or SciPy."""
    doc = DOCS[full_name.rpartition(".")[2]]
    sections = (
        doc.summary,
        parameters_of(names, results),
        f"Returns\n-------\n{doc.returns or _RETURNS}",
        f"See Also\n--------\n{full_name} : Does the same when it is called with a Tensor.",
        *([f"Notes\n-----\n{doc.notes}"] if doc.notes else []),
        f"Examples\n--------\n>>> import tapegrad as tg\n{doc.example}\n",
    )
    function.__doc__ = "\n\n".join(sections)
