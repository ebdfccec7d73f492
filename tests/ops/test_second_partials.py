"""Second derivatives: the text of a partial, differentiated by the rows that it names, against mpmath.

This is what derivatives of higher order on Tensors do, in the plainest form: numbers that carry a tangent.
"""

import itertools

import mpmath as mp
import numpy as np
import pytest

from helpers.daily import drawn, share
from helpers.mpmath_oracle import DIFFERENTIABLE, agrees, exact_value, in_mp, is_close, operands_in_mp, points
from helpers.second_partials import differentiated, is_known, second
from helpers.special_places import FAR, KINKS, Kink
from helpers.table_loops import grouped
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.ops import BY_NAME, CONSTANTS, PRIMALS, Op, names_in


def expected(op: Op, j: int, k: int, operands):
    exact = operands_in_mp(operands)

    def along(x):
        values = {f"x{i}": x if i == k else value for i, value in enumerate(exact)}
        return in_mp(op.partials[j], **values, y=in_mp(op.primal, **values))

    return mp.diff(along, exact[k], h=mp.mpf(10) ** -25)


PAIRS = [
    pytest.param(op, j, k, id=f"{op.name}-{j}{k}")
    for op in DIFFERENTIABLE
    for j, k in itertools.product(differentiated(op), repeat=2)
    if is_known(op, j, k)
]


def test_every_function_in_a_partial_is_a_row() -> None:
    known = PRIMALS | CONSTANTS.keys() | BY_NAME.keys()
    unknown = {op.name: names_in(text) - known for op in DIFFERENTIABLE for text in op.partials}
    assert not {name: each for name, each in unknown.items() if each}


@grouped("op")
@drawn
@pytest.mark.parametrize(("op", "j", "k"), PAIRS)
def test_second_derivative(op: Op, j: int, k: int) -> None:
    with mp.workdps(30):  # `diff` works with twice as many
        for row in points(op, share(6)):
            want = expected(op, j, k, row)
            value = second(op, j, k, row)
            assert is_close(value, want, 2e-11) or abs(value - want) < 1e-13, (row, value, want)


@pytest.mark.parametrize(("name", "places"), FAR, ids=[name for name, _ in FAR])
def test_second_derivative_at_special_places(name: str, places: list) -> None:
    op = BY_NAME[name]
    with mp.workdps(200):  # `diff` works with three times as many
        for row in places:
            for j, k in itertools.product(range(op.arity), repeat=2):
                want = expected_exactly(op, j, k, row)
                value = second(op, j, k, row)
                assert agrees(value, want, 1e-10), (row, j, k, value, want)


def expected_exactly(op: Op, j: int, k: int, row):
    """The second derivative of the primal itself, in a form that mpmath evaluates there."""
    exact = operands_in_mp(row)
    orders = tuple((i == j) + (i == k) for i in range(op.arity))
    scale = max(map(abs, exact)) or 1
    return mp.diff(lambda *x: exact_value(op, x), tuple(exact), orders, h=scale * mp.mpf(10) ** -110)


@pytest.mark.parametrize("kink", [kink for kink in KINKS if kink.hessian], ids=str)
def test_second_derivative_at_a_kink(kink: Kink) -> None:
    op = BY_NAME[kink.name]
    for j, row in enumerate(kink.hessian):
        for k, want in enumerate(row):
            if want is not None:
                assert second(op, j, k, kink.operands) == pytest.approx(want, rel=1e-14)


def test_nan_stays_nan() -> None:
    for op in DIFFERENTIABLE:
        if op.arity == 1 and op.partials[0] not in ("0", "1", "-1") and "x0>0" not in op.partials[0]:
            partial = evaluate_numpy(op.partials[0], x0=np.asarray(np.nan), y=np.asarray(np.nan))
            assert np.isnan(partial), op.name
