"""Running the kernel of an elementwise op on operands in every layout, and what its row says that it gives."""

import ctypes
import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from helpers.texts_by_numpy import evaluate_numpy
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.runtime import library_loops
from tapegrad.ops import ELEMENTWISE, Op

DTYPES = {"f64": np.float64, "f32": np.float32}
LAYOUTS = ("adjacent", "double", "negative", "broadcast")
SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan)
ROWS = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}")
    for op in ELEMENTWISE
    if op.takes_real
    for dtype in DTYPES
]
DIFFERENTIABLE = [
    row for row in ROWS if not row.values[0].predicate and row.values[0].differentiable_operands
]
_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def kernel(op: Op, direction: str, dtype: str, target: Target | None = None) -> Any:
    return _KERNEL(kernels.address(Case(op, dtype, target or host()), direction))


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


def run(call: Any, fields: dict[int, int]) -> None:
    frame = np.zeros(FIELDS, np.int64)
    for field, value in fields.items():
        frame[field] = value
    assert call(frame.ctypes.data, library_loops.table()) == 0


def random_operands(op: Op, dtype: str, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    drawn = [rng.uniform(*domain, count).astype(DTYPES[dtype]) for domain in op.domains]
    return [x > 0.5 if j in op.boolean_operands else x for j, x in enumerate(drawn)]


def text_values(op: Op, operands: list[np.ndarray]) -> dict[str, np.ndarray]:
    values = {f"x{j}": x for j, x in enumerate(operands)}
    return values | {"y": evaluate_numpy(op.primal, **values)}


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
    fields = {COUNT: count, Y_STRIDE: y.stride, Y_BAR: y_bar.address, Y: y.address * ("y" in read)}
    for j, operand in enumerate(placed):
        fields |= {X + j: operand.address * (f"x{j}" in read), STRIDE + j: operand.stride}
        fields |= {X_BAR + j: bars[j].address * (wanted >> j & 1)}
    run(kernel(op, "reverse", dtype), fields | {STORE: wanted if store else 0})
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
    bits = [1 << j for j in op.differentiable_operands]
    return sorted({sum(bits), *bits})


def special_operands(op: Op, dtype: str) -> list[np.ndarray]:
    """Every combination of special values, but for those that loops of SciPy 1.13 do not return from."""
    combinations = np.array(list(itertools.product(SPECIAL, repeat=op.arity)), DTYPES[dtype])
    text = " ".join((op.primal, *op.partials))
    if "betainc" in text:  # it never ends
        combinations = combinations[(np.abs(combinations) == DTYPES[dtype](1e30)).sum(axis=1) < 2]
    if "ncx2_pdf" in text:  # it raises OverflowError, where the density is infinite
        combinations = combinations[(combinations[:, 0] != 0) | (combinations[:, 2] != 0)]
    columns = [np.ascontiguousarray(column) for column in combinations.T]
    return [x > 0 if j in op.boolean_operands else x for j, x in enumerate(columns)]
