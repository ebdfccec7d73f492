"""Kernels for other processors than this one: the same numbers to the last bit, and code for what cannot run here."""

import ctypes
import itertools

import numpy as np
import pytest

from helpers.daily import daily
from helpers.elementwise_kernels import DTYPES, Strided, kernel, random_operands, run, text_values
from tapegrad.engine.codegen import kernels
from tapegrad.engine.codegen.ir.target import aarch64, host, of_level
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.kernels.language.frame import COUNT, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.ops import BY_NAME, Op

# One of every kind: in line, with mathematics, with both of sine and cosine, with a library, with booleans.
NAMES = (
    "multiply",
    "divide",
    "where",
    "clip",
    "sin",
    "power",
    "sinc",
    "erf",
    "xlogy",
    "lgamma",
    "floor_divide",
    "isnan",
)
OPS = [pytest.param(BY_NAME[name], id=name) for name in NAMES]
LAYOUTS = ("adjacent", "double", "broadcast")
DIRECTIONS = ("forward", "reverse", "tangent")


def directions_of(op: Op) -> tuple[str, ...]:
    return DIRECTIONS[:1] if op.predicate else DIRECTIONS


def results(op: Op, dtype: str, direction: str, count: int, layout: str, wide: bool) -> list[np.ndarray]:
    """What a kernel writes, for this processor or for x86-64-v3."""
    operands = [Strided.of(x, layout) for x in random_operands(op, dtype, count)]
    y_values = text_values(op, [x.view for x in operands])["y"]
    y = Strided.of(
        np.broadcast_to(y_values, (count,)).astype(bool if op.predicate else DTYPES[dtype]), "adjacent"
    )
    seconds = [Strided.of(np.full(count, 0.75, DTYPES[dtype]), layout) for _ in operands]
    y_bar = Strided.of(np.linspace(1, 2, count).astype(DTYPES[dtype]), "adjacent")
    fields = {COUNT: count, Y: y.address, Y_STRIDE: y.stride, Y_BAR: y_bar.address}
    for j, operand in enumerate(operands):
        fields |= {X + j: operand.address, STRIDE + j: operand.stride}
        fields |= {X_BAR + j: seconds[j].address} if j in op.differentiable_operands else {}
    run(kernel(op, direction, dtype, None if wide else of_level("x86-64-v3")), fields)
    return [line.view.copy() for line in (y, y_bar, *seconds)]


@daily(every=3)
@pytest.mark.skipif(host().lanes <= 8, reason="this processor has no wider registers")
@pytest.mark.parametrize("op", OPS)
def test_results_do_not_depend_on_the_width_of_registers(op: Op) -> None:
    for dtype, direction in itertools.product(DTYPES, directions_of(op)):
        for count, layout in itertools.product((1, 13, 300), LAYOUTS):
            pair = [results(op, dtype, direction, count, layout, wide) for wide in (True, False)]
            for one, other in zip(*pair, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{dtype} {direction} {count} {layout}")


@daily(every=3)
@pytest.mark.parametrize("op", OPS)
def test_kernels_are_compiled_for_aarch64(op: Op) -> None:
    for dtype, direction in itertools.product(DTYPES, directions_of(op)):
        text = machine.module_text(kernels.bodies(Case(op, dtype, aarch64()), direction))
        code = machine.compile_source(machine.ModuleSource(text), aarch64())
        assert (code[:4], ctypes.c_uint16.from_buffer_copy(code, 18).value) == (b"\x7fELF", 183)
