"""One instruction in a sweep on Tensors, as the rules of the ops see it."""

from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator, Value
from tapegrad.autodiff.graph_view import FREED_MEANWHILE, Geometry, Instruction, tensor_on
from tapegrad.autodiff.regions import full
from tapegrad.engine import kernel_table
from tapegrad.engine.sweep import subgraph
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.tensor import Tensor
from tapegrad.ops.params import read

_FEW_WORDS = 32  # parameters for which there is room at once


class Step:
    """One instruction in a sweep on Tensors.

    Attributes
    ----------
    tape
        The tape that it stands on.
    row
        The row of its op.
    result, operands
        Its slots.
    """

    __slots__ = ("_asked", "_instruction", "operands", "parts", "result", "row", "tape")

    def __init__(
        self, tape: Tape, instruction: Instruction, parts: Accumulator, active: set[int] | None
    ) -> None:
        self.tape = tape
        self.row = kernel_table.row(instruction.op)
        self.result = instruction.result
        self.operands = instruction.operands
        self._instruction = instruction
        self.parts = parts
        self._asked = [
            self.row.reads[j] is not None and is_active(parts.geometry(slot), active)
            for j, slot in enumerate(instruction.operands)
        ]

    def is_alike(self, value: Tensor, slot: int) -> bool:
        """Whether a value has the shape and the dtype of a slot."""
        if value._tape is not self.tape or value._base is not None:
            return False
        return bool(slots.are_alike(self.tape.header, value._slot, slot))

    def asks(self, operand: int) -> bool:
        """Whether a derivative by an operand is asked for."""
        return self._asked[operand]

    def geometry(self, slot: int) -> Geometry:
        """Where a slot's elements lie."""
        return self.parts.geometry(slot)

    def x(self, operand: int) -> Tensor:
        """An operand's primal."""
        return self._tensor(self.operands[operand])

    @property
    def y(self) -> Tensor:
        """The result's primal."""
        return self._tensor(self.result)

    def primal(self, name: str) -> Tensor | float:
        """The primal that a name in a text stands for: a Tensor, or the number that was written there."""
        if name == "y":
            return self.y
        slot = self.operands[int(name[1])]
        geometry = self.geometry(slot)
        return geometry.number if geometry.number is not None else self._tensor(slot)

    def _tensor(self, slot: int) -> Tensor:
        """A Tensor on a slot, whose primal goes when the graph has been freed and is then written to in place."""
        if not subgraph.has_primal(self.tape.header, slot):
            raise FreedGraphError(FREED_MEANWHILE)
        return tensor_on(self.tape, slot)

    def dense(self, value: Value, operand: int) -> Tensor:
        """A value of an operand, or of the result (-1), as a Tensor."""
        geometry = self.geometry(self.result if operand < 0 else self.operands[operand])
        return full(value, geometry.shape, geometry.dtype)

    @property
    def params(self) -> Any:
        """The record of the op's parameters, `None` if it has none."""
        record = self.row.params
        return None if record is None else read(record, self._words())

    def _words(self) -> list[int]:
        """The words of the parameters, while the instruction lives."""
        count, words = _FEW_WORDS, np.empty(0, np.int64)
        while count > len(words):
            words = np.empty(count, np.int64)
            count = subgraph.read_params(self.tape.header, self.result, self._instruction.params, id(words))
        if count == 0:
            raise FreedGraphError(FREED_MEANWHILE)
        found: list[int] = words[:count].tolist()
        return found


def is_active(geometry: Geometry, active: set[int] | None) -> bool:
    """Whether derivatives flow into a buffer: into those of a set, or into all that are differentiable."""
    return geometry.differentiable if active is None else geometry.buffer in active
