"""Functions of complex numbers against mpmath and NumPy: errors, branch cuts from both sides, special values."""

import itertools
import math
from collections.abc import Iterator

import mpmath as mp
import numpy as np
import pytest

from helpers.complex_functions import AS_A_WHOLE, PROMISES, arity, counterpart, joined, loop, vectorised
from tapegrad.engine.codegen.ir.target import Target, aarch64, host, of_level
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.mathematics import COMPLEX_MATHEMATICS

NAMES = list(COMPLEX_MATHEMATICS)
TARGETS = {"host": host(), **({"x86-64-v3": of_level("x86-64-v3")} if host().lanes > 8 else {})}
EPS = 2.0**-52
# Numbers on the axes, on the unit circle and at branch points; each cut is met from both sides.
PLACES = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 30.0, -30.0)
LIMITS = (math.inf, -math.inf, math.nan)
SIZES = (5e-324, -1e-310, 1e-200, -1e200, 1e300, -1.5e308)
names = pytest.mark.parametrize("name", NAMES)
targets = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def log_uniform(rng: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    size = np.ldexp(rng.uniform(0.5, 1, count), rng.integers(low, high + 1, count))
    return size * rng.choice([-1.0, 1.0], count)


def points(rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers all over the plane, near the axes, the branch points, the unit circle and the poles."""

    def small() -> np.ndarray:
        return log_uniform(rng, count, -60, -2)

    turn, unit = rng.uniform(-4, 4, count), rng.choice([-1.0, 1.0], count)
    parts = [
        rng.normal(size=(2, count)) * 3,
        (log_uniform(rng, count, -30, 10), log_uniform(rng, count, -30, 10)),
        (log_uniform(rng, count, -200, 200), log_uniform(rng, count, -200, 200)),
        ((1 + small()) * np.cos(turn), (1 + small()) * np.sin(turn)),
        (unit + small(), small()),
        (small(), unit + small()),
        (small(), rng.integers(-20, 20, count) * (math.pi / 2) + small()),
        (rng.integers(-20, 20, count) * (math.pi / 2) + small(), small()),
        (rng.uniform(-600, 600, count), rng.uniform(-1e5, 1e5, count)),
        (rng.uniform(-1e5, 1e5, count), rng.uniform(-600, 600, count)),
    ]
    re, im = np.concatenate([np.stack(pair) for pair in parts], axis=1)
    return joined(re, im)


def operands_of(name: str, count: int) -> list[np.ndarray]:
    """Numbers in the domain in which a function is neither 0 nor infinite."""
    rng = np.random.default_rng(len(name))
    z = points(rng, count)
    re, im = PROMISES[name].large
    z = z[(np.abs(z.real) < re) & (np.abs(z.imag) < im)]
    if arity(name) == 1:
        return [z]
    w = z[rng.permutation(len(z))]
    w[::2] = z[::2] * joined(rng.normal(size=len(w[::2])), rng.normal(size=len(w[::2])))
    if name == "power":  # exponents whose results are in the middle of the range, a few of them whole
        size = np.abs(np.log(z)) + 1e-3
        w = joined(rng.uniform(-200, 200, len(z)) / size, rng.uniform(-200, 200, len(z)) / size)
        w[::9] = np.sign(w.real[::9]) * np.minimum(np.rint(np.abs(w.real[::9])), 6)
        return [z[np.abs(w) < 1e6], w[np.abs(w) < 1e6]]
    return [z, w]


def mpc(z: complex) -> mp.mpc:
    return mp.mpc(z.real, z.imag)


def errors(
    name: str, operands: list[np.ndarray], results: np.ndarray
) -> Iterator[tuple[float, tuple, complex]]:
    """Yield the error of each result in the units that are promised."""
    for row, result in zip(zip(*operands, strict=True), results.astype(complex), strict=True):
        exact = mpc(PROMISES[name].exact(*map(mpc, row)))
        parts = [mp.fabs(mpc(result).real - exact.real), mp.fabs(mpc(result).imag - exact.imag)]
        places = [math.ulp(max(abs(float(x)), 2.0**-1022)) for x in (exact.real, exact.imag)]
        if name in AS_A_WHOLE:
            places = [EPS * max(float(abs(exact)), 2.0**-1022)] * 2
        yield max(float(part / place) for part, place in zip(parts, places, strict=True)), row, result


def is_the_same(found: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Return whether real numbers are NaN, infinite and signed alike, zeros too, and as close as `tolerance` says."""
    with np.errstate(invalid="ignore"):
        close = (found == expected) | (np.abs(found - expected) <= tolerance)
    is_noise = (np.abs(expected) <= tolerance) & (expected != 0)
    signed = (np.signbit(found) == np.signbit(expected)) | is_noise
    return (np.isnan(found) & np.isnan(expected)) | (close & signed)


def hold_to_numpy(name: str, target: Target, operands: list[np.ndarray], tolerance: float) -> None:
    with np.errstate(all="ignore"):
        found, expected = vectorised(name, target)(*operands), counterpart(name)(*operands)
    parts = np.array([expected.real, expected.imag])
    size = tolerance * np.hypot(*np.where(np.isfinite(parts), parts, 0)) + 1e-320
    assert found.dtype == expected.dtype
    alike = is_the_same(found.real, expected.real, size) & is_the_same(found.imag, expected.imag, size)
    rows = list(zip(*operands, found, expected, strict=True))
    assert alike.all(), [rows[i] for i in np.flatnonzero(~alike)[:5]]


def grid(name: str, values: tuple[float, ...]) -> list[np.ndarray]:
    """All pairs of values as numbers, and of two arguments all pairs of numbers."""
    re, im = np.array(list(itertools.product(values, values))).T
    z = joined(re, im)
    return [z] if arity(name) == 1 else [np.repeat(z, len(z)), np.tile(z, len(z))]


def test_something_is_promised_of_every_function() -> None:
    assert set(PROMISES) == set(NAMES)


@targets
@names
def test_results_are_right_to_the_last_places(name: str, target: Target) -> None:
    operands = operands_of(name, 20)
    results = vectorised(name, target)(*operands)
    with mp.workprec(900):
        error, *worst = max(errors(name, operands, results), key=lambda each: each[0])
    assert error <= PROMISES[name].units, (error, worst)


@targets
@names
def test_branch_cuts_are_those_of_numpy_from_both_sides(name: str, target: Target) -> None:
    hold_to_numpy(name, target, grid(name, PLACES), 1e-13)


@targets
@names
def test_infinities_and_nan_are_those_of_numpy(name: str, target: Target) -> None:
    if PROMISES[name].finite:
        operands = [joined(np.array([math.inf, -math.inf, math.nan]), np.zeros(3))]
        real = vectorised(name, target)(*operands)
        np.testing.assert_array_equal(real.imag, 0)
        return
    if name in ("arcsin", "arcsinh", "arccosh") and np.lib.NumpyVersion(np.__version__) < "2.2.0":
        pytest.skip("NumPy 2.0 and 2.1 give other parts of nan, and the other sign of an infinity beside nan")
    hold_to_numpy(name, target, grid(name, (*PLACES[:8], *LIMITS)), 1e-13)


@targets
@names
def test_signs_turn_results_as_they_should(name: str, target: Target) -> None:
    """The conjugate's result is the conjugate of the result, for numbers of every size."""
    function = vectorised(name, target)
    operands = grid(name, (*SIZES, 3.0))
    results, turned = function(*operands), function(*map(np.conj, operands))
    if np.isrealobj(results):
        np.testing.assert_array_equal(np.abs(turned), np.abs(results))
    else:
        np.testing.assert_array_equal(turned, np.conj(results))


@targets
def test_absolute_values_and_roots_are_right_at_both_ends(target: Target) -> None:
    """A power of 4 that numbers are scaled by comes out, where nothing is lost to denormal numbers."""
    rng = np.random.default_rng(0)
    z = joined(rng.normal(size=64), rng.normal(size=64))
    for name, root in (("absolute", 1), ("sqrt", 2), ("sign", math.inf)):
        function = vectorised(name, target)
        for exponent in (-1000, -960, -600, 500, 700, 1018):
            scaled, result = z * 2.0**exponent, function(z) * 2.0 ** (exponent / root)
            np.testing.assert_allclose(function(scaled), result, rtol=1e-15, atol=0)


@names
def test_a_function_is_compiled_for_other_processors(name: str) -> None:
    for target in (aarch64(), of_level("x86-64-v3")):
        assert (
            machine.compile_source(machine.ModuleSource(machine.module_text([loop(name, target)])), target)[
                :4
            ]
            == b"\x7fELF"
        )


@pytest.mark.skipif(len(TARGETS) < 2, reason="the vectors of this processor are those of x86-64-v3")
@names
def test_processors_give_the_same_bits(name: str) -> None:
    operands = [np.concatenate(pair) for pair in zip(operands_of(name, 200), grid(name, SIZES), strict=True)]
    first, second = (vectorised(name, target)(*operands) for target in TARGETS.values())
    np.testing.assert_array_equal(first.view(np.int64), second.view(np.int64))
