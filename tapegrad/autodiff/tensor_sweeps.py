"""The reverse and the forward sweep on Tensors: every step appends the instructions that its rule is made of."""

import itertools
from contextlib import nullcontext
from typing import Any

from tapegrad.autodiff import hooks, structural_rules
from tapegrad.autodiff.accumulator import Accumulator, Value
from tapegrad.autodiff.elementwise_rules import masked_product, partial, summed_to
from tapegrad.autodiff.graph_view import Instruction, listed
from tapegrad.autodiff.regions import full
from tapegrad.autodiff.step import Step, is_active
from tapegrad.engine import kernel_table
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.anomaly import Watch, watching
from tapegrad.frontend.attachments import any_hooks
from tapegrad.frontend.modes import EAGER
from tapegrad.frontend.shape import broadcast_to
from tapegrad.frontend.tensor import Tensor, is_tensor
from tapegrad.ops import Op

# --- backwards -------------------------------------------------------------------------------------------------


def reverse(tape: Tape, seeds: list[tuple[int, Tensor | float]], inputs: list[int]) -> list[Tensor | None]:
    """The cotangents of some slots, as Tensors on the tape; `None` where none flows.

    Parameters
    ----------
    tape
        The tape that the calling thread appends to.
    seeds
        Slots of results, each with its cotangent: a Tensor of its shape, or a number for all its elements.
    inputs
        Slots whose buffers the sweep goes back to.
    """
    with listed(tape, [root for root, _ in seeds], inputs) as instructions:
        parts = Accumulator(tape)
        for root, seed in seeds:
            parts.add(root, seed)
        active = active_buffers(parts, instructions, inputs)
        walk_back(tape, instructions, parts, active, True, [root for root, _ in seeds])
        return [_collected(parts, slot) for slot in inputs]


def active_buffers(parts: Accumulator, instructions: list[Instruction], inputs: list[int]) -> set[int]:
    """The buffers that cotangents flow into on the way to some inputs, by the instructions that are listed for them."""
    return {parts.geometry(slot).buffer for slot in (*inputs, *(each.result for each in instructions))}


def _collected(parts: Accumulator, slot: int) -> Tensor | None:
    value = parts.get(slot)
    geometry = parts.geometry(slot)
    return None if value is None else full(value, geometry.shape, geometry.dtype)


def walk_back(
    tape: Tape,
    instructions: list[Instruction],
    parts: Accumulator,
    active: set[int] | None,
    as_tensors: bool,
    roots: list[int],
) -> None:
    """Go through listed instructions backwards, from the cotangents in `parts` of `roots`, which are added to.

    Cotangents flow into the buffers `active` (`None`: all that are differentiable). `as_tensors` says what hooks are
    given.
    """
    complete: set[int] | None = set() if tape is EAGER and any_hooks() else None
    for instruction in reversed(instructions):
        if complete is not None:
            _complete(instruction.result, parts, complete, as_tensors)
        _step_back(tape, instruction, parts, active)
    if complete is not None:  # leaves
        operands = itertools.chain.from_iterable(instruction.operands for instruction in instructions)
        for slot in (*roots, *(slot for slot in operands if is_active(parts.geometry(slot), active))):
            _complete(slot, parts, complete, as_tensors)


def _complete(slot: int, parts: Accumulator, complete: set[int], as_tensors: bool) -> None:
    """A buffer's cotangent has all its contributions: let its hooks see it."""
    buffer = parts.geometry(slot).buffer
    if buffer not in complete:
        complete.add(buffer)
        hooks.call_hooks(parts, slot, as_tensors)


def _step_back(tape: Tape, instruction: Instruction, parts: Accumulator, active: set[int] | None) -> None:
    """Add what an instruction contributes to the cotangents of its operands."""
    y_bar = parts.get(instruction.result)
    if y_bar is None:
        return
    step = Step(tape, instruction, parts, active)
    watch = watching()
    if watch is None:
        contributions = _contributions(step, y_bar)
    else:
        contributions = _watched_contributions(instruction, step, y_bar, watch)
    for j, value in contributions.items():
        _add(step, j, value)


def _watched_contributions(
    instruction: Instruction, step: Step, y_bar: Value, watch: Watch
) -> dict[int, Value]:
    """`_contributions`, looked at for what is not finite."""
    with watch.differentiating(step.tape, step.result):
        contributions = _contributions(step, y_bar)
    for j, value in contributions.items():
        what = f"the cotangent that {{}} sends to its operand {j}"
        watch.derived(step.tape, step.result, value, what)
    return contributions


def _add(step: Step, operand: int, value: Value) -> None:
    """Add a contribution to an operand's cotangent, summed over where the operand was broadcast."""
    slot = step.operands[operand]
    if is_tensor(value):
        value = (
            value if step.is_alike(value, slot) else summed_to(value, step.geometry(slot).shape, value.shape)
        )
    else:
        value = summed_to(value, step.geometry(slot).shape, step.geometry(step.result).shape)
    step.parts.add(slot, value)


def _contributions(step: Step, y_bar: Value) -> dict[int, Value]:
    """For each operand that is asked for, what is added to its cotangent."""
    row = step.row
    if not isinstance(row, Op):
        return structural_rules.reverse(step, y_bar)
    found = {}
    for j in range(row.arity):
        if step.asks(j):
            value = masked_product(partial(row, j, step), y_bar)
            if value is not None:
                found[j] = value
    return found


# --- forwards --------------------------------------------------------------------------------------------------


def forward(tape: Tape, roots: list[int], inputs: list[int], tangents: list[Tensor]) -> list[Tensor | None]:
    """The tangents of the slots `roots` when those of the slots `inputs` are given; `None` where none flows."""
    with listed(tape, roots, inputs) as instructions:
        parts = Accumulator(tape)
        for slot, x_dot in zip(inputs, tangents, strict=True):
            parts.add(slot, x_dot)
        for instruction in instructions:
            _step_forward(tape, instruction, parts)
        return [_collected(parts, slot) for slot in roots]


def _step_forward(tape: Tape, instruction: Instruction, parts: Accumulator) -> None:
    """Put down the tangent of an instruction's result."""
    dots = [
        parts.get(slot) if kernel_table.takes_cotangent(instruction.op, j) else None
        for j, slot in enumerate(instruction.operands)
    ]
    if all(x_dot is None for x_dot in dots):
        return
    step = Step(tape, instruction, parts, None)
    watch = watching()
    with nullcontext() if watch is None else watch.differentiating(tape, instruction.result):
        y_dot = _tangent(step, dots)
    if y_dot is None:
        return
    if watch is not None:
        watch.derived(tape, instruction.result, y_dot, "the tangent of {}")
    if step.row.kind in ("broadcast_sum", "reduction"):  # the result is seen through strides of 0
        parts.set_buffer(instruction.result, y_dot)
    else:
        parts.add(instruction.result, y_dot)


def _tangent(step: Step, dots: list[Value | None]) -> Value | None:
    """The tangent of an instruction's result from those of its operands."""
    row = step.row
    if not isinstance(row, Op):
        return structural_rules.forward(step, dots)
    geometry = step.geometry(step.result)
    total: Any = None
    for j, x_dot in enumerate(dots):
        if x_dot is None:
            continue
        term = masked_product(partial(row, j, step), x_dot)
        if term is not None:
            total = term if total is None else total + term
    if is_tensor(total) and total.shape != geometry.shape:
        total = broadcast_to(total, geometry.shape)
    return total
