"""The op table where formulas break: far out, near 0, near ties, at kinks and at infinity.

Primals are held against `MP`, which says what a row is by another formula than the row's; partials against their own
text at many digits, since `test_ops_table` shows that this text is the derivative.
"""

import functools
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from helpers.mpmath_oracle import (
    DIFFERENTIABLE,
    agrees,
    calls_scipy,
    digits,
    exact_value,
    in_mp,
    operands_in_mp,
)
from helpers.special_places import KINKS, Kink, Row, approaches, far_points, limit, stated_places
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.ops import BY_NAME, ELEMENTWISE, Op

ROWS = [op for op in ELEMENTWISE if op.takes_real and not op.predicate]
PARTIALS = [(op, j) for op in DIFFERENTIABLE for j in op.differentiable_operands if not calls_scipy(op)]
# mpmath's ways to say that it has no value: outside of a domain, at a pole, or where a series does not converge.
UNKNOWN = (ValueError, ArithmeticError, mp.libmp.NoConvergence)


def value_of(op: Op, row: Row) -> float:
    return float(evaluate_numpy(op.primal, **{f"x{j}": np.asarray(x) for j, x in enumerate(row)}))


def partial_of(op: Op, j: int, row: Row) -> float:
    values = {f"x{k}": np.asarray(x) for k, x in enumerate(row)}
    return float(evaluate_numpy(op.partials[j], **values, y=evaluate_numpy(op.primal, **values)))


def is_real(number: object) -> bool:
    return not mp.im(number) and not mp.isnan(number)


def every(cases: Iterable[tuple[Any, ...]], exceptions: dict[tuple[str, ...], str]) -> pytest.MarkDecorator:
    """Parametrize a test with rows, or rows and operands; those among the exceptions must fail.

    Those of SciPy's loops may also pass: the next version may have mended them.
    """
    marked = []
    for op, *rest in cases:
        reason = exceptions.get((op.name, *rest))
        marks = [pytest.mark.xfail(reason=reason, strict=not calls_scipy(op))] if reason else []
        marked.append(pytest.param(op, *rest, id="-".join(map(str, (op.name, *rest))), marks=marks))
    assert exceptions.keys() <= {(op.name, *rest) for op, *rest in cases}
    return pytest.mark.parametrize(("op", "j")[: len(marked[0].values)], marked)


_AIRY = "SciPy's loop is nan where Bi is large, and has 12 digits at -1000, where it rounds the phase"
SINC = "as np.sinc: pi*x is rounded, and its sine is lost beyond 2**53"


# --- primals ---------------------------------------------------------------------------------------------------------


@every(
    [(op,) for op in ROWS],
    {
        ("sinc",): SINC,
        ("kl_div",): "SciPy's loop is a difference, right to the digits of the larger operand",
        ("zeta",): "SciPy's loop is nan below 1",
        ("binom",): "SciPy's loop has 9 digits where x is nearly 0, and 11 for large y",
        ("hyp0f1",): "SciPy's loop is nan for z < 0 where gamma(v) overflows",
        ("yve",): "SciPy's loop is inf for -inf where it overflows",
        ("hyperu",): "SciPy's loop has 8 digits in places",
        ("cotdg",): "SciPy's loop has 5 digits near 0",
        ("tklmbda",): "SciPy's loop takes the logistic distribution for small lambda",
        ("eval_gegenbauer",): "SciPy's loop has 8 digits for small alpha",
        **dict.fromkeys(
            [("hyp1f1_a",), ("hyp1f1_b",), ("hyp1f1_bb",)],
            "the series cancels to 9 digits for large a and negative z",
        ),
        **dict.fromkeys(
            [
                ("airy_ai",),
                ("airy_ai_dot",),
                ("airy_bi",),
                ("airy_bi_dot",),
                ("airye_bi",),
                ("airye_bi_dot",),
            ],
            _AIRY,
        ),
    },
)
def test_primal_is_accurate_in_float64(op: Op) -> None:
    """Accurate for operands that are tiny, large and nearly equal, and not finite where there is no real value."""
    rows = [*far_points(op), *stated_places(op)]
    with mp.workdps(digits(op)):
        known = [is_accurate(op, row) for row in rows]
    failed = [(row, value_of(op, row)) for row, is_good in zip(rows, known, strict=True) if is_good is False]
    assert any(known), "mpmath has a value nowhere"
    assert not failed, f"{op.name}: lost digits or overflowed at {failed[:5]}; mend the text of the primal"


