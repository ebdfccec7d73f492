"""Derivatives of linear structural ops: their rows give a transpose only.

The tangent of the result is the op itself, applied to the tangents. The cotangents are the transpose, applied to the
cotangent of the result. Most often the transpose is another op with the same parameters.
"""

from typing import Any

from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.engine import kernel_table
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.frontend.recording.record_structural import record_lines, record_out
from tapegrad.frontend.recording.rules import TRANSPOSES, Value
from tapegrad.frontend.recording.shape import contiguous, in_own_buffer, view_region
from tapegrad.frontend.tensor.modes import current
from tapegrad.frontend.tensor.tensor import Tensor, allocate, view_of
from tapegrad.ops import CODES, COPY, Row


def forward(step: SweepStep, dots: list[Value | None]) -> Tensor:
    """Return the tangent of the result: the op applied to the tangents, zeros where there is none."""
    row, like, tape = step.row, step.geometry(step.result), current()[0]
    operands = [
        step.x(j) if row.reads[j] is None else step.dense(0.0 if x_dot is None else x_dot, j)
        for j, x_dot in enumerate(dots)
    ]
    if row.kind in ("broadcast_sum", "reduction"):
        axes = sum(1 << d for d, stride in enumerate(like.view.strides) if stride == 0)
        return record_lines(CODES[row.name], operands[0], axes, False, row.name)
    if row.params is None:
        return _record(row, operands, None, allocate(tape, like.dtype, like.shape, row.name))
    layouts = [step.geometry(slot).view for slot in step.operands]
    operands = [_laid_out(tape, x, layout) for x, layout in zip(operands, layouts, strict=True)]
    if row.in_place:
        operands[0] = in_own_buffer(operands[0])
    return _record(row, operands, step.params, _empty(tape, like.view))


def reverse(step: SweepStep, y_bar: Value) -> dict[int, Value]:
    """Return the cotangents of the operands: the transpose of the op, applied to the cotangent of the result."""
    transpose = step.row.transpose or ""
    if transpose not in CODES:
        return TRANSPOSES[transpose](step, y_bar)
    row, like = kernel_table.row(CODES[transpose]), step.geometry(step.operands[0])
    y_bar = step.dense(y_bar, -1)
    if row.params is not None and not y_bar.data_or_traced().flags.c_contiguous:
        y_bar = contiguous(y_bar)
    operands = [y_bar, *map(step.x, range(1, len(step.operands)))]
    params = None if row.params is None else row.params(*step.params)
    return {0: _record(row, operands, params, allocate(step.tape, like.dtype, like.shape, row.name))}


def _record(row: Row, operands: list[Tensor], params: Any, result: Tensor) -> Tensor:
    tape, differentiate = current()
    read = [x._slot_on(tape) for x in operands]
    record_out(tape, CODES[row.name], result._slot_on(tape), read, params, row.name, differentiate)
    return result


# --- memory ----------------------------------------------------------------------------------------------------


def _laid_out(tape: Tape, value: Tensor, layout: View) -> Tensor:
    """Return a value in a slot's memory layout (parameters may hold its strides): itself, or a recorded copy."""
    if View(0, value.shape, value.data_or_traced().strides, layout.dtype).steps == layout.steps:
        return value
    if layout.contiguous:
        return contiguous(value)
    copy = _empty(tape, layout)
    once = tuple(slice(1) if stride == 0 else slice(None) for stride in layout.strides)
    part, source = view_of(copy, copy.data_or_traced()[once]), view_of(value, value.data_or_traced()[once])
    differentiate = current()[1]
    record_out(tape, COPY, part._slot_on(tape), [source._slot_on(tape)], None, "copy", differentiate)
    return copy


def _empty(tape: Tape, like: View) -> Tensor:
    """Return an uninitialised Tensor in the memory layout of a slot."""
    if like.contiguous:
        return allocate(tape, like.dtype, like.shape, "empty")
    low, high = like.bounds
    part = part_dtype(like.dtype)  # complex elements begin at multiples of half their size
    memory = allocate(tape, part, ((high - low) // part.itemsize,), "empty")
    return view_region(memory, like._replace(offset=like.offset - low))
