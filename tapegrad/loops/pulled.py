"""Pullback of a loop as one instruction: inside of recordings, too, its number of iterations is data.

Its own derivatives are pullbacks of another loop, which has tangents in its carry: with the cotangents y_bar of the
results, and x_dot for the tangents of the operands,

    x_bar' x_dot  =  the pullback of (y, y_dot) by x  at the cotangents (y_bar', y_bar),

where y_bar' is the tangent of y_bar. The transposed product has the same terms, and y_dot for the cotangent of y_bar.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.control.callback import CELL_FIELDS, FORWARD
from tapegrad.engine.sweep.replays import loop_calls
from tapegrad.errors import OuterTensorError
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.loops.loop_op import LoopOp, UnsharedOp
from tapegrad.transforms.jit import jit
from tapegrad.transforms.vjp import vjp

Pushed = Callable[[LoopOp, Any, Any], tuple[list[Any], list[Any]]]


class PulledOp(UnsharedOp):
    """Instruction of the pullback of a loop. Operands: those of the loop, its results, and their cotangents.

    Parameters
    ----------
    op
        The loop.
    pushed
        Returns the results of the loop that are floats, and their tangents, of operands and their tangents on Tensors.
    """

    def __init__(self, op: LoopOp, pushed: Pushed) -> None:
        self._op, self._pushed = op, pushed
        self._operands = max(1, len(op.table.leaves))
        self._results = len(op.body.results) + 2
        self._recorded_vjp, self._recorded_jvp = jit(self._pull), jit(self._push)
        super().__init__(Functions(f"pullback of {op.name}", self._forward, self._vjp, self._jvp, True))

    def _prepare(self, call: Call) -> None:
        call.descriptor[CELL_FIELDS] = self._op.table.address
        call.descriptor[FORWARD] = kernel_table.address_of(loop_calls.pull_to_result)

    def _parts(self, values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return operands, results, and cotangents of the loop."""
        end = self._operands + self._results
        return values[: self._operands], values[self._operands : end], values[end:]

    def _forward(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        xs, ys, y_bars = self._parts(arrays)
        return self._op.pulled_back(y_bars, ys, xs)

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
                f"{self._op.name}: for a second derivative it is recorded once more, but it indexes a Tensor of the"
                " function around, whose recording is over; pass the Tensor as an argument (args=), or index it before"
            ) from None

    def _pull(self, x_bar_bars: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        xs, ys, y_bars = self._parts(values)
        found, dots = self._along(xs, x_bar_bars, [None] * len(ys), y_bars)
        none = [from_array(np.zeros(y.shape, y.dtype), constant=True) for y in ys]
        of_bars = list(none)
        for k, dot in zip(self._op.body.float_results, dots, strict=True):
            of_bars[k] = dot
        return (*found, *none, *of_bars)

    def _push(self, dots: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        xs, _, y_bars = self._parts(values)
        of_xs, _, of_bars = self._parts(dots)
        return self._along(xs, of_xs, of_bars, y_bars)[0]

    def _along(
        self, xs: Sequence[Any], x_dots: Sequence[Any], bars: Sequence[Any], y_bars: Sequence[Any]
    ) -> tuple[tuple[Any, ...], list[Any]]:
        """Return the pullback of results and tangents along a direction, and the tangents."""

        def along(*xs: Any) -> tuple[Any, ...]:
            values, dots = self._pushed(self._op, x_dots, xs)
            return (*map(_tensor, values), *map(_tensor, dots))

        results, pull = vjp(along, *xs)
        floats = self._op.body.float_results
        count = len(floats)
        seeds = [bars[k] for k in floats], [y_bars[k] for k in floats]
        typed = [
            np.zeros(y.shape, y.dtype)
            if bar is None
            else bar
            if bar.dtype == y.dtype
            else bar.astype(y.dtype)
            for y, bar in zip(results, [*seeds[0], *seeds[1]], strict=True)
        ]
        return tuple(pull(tuple(typed))), list(results[count:])


def _tensor(value: Any) -> Any:
    return value if is_tensor(value) else from_array(np.asarray(value), constant=True)
