"""The generated elementwise kernels against the texts that they were generated from, and against NumPy."""

import ctypes
import functools
import importlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tapegrad.engine.kernels.frame import COUNT, STORE, STRIDE, WORDS, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.reference import evaluate_numpy
from tapegrad.engine.runtime import compiler, library_loops
from tapegrad.ops import BY_NAME, ELEMENTWISE, Op

DTYPES = {"f64": np.float64, "f32": np.float32}
COUNTS = (0, 1, 2, 7, 8, 15, 16, 17, 255, 256, 257, 1000)
LAYOUTS = ("adjacent", "double", "negative", "broadcast")
SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan)
ROWS = [pytest.param(op, dtype, id=f"{op.name}-{dtype}") for op in ELEMENTWISE for dtype in DTYPES]
DIFFERENTIABLE = [row for row in ROWS if not row.values[0].predicate]
_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def kernel(op: Op, direction: str, dtype: str) -> Any:
    module = importlib.import_module(op.module(dtype, direction))
    name = f"{op.name}_{direction}_{dtype}"
    library_loops.ensure(module.LIBRARY[name])
    return _KERNEL(compiler.compile_kernel(getattr(module, name), **module.FLAGS))


@dataclass
class Strided:
    """Elements at a stride inside a larger array, whose other elements must stay as they are."""

    whole: np.ndarray
    view: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, layout: str) -> "Strided":
        step = {"adjacent": 1, "double": 2, "negative": -1, "broadcast": 1}[layout]
        size = 1 if layout == "broadcast" else max(len(values), 1)
        whole = np.full(2 * size + 2, 77, values.dtype)
        view = whole[1 : 1 + abs(step) * size : abs(step)][:: -1 if step < 0 else 1]
        view = np.lib.stride_tricks.as_strided(view, values.shape, (0,)) if layout == "broadcast" else view
        view = view[: len(values)]
        view[...] = values[:1] if layout == "broadcast" else values
        return cls(whole, view)

    @property
    def address(self) -> int:
        return int(self.view.ctypes.data)

    @property
    def stride(self) -> int:
        return int(self.view.strides[0])

    def is_untouched_outside(self) -> bool:
        """Whether all else is as it was; a broadcast element may be written even by a loop over nothing."""
        size, count = self.whole.itemsize, max(len(self.view), self.stride == 0)
        inside = (self.address - self.whole.ctypes.data + np.arange(count) * self.stride) // size
        return self.whole.dtype == bool or bool((np.delete(self.whole, inside) == 77).all())


def run(call: Any, words: dict[int, int]) -> None:
    frame = np.zeros(WORDS, np.int64)
    for word, value in words.items():
        frame[word] = value
    assert call(frame.ctypes.data, library_loops.table()) == 0


