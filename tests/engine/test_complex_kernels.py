"""The kernels of rows over complex operands against the texts that they were made from, evaluated by NumPy."""

import itertools

import mpmath as mp
import numpy as np
import pytest

from helpers.complex_kernels import (
    DIFFERENTIABLE,
    LAYOUTS,
    RESULT,
    ROWS,
    as_kind,
    change,
    cotangent,
    draw,
    draw_all,
    dtype_of,
    forward,
    partials,
    reverse,
    tangent,
    text_values,
    wanted_operands,
)
from helpers.daily import daily
from helpers.elementwise_kernels import kernel, run
from helpers.mpmath_oracle import MP, calls_scipy, in_mp
from helpers.table_loops import grouped
from tapegrad.engine.codegen.ir.target import of_level
from tapegrad.engine.guard_pages import PAGE, fenced_pages
from tapegrad.engine.kernels.language.frame import COUNT, STRIDE, Y_STRIDE, X, Y
from tapegrad.ops import Op

COUNTS = (0, *range(1, 18), 33, 300)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, np.inf, -np.inf, np.nan)
EPS = {"c128": 2.0**-52, "c64": 2.0**-23}
rows = pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
differentiable = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
precisions = pytest.mark.parametrize("dtype", EPS)
daily_rows = daily("dtype")


def is_near(
    found: np.ndarray, expected: np.ndarray, tolerance: float, sizes: np.ndarray | float = 0.0
) -> bool:
    """Return whether numbers are right relative to their absolute values, or to `sizes` where these are larger."""
    return bool((np.abs(found - expected) <= tolerance * np.maximum(np.abs(expected), sizes)).all())


def layouts_of(op: Op) -> list[list[str]]:
    """Each layout for all, and each operand in another one."""
    same = [[layout] * (op.arity + 1) for layout in LAYOUTS if layout != "broadcast"]
    turned = [[*(LAYOUTS[(k + j) % 5] for j in range(op.arity)), "adjacent"] for k in range(5)]
    return same + turned


@grouped("op")
@rows
@precisions
@daily_rows
def test_forward_kernel_is_the_primal(op: Op, dtype: str) -> None:
    for count, layouts in itertools.product(COUNTS, layouts_of(op)):
        if count not in (5, 33, 300) and layouts[0] != "adjacent":
            continue
        found, seen = forward(op, dtype, draw_all(op, dtype, count), layouts)
        expected = text_values(op, seen)["y"]
        if op.predicate:
            np.testing.assert_array_equal(found, expected)
        else:
            assert found.dtype == expected.dtype or not count
            assert is_near(found, expected, 32 * EPS[dtype], 1.0), (count, layouts)


@pytest.mark.parametrize(
    "op", [op for op in DIFFERENTIABLE if not op.boolean_operands], ids=lambda op: op.name
)
def test_forward_kernel_at_thirty_digits(op: Op) -> None:
    operands = draw_all(op, "c128", 9, seed=5)
    found, _ = forward(op, "c128", operands, ["adjacent"] * 4)
    tolerance = 4e-14 if calls_scipy(op) else 4e-15  # SciPy's own error
    with mp.workdps(30):
        for k, value in enumerate(found):
            row = {f"x{j}": mp.mpmathify(x[k].item()) for j, x in enumerate(operands)}
            exact = MP[op.name](*row.values()) if op.name in MP else in_mp(op.primal, **row)
            assert abs(mp.mpmathify(value.item()) - exact) <= tolerance * abs(exact), (row, value, exact)


