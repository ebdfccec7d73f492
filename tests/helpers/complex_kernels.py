"""Running the kernels of rows over complex operands, and what their formulas say that these give."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.elementwise_kernels import Strided, kernel, run
from helpers.texts_by_numpy import evaluate_numpy
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.kernels.language.frame import (
    COUNT,
    PARAMS,
    STORE,
    STRIDE,
    X_BAR,
    Y_BAR,
    Y_STRIDE,
    X,
    Y,
)
from tapegrad.ops import ELEMENTWISE, Op

ROWS = [op for op in ELEMENTWISE if op.takes_complex]
DIFFERENTIABLE = [op for op in ROWS if not op.predicate]
DTYPES = {"c128": np.dtype(np.complex128), "c64": np.dtype(np.complex64)}
_REAL = {
    dtype: np.dtype(kind)
    for dtype, kind in zip(("f64", "f32", *DTYPES), ("f8", "f4", "f8", "f4"), strict=True)
}
LAYOUTS = ("adjacent", "double", "negative", "broadcast", "odd")
RESULT = 3  # role of the result; operands are 0, 1, 2


def dtype_of(op: Op, role: int, dtype: str) -> np.dtype[Any]:
    """The dtype of an operand, or of the result, and of their cotangents and tangents."""
    is_real = op.real_result if role == RESULT else role in op.real_operands
    return _REAL[dtype] if is_real else DTYPES.get(dtype, _REAL[dtype])


class Odd(Strided):
    """Adjacent elements between two parts of elements, which must stay as they are."""

    def is_untouched_outside(self) -> bool:
        return bool(self.whole[0] == self.whole[-1] == 77)


def place(values: np.ndarray, layout: str) -> Strided:
    """Elements in memory; "odd" ones begin at a multiple of 8 bytes only."""
    if layout != "odd" or values.dtype == bool:
        return Strided.of(values, "adjacent" if layout == "odd" else layout)
    part = values.real.dtype
    whole = np.full(len(values) * (values.itemsize // part.itemsize) + 2, 77, part)
    view = whole[1:-1].view(values.dtype)
    view[...] = values
    return Odd(whole, view)


def draw(op: Op, role: int, dtype: str, count: int, seed: int = 0) -> np.ndarray:
    """Random elements of an operand, or of the result."""
    if role in op.boolean_operands:
        return np.random.default_rng([seed, role, count]).random(count) > 0.5
    return as_kind(op, role, dtype, *np.random.default_rng([seed, role, count]).uniform(-2, 2, (2, count)))


def as_kind(op: Op, role: int, dtype: str, re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """Complex numbers of these parts, or the first parts where the operand is real."""
    kind = dtype_of(op, role, dtype)
    if kind.kind != "c":
        return re.astype(kind)
    numbers = np.empty(re.shape, kind)
    numbers.real, numbers.imag = re, im
    return numbers


def draw_all(op: Op, dtype: str, count: int, seed: int = 0) -> list[np.ndarray]:
    return [draw(op, j, dtype, count, seed) for j in range(op.arity)]


def text_values(op: Op, operands: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    values = {f"x{j}": x for j, x in enumerate(operands)}
    return values | {"y": evaluate_numpy(op.primal, **values)}


def partials(op: Op, operands: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The partials by each operand and by its conjugate, by NumPy, in double precision."""
    wide = [x if x.dtype == bool else x.astype(np.result_type(x, np.float64)) for x in operands]
    values = text_values(op, wide)
    texts = zip(op.partials_of("c128"), op.conjugate_partials or ("0",) * op.arity, strict=True)
    return [
        tuple(np.broadcast_to(evaluate_numpy(text, **values), wide[0].shape) for text in pair)
        for pair in texts
    ]  # type: ignore[misc]


def _frame(placed: Sequence[Strided], y: Strided) -> dict[int, int]:
    fields = {COUNT: len(y.view), Y: y.address, Y_STRIDE: y.stride}
    for j, operand in enumerate(placed):
        fields |= {X + j: operand.address, STRIDE + j: operand.stride}
    return fields


