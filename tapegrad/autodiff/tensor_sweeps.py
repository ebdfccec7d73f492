"""Reverse and forward sweeps on Tensors: each step appends the instructions of its derivative rule."""

import itertools
from contextlib import nullcontext
from typing import Any

from tapegrad.autodiff import hooks
from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import GraphInstruction, listed
from tapegrad.autodiff.regions import materialize
from tapegrad.autodiff.rules import structural_rules
from tapegrad.autodiff.rules.elementwise_rules import cotangent, summed_to, tangent
from tapegrad.autodiff.rules.step import SweepStep, is_active
from tapegrad.engine import kernel_table
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.recording.rules import Value
from tapegrad.frontend.recording.shape import broadcast_to
from tapegrad.frontend.tensor.anomaly import Watch, watching
from tapegrad.frontend.tensor.attachments import any_hooks
from tapegrad.frontend.tensor.modes import EAGER
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.ops import Op

# --- backwards -------------------------------------------------------------------------------------------------


def reverse(
    tape: Tape, seeds: list[tuple[int, Any]], inputs: list[int], within: set[int] | None = None
) -> list[Tensor | None]:
    """Return the cotangents of the slots `inputs` as Tensors on the tape, `None` for an input without one.

    Parameters
    ----------
    tape
        The current tape of the calling thread.
    seeds
        Slots of results with their cotangents: Tensors of their shapes, or a number for all elements.
    inputs
        Slots that the sweep goes back to.
    within
        Buffers whose instructions it goes through; `None` for all.
    """
    with listed(tape, [root for root, _ in seeds], inputs, within) as instructions:
        cotangents = Accumulator(tape)
        for root, seed in seeds:
            cotangents.add(root, seed)
        active = active_buffers(cotangents, instructions, inputs)
        kept = {cotangents.geometry(slot).buffer for slot in inputs} if tape.recording else None
        walk_back(tape, instructions, cotangents, active, True, [root for root, _ in seeds], kept)
        return [_collected(cotangents, slot) for slot in inputs]


def active_buffers(
    cotangents: Accumulator, instructions: list[GraphInstruction], inputs: list[int]
) -> set[int]:
    """Return the buffers that get cotangents: of the inputs, and of the results of the listed instructions."""
    return {cotangents.geometry(slot).buffer for slot in (*inputs, *(each.result for each in instructions))}


def _collected(accumulator: Accumulator, slot: int) -> Tensor | None:
    value = accumulator.get(slot)
    geometry = accumulator.geometry(slot)
    return None if value is None else materialize(value, geometry.shape, geometry.dtype)


def walk_back(
    tape: Tape,
    instructions: list[GraphInstruction],
    cotangents: Accumulator,
    active: set[int] | None,
    as_tensors: bool,
    roots: list[int],
    kept: set[int] | None = None,
) -> None:
    """Propagate the cotangents of `roots` through the listed instructions, from the last to the first.

    Only the buffers `active` get cotangents (`None`: all that are differentiable). Those of the buffers `kept` are
    there in the end (`None`: all). Hooks get Tensors if `as_tensors`.
    """
    complete: set[int] | None = set() if tape is EAGER and any_hooks() else None
    used_up = {} if kept is None else _used_up(instructions, cotangents, kept)
    for k, instruction in reversed(list(enumerate(instructions))):
        if complete is not None:
            _complete(instruction.result, cotangents, complete, as_tensors)
        _step_back(tape, instruction, cotangents, active)
        if k in used_up:
            cotangents.forget(used_up[k])
    if complete is not None:  # leaves
        operands = itertools.chain.from_iterable(instruction.operands for instruction in instructions)
        for slot in (*roots, *(slot for slot in operands if is_active(cotangents.geometry(slot), active))):
            _complete(slot, cotangents, complete, as_tensors)


def _used_up(instructions: list[GraphInstruction], cotangents: Accumulator, kept: set[int]) -> dict[int, int]:
    """Return for instructions the buffer whose cotangent no instruction before them reads, without some."""
    first: dict[int, int] = {}
    for k, instruction in enumerate(instructions):
        first.setdefault(cotangents.geometry(instruction.result).buffer, k)
    return {k: buffer for buffer, k in first.items() if buffer not in kept}


def _complete(slot: int, cotangents: Accumulator, complete: set[int], as_tensors: bool) -> None:
    """Call the hooks of a buffer, once its cotangent is complete."""
    buffer = cotangents.geometry(slot).buffer
    if buffer not in complete:
        complete.add(buffer)
        hooks.call_hooks(cotangents, slot, as_tensors)


