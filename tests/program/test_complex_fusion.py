"""Segments with lines of complex numbers: the bits of the rows by themselves, and nothing left outside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.bound_frames import bits
from helpers.complex_kernels import DIFFERENTIABLE, draw
from helpers.daily import daily, random_seeds
from helpers.table_loops import grouped
from tapegrad.engine.codegen.segments.segment import REVERSE
from tapegrad.engine.codegen.segments.segment_rows import is_emitted
from tapegrad.frontend.recording.record import run
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_slot
from tapegrad.ops import BY_NAME, CODES, Op

# One vector holds a line of the first; the second has whole vectors and a tail, the last one several blocks of sums.
COUNTS = (7, 70, 600)
FUSED = [op for op in DIFFERENTIABLE if is_emitted(op, REVERSE, "c128") and not op.boolean_operands]
FEW = [BY_NAME[name] for name in ("multiply", "absolute", "multiply_real", "complex_sign", "exp")]


def record(op: Op, *operands: Any) -> Any:
    tape = thread.mode.tape
    slot = run(tape, CODES[op.name], [x._slot_on(tape) for x in operands], True)
    assert slot >= 0, op.name
    return from_slot(tape, slot)


def of_parts(z: Any) -> Any:
    """A real number of each complex one, from both of its parts."""
    return z.real * z.real + 0.5 * z.imag if z.dtype.kind == "c" else z * z


def arguments(op: Op, count: int) -> list[np.ndarray]:
    """The operands as floats, complex ones with both parts of an element side by side."""
    drawn = [draw(op, j, "c128", count) for j in range(op.arity)]
    return [x if x.dtype.kind != "c" else x.view(np.float64).reshape(count, 2) for x in drawn]


def operands_of(op: Op, given: tuple[Any, ...]) -> list[Any]:
    return [x.view(np.complex128)[:, 0] if x.ndim == 2 else x for x in given]


def outcomes(f: Callable[..., Any], given: list[np.ndarray], wanted: tuple[int, ...]) -> list[bytes]:
    """Value and gradients of a function, eager and replayed, by rows and by segments."""
    found = []
    for each in (f, tg.jit(f, fuse=False), tg.jit(f, fuse=True)):
        value, gradients = tg.value_and_grad(each, wanted)(*given)
        found.append(b"".join(map(bits, (value, *gradients))))
    return found


@grouped("op")
@daily("count", always=lambda op, count: op in FEW)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("op", FUSED, ids=lambda op: op.name)
def test_segments_have_the_bits_of_rows(op: Op, count: int) -> None:
    def f(*given: Any) -> Any:
        z = record(op, *operands_of(op, given))
        return (of_parts(z) * 0.5).sum()

    plain, by_rows, fused = outcomes(f, arguments(op, count), op.differentiable_operands)
    assert by_rows == plain
    assert fused == plain


@pytest.mark.parametrize("count", COUNTS)
def test_numbers_that_stand_for_all_elements(count: int) -> None:
    """Complex and real numbers whose cotangents are sums over a line."""

    def f(p: Any, a: Any, r: Any) -> Any:
        z = p.view(np.complex128)[:, 0]
        y = record(BY_NAME["multiply"], z, a.view(np.complex128)[0])
        return of_parts(record(BY_NAME["multiply_real"], y, r)).sum()

    rng = np.random.default_rng(0)
    given = [rng.normal(size=(count, 2)), rng.normal(size=2), np.float64(1.5)]
    plain, by_rows, fused = outcomes(f, given, (0, 1, 2))
    assert plain == by_rows == fused


def test_sums_of_parts_on_threads() -> None:
    count = 100_000

    def f(p: Any, a: Any) -> Any:
        z = record(BY_NAME["multiply"], p.view(np.complex128)[:, 0], a.view(np.complex128)[0])
        return (of_parts(z) * 1e-3).sum()

    rng = np.random.default_rng(0)
    given = [rng.normal(size=(count, 2)), rng.normal(size=2)]
    plain, by_rows, fused = outcomes(f, given, (0, 1))
    assert plain == by_rows == fused


def test_infinities_stop_at_zeros() -> None:
    """A segment computes without masks first, and anew where a result is NaN."""

    def f(p: Any, w: Any) -> Any:
        z = p.view(np.complex128)[:, 0]
        y = record(BY_NAME["multiply"], record(BY_NAME["reciprocal"], z), w.view(np.complex128)[:, 0])
        return (y.real * 0.0).sum() + (y.imag * 0.0).sum()

    p, w = np.zeros((40, 2)), np.ones((40, 2))
    p[::3] = 1.0
    given = [p, w]
    plain, by_rows, fused = outcomes(f, given, (0, 1))
    assert plain == by_rows == fused


def test_parts_join_the_segment_of_their_line() -> None:
    def f(p: Any, x: Any) -> Any:
        z = p.view(np.complex128)[:, 0]
        y = record(BY_NAME["multiply"], z, record(BY_NAME["exp"], record(BY_NAME["multiply_real"], z, x)))
        return (y.real**2 + y.imag**2).sum()

    rng = np.random.default_rng(0)
    compute = tg.value_and_grad(tg.jit(f, fuse=True), (0, 1))
    given = rng.normal(size=(300, 2)), rng.normal(size=300)
    compute(*given)
    assert " in 1 segment, 0 by themselves" in str(compute.explain(*given))


def test_segments_are_shown_with_conjugates_and_parts() -> None:
    def f(p: Any, x: Any) -> Any:
        z = record(BY_NAME["conjugate"], p.view(np.complex128)[:, 0])
        y = record(BY_NAME["multiply_real"], z, x)
        return (record(BY_NAME["absolute"], y) * y.imag).sum()

    replayed = tg.jit(f, fuse=True)
    given = np.ones((300, 2)), np.ones(300)
    tg.value_and_grad(replayed, (0, 1))(*given)
    shown = str(replayed.tape(*given).segments[0])
    for line in (
        "v0 = conjugate(x0[0:300])",
        "v1_bar.imag += v3_bar*v2",
        "v1_bar += v2_bar*(sign(v1))",
        "x1_bar = real(v1_bar*(conj(v0)))",
        "x0_bar[0:300] = conj(v0_bar)",
    ):
        assert line in shown


def few_numbers(seed: int) -> Callable[..., Any]:
    """A random function of few complex numbers: as lines, element by element, and by parts."""

    def f(p: Any, r: Any) -> Any:
        rng = np.random.default_rng(seed)
        lines, numbers = [p.view(np.complex128)[:, 0]], [r + 0.5j]
        size, total = len(lines[0]), 0.0

        def one_of(values: list[Any]) -> Any:
            return values[int(rng.integers(max(0, len(values) - 4), len(values)))]

        for _ in range(14):
            z, w, c = one_of(lines), one_of(lines), one_of(numbers)
            k, j = (int(n) for n in rng.integers(0, size, 2))
            which = int(rng.integers(0, 9))
            if which == 0:
                numbers.append(z[k] * c + w[j])
            elif which == 1:
                lines.append(tg.stack([z[n] * c if n == k else w[n] - 0.5 * z[j] for n in range(size)]))
            elif which == 2:
                lines.append(z * w[j] + 0.3)
            elif which == 3:
                numbers.append(tg.exp(1j * c.real) * 0.5 + c.imag * z[k])
            elif which == 4:
                total = total + c.real * w[j].imag
            elif which == 5:
                total = total + (z.real * w.imag).sum()
            elif which == 6:
                y = z * 0.5
                y[k] = c * w[j]
                lines.append(y + w)
            elif which == 7:
                numbers.append(tg.conj(c) * tg.abs(z[k]))
            else:
                lines.append(tg.sin(z) + w.real * 0.25)
        z, c = lines[-1], numbers[-1]
        return total + (z.real**2 + z.imag).sum() * 0.1 + c.real * c.imag

    return f


@random_seeds(0, 160, 10)
def test_few_numbers_by_lines_elements_and_parts(seeds: range) -> None:
    for seed in seeds:
        rng = np.random.default_rng(seed)
        given = [rng.uniform(-1, 1, (2 + seed % 4, 2)), np.float64(0.4)]
        plain, by_rows, fused = outcomes(few_numbers(seed), given, (0, 1))
        assert by_rows == fused, seed
        # passes add up equal contributions in another order than eager code does
        np.testing.assert_allclose(*(np.frombuffer(each) for each in (plain, fused)), rtol=1e-12, atol=1e-12)


def test_numbers_and_their_parts_are_one_segment() -> None:
    def f(p: Any) -> Any:
        z, total = p[0] + 0.5j, p[1]
        for _ in range(4):
            z = z * p[1] + 0.3j * p[2]
            total = total * p[2] + z.real
        return tg.abs(z) + total

    recorded = tg.jit(f, fuse=True)
    tg.value_and_grad(recorded)(np.array([0.3, -0.2, 0.5]))
    found = [each.computes for each in recorded.tape(np.ones(3)).segments]
    assert found.count("value_and_grad") == 1
