"""Identity with custom derivative rules in compiled code, run as a loop of one iteration.

The rules are functions on Tensors. Pullback and tangent run their recordings; on Tensors the rules are called, so that
derivatives have derivatives of every order.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import is_complex
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.loops.body import LoopBody, on_recording, standing_in
from tapegrad.loops.loop_op import LoopOp, packed_dtype
from tapegrad.loops.programs import PULLBACK, TANGENTS
from tapegrad.loops.run import FlatLoop, array_of, float_operand
from tapegrad.loops.table import LoopShape
from tapegrad.program.fusion.policy import fusion_of
from tapegrad.program.programs.handle import Handle
from tapegrad.program.streams.spec import NEVER


class RuledBody(LoopBody):
    """Body that hands a value on, its first operand, and whose pullback and tangent are rules.

    Parameters
    ----------
    function
        Takes the operands. It is called for the Tensors from outside that it uses, and the branches that it takes.
    seen
        The function of the user's in it.
    operands
        The operands, the value first.
    nan_on_failure
        Whether derivatives are nan where a matrix is singular; otherwise they raise.
    """

    def __init__(
        self, function: Callable[..., Any], seen: Any, operands: Sequence[Any], nan_on_failure: bool = True
    ) -> None:
        self._function, self.seen, self._nan_on_failure = function, seen, nan_on_failure
        self._rules: dict[int, LoopBody] = {}
        self._examples = list(map(array_of, operands))
        super().__init__(self._handed_on, seen, self._examples, None)
        self.given = len(operands)
        for value in self._examples:
            if is_complex(value):
                raise UnsupportedError(
                    f"{self.name}: derivatives of solutions are by real numbers, not {value.dtype}: give"
                    " z.view(float), and write p.view(complex)[..., 0] in the function"
                )
        self._examples += [pairs_in(array_of(tensor)) for tensor in self.lifted]

    @abstractmethod
    def pull(self, *values: Any) -> Sequence[Any]:
        """Return the cotangents of all operands that are floats, given the operands and a cotangent of the value."""

    @abstractmethod
    def push(self, *values: Any) -> Sequence[Any]:
        """Return the value and its tangent, given the operands, and tangents of those that are floats."""

    def anew(self, *values: Any) -> Sequence[Any]:
        """Return all operands as functions of those that derivatives are taken by, for derivatives of the rules."""
        return values

    def _handed_on(self, *operands: Any) -> list[Any]:
        self._function(*operands)
        return [operands[0]]

    def add(self, arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray]) -> bool:
        """Record the function for another branch, and the rules."""
        found = super().add(arrays, constants)
        for which, rule in self._rules.items():
            found = rule.add([*arrays, *constants, *self._duals(which)], ()) or found
        return found

    def handle(self, which: int) -> Handle:
        """Return the handle of a program."""
        return self._rule(which).handle(0) if which in (PULLBACK, TANGENTS) else super().handle(which)

    def rules(self) -> list[LoopBody]:
        """Return pullback and tangents as functions: those of what hands the value on would be zero."""
        return [self._rule(PULLBACK), self._rule(TANGENTS)]

    def _rule(self, which: int) -> LoopBody:
        """Return a rule, recorded."""
        if which not in self._rules:
            fuse = None if fusion_of(None) == NEVER else True
            rule = self._in_dtypes(which, self._entered(self.pull if which == PULLBACK else self.push))
            # With the values of the first call: of others, such as zeros, a matrix may be singular
            self._rules[which] = LoopBody(rule, self.seen, [*self._examples, *self._duals(which)], fuse)
        return self._rules[which]

    def _entered(self, rule: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        @restoring
        def call(*values: Any) -> Sequence[Any]:
            if self._nan_on_failure:
                thread.mode = thread.mode.but(nan_on_failure=True)
            return rule(*values)

        return call

    def _in_dtypes(self, which: int, rule: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Return a rule whose results have the dtypes that their places in memory are for."""
        bars = [self.inputs[k].dtype for k in self.floats]
        dtypes = bars if which == PULLBACK else [view.dtype for view in (*self.results, *self.results)]

        def call(*values: Any) -> Sequence[Any]:
            found = zip(rule(*values), dtypes, strict=True)
            return [each if each.dtype == dtype else each.astype(dtype) for each, dtype in found]

        return call

    def on_tensors(self, which: int) -> Callable[..., Sequence[Any]]:
        """Return a rule as it is called with Tensors that derivatives are taken of."""
        rule = self.pull if which == PULLBACK else self.push
        count = len(self.inputs)

        def call(*values: Any) -> Sequence[Any]:
            return rule(*self.anew(*values[:count]), *values[count:])

        return self._entered(call)

    def _duals(self, which: int) -> list[np.ndarray]:
        """Return arrays like the cotangents of the results, or the tangents of the operands."""
        views = self.results if which == PULLBACK else [self.inputs[k] for k in self.floats]
        return [np.zeros(view.shape, view.dtype) for view in views]

    # --- for rules -----------------------------------------------------------------------------------------------

    def standing_in(self, outer: Sequence[Any]) -> AbstractContextManager[None]:
        """Let values stand for the Tensors from outside."""
        return standing_in(self.lifted, outer)


def ruled(name: str, body: RuledBody, operands: Sequence[Any]) -> Any:
    """Return the value that a body hands on, its first operand, as an instruction with derivatives by the rules."""
    views = [*body.inputs, *body.results]
    shape = LoopShape(0, len(operands), 1, False, -1, 0, packed_dtype(views, False))
    op = LoopOp(name, body, None, shape, _Derivatives(body), 1, None)
    outer = [float_operand(pairs_in(on_recording(tensor)), name) for tensor in op.lifted]
    found = op(*(float_operand(value, name)[None] for value in operands), *outer)
    return found[0][0].astype(body.results[0].dtype)


class _Derivatives:
    """Pullback and tangent of a value, on Tensors: the rules as loops of one iteration."""

    def __init__(self, body: RuledBody) -> None:
        self._body = body

    def vjp(self, op: LoopOp, y_bars: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the cotangents of all operands."""
        found = self._run(op, PULLBACK, [*self._operands(op, ys, xs), y_bars[0]])
        given = dict(zip(self._body.floats, found, strict=True))
        bars = [given.get(k, np.zeros((1, *view.shape))) for k, view in enumerate(self._body.inputs)]
        return tuple(bar if k < op.sequences else bar[0] for k, bar in enumerate(bars))

    def jvp(self, op: LoopOp, x_dots: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the tangents of all results."""
        dots = [dot if k < op.sequences else dot[None] for k, dot in enumerate(x_dots)]
        dots = [dots[k] for k in self._body.floats]
        _, dot = self._run(op, TANGENTS, [*self._operands(op, ys, xs), *dots])
        return (dot, *(np.zeros(y.shape, op.packed_dtype) for y in ys[1:]))

    def _operands(self, op: LoopOp, ys: Any, xs: Any) -> list[Any]:
        """Return the operands with an axis of length 1, the value as the result that derivatives depend on."""
        return [ys[0], *xs[1 : op.sequences], *(x[None] for x in xs[op.sequences :])]

    def _run(self, op: LoopOp, which: int, operands: Sequence[Any]) -> list[Any]:
        views = self._body.inputs
        typed = [x.astype(view.dtype, copy=False) for x, view in zip(operands, views, strict=False)]
        typed += operands[len(views) :]
        return FlatLoop(op.name, self._body.on_tensors(which), self._body.seen, 0, 1)((), typed)[1]