def _step_back(
    tape: Tape, instruction: GraphInstruction, cotangents: Accumulator, active: set[int] | None
) -> None:
    """Add the contributions of an instruction to the cotangents of its operands."""
    y_bar = cotangents.get(instruction.result)
    if y_bar is None:
        return
    step = SweepStep(tape, instruction, cotangents, active)
    watch = watching()
    found = _contributions(step, y_bar) if watch is None else _watched_contributions(step, y_bar, watch)
    for j, value in found.items():
        _add(step, j, value)


def _watched_contributions(step: SweepStep, y_bar: Value, watch: Watch) -> dict[int, Value]:
    """Call `_contributions`, and report values that are not finite."""
    with watch.differentiating(step.tape, step.result):
        contributions = _contributions(step, y_bar)
    for j, value in contributions.items():
        what = f"the cotangent that {{}} sends to its operand {j}"
        watch.derived(step.tape, step.result, value, what)
    return contributions


def _add(step: SweepStep, operand: int, value: Value) -> None:
    """Add a contribution to the cotangent of an operand, summed over the dimensions that it was broadcast along."""
    slot = step.operands[operand]
    if is_tensor(value):
        value = (
            value if step.is_alike(value, slot) else summed_to(value, step.geometry(slot).shape, value.shape)
        )
    else:
        value = summed_to(value, step.geometry(slot).shape, step.geometry(step.result).shape)
    step.accumulator.add(slot, value)


def _contributions(step: SweepStep, y_bar: Value) -> dict[int, Value]:
    """Return the contribution to the cotangent of each operand that needs one."""
    row = step.row
    if not isinstance(row, Op):
        return structural_rules.reverse(step, y_bar)
    found = {}
    for j in range(row.arity):
        if step.asks(j):
            value = cotangent(row, j, step, y_bar)
            if value is not None:
                found[j] = value
    return found


# --- forwards --------------------------------------------------------------------------------------------------


def forward(tape: Tape, roots: list[int], inputs: list[int], x_dots: list[Tensor]) -> list[Tensor | None]:
    """Return the tangents of the slots `roots` for tangents `x_dots` of the slots `inputs`; `None` for no tangent."""
    with listed(tape, roots, inputs) as instructions:
        tangents = Accumulator(tape)
        for slot, x_dot in zip(inputs, x_dots, strict=True):
            tangents.add(slot, x_dot)
        for instruction in instructions:
            dots = [
                tangents.get(slot) if kernel_table.takes_cotangent(instruction.op, j) else None
                for j, slot in enumerate(instruction.operands)
            ]
            if any(x_dot is not None for x_dot in dots):
                push(SweepStep(tape, instruction, tangents, None), dots, tangents)
        return [_collected(tangents, slot) for slot in roots]


def push(step: SweepStep, dots: list[Value | None], tangents: Accumulator) -> None:
    """Add the tangent of the result of an instruction, given those of its operands; `None` for zero."""
    watch = watching()
    if watch is None and (regions := structural_rules.regions_of(step)):
        for region, x_dot in zip(regions, dots, strict=True):
            if x_dot is not None:
                tangents.add_to(region, x_dot)
        return
    with nullcontext() if watch is None else watch.differentiating(step.tape, step.result):
        y_dot = _tangent(step, dots)
    if y_dot is None:
        return
    if watch is not None:
        watch.derived(step.tape, step.result, y_dot, "the tangent of {}")
    if step.row.kind in ("broadcast_sum", "reduction"):  # the result is seen through strides of 0
        tangents.set_buffer(step.result, y_dot)
    else:
        tangents.add(step.result, y_dot)


def _tangent(step: SweepStep, dots: list[Value | None]) -> Value | None:
    """Return the tangent of the result, given those of the operands."""
    row = step.row
    if not isinstance(row, Op):
        return structural_rules.forward(step, dots)
    geometry = step.geometry(step.result)
    total: Any = None
    for j, x_dot in enumerate(dots):
        if x_dot is None:
            continue
        term = tangent(row, j, step, x_dot)
        if term is not None:
            total = term if total is None else total + term
    if is_tensor(total) and total.dtype != geometry.dtype:  # real operands beside complex ones
        total = total.astype(geometry.dtype)
    if is_tensor(total) and total.shape != geometry.shape:
        total = broadcast_to(total, geometry.shape)
    return total
