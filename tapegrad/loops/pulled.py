"""Pullback of a loop as one instruction: inside of recordings, too, its number of iterations is data.

Its own derivatives are those of the pullback by loops on Tensors, which is recorded for each number of iterations.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.control.callback import CELL_FIELDS, FORWARD, REVERSE
from tapegrad.engine.sweep.replays import loop_calls
from tapegrad.errors import OuterTensorError
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.loops.loop_op import PROGRAMS, LoopOp, UnsharedOp
from tapegrad.transforms.jit import jit
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

ByLoops = Callable[[LoopOp, Any, Any, Any], Sequence[Any]]


class PulledOp(UnsharedOp):
    """Instruction of the pullback of a loop. Operands: those of the loop, its results, and their cotangents.

    Parameters
    ----------
    op
        The loop.
    by_loops
        Returns the cotangents of the operands, on Tensors.
    """

    def __init__(self, op: LoopOp, by_loops: ByLoops) -> None:
        self.loop, self._by_loops = op, by_loops
        self._operands = max(1, len(op.table.leaves))
        self._results = len(op.body.results) + 2
        self._recorded_vjp, self._recorded_jvp = jit(self._pull), jit(self._push)
        name = f"pullback of {op.name}"
        super().__init__(Functions(name, self._forward, self._vjp, self._jvp, True, op=self))

    def prepare(self, call: Call) -> None:
        prepare_pullback(call, self.loop)

    def _parts(self, values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return operands, results, and cotangents of the loop."""
        end = self._operands + self._results
        return values[: self._operands], values[self._operands : end], values[end:]

    def _forward(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        xs, ys, y_bars = self._parts(arrays)
        return self.loop.pulled_back(y_bars, ys, xs)

    # --- derivatives -----------------------------------------------------------------------------------------------

    def _vjp(self, x_bar_bars: Any, x_bars: Any, *values: Any) -> Any:
        if any(map(is_tensor, (*x_bar_bars, *values))):
            return self._pull(tuple(x_bar_bars), values)
        return self._replayed(self._recorded_vjp, x_bar_bars, values)

    def _jvp(self, dots: Any, x_bars: Any, *values: Any) -> Any:
        if any(map(is_tensor, (*dots, *values))):
            return self._push(tuple(dots), values)
        return self._replayed(self._recorded_jvp, dots, values)

    def _replayed(self, function: Callable[..., Any], duals: Any, values: Sequence[Any]) -> Any:
        """Call a derivative of the pullback, which records the loop once more if it has not met such arguments."""
        try:
            return function(tuple(duals), values)
        except ValueError as error:
            if "reaches outside of the memory" not in str(error):
                raise
            raise OuterTensorError(
                f"{self.loop.name}: for a second derivative it is recorded once more, but it indexes a Tensor of the"
                " function around, whose recording is over; pass the Tensor as an argument (args=), or index it before"
            ) from None

    def _pull(self, x_bar_bars: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        xs, ys, y_bars = self._parts(values)
        _, pull = vjp(self._cotangents(ys), *xs, *y_bars)
        found = pull(x_bar_bars)
        none = [from_array(np.zeros(y.shape, y.dtype), constant=True) for y in ys]
        return (*found[: len(xs)], *none, *found[len(xs) :])

    def _push(self, dots: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        xs, ys, y_bars = self._parts(values)
        of_xs, _, of_bars = self._parts(dots)
        found: tuple[Any, ...] = jvp(self._cotangents(ys), (*xs, *y_bars), (*of_xs, *of_bars))[1]
        return found

    def _cotangents(self, ys: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        """Return the pullback as a function of operands and cotangents."""

        def cotangents(*values: Any) -> tuple[Any, ...]:
            xs, y_bars = values[: self._operands], values[self._operands :]
            found = self._by_loops(self.loop, y_bars, ys, xs)
            return tuple(
                bar if is_tensor(bar) else from_array(np.asarray(bar, x.dtype), constant=True)
                for bar, x in zip(found, xs, strict=True)
            )

        return cotangents


def prepare_pullback(call: Call, loop: LoopOp) -> None:
    """Let compiled code run the pullback of a loop for a call."""
    loop.table.load(*PROGRAMS[REVERSE])
    call.descriptor[CELL_FIELDS] = loop.table.address
    call.descriptor[FORWARD] = kernel_table.address_of(loop_calls.pull_to_result)
