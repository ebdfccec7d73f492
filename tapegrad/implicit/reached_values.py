"""Identity op whose derivatives raise, or are nan over lanes, for outputs that the solver did not reach."""

from abc import abstractmethod
from typing import Any

import numpy as np

from tapegrad.autodiff.custom import callbacks
from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.packing import ArraySpec
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.control.callback import CELL_FIELDS, FORWARD, REVERSE
from tapegrad.engine.sweep.replays import reached_calls
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.loop_op import UnsharedOp
from tapegrad.program.archive.contents import Contents


def raises() -> bool:
    """Return whether a derivative by what was not reached raises: it is nan over `vmap`, and in ``errstate("nan")``."""
    recorder = thread.mode.recorder  # in which `vmap` has one instance after another
    return not thread.mode.nan_on_failure and (recorder is None or recorder not in thread.over_lanes)


class ReachedValues(UnsharedOp):
    """Instruction that hands values on, and derivatives by those that were reached.

    Its operands are the values, and what tells whether they were reached. Over lanes it is one that is not strict: what
    an instance has not reached must not stop the others.

    Parameters
    ----------
    shape
        Shape of the values.
    of_cotangents
        Whether it hands on their cotangents, which are operands before the values then.
    is_strict
        Whether a derivative that does not exist raises; otherwise it is nan.
    """

    solver: str  # in the names of the instructions
    failed = (
        -1
    )  # see `reached_calls`: number of the element after the values that is not zero if none was reached

    def __init__(self, shape: tuple[int, ...], of_cotangents: bool = False, is_strict: bool = True) -> None:
        self.shape_of_values, self.of_cotangents, self.is_strict = tuple(shape), of_cotangents, is_strict
        self._kept: list[np.ndarray] = []
        pull, push = (self._passed, self._pushed) if of_cotangents else (self._pull, self._push)
        what = "derivative" if of_cotangents else "outputs"
        super().__init__(Functions(f"{what} of {self.solver}", self._forward, pull, push, True, op=self))

    @abstractmethod
    def error(self, duals: Any, ys: Any, *rest: Any) -> BaseException | None:
        """Return the exception for cotangents or tangents of values that were not reached, if there are some."""

    def prepare(self, call: Call) -> None:
        size = int(np.prod(self.shape_of_values, dtype=int))
        failed = -1 if self.failed < 0 else size + self.failed
        fields = np.array([size, call.x_size, DTYPE_CODES[call.dtype], self.is_strict, failed], np.int64)
        self._kept.append(fields)
        forward = reached_calls.hand_on_cotangents if self.of_cotangents else reached_calls.hand_on_outputs
        call.descriptor[CELL_FIELDS] = fields.ctypes.data
        call.descriptor[FORWARD] = kernel_table.address_of(forward)
        if not self.of_cotangents:
            call.descriptor[REVERSE] = kernel_table.address_of(reached_calls.pull_outputs)
        if self.is_strict:
            other = type(self)(self.shape_of_values, self.of_cotangents, False)
            call.over_lanes = other.call_for(call.inputs, call.outputs, call)

    def call_for(
        self, inputs: tuple[ArraySpec, ...], outputs: tuple[ArraySpec, ...], like: Any = None
    ) -> Call:
        """Return a call for given operands, in the dtype of another call, or else of float64."""
        dtype = np.dtype(float) if like is None else like.dtype
        made = Call(self.functions, 0 if like is None else like.number, {}, inputs, outputs, True, dtype)
        callbacks.install(made)
        self.prepare(made)
        return made

    def _forward(self, values: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        if self.of_cotangents:
            return self._checked_arrays(values, *rest)
        return values.copy()

    def _pull(self, y_bar: Any, _: Any, ys: Any, *rest: Any) -> tuple[Any, ...]:
        return self._checked(y_bar, ys, rest), *(None for _ in rest)

    def _push(self, x_dots: Any, _: Any, ys: Any, *rest: Any) -> Any:
        return self._checked(x_dots[0], ys, rest)

    def _passed(self, y_bar: Any, _: Any, bars: Any, *rest: Any) -> tuple[Any, ...]:
        return y_bar, *(None for _ in rest)

    def _pushed(self, x_dots: Any, *_: Any) -> Any:
        return x_dots[0]

    def _checked(self, duals: Any, ys: Any, rest: Any) -> Any:
        """Return cotangents or tangents of the values; raise if there are some of values that were not reached."""
        if any(map(is_tensor, (duals, ys, *rest))):
            return type(self)(self.shape_of_values, True, self.is_strict)(duals, ys, *rest)
        return self._checked_arrays(duals, ys, *rest)

    def _checked_arrays(self, duals: np.ndarray, ys: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        # What `vmap` records, or calls for one instance after another, stands for others, too
        if self.is_strict and not thread.over_lanes:
            error = self.error(duals, ys, *rest)
            if error is not None:
                raise error
        if self.failed < 0 or not rest[self.failed]:
            return duals.copy()
        return np.where(duals != 0, np.nan, duals).astype(duals.dtype)


def packed(op: ReachedValues, contents: Contents) -> dict[str, Any]:
    """Return what a file says of an op."""
    return {"shape": list(op.shape_of_values), "cotangents": op.of_cotangents, "strict": op.is_strict}
