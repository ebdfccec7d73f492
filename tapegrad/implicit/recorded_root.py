"""Roots that were found as instructions, whose derivatives are rules in compiled code.

The root is handed on bit for bit. Its derivatives are those of the solution of ``residual(z, *operands) == 0`` near by,
with the Jacobian of the residual at the root itself; so they are exact where the residual is zero, to all orders.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.equation import Equation, undetermined
from tapegrad.loops.body import LoopBody, on_recording
from tapegrad.loops.loop_op import LoopOp, packed_dtype
from tapegrad.loops.programs import PULLBACK, TANGENTS
from tapegrad.loops.run import FlatLoop
from tapegrad.loops.table import LoopShape
from tapegrad.program.fusion.policy import fusion_of
from tapegrad.program.programs.handle import Handle
from tapegrad.program.recording.recording import RecordedTape, is_on
from tapegrad.program.streams.spec import NEVER


def implied(
    equation: Equation,
    root: Any,
    operands: Sequence[Any],
    seen: Any = None,
    nan_on_failure: bool = False,
) -> Any:
    """Return a root whose derivatives are those of the implicit function.

    Parameters
    ----------
    equation
        The equation. Its residual may use Tensors from outside.
    root, operands
        The root, a constant of shape (m,), and Tensors or arrays.
    seen
        Function of the user's, whose captured state must not change; by default the residual.
    nan_on_failure
        Whether derivatives are nan where the Jacobian is singular; otherwise they raise.
    """
    values = [root, *operands]
    nan_on_failure = nan_on_failure or thread.mode.nan_on_failure
    body = _RootBody(equation, seen or equation.residual, list(map(_array_of, values)), nan_on_failure)
    shape = LoopShape(0, len(values), 1, False, -1, 0, packed_dtype([*body.inputs, *body.results], False))
    op = _RootOp(equation.name, body, None, shape, _RootDerivatives(body), 1, None)
    found = op(*(value[None] for value in values), *map(on_recording, op.lifted))
    return found[0][0].astype(root.dtype)


def _array_of(value: Any) -> np.ndarray:
    return np.array(value.data_or_traced() if is_tensor(value) else value, order="C")


class _RootOp(LoopOp):
    """Instruction of a root."""

    def _error(self, status: int) -> BaseException:
        error = super()._error(status)
        return undetermined(self.name, error) if isinstance(error, LinAlgError) else error


class _RootBody(LoopBody):
    """Body that hands the root on, and whose pullback and tangent are rules."""

    def __init__(
        self, equation: Equation, seen: Any, arrays: Sequence[np.ndarray], nan_on_failure: bool
    ) -> None:
        self.equation, self.nan_on_failure = equation, nan_on_failure
        self._rules: dict[int, LoopBody] = {}
        self._examples = list(arrays)
        super().__init__(self._handed_on, seen, arrays, None)
        self._examples += [_array_of(tensor) for tensor in self.lifted]

    @property
    def seen(self) -> Any:
        """The user's function."""
        return self._seen

    def _handed_on(self, root: Any, *operands: Any) -> list[Any]:
        self.equation.residual(root, *operands)  # for the Tensors from outside, and the branches
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
            fuse = None if fusion_of(None) == NEVER else True
            # with the values of the first call: of others, such as zeros, the Jacobian may be singular
            self._rules[which] = LoopBody(rule, self._seen, [*self._examples, *self._duals(which)], fuse)
        return self._rules[which].handle(0)

    def _duals(self, which: int) -> list[np.ndarray]:
        """Return arrays like the cotangents of the results, or the tangents of the operands."""
        views = self.results if which == PULLBACK else [self.inputs[k] for k in self.floats]
        return [np.zeros(view.shape, view.dtype) for view in views]

    def _of_all(self, values: Sequence[Any]) -> Equation:
        """Return the equation with Tensors from outside as further operands."""
        own, equation = len(values) - len(self.lifted), self.equation

        def residual(root: Any, *operands: Any) -> Any:
            with self._standing_in(operands[own:]):
                return equation.residual(root, *operands[:own])

        def system(_: Any, root: Any, operands: Sequence[Any], right: Any, transposed: bool) -> Any:
            with self._standing_in(operands[own:]):
                return equation.system(equation.residual, root, operands[:own], right, transposed)

        return Equation(equation.name, residual, system)

    def _standing_in(self, values: Sequence[Any]) -> AbstractContextManager[None]:
        """Let values stand for the Tensors from outside."""
        recorder = thread.mode.recorder
        assert isinstance(recorder, RecordedTape)
        inner = [value if is_on(value, recorder) else recorder.lift(value) for value in values]
        return recorder.standing_in(self.lifted, inner)

    @property
    def _own_floats(self) -> list[int]:
        """Numbers of the operands after the root that are floats."""
        return [k - 1 for k in self.floats[1:]]

    @restoring
    def pull(self, root: Any, *rest: Any) -> list[Any]:
        """Return the cotangents of root and operands."""
        *values, root_bar = rest
        self._enter()
        found = self._of_all(values).pull(root, values, self._own_floats, root_bar)
        return [np.zeros(root.shape, root.dtype), *found]

    @restoring
    def push(self, root: Any, *rest: Any) -> list[Any]:
        """Return root and its tangent."""
        count = len(self.inputs) - 1
        values, (_, *dots) = rest[:count], rest[count:]
        self._enter()
        return [root, self._of_all(values).push(root, values, self._own_floats, dots)]

    def _enter(self) -> None:
        if self.nan_on_failure:
            thread.mode = thread.mode.but(nan_on_failure=True)


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

    def _run(self, op: LoopOp, rule: Callable[..., Any], operands: Sequence[Any]) -> list[Any]:
        views = self._body.inputs
        typed = [
            value.astype(views[k].dtype) if k < len(views) and value.dtype != views[k].dtype else value
            for k, value in enumerate(operands)
        ]
        return FlatLoop(op.name, rule, self._body.seen, 0, 1)((), typed)[1]