@grouped("op")
@differentiable
@precisions
@daily_rows
def test_reverse_kernel_is_the_partials(op: Op, dtype: str) -> None:
    for count, layouts, store in itertools.product((1, 2, 5, 16, 17, 300), layouts_of(op), (False, True)):
        if count not in (5, 300) and layouts[0] != "adjacent":
            continue
        operands, bar = draw_all(op, dtype, count), draw(op, RESULT, dtype, count, seed=1)
        for wanted in wanted_operands(op):
            found, seen, seen_bar = reverse(op, dtype, operands, bar, layouts, wanted, store)
            for j, pair in enumerate(partials(op, seen)):
                if not wanted >> j & 1:
                    continue
                added = cotangent(op, j, dtype, pair, seen_bar)
                sizes = np.abs(added) + np.abs(seen_bar)
                if layouts[j] == "broadcast":
                    added, sizes = added.sum(), sizes.sum()
                expected = added if store else added + 3.0
                assert is_near(found[j], expected, 64 * EPS[dtype], sizes + 3.0), (count, layouts, wanted, j)


@grouped("op")
@differentiable
@precisions
@daily_rows
def test_tangent_kernel_is_the_partials(op: Op, dtype: str) -> None:
    for count, layout, tangents in itertools.product((1, 5, 16, 37), ("adjacent", "double", "odd"), (1, 3)):
        operands = draw_all(op, dtype, count)
        dots = [
            draw(op, j, dtype, tangents * count, seed=2).reshape(tangents, count) for j in range(op.arity)
        ]
        pairs = partials(op, operands)
        for wanted in wanted_operands(op):
            given = [dot if wanted >> j & 1 else None for j, dot in enumerate(dots)]
            found = tangent(op, dtype, operands, given, layout)
            terms = [change(op, pairs[j], dots[j]) for j in range(op.arity) if wanted >> j & 1]
            assert is_near(found, sum(terms), 64 * EPS[dtype], sum(map(np.abs, terms)) + 1.0)  # type: ignore


@differentiable
def test_formulas_are_the_derivatives(op: Op) -> None:
    """Central differences along 1 and i: of an analytic row they agree with one partial."""
    operands, step = draw_all(op, "c128", 40, seed=3), 1e-5
    for j in op.differentiable_operands:
        pair = partials(op, operands)[j]
        for direction in (1.0,) if j in op.real_operands else (1.0, 1j):
            moved = [
                [x + s * direction if k == j else x for k, x in enumerate(operands)] for s in (-step, step)
            ]
            before, after = (text_values(op, each)["y"] for each in moved)
            expected = (after - before) / (2 * step)
            found = change(op, pair, np.full(40, direction))
            assert np.quantile(np.abs(found - expected) / (1 + np.abs(expected)), 0.9) < 1e-7  # but for cuts


@differentiable
def test_reverse_is_the_transpose_of_the_tangent(op: Op) -> None:
    count, layout = 21, ["adjacent"] * 4
    operands, bar = draw_all(op, "c128", count), draw(op, RESULT, "c128", count, seed=1)
    dots = [draw(op, j, "c128", count, seed=2) for j in range(op.arity)]
    given = [dots[j][None] if j in op.differentiable_operands else None for j in range(op.arity)]
    changed = tangent(op, "c128", operands, given, "adjacent")[0]
    bars, _, _ = reverse(op, "c128", operands, bar, layout, wanted_operands(op)[-1])
    ours = sum((np.conj(bars[j]) * dots[j]).real for j in op.differentiable_operands)
    sizes = sum(np.abs(bars[j]) * np.abs(dots[j]) for j in op.differentiable_operands)
    assert is_near(np.asarray(ours), (np.conj(bar) * changed).real, 1e-13, np.asarray(sizes))


