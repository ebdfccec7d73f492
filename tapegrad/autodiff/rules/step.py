"""Steps of a sweep on Tensors: its instructions as derivative rules see them."""

from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import FREED_MEANWHILE, Geometry, GraphInstruction, tensor_on
from tapegrad.autodiff.regions import materialize
from tapegrad.engine import kernel_table
from tapegrad.engine.status import checked
from tapegrad.engine.sweep.derivatives import subgraph
from tapegrad.engine.sweep.eager import earlier_contents
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, Tape
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.recording.rules import Step, Value
from tapegrad.frontend.recording.running import copy_earlier
from tapegrad.frontend.tensor.modes import current
from tapegrad.frontend.tensor.tensor import Tensor, from_slot
from tapegrad.ops import CODES, COPY, Op
from tapegrad.ops.params import read

_INITIAL_FIELDS = 32  # capacity for parameters, in fields


class SweepStep(Step):
    """Instruction of a sweep on Tensors.

    Attributes
    ----------
    tape
        The tape of the instruction.
    row
        The row of its op.
    result, operands
        Its slots.
    accumulator
        The cotangents, or the tangents, of the sweep.
    is_complex
        Whether an elementwise op is computed by its kernel for complex operands.
    """

    __slots__ = (
        "_asked",
        "_instruction",
        "_params",
        "accumulator",
        "is_complex",
        "operands",
        "result",
        "row",
        "tape",
    )

    def __init__(
        self, tape: Tape, instruction: GraphInstruction, accumulator: Accumulator, active: set[int] | None
    ) -> None:
        self.tape = tape
        self.row = kernel_table.row(instruction.op)
        self.result = instruction.result
        self.operands = instruction.operands
        self._instruction = instruction
        self._params: Any = None  # until a rule asks for them
        self.accumulator = accumulator
        self.is_complex = self._is_complex()
        self._asked = [
            self.row.reads[j] is not None and is_active(accumulator.geometry(slot), active)
            for j, slot in enumerate(instruction.operands)
        ]

    def is_alike(self, value: Tensor, slot: int) -> bool:
        """Return whether a value has the shape and the dtype of a slot."""
        if value._tape is not self.tape or value._base is not None:
            return False
        return bool(slots.are_alike(self.tape.header, value._slot, slot))

    def asks(self, operand: int) -> bool:
        return self._asked[operand]

    def geometry(self, slot: int) -> Geometry:
        """Return the geometry of a slot."""
        return self.accumulator.geometry(slot)

    def _is_complex(self) -> bool:
        row = self.row
        return isinstance(row, Op) and self.geometry(self.operands[row.variant]).dtype.kind == "c"

    def x(self, operand: int) -> Tensor:
        return self._tensor(self.operands[operand])

    @property
    def y(self) -> Tensor:
        return self._tensor(self.result)

    def primal(self, name: str) -> Tensor | float:
        """Return the primal that a row's text calls `name`: a Tensor, or a float for a scalar constant."""
        if name == "y":
            return self.y
        slot = self.operands[int(name[1])]
        geometry = self.geometry(slot)
        return geometry.number if geometry.number is not None else self._tensor(slot)

    def _tensor(self, slot: int) -> Tensor:
        """Return a Tensor on a slot, or raise if its primal was freed with the graph and then overwritten.

        A slot on a version before an in-place write yields a recorded copy.
        """
        where = earlier_contents.where_primal_is(self.tape.header, slot)
        if where == earlier_contents.GONE:
            raise FreedGraphError(FREED_MEANWHILE)
        if where == earlier_contents.THERE:
            return tensor_on(self.tape, slot)
        tape, differentiate = current()
        dtype = self.geometry(slot).dtype
        code = (
            COPY
            if dtype.kind in DIFFERENTIABLE_KINDS
            else CODES["cast_b8" if dtype.kind == "b" else "cast_i64"]
        )
        copy = copy_earlier(tape, code, slot, differentiate)
        return from_slot(tape, checked(copy, "copy", self.geometry(slot).shape))

    def view(self, operand: int) -> View:
        return self.geometry(self.result if operand < 0 else self.operands[operand]).view

    def dense(self, value: Value, operand: int) -> Tensor:
        view = self.view(operand)
        return materialize(value, view.shape, view.dtype)

    @property
    def params(self) -> Any:
        record = self.row.params
        if record is not None and self._params is None:
            self._params = read(record, self._fields())
        return self._params

    def _fields(self) -> list[int]:
        """Return the 64-bit fields of the parameters, while the instruction lives."""
        count, fields = _INITIAL_FIELDS, np.empty(0, np.int64)
        while count > len(fields):
            fields = np.empty(count, np.int64)
            count = subgraph.read_params(self.tape.header, self.result, self._instruction.params, id(fields))
        if count == 0:
            raise FreedGraphError(FREED_MEANWHILE)
        found: list[int] = fields[:count].tolist()
        return found


def is_active(geometry: Geometry, active: set[int] | None) -> bool:
    """Return whether a buffer gets cotangents: if it is in `active`, or for `None` if it is differentiable."""
    return geometry.differentiable if active is None else geometry.buffer in active
