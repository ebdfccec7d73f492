"""Vector functions against mpmath: to so many units in the last place over the whole range, and special values.

Every function is tried for this processor and, where it can run that, for x86-64-v3; for AArch64 it is compiled only.
"""

import functools
import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from helpers.segments import bits
from helpers.vector_functions import loop, vectorised
from tapegrad.engine.codegen.ir.target import Target, aarch64, host, of_level
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.mathematics import MATHEMATICS
from tapegrad.engine.codegen.rows import adjacent_loops, functions
from tapegrad.engine.kernels.language import library
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.ops.documentation import UNITS

NAMES = [name for name in MATHEMATICS if name != "sincos"]
TARGETS = {"host": host(), **({"x86-64-v3": of_level("x86-64-v3")} if host().lanes > 8 else {})}
BITS = 160

EXACT: dict[str, Callable[..., mp.mpf]] = {
    "exp": mp.exp, "exp2": lambda x: mp.power(2, x), "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p,
    "log2": lambda x: mp.log(x) / mp.log(2), "log10": mp.log10, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arctan2": mp.atan2, "hypot": mp.hypot,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "arcsinh": mp.asinh, "arccosh": mp.acosh,
    "arctanh": mp.atanh, "cbrt": lambda x: mp.sign(x) * mp.cbrt(mp.fabs(x)), "power": mp.power,
    "erf": mp.erf, "erfc": mp.erfc, "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(-mp.fabs(x))) + max(x, 0),
    "lambertw0": lambda x: mp.re(mp.lambertw(x)), "lambertwm1": lambda x: mp.re(mp.lambertw(x, -1)),
    "logaddexp": lambda x, y: max(x, y) + mp.log1p(mp.exp(-mp.fabs(x - y))),
}  # fmt: skip
# Where a function is neither constant to the last bit nor beyond float64; what is outside is among special values.
DOMAINS: dict[str, tuple[float, float]] = {
    "exp": (-744, 709.7), "exp2": (-1073, 1023.9), "expm1": (-40, 709.7), "sinh": (-710.4, 710.4),
    "cosh": (-710.4, 710.4), "tanh": (-20, 20), "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1),
    "erf": (-6, 6), "erfc": (-6, 27.2), "sigmoid": (-744, 40), "softplus": (-744, 1e4), "log": (0, math.inf),
    "log2": (0, math.inf), "log10": (0, math.inf), "log1p": (-1, math.inf), "arccosh": (1, math.inf),
    "lambertw0": (-0.36, math.inf), "lambertwm1": (-0.36, 0),
}  # fmt: skip
# Where a function changes its method, or is small.
SEAMS = (0.0, 0.5, 1.0, math.sqrt(0.5), math.sqrt(2.0), math.tan(math.pi / 8), 2.0, math.pi / 4, math.pi / 2)
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 2.5, 5e-324, -5e-324, 1e-310, 1.7976931348623157e308,
    -1.7976931348623157e308, 1e300, 2.0**53, math.inf, -math.inf, math.nan,
)  # fmt: skip


def log_uniform(rng: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    size = np.ldexp(rng.uniform(0.5, 1, count), rng.integers(low, high + 1, count))
    return size * rng.choice([-1.0, 1.0], count)


@functools.cache
def points(name: str) -> tuple[np.ndarray, ...]:
    """Operands all over the domain, and close to where it is delicate."""
    rng = np.random.default_rng(len(name))
    low, high = DOMAINS.get(name, (-math.inf, math.inf))
    if functions.arity(name) == 2:
        return _pairs(name, rng)
    near = np.concatenate([seam + log_uniform(rng, 30, -50, -3) for seam in SEAMS])
    quarters = rng.integers(1, 2**20, 60) * (math.pi / 2)
    spread = rng.uniform(max(low, -30), min(high, 30), 250), rng.uniform(max(low, -800), min(high, 800), 150)
    wide = log_uniform(rng, 150, -1074, 1023), log_uniform(rng, 150, -40, 11)
    x = np.concatenate([near, quarters, *spread, *wide, erf_seam(rng)])
    return (x[(x >= low) & (x <= high) & (x != 0)],)


def erf_seam(rng: np.random.Generator) -> np.ndarray:
    """Where the complement of erf is largest among those that it is computed from."""
    return rng.uniform(1, 1.3, 100)


def _pairs(name: str, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    x = np.concatenate(
        [rng.uniform(-5, 5, 200), log_uniform(rng, 200, -500, 500), log_uniform(rng, 100, -9, 9)]
    )
    y = np.concatenate(
        [rng.uniform(-5, 5, 200), x[200:400] * rng.uniform(-2, 2, 200), log_uniform(rng, 100, -9, 9)]
    )
    if name == "power":
        x = np.abs(x)
        y = np.concatenate([rng.uniform(-740, 709, 400) / np.log(x[:400]), np.rint(y[400:])])
        x[400:] *= rng.choice([-1.0, 1.0], 100)
        with np.errstate(all="ignore"):
            size = np.abs(y * np.log(np.abs(x)))
        return x[size < 700], y[size < 700]
    return x, y


def exactly(name: str, operands: tuple[np.ndarray, ...]) -> list[mp.mpf]:
    with mp.workprec(BITS):
        return [EXACT[name](*map(mp.mpf, map(float, row))) for row in zip(*operands, strict=True)]


@functools.cache
def references(name: str) -> list[mp.mpf]:
    return exactly(name, points(name))


@functools.cache
def suspects(name: str) -> tuple[np.ndarray, ...]:
    """Of very many operands those whose results are farthest from NumPy's of long doubles."""
    rng = np.random.default_rng(len(name))
    low, high = DOMAINS.get(name, (-math.inf, math.inf))
    many = [rng.uniform(max(low, -30), min(high, 30), 400_000) for _ in range(functions.arity(name))]
    if name == "power":
        many[0] = np.abs(many[0])
    ours = vectorised(name, host(), np.float64)(*many)
    theirs = getattr(np, name)(*(x.astype(np.longdouble) for x in many))
    away = np.abs(ours - theirs) / np.spacing(np.abs(theirs).astype(np.float64))
    worst = np.argsort(away)[-20:]
    return tuple(x[worst] for x in many)


def _size(name: str, row: tuple[float, ...]) -> float:
    """Where a function is a sum whose terms cancel, the larger one."""
    return max(map(abs, row)) if name == "logaddexp" else 0.0


def test_what_is_promised_is_promised_of_every_function() -> None:
    assert set(NAMES) == set(UNITS)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_right_to_the_last_place(name: str, target: Target) -> None:
    hold_to_the_promise(name, target, points(name), references(name))


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(np, name)])
def test_the_worst_of_very_many_values_is_right_too(name: str) -> None:
    hold_to_the_promise(name, host(), suspects(name), exactly(name, suspects(name)))