def special_operands(op: Op, dtype: str) -> list[np.ndarray]:
    """Every pair of special values for each operand, beside a few of another operand's."""
    re, im = (each.ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(over="ignore"):
        turned = [as_kind(op, j, dtype, np.roll(re, 7 * j), np.roll(im, 13 * j)) for j in range(op.arity)]
    return [np.arange(len(re)) % 2 == 0 if j in op.boolean_operands else x for j, x in enumerate(turned)]


@grouped("op")
@differentiable
@precisions
@daily_rows
def test_zero_cotangent_contributes_zero(op: Op, dtype: str) -> None:
    operands = special_operands(op, dtype)
    zeros = np.zeros(len(operands[0]), dtype_of(op, RESULT, dtype))
    for layout in ("adjacent", "double"):
        found, _, _ = reverse(op, dtype, operands, zeros, [layout] * 4, wanted_operands(op)[-1], store=False)
        for j in op.differentiable_operands:
            assert (found[j] == 3.0).all()


@differentiable
def test_zero_partial_stops_an_infinite_cotangent(op: Op) -> None:
    operands = special_operands(op, "c128")
    one = np.ones(len(operands[0]))
    for re, im in ((np.inf, 0.0), (0.0, np.nan), (-np.inf, np.inf)):
        bar = as_kind(op, RESULT, "c128", re * one, im * one)
        found, _, _ = reverse(op, "c128", operands, bar, ["adjacent"] * 4, wanted_operands(op)[-1])
        for j in op.differentiable_operands:
            p, q = partials(op, operands)[j]
            assert (found[j][(p == 0) & (q == 0)] == 0).all()


@pytest.mark.parametrize("op", [op for op in ROWS if op.predicate], ids=lambda op: op.name)
def test_predicates_at_special_values(op: Op) -> None:
    operands = special_operands(op, "c128")
    found, _ = forward(op, "c128", operands, ["adjacent"] * 4)
    np.testing.assert_array_equal(found, getattr(np, op.name)(*operands))


@differentiable
def test_layouts_and_processors_give_the_same_bits(op: Op) -> None:
    operands, bar = special_operands(op, "c128"), draw(op, RESULT, "c128", 100, seed=1)
    results = []
    for layout, target in (
        ("adjacent", None),
        ("double", None),
        ("odd", None),
        ("adjacent", of_level("x86-64-v3")),
    ):
        layouts = [layout] * (op.arity + 1)
        y, _ = forward(op, "c128", operands, layouts, target)
        bars, _, _ = reverse(op, "c128", operands, bar, layouts, wanted_operands(op)[-1], target=target)
        results.append(
            [np.where(np.isnan(part), 0, part).tobytes() for x in (y, *bars) for part in (x.real, x.imag)]
        )
    assert all(each == results[0] for each in results)


@differentiable
def test_bits_of_a_number_do_not_depend_on_its_neighbours(op: Op) -> None:
    """Imaginary numbers alone, and between others."""
    others = draw_all(op, "c128", 64)
    alone = [x[1::2].copy() for x in others]
    for x in alone:
        if x.dtype.kind == "c":
            x.real = 0
    for x, between in zip(alone, others, strict=True):
        between[1::2] = x
    layouts = ["adjacent"] * 4
    found, among = (forward(op, "c128", x, layouts)[0] for x in (alone, others))
    assert found.tobytes() == among[1::2].tobytes()


@differentiable
def test_nothing_is_touched_behind_the_end_of_memory(op: Op) -> None:
    memory = fenced_pages(2 * PAGE, [PAGE])
    for count in range(1, 18):
        operands = draw_all(op, "c128", count)
        kept = [memory[PAGE - x.nbytes : PAGE].view(x.dtype) for x in operands]
        for j, behind in enumerate(kept):
            behind[...] = operands[j]
            at_end = [behind if k == j else x for k, x in enumerate(operands)]
            run_in_place(op, at_end)


def run_in_place(op: Op, operands: list[np.ndarray]) -> None:
    """Run the forward kernel on operands where they lie."""
    count = len(operands[0])
    y = np.zeros(count, dtype_of(op, RESULT, "c128"))
    fields = {COUNT: count, Y: y.ctypes.data, Y_STRIDE: y.itemsize}
    for j, x in enumerate(operands):
        fields |= {X + j: x.ctypes.data, STRIDE + j: x.itemsize}
    run(kernel(op, "forward", "c128"), fields)
    assert is_near(y, text_values(op, operands)["y"], 1e-13, 1.0)
