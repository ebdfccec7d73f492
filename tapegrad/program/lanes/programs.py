"""Programs of recordings over lanes, made of widened recordings as those of one instance, and their workspaces.

They differ in two points: some rows run lane by lane, and guards mark the lanes in which they fail.
"""

import math
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.derivatives import jacobian_columns
from tapegrad.engine.sweep.replays import lanes
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.ops import GUARDS
from tapegrad.program.lanes.layout import LAST
from tapegrad.program.lanes.widened_tape import WidenedTape
from tapegrad.program.lanes.widening import Widened
from tapegrad.program.programs.compressed_columns import CompressedJacobianProgram
from tapegrad.program.programs.gradient import GradientProgram, ReverseJacobianProgram
from tapegrad.program.programs.jacobian_columns import ColumnsProgram
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.tangents import TangentProgram
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.streams.spec import FORWARD, JACFWD, JACREV, JVP, NEVER, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.streams.stream import InstructionStream

_LINE = 64  # bytes of a cache line


class Port(NamedTuple):
    """Correspondence of elements of a caller's array to memory with lanes in a workspace.

    Attributes
    ----------
    direction
        SHARED, TAKE or GIVE, as in `engine.sweep.replays.lanes`.
    array
        Number of the caller's array among the inputs, or among the results.
    view
        View of one instance.
    binding
        Number of the program's binding; -1 for memory of the workspace.
    inside
        Offset of that memory.
    shape, steps
        Shape of the elements, which are contiguous in the workspace, and their strides in the caller's array.
    start
        Offset of the first element in the caller's array.
    is_stack
        Whether an instance is contiguous in the workspace, and moved like one large element.
    listed
        Address of a list of elements, as in `engine.sweep.replays.lanes`; 0 for all of the shape.
    """

    direction: int
    array: int
    view: View
    binding: int = -1
    inside: int = 0
    shape: tuple[int, int] = (0, 0)
    steps: tuple[int, int] = (0, 0)
    start: int = 0
    is_stack: bool = False
    listed: int = 0


def _plain(direction: int, array: int, view: View, binding: int = -1, inside: int = 0) -> Port:
    """Return a port of elements in C order, inside and outside."""
    return Port(direction, array, view, binding, inside, (1, view.size), (0, view.itemsize))


def _port(direction: int, array: int, all_: View, kind: str, binding: int) -> Port:
    """Return a port of an array with lanes first or last."""
    if kind == LAST:
        return _plain(direction, array, View.in_c_order(all_.shape[:-1], all_.dtype), binding)
    view = View.in_c_order(all_.shape[1:], all_.dtype)
    return Port(direction, array, view, binding, 0, (1, 1), (0, view.nbytes), is_stack=True)


