"""Places where rows of the op table are hardest: kinks, infinities, ties, operands that are tiny or far out.

`far_points` and `approaches` go through every row. `KINKS` and `FAR` are for what a row alone knows: who adds a row
with a kink, or with a border between two formulas, enters it here.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from helpers.mpmath_oracle import has_slow_oracle, points
from tapegrad.ops import BY_NAME, Op

INF, NAN = math.inf, math.nan
Row = tuple[float, ...]

_FAR = (1e-300, 1e-30, 1e-9, 30.0, 1e3, 1e9, 1e100, 1e300)
_FAR_OF_SCIPY = (1e-9, 30.0, 1e3)  # farther out mpmath takes minutes for some special functions
_EQUAL = (1e-300, 1e-9, 30.0, 1e3, 1e9, 1e300)
_NEARLY_ONE = (1.0, 1 + 2.0**-52, 1 - 1e-9, 1 + 1e-5)


def far_points(op: Op) -> list[Row]:
    """Return points with one operand 0, tiny or far out, and with operands that are nearly equal or opposite.

    Special functions have their operands on the side of 0 where their domain is.
    """
    bases = points(op, 2)[:2]
    single = [(*base[:j], x, *base[j + 1 :]) for base in bases for j in _numbers(op) for x in _reach(op, j)]
    return list(dict.fromkeys([*single, *_ties(op, bases)]))


def _numbers(op: Op) -> list[int]:
    return [j for j in range(op.arity) if j not in op.boolean_operands]


def _reach(op: Op, j: int) -> Iterator[float]:
    """Yield the far elements of operand `j`."""
    is_special, (low, high) = has_slow_oracle(op), op.domains[j]
    for sign, inside in ((1, high > 0), (-1, low < 0)):
        if inside or not is_special:
            yield from (sign * x for x in (_FAR_OF_SCIPY if is_special else _FAR))
    if not is_special:
        yield 0.0


def _ties(op: Op, bases: list[Row]) -> Iterator[Row]:
    """Yield points whose last operand is nearly the others."""
    if op.arity == 1 or op.boolean_operands:
        return
    is_special = has_slow_oracle(op)
    far = () if is_special else (*_EQUAL, *(-x for x in _EQUAL))
    factors = _NEARLY_ONE if is_special else (*_NEARLY_ONE, -1.0)
    for x in (*(base[0] for base in bases), *far):
        yield from ((*[x] * (op.arity - 1), x * factor) for factor in factors)


# --- infinities ------------------------------------------------------------------------------------------------------

_STEPS = (1e100, 1e200, 1e300)


def approaches(op: Op) -> Iterator[tuple[Row, list[list[Row]]]]:
    """Yield points at infinity, and for each the ways there: points farther and farther out.

    Some operands are infinite, the others as in the domain. Of several infinite operands each goes faster than the
    others on some way, so that only what does not depend on the way is the same on all of them.
    """
    numbers = _numbers(op)
    for base in points(op, 2)[:2]:
        for signs in itertools.product((0, 1, -1), repeat=len(numbers)):
            chosen = {j: sign for j, sign in zip(numbers, signs, strict=True) if sign}
            if chosen:
                ways = [[_put(base, chosen, rates, x) for x in _STEPS] for rates in _rates(len(chosen))]
                yield _put(base, chosen, [1.0] * len(chosen), INF), ways


def _rates(count: int) -> Iterator[list[float]]:
    """Yield exponents, and all equal first."""
    yield [1.0] * count
    if count > 1:
        yield from ([0.5 if k == slow else 1.0 for k in range(count)] for slow in range(count))


def _put(base: Row, signs: dict[int, int], rates: list[float], x: float) -> Row:
    moved = {j: sign * x**rate for (j, sign), rate in zip(signs.items(), rates, strict=True)}
    return tuple(moved.get(j, value) for j, value in enumerate(base))


def limit(values: list[float]) -> float | None:
    """Return the limit of values at `_STEPS`, `None` if there is none to be seen."""
    first, second, third = values
    if any(math.isnan(value) for value in values):
        return None
    if math.isinf(third) or (_is_same(second, third) and _is_same(first, second)):
        return third
    if 100 < abs(third) > abs(second) > abs(first) and first * third > 0:
        return math.copysign(INF, third)
    return 0.0 if 1e-20 > abs(third) <= abs(second) <= abs(first) else None


def _is_same(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=1e-10, abs_tol=1e-300)


# --- what a row alone knows ------------------------------------------------------------------------------------------


class Kink(NamedTuple):
    """Value and derivatives at a place where they are a matter of convention, or a limit.

    Attributes
    ----------
    name, operands
        The row, and the place.
    value, partials
        The result there, and its partial by each operand.
    hessian
        The second derivatives; `None` for one that is not stated.
    """

    name: str
    operands: Row
    value: float
    partials: Row
    hessian: list[list[float | None]] | None = None

    def __str__(self) -> str:
        return f"{self.name}-{'-'.join(map(str, self.operands))}"


KINKS = [
    Kink("absolute", (0.0,), 0.0, (0.0,), [[0.0]]),
    Kink("sign", (0.0,), 0.0, (0.0,), [[0.0]]),
    Kink("relu", (0.0,), 0.0, (0.0,), [[0.0]]),
    Kink("maximum", (2.0, 2.0), 2.0, (0.5, 0.5), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("maximum", (NAN, 2.0), NAN, (1.0, 0.0)),
    Kink("maximum", (2.0, NAN), NAN, (0.0, 1.0)),
    Kink("minimum", (2.0, 2.0), 2.0, (0.5, 0.5), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("minimum", (2.0, NAN), NAN, (0.0, 1.0)),
    Kink("fmax", (2.0, 2.0), 2.0, (0.5, 0.5), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("fmax", (NAN, 2.0), 2.0, (0.0, 1.0)),
    Kink("fmax", (2.0, NAN), 2.0, (1.0, 0.0)),
    Kink("fmin", (NAN, 2.0), 2.0, (0.0, 1.0)),
    Kink("clip", (1.0, 1.0, 2.0), 1.0, (1.0, 0.0, 0.0), [[0.0] * 3] * 3),
    Kink("clip", (2.0, 1.0, 2.0), 2.0, (1.0, 0.0, 0.0)),
    Kink("clip", (0.0, 1.0, 2.0), 1.0, (0.0, 1.0, 0.0)),
    Kink("clip", (3.0, 1.0, 2.0), 2.0, (0.0, 0.0, 1.0)),
    *[Kink("clip", (x, 2.0, 1.0), 1.0, (0.0, 0.0, 1.0)) for x in (0.0, 1.0, 1.5, 2.0, 3.0)],
    Kink("hypot", (0.0, 0.0), 0.0, (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("arctan2", (0.0, 0.0), 0.0, (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("arctan2", (0.0, -2.0), math.pi, (-0.5, 0.0)),
    Kink("arctan2", (2.0, 0.0), math.pi / 2, (0.0, -0.5)),
    Kink("arctan2", (INF, 1.0), math.pi / 2, (0.0, 0.0)),
    Kink("arctan2", (1.0, INF), 0.0, (0.0, 0.0)),
    Kink("power", (3.0, 0.0), 1.0, (0.0, math.log(3.0))),
    Kink("power", (0.0, 0.0), 1.0, (0.0, 0.0), [[0.0, None], [None, None]]),
    Kink("power", (0.0, 1.0), 0.0, (1.0, 0.0), [[0.0, None], [None, None]]),
    Kink("power", (0.0, 2.0), 0.0, (0.0, 0.0), [[2.0, 0.0], [0.0, 0.0]]),
    Kink("power", (0.0, 3.0), 0.0, (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("power", (0.0, 0.5), 0.0, (INF, 0.0)),
    Kink("power", (-3.0, 2.0), 9.0, (-6.0, NAN)),
    Kink("power", (-2.0, 3.0), -8.0, (12.0, NAN), [[-12.0, None], [None, None]]),
    Kink("sqrt", (0.0,), 0.0, (INF,)),
    Kink("cbrt", (0.0,), 0.0, (INF,)),
    Kink("sinc", (0.0,), 1.0, (0.0,), [[-(math.pi**2) / 3]]),
    Kink("logaddexp", (INF, 1.0), INF, (1.0, 0.0)),
    Kink("logaddexp", (-INF, 1.0), 1.0, (0.0, 1.0)),
    Kink("logaddexp", (INF, INF), INF, (0.5, 0.5), [[0.0, 0.0], [0.0, 0.0]]),
    Kink("logaddexp", (-INF, -INF), -INF, (0.5, 0.5)),
    Kink("logaddexp2", (INF, INF), INF, (0.5, 0.5)),
    Kink("y1", (0.0,), -INF, (INF,)),
]

# Where two formulas of a row meet, where a result is nearly 0 or 1, and points of two far operands.
FAR: list[tuple[str, list[Row]]] = [
    (name, [place if isinstance(place, tuple) else (place,) for place in places])
    for name, places in [
        ("sinc", [0.0, 1e-9, 1e-3, 0.2499, 0.2501, 0.7]), ("sigmoid", [-700.0, -40.0, 40.0, 300.0]),
        ("softplus", [-700.0, -300.0, -40.0, 40.0, 300.0]), ("tanh", [-300.0, -30.0, 1e-12, 1e-9, 30.0, 300.0]),
        ("arcsinh", [-1e200, -1e100, 1e-9, 1e8, 1e10]), ("expm1", [-50.0, 1e-9]), ("tan", [1e-9, 1.57]),
        ("arcsin", [-1 + 1e-12, 1e-9, 1e-3, -0.999999]), ("arccos", [1e-9, 0.999999]),
        ("arctanh", [1e-9, -0.999999, 1 - 1e-12]), ("arccosh", [1 + 1e-12, 1 + 1e-9, 1e9, 1e200]),
        ("arctan", [1e-9, 1e9]), ("log1p", [-1 + 1e-12]), ("reciprocal", [1e-100]), ("lgamma", [1e-3, 1.46, 1e5]),
        ("digamma", [1e-3, 1e5]), ("erf", [1e-9, 20.0]), ("cosh", [1e-9, 300.0]),
        (
            "hypot",
            [
                (1e-9, 1.0), (1.0, 1e-9), (1e100, 3e100), (1e200, 3e200), (1e-200, 3e-200), (3.0, 4.0), (1.0, 0.0),
                (-2.0, 1e-5),
            ],
        ),
        (
            "arctan2",
            [
                (1e-9, 1.0), (1.0, 1e-9), (2.0, 0.0), (0.0, 2.0), (1e100, 3e100), (1e200, 3e200), (1e-100, 3e-100),
                (1e-5, -1e20),
            ],
        ),
        (
            "logaddexp",
            [(2.0, 2.0), (300.0, 260.0), (260.0, 300.0), (0.0, 1e-9), (3000.0, 2990.0), (-3000.0, -3001.0)],
        ),
        ("logaddexp2", [(2.0, 2.0), (300.0, 260.0)]),
        ("power", [(2.0, 0.0), (2.0, 1.0), (1e-9, 3.0), (2.0, 2.0)]),
    ]
]  # fmt: skip


def stated_places(op: Op) -> list[Row]:
    """Return the entries of `FAR` for a row."""
    return [row for name, rows in FAR if BY_NAME[name] is op for row in rows]