def is_accurate(op: Op, row: Row) -> bool | None:
    """Return whether the primal is accurate at a point, `None` where mpmath does not know."""
    try:
        exact = exact_value(op, row)
    except UNKNOWN:
        return None
    value = value_of(op, row)
    return agrees(value, exact, 1e-12) if is_real(exact) else not math.isfinite(value)


@every(
    PARTIALS,
    {
        ("sinc", 0): SINC,
        ("power", 0): "of a negative base, to an exponent beyond 2**53: less 1 it is the same, and even",
    },
)
def test_partial_is_accurate_far_out(op: Op, j: int) -> None:
    failed = []
    with mp.workdps(digits(op)):
        for row in [*far_points(op), *stated_places(op)]:
            exact = exact_partial(op, j, row)
            if exact is not None and not agrees(partial_of(op, j, row), exact, 1e-12):
                failed.append((row, partial_of(op, j, row)))
    assert not failed, f"{op.name}: lost digits or overflowed at {failed[:5]}; mend the text of partial {j}"


def exact_partial(op: Op, j: int, row: Row) -> object:
    """Return the text of a partial at a point by mpmath, `None` where mpmath has no real value."""
    values = {f"x{k}": x for k, x in enumerate(operands_in_mp(row))}
    try:
        y = exact_value(op, row)
        exact = mp.mpmathify(in_mp(op.partials[j], **values, y=y))
    except UNKNOWN:
        return None
    return exact if is_real(y) and is_real(exact) else None


# --- infinity and kinks ----------------------------------------------------------------------------------------------


def is_a_call(op: Op) -> bool:
    """Return whether the primal is one call of NumPy's or SciPy's with the operands, which has their values."""
    return bool(re.fullmatch(r"\w+\((x\d)(, x\d)*\)", op.primal))


@every(
    [(op,) for op in ROWS if not is_a_call(op)],
    {
        ("sinc",): "nan, as np.sinc",
        ("hyp1f1",): "SciPy's loop is nan at some infinite numbers",
        ("hyp0f1",): "SciPy's loop is nan at infinite z",
        **dict.fromkeys(
            [("elliptic_first",), ("elliptic_second",)], "the exponent is a small number in all texts"
        ),
        **dict.fromkeys([("lpmv",)], "SciPy's loop counts up to the order: it is nan for large ones"),
    },
)
def test_primal_at_infinity_is_its_limit(op: Op) -> None:
    assert_limits(functools.partial(value_of, op), approaches(op))


@every(PARTIALS, {("elliptic_first", 1): "the exponent is a small number in all texts"})
def test_partial_at_infinity_is_its_limit(op: Op, j: int) -> None:
    """Where one operand is infinite and the primal has a value."""
    lone = [
        (row, ways)
        for row, ways in approaches(op)
        if sum(map(math.isinf, row)) == 1 and not math.isnan(value_of(op, row))
    ]
    assert_limits(functools.partial(partial_of, op, j), lone)


def assert_limits(function: Callable[[Row], float], places: Iterable[tuple[Row, list[list[Row]]]]) -> None:
    failed = []
    for row, ways in places:
        expected = common_limit([[function(point) for point in way] for way in ways])
        if expected is not None and not math.isclose(function(row), expected, rel_tol=1e-9, abs_tol=1e-300):
            failed.append(f"at {row} {function(row)} instead of the limit {expected}")
    assert not failed, f"{failed[:5]}"


def common_limit(ways: list[list[float]]) -> float | None:
    """Return the limit of all ways, `None` if one has none or they differ."""
    first, *others = (limit(way) for way in ways)
    same = first is not None and all(
        other is not None and math.isclose(first, other, rel_tol=1e-9) for other in others
    )
    return first if same else None


@pytest.mark.parametrize("kink", KINKS, ids=str)
def test_kink(kink: Kink) -> None:
    op = BY_NAME[kink.name]
    partials = [partial_of(op, j, kink.operands) for j in range(op.arity)]
    np.testing.assert_allclose(value_of(op, kink.operands), kink.value, rtol=1e-15)
    np.testing.assert_allclose(partials, kink.partials, rtol=1e-15)
