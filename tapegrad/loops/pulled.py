"""Pullback of a loop as one instruction: inside of recordings, too, its number of iterations is data.

It is linear in the cotangents: its derivative by these is the tangent of the loop. Its derivative by the operands is
symmetric, and so the pullback of that tangent, which is a loop itself, with tangents in the carry. So derivatives of
all orders are loops whose numbers of iterations are data.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.control.callback import CELL_FIELDS, FORWARD, REVERSE
from tapegrad.engine.sweep.replays import loop_calls
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.loops.loop_op import PROGRAMS, LoopOp, UnsharedOp
from tapegrad.transforms.jit import jit
from tapegrad.transforms.vjp import vjp

Tangents = Callable[[LoopOp, Any, Any, Any], Sequence[Any]]


class PulledOp(UnsharedOp):
    """Instruction of the pullback of a loop. Operands: those of the loop, its results, and their cotangents.

    Parameters
    ----------
    op
        The loop.
    tangents
        Returns the tangents of the loop's results, on Tensors.
    """

    def __init__(self, op: LoopOp, tangents: Tangents) -> None:
        self.loop, self._tangents = op, tangents
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
        return self._recorded_vjp(tuple(x_bar_bars), values)

    def _jvp(self, dots: Any, x_bars: Any, *values: Any) -> Any:
        if any(map(is_tensor, (*dots, *values))):
            return self._push(tuple(dots), values)
        return self._recorded_jvp(tuple(dots), values)

    def _pull(self, x_bar_bars: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        xs, ys, y_bars = self._parts(values)
        y_dots, found = self._mixed(x_bar_bars, xs, ys, y_bars)
        none = [from_array(np.zeros(y.shape, y.dtype), constant=True) for y in ys]
        return (*found, *none, *y_dots)

    def _push(self, dots: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
        xs, ys, y_bars = self._parts(values)
        of_xs, _, of_bars = self._parts(dots)
        _, found = self._mixed(of_xs, xs, ys, y_bars)
        own = self(*xs, *ys, *of_bars)
        own = own if isinstance(own, tuple) else (own,)
        return tuple(a + b for a, b in zip(own, found, strict=True))

    def _mixed(
        self, x_dots: Sequence[Any], xs: Sequence[Any], ys: Sequence[Any], y_bars: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the tangents of the loop's results, and the gradient of their product with `y_bars`."""

        def tangents(*xs: Any) -> tuple[Any, ...]:
            found = self._tangents(self.loop, x_dots, ys, xs)
            return tuple(
                y_dot if is_tensor(y_dot) else from_array(np.asarray(y_dot, y.dtype), constant=True)
                for y_dot, y in zip(found, ys, strict=True)
            )

        y_dots, pull = vjp(tangents, *xs)
        return y_dots, pull(tuple(y_bars))


def prepare_pullback(call: Call, loop: LoopOp) -> None:
    """Let compiled code run the pullback of a loop for a call."""
    loop.table.load(*PROGRAMS[REVERSE])
    call.descriptor[CELL_FIELDS] = loop.table.address
    call.descriptor[FORWARD] = kernel_table.address_of(loop_calls.pull_to_result)
