"""Values whose derivatives are rules: what their operands may be."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.implicit.equation import Equation, MatrixSystem
from tapegrad.implicit.recorded_root import implied


def quotients(p, divisors, found):
    """Return the roots of ``divisors * z + p[0] * z == p[0] * p[1]`` that were found, with their derivatives."""
    matrix = MatrixSystem(lambda z: np.diag(divisors + p[0] + 0.0 * z))
    return implied(Equation("quotients", lambda z: divisors * z + p[0] * z - p[0] * p[1], matrix), found, ())


P, DIVISORS = np.array([0.25, -2.0]), np.array([1, 0, 1])
ROOTS = P[0] * P[1] / (DIVISORS + P[0])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.bool_, np.float32])
def test_tensors_from_outside_have_any_dtype(dtype) -> None:
    function = tg.grad(lambda p, divisors: tg.sum(quotients(p, divisors, ROOTS) ** 2))
    by_first = np.sum(2 * ROOTS * (P[1] - ROOTS) / (DIVISORS + P[0]))
    by_second = np.sum(2 * ROOTS * P[0] / (DIVISORS + P[0]))
    for _ in range(3):  # the first call records, and the others replay
        np.testing.assert_allclose(function(P, DIVISORS.astype(dtype)), [by_first, by_second], rtol=1e-12)


def test_rules_differentiate_by_float32_operands() -> None:
    function = tg.grad(lambda p, divisors: tg.sum(quotients(p, divisors, ROOTS)), argnums=(0, 1))
    expected = function(P, DIVISORS.astype(float))
    for _ in range(2):
        found = function(P, DIVISORS.astype(np.float32))
        assert found[1].dtype == np.float32
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
