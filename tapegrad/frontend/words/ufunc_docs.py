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
