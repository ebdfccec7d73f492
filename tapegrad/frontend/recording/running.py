"""Calls of the engine for elementwise ops: load missing kernels, and call again."""

from collections.abc import Callable

from tapegrad.engine import kernel_table
from tapegrad.engine.sweep.eager import eager, earlier_contents
from tapegrad.engine.tape.fields.layout import E_KERNEL, E_PARALLEL, OP_VARIANT
from tapegrad.engine.tape.memory import D_DTYPE
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.tensor.description import SlotDescription


def run(tape: Tape, code: int, operands: list[int], differentiate: bool) -> int:
    """Call the engine for an elementwise op; load what it lacks and call again."""
    a, b, c = (*operands, -1, -1)[:3]
    return _loaded(
        lambda: eager.record_elementwise(tape.header, code, a, b, c, differentiate), tape, code, operands
    )


def copy_earlier(tape: Tape, code: int, slot: int, differentiate: bool) -> int:
    """Copy, by an op, the contents that a slot had before its memory was written to in place."""
    return _loaded(
        lambda: earlier_contents.copy_earlier(tape.header, code, slot, differentiate), tape, code, [slot]
    )


def _loaded(call: Callable[[], int], tape: Tape, code: int, operands: list[int]) -> int:
    """Call the engine; while it lacks a kernel or the driver, load that and call again."""
    slot = call()
    while slot in (E_PARALLEL, E_KERNEL):
        if slot == E_KERNEL:
            load_kernel(tape, code, operands)
        else:
            kernel_table.load_driver()
        slot = call()
    return int(slot)


def load_kernel(tape: Tape, code: int, operands: list[int]) -> None:
    """Load the forward kernel that an op needs for these operands."""
    operand = operands[int(kernel_table.op_fields(code)[OP_VARIANT])]
    kernel_table.load_code(code, SlotDescription(tape.header, operand)[D_DTYPE], 0)
