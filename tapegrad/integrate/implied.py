"""Roots that were found, and their derivatives by the implicit function theorem, in compiled code.

The root is handed on bit for bit. Its derivatives are those of the solution of ``residual(z, *operands) == 0`` near by,
with the matrix of the residual at the root itself; so they are exact where the residual is zero, to all orders.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.recording.shape import transpose
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.body import LoopBody, on_recording
from tapegrad.loops.loop_op import LoopOp, packed_dtype
from tapegrad.loops.programs import PULLBACK, TANGENTS
from tapegrad.loops.run import FlatLoop
from tapegrad.loops.table import LoopShape
from tapegrad.program.fusion.policy import fusion_of
from tapegrad.program.programs.handle import Handle
from tapegrad.program.recording.recording import RecordedTape, is_on
from tapegrad.program.streams.spec import NEVER
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

Residual = Callable[..., Any]


def implied(name: str, residual: Residual, matrix: Residual, root: Any, operands: Sequence[Any]) -> Any:
    """Return a root whose derivatives are those of the implicit function.

    Parameters
    ----------
    name
        What messages call it.
    residual
        Takes the root, of shape (m,), and the operands; returns shape (m,). It may use Tensors from outside.
    matrix
        Takes the same, and returns the derivatives of the residual by the root, of shape (m, m).
    root, operands
        The root, a constant, and Tensors of floats.
    """
    values = [root, *operands]
    body = _RootBody(residual, matrix, list(map(_array_of, values)))
    shape = LoopShape(0, len(values), 1, False, -1, 0, packed_dtype([*body.inputs, *body.results], False))
    op = LoopOp(name, body, None, shape, _RootDerivatives(body), 1, None)
    found = op(*(value[None] for value in values), *map(on_recording, op.lifted))
    return found[0][0].astype(root.dtype)


def _array_of(value: Any) -> np.ndarray:
    return np.array(value.data_or_traced() if is_tensor(value) else value, order="C")


class _RootBody(LoopBody):
    """Body that hands the root on, and whose pullback and tangent are rules."""

    def __init__(self, residual: Residual, matrix: Residual, arrays: Sequence[np.ndarray]) -> None:
        self.residual, self._matrix = residual, matrix
        self._rules: dict[int, LoopBody] = {}
        super().__init__(self._handed_on, residual, arrays, None)

    def _handed_on(self, root: Any, *operands: Any) -> list[Any]:
        self.residual(root, *operands)  # for the Tensors from outside, and the branches
        return [root]

    def add(self, arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray]) -> bool:
        """Record the residual for another branch, and the rules."""
        found = super().add(arrays, constants)
        for which, rule in self._rules.items():
            found = rule.add([*arrays, *constants, *self._duals(which)], ()) or found
        return found

    def handle(self, which: int) -> Handle:
        """Return the handle of a program."""
        if which not in (PULLBACK, TANGENTS):
            return super().handle(which)
        if which not in self._rules:
            rule = self.pull if which == PULLBACK else self.push
            arrays = [np.zeros(view.shape, view.dtype) for view in self.inputs]
            fuse = None if fusion_of(None) == NEVER else True
            self._rules[which] = LoopBody(rule, self.residual, [*arrays, *self._duals(which)], fuse)
        return self._rules[which].handle(0)

    def _duals(self, which: int) -> list[np.ndarray]:
        """Return arrays like the cotangents of the results, or the tangents of the operands."""
        views = self.results if which == PULLBACK else [self.inputs[k] for k in self.floats]
        return [np.zeros(view.shape, view.dtype) for view in views]

    def _call(self, function: Residual, root: Any, values: Sequence[Any]) -> Any:
        """Call a function of the user's with operands, and Tensors that stand for those from outside."""
        recorder = thread.mode.recorder
        assert isinstance(recorder, RecordedTape)
        own = len(values) - len(self.lifted)
        inner = [value if is_on(value, recorder) else recorder.lift(value) for value in values[own:]]
        with recorder.standing_in(self.lifted, inner):
            return function(root, *values[:own])

    def _of_floats(self, root: Any, values: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
        """Return the residual as a function of the operands that are floats, and those."""
        floats = self.floats[1:]

        def residual(*given: Any) -> Any:
            full = dict(zip(floats, given, strict=True))
            whole = [full.get(k, value) for k, value in enumerate(values, 1)]
            return self._call(self.residual, root, whole)

        return residual, [values[k - 1] for k in floats]

    @restoring
    def pull(self, root: Any, *rest: Any) -> list[Any]:
        """Return the cotangents of root and operands: ``-residual_bar(solve(matrix.T, root_bar))``."""
        *values, root_bar = rest
        # nan of a singular matrix: the rule may be recorded with arrays that stand for others
        thread.mode = thread.mode.but(nan_on_failure=True)
        residual, floats = self._of_floats(root, values)
        along = solve(transpose(self._call(self._matrix, root, values)), -root_bar)
        _, pull = vjp(residual, *floats)
        return [np.zeros(root.shape, root.dtype), *pull(along)]

    @restoring
    def push(self, root: Any, *rest: Any) -> list[Any]:
        """Return root and its tangent: ``-solve(matrix, residual_dot)``."""
        count = len(self.inputs) - 1
        values, (_, *dots) = rest[:count], rest[count:]
        thread.mode = thread.mode.but(nan_on_failure=True)
        residual, floats = self._of_floats(root, values)
        _, dot = jvp(residual, tuple(floats), tuple(dots))
        return [root, -solve(self._call(self._matrix, root, values), dot)]


class _RootDerivatives:
    """Pullback and tangent of a root, on Tensors: the rules as loops of one iteration."""

    def __init__(self, body: _RootBody) -> None:
        self._body = body

    def vjp(self, op: LoopOp, y_bars: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the cotangents of all operands."""
        found = self._run(op, self._body.pull, [*self._operands(op, ys, xs), y_bars[0]])
        given = dict(zip(self._body.floats, found, strict=True))
        bars = [given.get(k, np.zeros((1, *view.shape))) for k, view in enumerate(self._body.inputs)]
        return tuple(bar if k < op.sequences else bar[0] for k, bar in enumerate(bars))

    def jvp(self, op: LoopOp, x_dots: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the tangents of all results."""
        dots = [dot if k < op.sequences else dot[None] for k, dot in enumerate(x_dots)]
        dots = [dots[k] for k in self._body.floats]
        _, dot = self._run(op, self._body.push, [*self._operands(op, ys, xs), *dots])
        return (dot, *(np.zeros(y.shape, op.packed_dtype) for y in ys[1:]))

    def _operands(self, op: LoopOp, ys: Any, xs: Any) -> list[Any]:
        """Return root and operands with an axis of length 1, the root as the result that derivatives depend on."""
        return [ys[0], *xs[1 : op.sequences], *(x[None] for x in xs[op.sequences :])]

    def _run(self, op: LoopOp, rule: Residual, operands: Sequence[Any]) -> list[Any]:
        views = self._body.inputs
        typed = [
            value.astype(views[k].dtype) if k < len(views) and value.dtype != views[k].dtype else value
            for k, value in enumerate(operands)
        ]
        return FlatLoop(op.name, rule, self._body.residual, 0, 1)((), typed)[1]
