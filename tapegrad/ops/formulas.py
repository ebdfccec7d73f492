"""Pieces that the formulas of special functions are written of, and the row of a function that SciPy has."""

import re
from typing import Any

from tapegrad.ops.row import Domain, Op

UNKNOWN = "nan"  # a partial that is not known: whoever differentiates by that operand is refused
POSITIVE = (0.1, 4.0)
# A degree or an order, and the one below it; both are whole, and tests draw any number.
WHOLE, BELOW = "rint(x0)", "maximum(rint(x0)-1, 0)"
ODD_SQUARES: tuple[str, ...] = tuple(str(_k * _k) for _k in range(1, 19, 2))


def special_row(family: str, name: str, partials: tuple[str, ...], *domains: Domain, **rest: Any) -> Op:
    """Make a row whose primal is the loop of its name; `tapegrad.special` has its function."""
    primal = f"{name}({', '.join(f'x{j}' for j in range(len(domains)))})"
    return Op(name, family, primal, partials, domains, **{"home": "tapegrad.special", **rest})


def complex_row(family: str, name: str, partials: tuple[str, ...], *domains: Domain, **rest: Any) -> Op:
    """Make such a row that takes complex operands, too."""
    return special_row(family, name, partials, *domains, takes_complex=True, **rest)


def polynomial(x: str, *coefficients: str) -> str:
    """Write a polynomial, given its coefficients, the constant one first."""
    first, *rest = coefficients
    return f"{first}+{x}*({polynomial(x, *rest)})" if rest else first


def fraction(term: str, *numerators: str) -> str:
    """Write a continued fraction whose denominators begin with the same term."""
    first, *rest = numerators
    return f"{first}/({term}+{fraction(term, *rest)})" if rest else f"{first}/({term})"


def substitute(text: str, operand: str, value: str) -> str:
    """Substitute a value for an operand in a text."""
    return re.sub(rf"\b{operand}\b", value, text)


def digamma_rise(x: str, step: str) -> str:
    """``digamma(x+step)-digamma(x)``: 12 steps of the recurrence, then the series (DLMF 5.5.2, 5.11.2)."""
    u, v = f"1/({x}+12)", f"1/({x}+{step}+12)"
    a, b = f"square({u})", f"square({v})"
    sums, series = "1", "1/12"
    for power, coefficient in enumerate(("-1/120", "1/252", "-1/240", "1/132", "-691/32760"), start=1):
        sums = f"({a}*{sums}+{'*'.join([b] * power)})"
        series += f"+{coefficient}*{sums}"
    near = "+".join(f"{step}/({x}+{k})/({x}+{step}+{k})" for k in range(12))
    far = f"log1p({step}/({x}+12))+{step}*({u})*({v})*(0.5+({u}+{v})*({series}))"
    return f"where(({x}>0)&({x}+{step}>0)&({step}<inf), {near}+{far}, digamma({x}+{step})-digamma({x}))"


# The derivative of exprel at u, where it is r.
EXPREL_SLOPE: str = (
    "where(absolute(u)<0.5, "
    + polynomial("u", *(f"1/{_f * (_k + 2)}" for _k, _f in enumerate(
        (1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800)
    )))
    + ", where(u>1, r*(1-1/u)+1/u, (exp(u)-r)/u))"
)  # fmt: skip
