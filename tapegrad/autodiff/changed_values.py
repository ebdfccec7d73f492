"""Changed operands: values that were written without the tape's knowledge after an instruction had read them."""

from tapegrad.autodiff.graph_view import GraphInstruction, listed
from tapegrad.engine.kernel_table import op_name
from tapegrad.engine.tape import checksums
from tapegrad.engine.tape.checksums import READS
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE
from tapegrad.engine.tape.memory import D_BUFFER, D_EXTERNAL
from tapegrad.errors import ChangedValueError, FreedGraphError
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import EAGER

_RESULT = READS - 1


def check_unchanged(root: int, wanted: list[int] | None) -> None:
    """Raise if a reverse sweep from a slot would read a changed value.

    Raises
    ------
    ChangedValueError
        Naming the op, its operand, and the write that is suspected.
    """
    if not SlotDescription(EAGER.header, root).flags & DIFFERENTIABLE:
        return
    try:
        with listed(EAGER, [root], wanted) as instructions:
            for instruction in instructions:
                _check(instruction)
    except FreedGraphError:  # the sweep raises it itself
        return


def _check(instruction: GraphInstruction) -> None:
    a, b, c = (*instruction.operands, -1, -1)[:3]
    k = checksums.changed_read(EAGER.header, a, b, c, instruction.result)
    if k < 0:
        return
    slot = instruction.result if k == _RESULT else instruction.operands[k]
    described = SlotDescription(EAGER.header, slot)
    what = "the result" if k == _RESULT else f"operand {k}"
    raise ChangedValueError(
        f"backward: {what} of {op_name(instruction.op)}, of shape {described.shape}, was written to after it"
        f" was computed with, and not through its Tensor, so that its gradient would be wrong. {_suspected(described)}"
    )


def _suspected(described: SlotDescription) -> str:
    """Describe the write that may have changed the value."""
    owner = EAGER.owners.get(described[D_BUFFER]) if described[D_EXTERNAL] else None
    if owner is None:
        return (
            "Suspected is a write to an array from t.data, as in t.data[...] = v or t.data -= step: do it after"
            " backward(), or write t[...] = v or t.data = v"
        )
    return (
        f"Suspected is a write to the array of shape {owner.shape} that asarray() or tensor(copy=False) took without"
        " a copy, or to t.data: do it after backward(), copy the array, or write to the Tensor"
    )
