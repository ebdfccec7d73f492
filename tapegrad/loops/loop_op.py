"""Loop as one instruction: a custom op whose compiled functions run the programs of a body.

Its operands are the leaves of carry, sequences and constants, floats of float64 or float32; integers and booleans are
such floats, and exact. If a run stops because an iteration takes another branch than those that were recorded, the
body is recorded for that branch, and the run is repeated.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call, CallHandle
from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.autodiff.custom.packing import common_dtype
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.control.callback import (
    CELL_FIELDS,
    DESCRIPTOR_FIELDS,
    FORWARD,
    REVERSE,
    TANGENT,
)
from tapegrad.engine.kernels.language import frame as frame_field
from tapegrad.engine.kernels.language.status import (
    CALL_FAILED,
    GUARD_FAILED,
    INTERRUPTED,
    LARGE_INTEGER,
    OUT_OF_MEMORY,
    OUT_OF_RANGE,
    TOO_MANY_ITERATIONS,
)
from tapegrad.engine.status import error_of_matrices, reason_of
from tapegrad.engine.sweep.replays import loop_calls
from tapegrad.engine.sweep.replays import loop_fields as field
from tapegrad.engine.tape.tape import fields_at
from tapegrad.errors import UnrecordedWayError
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.loops.body import LoopBody
from tapegrad.loops.programs import BodyPrograms
from tapegrad.loops.table import LoopShape, LoopTable
from tapegrad.program.recording.recording import part_key

_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_ENTRIES = {FORWARD: loop_calls.run_loop, REVERSE: loop_calls.pull_loop, TANGENT: loop_calls.push_loop}
PROGRAMS = {
    FORWARD: (field.CONDITION, field.VALUES),
    REVERSE: (field.CONDITION, field.VALUES, field.PULLBACK),
    TANGENT: (field.CONDITION, field.VALUES, field.TANGENTS),
}
_FLOAT64 = np.dtype(np.float64)


class UnsharedOp(CustomOp):
    """Custom op of one call, which instructions alone keep alive: it keeps no handle, which would lead back to it."""

    def _handle(self, key: Any, statics: Any) -> Tensor:
        """Return a new handle, whose call compiled code can run."""
        handle = self._new_handle(key, statics)
        own = handle.data_or_traced()
        assert isinstance(own, CallHandle)
        self.prepare(own.call)
        return handle

    def prepare(self, call: Call) -> None:
        """Write the addresses of compiled functions to the descriptor of a call."""
        raise NotImplementedError


class LoopOp(UnsharedOp):
    """Instruction of a loop.

    Parameters
    ----------
    name
        What messages call it.
    body, condition
        The functions.
    shape
        Length and direction, and how the leaves are used; the dtype is that of the packed arrays.
    derivatives
        Its vjp and jvp on Tensors.
    each
        Iterations of the user's that are one of these, for messages.
    shown
        Body of one of the user's iterations, if these are several.
    """

    def __init__(
        self,
        name: str,
        body: BodyPrograms,
        condition: BodyPrograms | None,
        shape: LoopShape,
        derivatives: Any,
        each: int,
        shown: LoopBody | None,
    ) -> None:
        self.each, self._shown = each, shown
        self.body, self.condition, self.loop_shape, self._derivatives = body, condition, shape, derivatives
        self.sequences, self.packed_dtype = shape.sequences, shape.dtype
        self.lifted: list[Tensor] = []
        self._calls: list[Call] = []
        constants = self._united(body), [] if condition is None else self._united(condition)
        self.table = LoopTable(shape, body, condition, constants)
        super().__init__(Functions(name, self._forward, self._vjp, self._jvp, True, self._listing, self))

    def _listing(self) -> list[str]:
        """Return the lines of a printed tape that show the condition and the body."""
        shape, each = self.loop_shape, f", {self.each} iterations each" if self.each > 1 else ""
        runs = "while condition" if self.condition else f"{shape.length} times{each}"
        elements = (
            f"; elements x{shape.carry} to x{shape.carry + shape.sequences - 1}" if shape.sequences else ""
        )
        carry = f"carry x0 to x{shape.carry - 1}" if shape.carry else "no carry"
        lines = [f"{runs}: {carry}{elements}"]
        for title, body in (("condition", self.condition), ("body", self._shown or self.body)):
            if body is not None:
                own = str(body.traces[0].recording).split("\nsegments")[0].split("\n")
                lines += [f"{title}", *(f"    {line}" for line in own)]
        return lines

    def _united(self, body: Any) -> list[int]:
        """Return for each Tensor from outside its number among those of the loop."""
        numbers = []
        for tensor in body.lifted:
            key = part_key(tensor)
            known = [k for k, other in enumerate(self.lifted) if part_key(other) == key]
            if not known:
                self.lifted.append(tensor)
            numbers.append(known[0] if known else len(self.lifted) - 1)
        return numbers

    def prepare(self, call: Call) -> None:
        self._install(call, FORWARD)
        self._calls.append(call)

    def _install(self, call: Call, direction: int) -> None:
        """Let compiled code run the loop in a direction."""
        call.descriptor[CELL_FIELDS] = self.table.address
        call.descriptor[direction] = kernel_table.address_of(_ENTRIES[direction])

    # --- runs ------------------------------------------------------------------------------------------------------

    def _run(self, direction: int, frame: np.ndarray) -> None:
        """Run the loop; record the branches that its iterations take and that are not known."""
        self.table.load(*PROGRAMS[direction])
        descriptor = np.zeros(DESCRIPTOR_FIELDS, np.int64)
        descriptor[CELL_FIELDS] = self.table.address
        run = _RUN(kernel_table.address_of(_ENTRIES[direction]))
        while True:
            status = run(int(frame.ctypes.data), int(descriptor.ctypes.data))
            if status == 0:
                break
            if status != GUARD_FAILED or not self._record_branch(frame):
                raise self.body.explained(self._error(status))
        for call in self._calls:
            self._install(call, direction)

    def _record_branch(self, frame: np.ndarray) -> bool:
        """Record the functions for the iteration that took an unknown branch. Return whether that was new."""
        iteration, carry = self.table.failure()
        shape, table = self.loop_shape, self.table
        x = fields_at(int(frame[frame_field.X]), table.operand_size, shape.dtype)
        at = self._element_of(iteration, carry)
        arguments = shape.carry + shape.sequences
        leaves = [
            self._leaf(x, k, at if shape.carry <= k < arguments else 0) for k in range(len(table.leaves))
        ]
        elements, constants = leaves[shape.carry : arguments], leaves[arguments:]
        of_body, of_condition = ([constants[number] for number in numbers] for numbers in table.constants)
        condition, body = self.condition, self.body
        assert isinstance(body, LoopBody)
        found = isinstance(condition, LoopBody) and condition.add(carry, of_condition)
        goes_on = not shape.is_counted or iteration < shape.length
        found = (goes_on and body.add([*carry, *elements], of_body)) or found
        if found:
            self.table.renew()
        return found

    def _element_of(self, iteration: int, carry: Sequence[np.ndarray]) -> int:
        """Return the element of the sequences that an iteration takes."""
        shape = self.loop_shape
        if shape.cursor >= 0:
            return int(np.clip(carry[shape.cursor], 0, shape.length - 1))
        return shape.length - 1 - iteration if shape.reverse else iteration

    def _leaf(self, x: np.ndarray, k: int, at: int) -> np.ndarray:
        """Return operand k of the packed operands; of a sequence the element at a position."""
        view = self.table.leaves[k]
        begin = self.table.starts[k] + at * view.size
        return x[begin : begin + view.size].astype(view.dtype).reshape(view.shape)

    def _error(self, status: int) -> BaseException:
        """Return the exception for a status."""
        name = self.functions.name
        if status == INTERRUPTED:
            return KeyboardInterrupt()
        if status == CALL_FAILED:
            return failure()
        iteration = self._iteration_text()
        if status == TOO_MANY_ITERATIONS:
            return RuntimeError(
                f"{name}: the condition is still true after max_steps={self.loop_shape.most} iterations"
            )
        if status == LARGE_INTEGER:
            return OverflowError(
                f"{name}: in {iteration} an integer of the carry or of the stacked results is 2**53 or"
                " larger in size; make it a float, or keep it smaller"
            )
        if status == OUT_OF_MEMORY:
            return MemoryError(f"{name}: not enough memory for the carries")
        if status == GUARD_FAILED:
            return UnrecordedWayError(f"{name}: {iteration} takes a branch that was not recorded")
        where = f"{name}, {iteration}"
        if status == OUT_OF_RANGE:
            return IndexError(f"{where}: {reason_of(status)}")
        return error_of_matrices(status, where) or RuntimeError(f"{where}: {reason_of(status) or status}")

    def _iteration_text(self) -> str:
        """Return the iteration, counted in the order of execution, that the last run has failed in."""
        iteration, _ = self.table.failure()
        first = iteration * self.each
        return (
            f"iteration {first}"
            if self.each == 1
            else f"one of iterations {first} to {first + self.each - 1}"
        )

    def _frame(self, **arrays: np.ndarray) -> np.ndarray:
        """Return a frame whose fields lead to arrays."""
        frame = np.zeros(frame_field.FIELDS, np.int64)
        for name, array in arrays.items():
            frame[getattr(frame_field, name)] = array.ctypes.data
        return frame

    def _packed(self, arrays: Sequence[Any], size: int) -> np.ndarray:
        """Return arrays in one flat array."""
        flat = np.zeros(size, self.loop_shape.dtype)
        pieces = [np.asarray(array).reshape(-1) for array in arrays]
        # without any elements, there is room for one
        np.concatenate(pieces, out=flat[: sum(piece.size for piece in pieces)])
        return flat

    def _forward(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        x = self._packed(arrays, self.table.operand_size)
        y = np.zeros(self.table.result_size, self.loop_shape.dtype)
        self._run(FORWARD, self._frame(X=x, Y=y))
        return self._unpacked(y, self.result_shapes)

    def _vjp(self, y_bars: Any, ys: Any, *xs: Any) -> tuple[Any, ...]:
        if any(map(is_tensor, (*y_bars, *xs))):
            found: tuple[Any, ...] = self._derivatives.vjp(self, y_bars, ys, xs)
            return found
        return self.pulled_back(y_bars, ys, xs)

    def pulled_back(self, y_bars: Any, ys: Any, xs: Any) -> tuple[np.ndarray, ...]:
        """Return the cotangents of the operands, of arrays."""
        x = self._packed(xs, self.table.operand_size)
        y, y_bar = self._packed(ys, self.table.result_size), self._packed(y_bars, self.table.result_size)
        x_bar = np.zeros(self.table.operand_size, self.loop_shape.dtype)
        self._run(REVERSE, self._frame(X=x, Y=y, Y_BAR=y_bar, X_BAR=x_bar))
        found = self._unpacked(x_bar, [x.shape for x in xs])
        return tuple(bar.astype(x.dtype, copy=False) for bar, x in zip(found, xs, strict=True))

    def _jvp(self, x_dots: Any, ys: Any, *xs: Any) -> tuple[Any, ...]:
        if any(map(is_tensor, (*x_dots, *xs))):
            found: tuple[Any, ...] = self._derivatives.jvp(self, x_dots, ys, xs)
            return found
        x, x_dot = self._packed(xs, self.table.operand_size), self._packed(x_dots, self.table.operand_size)
        y_dot = np.zeros(self.table.result_size, self.loop_shape.dtype)
        self._run(TANGENT, self._frame(X=x, X_BAR=x_dot, Y_BAR=y_dot))
        return self._unpacked(y_dot, self.result_shapes)

    @property
    def result_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the results: last carry, stacked ones, number of iterations, stored carries."""
        shape, views = self.loop_shape, self.body.results
        stacked = [(shape.length, *view.shape) for view in views[shape.carry :]]
        return [*(view.shape for view in views[: shape.carry]), *stacked, (), (self.table.stored_size,)]

    def _unpacked(self, flat: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
        arrays, start = [], 0
        for shape in shapes:
            size = int(np.prod(shape, dtype=int))
            arrays.append(flat[start : start + size].reshape(shape))
            start += size
        return tuple(arrays)


def packed_dtype(views: Sequence[Any], counts: bool) -> np.dtype[Any]:
    """Return the dtype of the packed arrays: float32 if all leaves are, otherwise float64."""
    kinds = {view.dtype if view.dtype.kind == "f" else _FLOAT64 for view in views}
    return common_dtype({*kinds, _FLOAT64} if counts or not kinds else kinds)