def hold_to_the_promise(
    name: str, target: Target, operands: tuple[np.ndarray, ...], references: list[mp.mpf]
) -> None:
    results = vectorised(name, target, np.float64)(*operands)
    for row, result, exact in zip(zip(*operands, strict=True), results, references, strict=True):
        error = mp.fabs(mp.mpf(float(result)) - exact)
        place = math.ulp(max(abs(float(exact)), _size(name, row)))
        assert error <= UNITS[name] * place, (row, result, float(error / place))


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_rounded_once(name: str) -> None:
    with np.errstate(all="ignore"):
        operands = [x.astype(np.float32) for x in points(name)]
    results = vectorised(name, host(), np.float32)(*operands)
    wide = vectorised(name, host(), np.float64)(*(x.astype(np.float64) for x in operands))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(results, wide.astype(np.float32))


def limits(name: str, operands: tuple[np.ndarray, ...]) -> np.ndarray:
    """What NumPy and the C library say of special values."""
    by_hand: dict[str, Callable[[float], float]] = {
        "erf": math.erf, "erfc": math.erfc,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0 if x < 0 else math.nan,
        "softplus": lambda x: float(np.logaddexp(x, 0.0)),
        "lambertw0": lambda x: float(evaluate_numpy("lambertw0(x0)", x0=x)),
        # SciPy has no value of subnormal numbers
        "lambertwm1": lambda x: float(
            EXACT["lambertwm1"](x) if -0.36 < x < 0 else evaluate_numpy("lambertwm1(x0)", x0=x)
        ),
    }  # fmt: skip
    with np.errstate(all="ignore"):
        if name in by_hand:
            return np.array([by_hand[name](x) for x in operands[0]])
        return np.asarray(getattr(np, name)(*operands))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, target: Target) -> None:
    special = np.array(SPECIAL)
    operands = (
        (special,) if functions.arity(name) == 1 else tuple(x.ravel() for x in np.meshgrid(special, special))
    )
    results, expected = vectorised(name, target, np.float64)(*operands), limits(name, operands)
    np.testing.assert_allclose(results, expected, rtol=1e-15, atol=0)
    if name != "logaddexp":  # the logarithm of 1 has no sign
        np.testing.assert_array_equal(np.signbit(results[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name: str, target: Target) -> None:
    x = np.concatenate([10.0 ** np.arange(8, 308, 7), [2.0**45, np.nextafter(2.0**45, math.inf), 5e13]])
    results = vectorised(name, target, np.float64)(x)
    with mp.workprec(1300):
        exact = [EXACT[name](mp.mpf(float(each))) for each in x]
    for result, value in zip(results, exact, strict=True):
        assert mp.fabs(mp.mpf(float(result)) - value) <= math.ulp(float(value))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_both_at_once_are_sine_and_cosine(target: Target) -> None:
    (x,) = points("sin")
    sine, cosine, both = (vectorised(name, target, np.float64)(x) for name in ("sin", "cos", "sincos"))
    np.testing.assert_array_equal(both, sine + cosine)


@pytest.mark.parametrize("name", [*NAMES, "sincos"])
def test_a_function_is_compiled_for_other_processors(name: str) -> None:
    for target in (aarch64(), of_level("x86-64-v3")):
        bodies = [functions.define(name, target), loop(name, target, "float")]
        assert (
            machine.compile_source(machine.ModuleSource(machine.module_text(bodies)), target)[:4]
            == b"\x7fELF"
        )


@pytest.mark.parametrize("name", library.LOOPS)
def test_a_loop_for_other_kernels_is_compiled_for_other_processors(name: str) -> None:
    for target in (aarch64(), of_level("x86-64-v3")):
        assert machine.compile_source(
            machine.ModuleSource(machine.module_text([adjacent_loops.define(name, target)])), target
        )
    assert name in adjacent_loops.LOOPS


@pytest.mark.skipif(len(TARGETS) < 2, reason="the vectors of this processor are those of x86-64-v3")
@pytest.mark.parametrize("name", NAMES)
def test_processors_give_the_same_bits(name: str) -> None:
    """Results near zero, which are denormal, and beyond the largest are among them."""
    rng = np.random.default_rng(7)
    operands = [np.concatenate([x, rng.uniform(-1100, 1050, 20_000), SPECIAL]) for x in points(name)]
    first, second = (vectorised(name, target, np.float64)(*operands) for target in TARGETS.values())
    np.testing.assert_array_equal(bits(first), bits(second))