def random_operands(op: Op, dtype: str, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    drawn = [rng.uniform(*domain, count).astype(DTYPES[dtype]) for domain in op.domains]
    return [x > 0.5 if j in op.boolean_operands else x for j, x in enumerate(drawn)]


def text_values(op: Op, operands: list[np.ndarray]) -> dict[str, np.ndarray]:
    values = {f"x{j}": x for j, x in enumerate(operands)}
    return values | {"y": evaluate_numpy(op.primal, **values)}


def forward(
    op: Op, dtype: str, operands: list[np.ndarray], layouts: list[str]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The kernel's result, and the operands as it saw them."""
    count = len(operands[0])
    placed = [Strided.of(x, layout) for x, layout in zip(operands, layouts, strict=False)]
    y = Strided.of(np.zeros(count, bool if op.predicate else DTYPES[dtype]), layouts[len(operands)])
    words = {COUNT: count, Y: y.address, Y_STRIDE: y.stride}
    for j, operand in enumerate(placed):
        words |= {X + j: operand.address, STRIDE + j: operand.stride}
    run(kernel(op, "forward", dtype), words)
    assert y.is_untouched_outside()
    return y.view.copy(), [operand.view.copy() for operand in placed]


def reverse(
    op: Op,
    dtype: str,
    operands: list[np.ndarray],
    bar: np.ndarray,
    layouts: list[str],
    store: bool,
    wanted: int,
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """The cotangents after the kernel, what it should have added, and `bar` as it saw it.

    Only operands whose bit is set in `wanted` have a cotangent; primals that are not read are absent.
    """
    count, arity = len(bar), op.arity
    placed = [Strided.of(x, layout) for x, layout in zip(operands, layouts, strict=False)]
    old = np.full(count, np.nan if store else 3.0, DTYPES[dtype])
    bars = [Strided.of(old, layout) for layout in layouts[:arity]]
    values = text_values(op, [operand.view for operand in placed])
    y_values = np.broadcast_to(values["y"], (count,)).astype(DTYPES[dtype])
    y, y_bar = (Strided.of(array, layouts[arity]) for array in (y_values, bar))
    read = frozenset[str]().union(*(op.needs(j) for j in range(arity) if wanted >> j & 1))
    words = {COUNT: count, Y_STRIDE: y.stride, Y_BAR: y_bar.address, Y: y.address * ("y" in read)}
    for j, operand in enumerate(placed):
        words |= {X + j: operand.address * (f"x{j}" in read), STRIDE + j: operand.stride}
        words |= {X_BAR + j: bars[j].address * (wanted >> j & 1)}
    run(kernel(op, "reverse", dtype), words | {STORE: wanted if store else 0})
    assert all(operand.is_untouched_outside() for operand in (*placed, *bars, y, y_bar))
    partials = [evaluate_numpy(text, **values) for text in op.partials]
    return [x.view.copy() for x in bars], [np.broadcast_to(p, (count,)) for p in partials], y_bar.view.copy()


def layouts_of(op: Op) -> list[list[str]]:
    """Each layout for all, and mixtures; a result is broadcast only if all operands are."""
    same = [[layout] * (op.arity + 1) for layout in LAYOUTS]
    turned = [[LAYOUTS[(k + j) % 4] for j in range(op.arity + 1)] for k in range(4)]
    mixed = [row for row in turned if row[-1] != "broadcast"]
    return [*same, *mixed, ["broadcast"] * op.arity + ["adjacent"]]


def wanted_operands(op: Op) -> list[int]:
    """Bit masks of the operands that want a cotangent and have one: all of them, and each alone."""
    known = [j for j in range(op.arity) if op.predicate or op.partials[j] != "nan"]
    bits = [1 << j for j in known if j not in op.boolean_operands]
    return sorted({sum(bits), *bits})


@pytest.mark.parametrize(("op", "dtype"), ROWS)
def test_forward_kernel_is_the_primal(op: Op, dtype: str) -> None:
    for count, layouts in itertools.product(COUNTS, layouts_of(op)):
        result, seen = forward(op, dtype, random_operands(op, dtype, count), layouts)
        expected = text_values(op, seen)["y"]
        if op.predicate:
            np.testing.assert_array_equal(result, expected)
        elif count:
            assert expected.dtype == result.dtype
            np.testing.assert_array_max_ulp(result, expected, maxulp=4)


@pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
@pytest.mark.parametrize("store", [False, True], ids=["add", "store"])
def test_reverse_kernel_is_the_partials(op: Op, dtype: str, store: bool) -> None:
    eps = np.finfo(DTYPES[dtype]).eps
    for count, layouts, wanted in itertools.product(COUNTS, layouts_of(op), wanted_operands(op)):
        operands = random_operands(op, dtype, count)
        bar = np.random.default_rng(count + 1).normal(size=count).astype(DTYPES[dtype])
        results, partials, seen = reverse(op, dtype, operands, bar, layouts, store, wanted)
        for j in range(op.arity):
            if wanted >> j & 1:
                added = partials[j].astype(np.float64) * seen
                scale = np.abs(added) + (0 if store else 3.0)
                if layouts[j] == "broadcast" and count:
                    added, scale = added.sum(), scale.sum()
                expected = added if store else added + 3.0
                assert (np.abs(results[j] - expected) <= 40 * eps * scale).all(), (count, layouts, wanted)
            else:
                assert (np.isnan(results[j]) if store else results[j] == 3.0).all()


def special_operands(op: Op, dtype: str) -> list[np.ndarray]:
    """Every combination of special values."""
    combinations = np.array(list(itertools.product(SPECIAL, repeat=op.arity)), DTYPES[dtype])
    columns = [np.ascontiguousarray(column) for column in combinations.T]
    return [x > 0 if j in op.boolean_operands else x for j, x in enumerate(columns)]


@pytest.mark.parametrize(("op", "dtype"), ROWS)
def test_special_values_forward(op: Op, dtype: str) -> None:
    operands = special_operands(op, dtype)
    result, _ = forward(op, dtype, operands, ["adjacent"] * 4)
    with np.errstate(all="ignore"):
        expected = getattr(np, op.ufunc)(*operands) if op.ufunc else text_values(op, operands)["y"]
    np.testing.assert_allclose(result, expected, rtol=8 * float(np.finfo(DTYPES[dtype]).eps))


@pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
def test_special_values_reverse(op: Op, dtype: str) -> None:
    operands = special_operands(op, dtype)
    ones = np.ones(len(operands[0]), DTYPES[dtype])
    wanted = wanted_operands(op)[-1]
    results, partials, _ = reverse(op, dtype, operands, ones, ["adjacent"] * 4, True, wanted)
    for j in range(op.arity):
        if wanted >> j & 1:
            np.testing.assert_allclose(results[j], partials[j], rtol=40 * float(np.finfo(DTYPES[dtype]).eps))


@pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
def test_zero_cotangent_contributes_zero(op: Op, dtype: str) -> None:
    operands = special_operands(op, dtype)
    zeros = np.zeros(len(operands[0]), DTYPES[dtype])
    wanted = wanted_operands(op)[-1]
    for layout in ("adjacent", "double"):
        results, _, _ = reverse(op, dtype, operands, zeros, [layout] * 4, False, wanted)
        for j in range(op.arity):
            if wanted >> j & 1:
                assert (results[j] == 3.0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_unselected_side_gets_no_cotangent_of_infinity(dtype: str) -> None:
    infinite = np.full(2, np.inf, DTYPES[dtype])
    operands = [np.array([True, False]), np.ones(2, DTYPES[dtype]), np.ones(2, DTYPES[dtype])]
    results, _, _ = reverse(BY_NAME["where"], dtype, operands, infinite, ["adjacent"] * 4, True, 6)
    np.testing.assert_array_equal(results[1], [np.inf, 0.0])
    np.testing.assert_array_equal(results[2], [0.0, np.inf])


@pytest.mark.parametrize(("op", "dtype"), [row for row in DIFFERENTIABLE if "nan" in row.values[0].partials])
def test_partial_that_is_not_known_is_nan(op: Op, dtype: str) -> None:
    operands, bar = random_operands(op, dtype, 20), np.array([0.0, 1.0] * 10, DTYPES[dtype])
    j = op.partials.index("nan")
    results, _, _ = reverse(op, dtype, operands, bar, ["adjacent"] * 4, True, 1 << j)
    np.testing.assert_array_equal(results[j], np.where(bar == 0, 0, np.nan))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [7, 300])
def test_same_operand_twice(dtype: str, count: int) -> None:
    x, bar = (np.random.default_rng(count).normal(size=count).astype(DTYPES[dtype]) for _ in range(2))
    x_bar = np.full(count, np.nan, DTYPES[dtype])
    words = {COUNT: count, X: x.ctypes.data, X + 1: x.ctypes.data, X_BAR: x_bar.ctypes.data, STORE: 1}
    words |= {X_BAR + 1: x_bar.ctypes.data, Y_BAR: bar.ctypes.data, Y_STRIDE: x.itemsize}
    run(kernel(BY_NAME["multiply"], "reverse", dtype), words | {STRIDE: x.itemsize, STRIDE + 1: x.itemsize})
    np.testing.assert_allclose(x_bar, 2 * x * bar, rtol=1e-6)


def test_float32_sums_are_accurate() -> None:
    count = 1_000_000
    bar, x_bar = np.full(count, 0.1, np.float32), np.zeros(1, np.float32)
    words = {COUNT: count, X_BAR: x_bar.ctypes.data, Y_BAR: bar.ctypes.data, Y_STRIDE: 4, STRIDE + 1: 4}
    run(kernel(BY_NAME["add"], "reverse", "f32"), words)
    np.testing.assert_allclose(x_bar[0], bar.astype(np.float64).sum(), rtol=1e-7)


def test_library_refuses_a_loop_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(library_loops.SIGNATURES, "invert", "d->d")
    with pytest.raises(library_loops.LibraryError, match="has no loop 'd->d'"):
        library_loops.ensure(["invert"])