class LaneProgram(Program):
    """Base class of programs over lanes; the other base class is the program of one instance.

    Attributes
    ----------
    widened
        The recording over lanes.
    ports, port_fields
        Elements that are copied in and out; the same in structs for compiled code.
    mask
        Offset in the workspace of a byte for each lane, set by failing guards.
    rows
        Runs of the second stream, with a seed each.
    """

    def __init__(self, widened: Widened, spec: ProgramSpec, fusion: str = NEVER) -> None:
        self.widened = widened
        self._lanes = widened.lanes
        tape = widened.tape
        super().__init__(WidenedTape(widened.recording, tape, widened.kept), tape, spec, fusion)
        self.mask = self._offset(self._mask)
        self.rows = math.prod(self._of_instance(self.outputs[0]).shape) if self._runs_again else 1
        self.ports = self._given_ports() + self._result_ports()
        self.port_fields = self._fields_of_ports()

    # --- the workspace -----------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        super()._allocate()
        self._mask = int(self._blocks.new([self._lanes])[0])

    def _keep_blocks(self) -> None:
        super()._keep_blocks()
        self._blocks.keep([self._mask], 0, self._end)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        for stream in (self.forward, self.reverse):
            for row in np.flatnonzero(np.isin(stream.number, list(self.widened.by_lane))).tolist():
                self._run_by_lane(stream, row)

    def _run_by_lane(self, stream: InstructionStream, row: int) -> None:
        """Replace the kernel of a row by one that runs it for one lane after another."""
        frame, op = stream.frames[row], int(stream.op[row])
        steps, over_lanes = self.widened.by_lane[int(stream.number[row])], jacobian_columns.over_tangents
        named = op if op != NONE else int(self.tape.columns.op[stream.number[row]])
        kernel = int(stream.kernels[row]) or kernel_table.load_code(
            op, int(stream.variant[row]), int(stream.direction[row])
        )
        params = [self._lanes, kernel, int(frame[field.PARAMS])]
        if named in GUARDS:
            params.append(steps[0])
            frame[field.Y_BAR], over_lanes = self._mask, lanes.guard_over_lanes
        else:
            fields = range(field.X, field.Y_BAR + 1)  # addresses of primals, then of cotangents
            params += [step if frame[at] else 0 for at, step in zip(fields, steps * 2, strict=True)]
        kept = np.array(params, np.int64)
        stream.kept.append(kept)
        frame[field.PARAMS] = kept.ctypes.data
        stream.kernels[row] = kernel_table.address_of(over_lanes)
        stream.op[row] = NONE

    def _load_kernels(self) -> None:
        """Load the kernels. No row starts threads: threads share blocks of lanes."""
        super()._load_kernels()
        for stream in (self.forward, self.reverse):
            stream.thresholds[:] = 0

    # --- ports -------------------------------------------------------------------------------------------------------

    def _of_instance(self, view: View) -> View:
        """Return one instance's part of an array whose last dimension is the lanes."""
        return View.in_c_order(view.shape[:-1], view.dtype)

    def _given_ports(self) -> list[Port]:
        """Return the ports of the inputs, and of their tangents, which have the same layout."""
        inputs = range(len(self._inputs))
        found = []
        for k, (binding, of) in enumerate(zip(self.bindings, (*inputs, *self.spec.wrt), strict=False)):
            if k < len(inputs) and not self.widened.batched[k]:
                found.append(_plain(lanes.SHARED, k, binding, k))
            elif k < self.given:
                found.append(_port(lanes.TAKE, k, binding, self.widened.inputs[of], k))
        return found

    def _fields_of_ports(self) -> np.ndarray:
        fields = np.zeros((len(self.ports), lanes.PORT_FIELDS), np.int64)
        for row, port in zip(fields, self.ports, strict=True):
            row[lanes.DIRECTION], row[lanes.BINDING] = port.direction, port.binding
            row[lanes.ITEM] = port.view.nbytes if port.is_stack else port.view.itemsize
            row[lanes.OUTER], row[lanes.INNER] = port.shape
            row[lanes.OUTER_STEP], row[lanes.INNER_STEP] = port.steps
            row[lanes.LISTED] = port.listed
        return fields

    def _result_ports(self) -> list[Port]:
        """Return the ports of the results, in their order: those in memory of the workspace come first."""
        found = [
            _plain(lanes.GIVE, k, self._of_instance(view), -1, offset)
            for k, (offset, view) in enumerate(self.workspace_outputs())
        ]
        bindings = enumerate(self.bindings[self.given :])
        return found + [
            _port(lanes.GIVE, len(found) + k, binding, kind, self.given + k)
            for (k, binding), kind in zip(bindings, self._result_kinds(), strict=True)
        ]

    def _result_kinds(self) -> list[str]:
        """Return the axis of the lanes for each binding that is a result."""
        outputs = [*self.widened.outputs]
        return outputs * ((len(self.bindings) - self.given) // max(len(outputs), 1))


class TangentLanes(LaneProgram, TangentProgram):
    """Tangents of all outputs along given tangents of the inputs."""


class GradientLanes(LaneProgram, GradientProgram):
    """Value and gradient of the first output, a single number."""

    def _result_kinds(self) -> list[str]:
        others = self.widened.outputs[1:] if self.spec.values else ()
        return [*others, *(self.widened.inputs[k] for k in self.spec.wrt)]


class ReverseJacobianLanes(GradientLanes, ReverseJacobianProgram):
    """Jacobian of the first output, row by row."""


class ForwardJacobianLanes(LaneProgram, ColumnsProgram):
    """Jacobian of the first output, column by column, copied from the memory of the tangents."""

    def _result_ports(self) -> list[Port]:
        found = super()._result_ports()
        for k, buffer in enumerate(self._wrt, len(found)):
            found += self._columns_ports(k, buffer)
        return found

    def _columns_ports(self, array: int, wrt: int) -> list[Port]:
        """Return the ports of the Jacobian by an input: one for each run of nonzero columns."""
        output, by = self._of_instance(self.outputs[0]), self._by[wrt]
        jacobian = View.in_c_order((*output.shape, *by.shape), output.dtype)
        found = [Port(lanes.GIVE, array, jacobian)]
        for _, column, index, count in self._columns_of(wrt):
            inside = self._offset(self._kept_addresses()[0]) + index * self.tape.bytes(self._outputs[0])
            shape, item = (count, output.size), output.itemsize
            steps = item, by.size * item
            found.append(Port(lanes.GIVE, array, jacobian, -1, inside, shape, steps, column * item))
        return found


class CompressedLanes(ForwardJacobianLanes, CompressedJacobianProgram):
    """Jacobian of the first output by columns that share tangents, whose entries are copied from their memory."""

    def _columns_ports(self, array: int, wrt: int) -> list[Port]:
        jacobian = View.in_c_order(
            (*self._of_instance(self.outputs[0]).shape, *self._by[wrt].shape), self.outputs[0].dtype
        )
        listed = np.ascontiguousarray(self._entries_of(wrt).T * [1, jacobian.itemsize])
        self._kept.append(listed)
        entries = Port(
            lanes.GIVE,
            array,
            jacobian,
            -1,
            self._offset(self._kept_addresses()[0]),
            (len(listed), 1),
            listed=int(listed.ctypes.data),
        )
        return [Port(lanes.GIVE, array, jacobian), entries]  # zeros, then what is other than zero


_PROGRAMS: dict[str, type[LaneProgram]] = {
    FORWARD: LaneProgram,
    VALUE_AND_GRAD: GradientLanes,
    JACREV: ReverseJacobianLanes,
    JVP: TangentLanes,
    JACFWD: ForwardJacobianLanes,
}


def lane_program(widened: Widened, spec: ProgramSpec, fusion: str = NEVER) -> LaneProgram:
    """Return the program of a recording over lanes for a spec."""
    made = _PROGRAMS[spec.kind] if spec.shared is None else CompressedLanes
    return made(widened, spec, fusion)


class LaneWorkspace(Uncopied):
    """Workspace of a program over lanes, with memory for the elements of its ports.

    Attributes
    ----------
    program
        The program.
    address
        Address of the struct that compiled code receives.
    bytes
        Size of the memory.
    inside
        For each port of the program, the address of its elements with lanes.
    """

    __slots__ = ("_keep", "address", "bytes", "inside", "program")

    def __init__(self, program: LaneProgram) -> None:
        self.program = program
        memory = [_aligned(_inside_bytes(program, port)) for port in program.ports]
        ports = list(zip(program.ports, (part.ctypes.data for part in memory), strict=True))
        bound = {port.binding: start for port, start in ports if _has_memory(port)}
        workspace = Workspace(program, bound)
        inside = [start if port.binding >= 0 else workspace.base + port.inside for port, start in ports]
        self.inside = np.array(inside, np.int64)
        fields = _aligned(8 * lanes.WORKSPACE_FIELDS).view(np.int64)
        fields[:] = 0
        fields[lanes.PROGRAM], fields[lanes.MASK] = workspace.address, workspace.base + program.mask
        fields[lanes.WIDTH], fields[lanes.INSIDE] = program.widened.lanes, self.inside.ctypes.data
        self.address = int(fields.ctypes.data)
        self.bytes = workspace.bytes + sum(part.nbytes for part in memory)
        self._keep = (workspace, memory, fields)


def _has_memory(port: Port) -> bool:
    """Return whether a port has memory of its own, beside that of the program and of the caller."""
    return port.binding >= 0 and port.direction != lanes.SHARED


def _inside_bytes(program: LaneProgram, port: Port) -> int:
    return program.bindings[port.binding].nbytes if _has_memory(port) else 0


def _aligned(bytes_: int) -> np.ndarray:
    """Return memory that begins with a cache line."""
    memory = np.empty(bytes_ + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + bytes_]