def forward(
    op: Op, dtype: str, operands: Sequence[np.ndarray], layouts: Sequence[str], target: Target | None = None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The kernel's result, and the operands as it saw them."""
    placed = [place(x, layout) for x, layout in zip(operands, layouts, strict=False)]
    kind = np.dtype(bool) if op.predicate else dtype_of(op, RESULT, dtype)
    y = place(np.zeros(len(operands[0]), kind), "adjacent" if op.predicate else layouts[-1])
    run(kernel(op, "forward", dtype, target), _frame(placed, y))
    assert y.is_untouched_outside()
    return y.view.copy(), [operand.view.copy() for operand in placed]


def reverse(
    op: Op,
    dtype: str,
    operands: Sequence[np.ndarray],
    bar: np.ndarray,
    layouts: Sequence[str],
    wanted: int,
    store: bool = True,
    target: Target | None = None,
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """The cotangents after the kernel, those added to begin as 3; the operands and `bar` as it saw them."""
    placed = [place(x, layout) for x, layout in zip(operands, layouts, strict=False)]
    old = [np.full(len(bar), np.nan if store else 3.0, dtype_of(op, j, dtype)) for j in range(op.arity)]
    bars = [place(x, layout) for x, layout in zip(old, layouts, strict=False)]
    values = text_values(op, [operand.view for operand in placed])["y"].astype(bar.dtype)
    y, y_bar = place(values, layouts[-1]), place(bar, layouts[-1])
    fields = _frame(placed, y) | {Y_BAR: y_bar.address, STORE: wanted if store else 0}
    for j in range(op.arity):
        fields |= {X_BAR + j: bars[j].address * (wanted >> j & 1)}
    run(kernel(op, "reverse", dtype, target), fields)
    assert all(each.is_untouched_outside() for each in (*placed, *bars, y, y_bar))
    return [x.view.copy() for x in bars], [operand.view.copy() for operand in placed], y_bar.view.copy()


def tangent(
    op: Op, dtype: str, operands: Sequence[np.ndarray], dots: Sequence[np.ndarray | None], layout: str
) -> np.ndarray:
    """The tangents of the result, by those of the operands, of shape (tangents, count); `None` for absent ones."""
    count, tangents = len(operands[0]), next(len(dot) for dot in dots if dot is not None)
    placed = [place(x, layout) for x in operands]
    kind = dtype_of(op, RESULT, dtype)
    y = place(text_values(op, operands)["y"].astype(kind), layout)
    fields, steps = _frame(placed, y), np.zeros(5, np.int64)
    y_dot = place(np.full(tangents * count, np.nan, kind), layout)
    fields |= {Y_BAR: y_dot.address, PARAMS: steps.ctypes.data}
    steps[0], steps[4] = tangents, count * y_dot.stride
    kept = []
    for j, dot in enumerate(dots):
        if dot is not None:
            kept.append(place(dot.ravel(), layout))
            fields[X_BAR + j], steps[1 + j] = kept[-1].address, count * kept[-1].stride
    run(kernel(op, "tangent", dtype), fields)
    assert y_dot.is_untouched_outside()
    return y_dot.view.reshape(tangents, count).copy()


def cotangent(op: Op, j: int, dtype: str, pair: tuple[np.ndarray, np.ndarray], bar: np.ndarray) -> np.ndarray:
    """What an operand's cotangent gets, by the formulas."""
    p, q = pair
    with np.errstate(all="ignore"):
        found = p * bar if op.real_result else np.conj(p) * bar + q * np.conj(bar)
    return found.real if dtype_of(op, j, dtype).kind != "c" else found


def change(op: Op, pair: tuple[np.ndarray, np.ndarray], dot: np.ndarray) -> np.ndarray:
    """What the result's tangent gets by that of an operand, by the formulas."""
    p, q = pair
    return (np.conj(p) * dot).real if op.real_result else p * dot + q * np.conj(dot)


def wanted_operands(op: Op) -> list[int]:
    """Bit masks of the operands that can have a cotangent: each alone, and all."""
    bits = [1 << j for j in op.differentiable_operands]
    return sorted({*bits, sum(bits)})
