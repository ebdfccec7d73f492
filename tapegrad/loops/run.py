"""Loops over flat leaves, which all faces are made of, and their derivatives on Tensors: loops again.

The pullback of a loop is one that stores its carry, then one in reverse over the pullback of the body; the tangent is a
loop with tangents in the carry. So derivatives have derivatives of every order.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.packing import EXACT
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.loops.body import Flat, LoopBody, MissingOperandError, on_recording, standing_in
from tapegrad.loops.loop_op import LoopOp, packed_dtype
from tapegrad.loops.pulled import PulledOp
from tapegrad.loops.table import LoopShape
from tapegrad.program.fusion.policy import fusion_of
from tapegrad.program.streams.spec import NEVER
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

# Iterations of a loop that is worth compiling: in eager code, and in a recording, which is replayed
_MIN_FUSED, _MIN_FUSED_RECORDED = 64, 16
# Iterations of a loop that takes several at a time, elements of its arrays, and how many it takes: instructions in all
_MIN_CHUNKED, _MAX_CHUNKED_ELEMENTS, _MAX_TOGETHER, _CHUNK_INSTRUCTIONS = 256, 16, 16, 512
_FLOAT64 = np.dtype(np.float64)


class _LoopsRun(threading.local):
    """Number of loops that a thread has run."""

    count = 0


loops_run = _LoopsRun()


@dataclass(frozen=True)
class FlatLoop:
    """Loop over flat leaves.

    Attributes
    ----------
    name
        What messages call it.
    flat, seen
        The body as a function of carry and elements, which returns carry and results; the user's function in it.
    condition, condition_seen
        The condition as a function of the carry, and the user's; `None` for a loop of so many iterations.
    carry
        Number of leaves of the carry.
    length, reverse, most, snapshots, cursor
        See `LoopShape`.
    each
        Iterations of the user's that are one of the instruction's.
    shown
        Body of one iteration of the user's, if these are several.
    pulled_at_once
        Whether the pullback on Tensors is one `PulledOp`, as it is if a condition ends the loop, or three loops.
    """

    name: str
    flat: Flat
    seen: Any
    carry: int
    length: int = -1
    reverse: bool = False
    most: int = -1
    snapshots: int = 0
    each: int = 1
    shown: LoopBody | None = None
    pulled_at_once: bool = False
    condition: Flat | None = None
    condition_seen: Any = None
    cursor: int = -1

    def __call__(
        self, carry: Sequence[Any], sequences: Sequence[Any], check: Callable[[LoopBody], None] | None = None
    ) -> tuple[list[Any], list[Any]]:
        """Run the loop. Return the leaves of the last carry, and stacked results."""
        loops_run.count += 1
        lifted: Sequence[Tensor] = ()
        branches: list[Any] = []
        while True:
            whole = self._recorded(carry, sequences, lifted)
            if check is not None:
                check(whole[0])
            together = self._together(whole[0])
            if together > 1:
                return chunked(replace(self, shown=whole[0]), together, carry, sequences)
            try:
                return self._run(carry, sequences, *whole)
            except MissingOperandError as error:
                if not error.lifted:
                    raise
                if error.outcomes in branches:
                    raise RuntimeError(
                        f"{self.name}: a branch of {whole[0].name} makes a Tensor with a gradient of its own in each"
                        " iteration; make it before the loop, or with constant=True"
                    ) from None
                lifted = error.lifted
                branches.append(error.outcomes)

    def _recorded(
        self, carry: Sequence[Any], sequences: Sequence[Any], lifted: Sequence[Tensor]
    ) -> tuple[LoopBody, LoopBody | None]:
        """Record body and condition, with Tensors from outside as operands."""
        first = [array_of(value) for value in carry]
        elements = [_first_element(value) for value in sequences]
        fuse = self._fuse()
        body = LoopBody(self.flat, self.seen, [*first, *elements], fuse, lifted)
        if self.condition is None:
            return body, None
        return body, LoopBody(self.condition, self.condition_seen, first, fuse, lifted)

    def _run(
        self, carry: Sequence[Any], sequences: Sequence[Any], body: LoopBody, condition: LoopBody | None
    ) -> tuple[list[Any], list[Any]]:
        """Run the recorded loop as an instruction."""
        views = [*body.inputs, *body.results, *(condition.inputs if condition else ())]
        dtype = packed_dtype(views, condition is not None)
        shape = LoopShape(
            len(carry), len(sequences), self.length, self.reverse, self.most, self.snapshots, dtype,
            tuple(not is_tensor(value) for value in sequences), self.cursor,
        )  # fmt: skip
        op = LoopOp(self.name, body, condition, shape, Derivatives(self), self.each, self.shown)
        operands = [
            float_operand(pairs_in(value), self.name)
            for value in (*carry, *sequences, *map(on_recording, op.lifted))
        ]
        *results, _, _ = _as_tuple(op(*(operands or [0.0])))
        made = body.seen_as([_restored(y, view.dtype) for y, view in zip(results, body.results, strict=True)])
        return made[: len(carry)], made[len(carry) :]

    def _fuse(self) -> bool | None:
        """Return whether the programs are fused at once: those of long loops are."""
        least = _MIN_FUSED if thread.mode.recorder is None else _MIN_FUSED_RECORDED
        long = self.condition is not None or self.length * self.each >= least
        return True if long and fusion_of(None) != NEVER else None

    def _together(self, body: LoopBody) -> int:
        """Return how many iterations are one of the instruction's: short ones cost more to begin than to compute.

        Sums over iterations are rounded in another order then, so that the number does not depend on what is fused.
        """
        counted = self.condition is None and self.each == 1
        long = counted and self.length >= _MIN_CHUNKED and not self.snapshots
        few = all(view.size <= _MAX_CHUNKED_ELEMENTS for view in (*body.inputs, *body.results))
        if not long or not few or body.branches or body.fits_registers:
            return 1
        return max(1, min(_MAX_TOGETHER, _CHUNK_INSTRUCTIONS // max(1, body.size)))


def chunked(
    loop: FlatLoop, together: int, carry: Sequence[Any], sequences: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Run a loop that takes several iterations at a time, and then the rest one by one."""
    count, rest = divmod(loop.length, together)
    order = range(together)[::-1] if loop.reverse else range(together)

    def body(*leaves: Any) -> list[Any]:
        state, chunks = list(leaves[: loop.carry]), leaves[loop.carry :]
        found: dict[int, Sequence[Any]] = {}
        for k in order:
            results = loop.flat(*state, *(chunk[k] for chunk in chunks))
            state, found[k] = list(results[: loop.carry]), results[loop.carry :]
        return [
            *state,
            *(stack(list(column)) for column in zip(*(found[k] for k in range(together)), strict=True)),
        ]

    begin = rest if loop.reverse else 0  # what is left over comes last
    end = begin + count * together
    main = [each[begin:end].reshape(count, together, *each.shape[1:]) for each in sequences]
    made = replace(loop, flat=body, length=count, each=together)
    last, stacked = made(carry, main)
    whole = [each.reshape(end - begin, *each.shape[2:]) for each in stacked]
    if not rest:
        return last, whole
    left = [each[:begin] if loop.reverse else each[end:] for each in sequences]
    last, others = replace(loop, length=rest, shown=None)(last, left)
    pairs = zip(whole, others, strict=True)
    return last, [concatenate([z, y] if loop.reverse else [y, z]) for y, z in pairs]


class Derivatives:
    """Pullback and tangent of a loop, on Tensors."""

    def __init__(self, loop: FlatLoop) -> None:
        self._loop = loop
        self._pulled: PulledOp | None = None

    def vjp(self, op: LoopOp, y_bars: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the cotangents of all operands."""
        if self._loop.pulled_at_once or self._loop.condition is not None:
            if self._pulled is None:
                self._pulled = PulledOp(op, self.jvp)
            found = self._pulled(*xs, *ys, *y_bars)
            return found if isinstance(found, tuple) else (found,)
        return self.by_loops(op, y_bars, ys, xs)

    def by_loops(self, op: LoopOp, y_bars: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the cotangents of all operands by loops of as many iterations, whose derivatives are known."""
        parts = _Parts(self._loop, op, xs)
        forward = replace(self._loop, snapshots=0)
        states = parts.states(forward)
        found = parts.pulled(forward, states, y_bars)
        return tuple(found)

    def jvp(self, op: LoopOp, x_dots: Any, ys: Any, xs: Any) -> tuple[Any, ...]:
        """Return the tangents of all results."""
        zeros = [from_array(np.zeros(y.shape, op.packed_dtype), constant=True) for y in ys[-2:]]
        found = _Parts(self._loop, op, xs).pushed(self._loop, x_dots)
        return (*(_restored(y_dot, op.packed_dtype) for y_dot in found), *zeros)  # float32 beside integers


class _Parts:
    """Operands of a loop as Tensors, taken apart."""

    def __init__(self, loop: FlatLoop, op: LoopOp, xs: Sequence[Any]) -> None:
        body: Any = op.body
        self._body, self._lifted = body, op.lifted
        self._flat: Flat = body.flat
        leaves = op.table.leaves
        restored = [_restored(x, leaf.dtype) for x, leaf in zip(xs[: len(leaves)], leaves, strict=True)]
        self._unused = len(xs) - len(leaves)  # an operand of a loop without any
        carry, self._arguments = loop.carry, loop.carry + op.sequences
        condition: Any = op.condition
        self._condition: Flat | None = None if condition is None else condition.flat
        self._carry, self._sequences = restored[:carry], restored[carry : self._arguments]
        self._constants = restored[self._arguments :]
        self._floats = [leaf.dtype.kind == "f" for leaf in leaves]
        self._leaves = leaves

    def _chosen(self, values: Sequence[Any], first: int = 0) -> list[Any]:
        """Return those of some operands that are floats."""
        return [value for k, value in enumerate(values, first) if self._floats[k]]

    def _call(
        self, leaves: Sequence[Any], constants: Sequence[Any], flat: Flat | None = None
    ) -> Sequence[Any]:
        """Call the body, or the condition, with Tensors that stand for those from outside."""
        with standing_in(self._lifted, constants):
            # a result may be a Tensor from outside itself
            return [on_recording(value) for value in (flat or self._flat)(*leaves)]

    def states(self, loop: FlatLoop) -> list[Any]:
        """Return the carry before each iteration, stacked."""
        count = loop.carry

        def body(*leaves: Any) -> list[Any]:
            before = [leaf.copy() for leaf in leaves[:count]]
            return [*self._call(leaves, self._constants)[:count], *before]

        return replace(loop, flat=body)(self._carry, self._sequences)[1]

    def pulled(self, loop: FlatLoop, states: list[Any], y_bars: Sequence[Any]) -> Iterator[Any]:
        """Yield the cotangents of the operands: carry, sequences and constants."""
        results, count = self._body.results, loop.carry
        of_carry = [k for k in range(count) if self._floats[k]]
        of_stacked = [k for k in range(count, len(results)) if results[k].dtype.kind == "f"]
        bars = [_restored(y_bars[k], results[k].dtype) for k in of_carry]
        stacked = [_restored(y_bars[k], results[k].dtype) for k in of_stacked]
        constants = self._chosen(self._constants, self._arguments)
        sums = [np.zeros(tensor.shape, tensor.dtype) for tensor in constants]

        def body(*leaves: Any) -> list[Any]:
            given = iter(leaves)
            own_bars = [next(given) for _ in bars]
            own_sums = [next(given) for _ in sums]
            elements = [next(given) for _ in self._sequences]
            carry = [next(given) for _ in states]
            seeds = [*own_bars, *given]
            wanted = [*of_carry, *of_stacked]
            found = self._pull([*carry, *elements], wanted, seeds)
            ends = len(of_carry), len(of_carry) + len(self._chosen(elements, count))
            totals = [total + term for total, term in zip(own_sums, found[ends[1] :], strict=True)]
            return [*found[: ends[0]], *totals, *found[ends[0] : ends[1]]]

        backwards = replace(loop, flat=body, carry=len(bars) + len(sums), reverse=not loop.reverse)
        last, of_elements = backwards([*bars, *sums], [*self._sequences, *states, *stacked])
        found = iter([*last[: len(bars)], *of_elements, *last[len(bars) :]])
        for leaf, is_float in zip(
            (*self._carry, *self._sequences, *self._constants), self._floats, strict=True
        ):
            yield next(found) if is_float else np.zeros(leaf.shape)
        for _ in range(self._unused):
            yield np.zeros(())

    def _iteration(
        self, leaves: Sequence[Any], wanted: Sequence[int]
    ) -> tuple[Callable[..., tuple[Any, ...]], list[Any]]:
        """Return an iteration as a function of the operands that are floats, which returns some results; and those."""
        operands = [*leaves, *map(on_recording, self._constants)]

        def of_floats(*floats: Any) -> tuple[Any, ...]:
            given = iter(floats)
            full = [
                next(given) if is_float else value
                for value, is_float in zip(operands, self._floats, strict=True)
            ]
            results = self._call(full[: len(leaves)], full[len(leaves) :])
            return tuple(_as_result(results[k], self._body.results[k].dtype) for k in wanted)

        return of_floats, self._chosen(operands)

    def _pull(self, leaves: Sequence[Any], wanted: Sequence[int], seeds: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the operands of one iteration that are floats."""
        of_floats, floats = self._iteration(leaves, wanted)
        _, pull = vjp(of_floats, *floats)
        return list(pull(tuple(seeds)))

    def pushed(self, loop: FlatLoop, x_dots: Sequence[Any]) -> list[Any]:
        """Return the tangents of the results: last carry, then stacked ones."""
        results, count = self._body.results, loop.carry
        dots = [_restored(x_dot, leaf.dtype) for x_dot, leaf in zip(x_dots, self._leaves, strict=False)]
        of_carry = self._chosen(dots[:count])
        of_sequences = self._chosen(dots[count : self._arguments], count)
        of_constants = self._chosen(dots[self._arguments :], self._arguments)
        floats = [k for k, view in enumerate(results) if view.dtype.kind == "f"]

        def body(*leaves: Any) -> list[Any]:
            given = iter(leaves)
            carry = [next(given) for _ in range(count)]
            own = [next(given) for _ in of_carry]
            elements = [next(given) for _ in self._sequences]
            tangents = [*own, *given, *map(on_recording, of_constants)]
            values, found = self._push([*carry, *elements], floats, tangents)
            return [*values[:count], *found]

        condition = self._condition

        def of_primals(*leaves: Any) -> Sequence[Any]:
            return self._call(leaves[:count], self._constants, condition)

        made = replace(
            loop, flat=body, carry=count + len(of_carry), condition=None if condition is None else of_primals
        )
        ends, stacked = made([*self._carry, *of_carry], [*self._sequences, *of_sequences])
        found = dict(zip(floats, [*ends[count:], *stacked], strict=True))
        shapes = [view.shape if k < count else (loop.length, *view.shape) for k, view in enumerate(results)]
        return [found.get(k, np.zeros(shape)) for k, shape in enumerate(shapes)]

    def _push(
        self, leaves: Sequence[Any], wanted: Sequence[int], tangents: Sequence[Any]
    ) -> tuple[Sequence[Any], list[Any]]:
        """Return the results of one iteration, and the tangents of those that are floats."""
        of_floats, floats = self._iteration(leaves, wanted)
        values = self._call([leaf.copy() for leaf in leaves], self._constants)
        _, dots = jvp(of_floats, tuple(floats), tuple(tangents))
        return values, list(dots)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _as_result(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a result of a body as a Tensor: it may be an array or a number that no operand goes into."""
    return value if is_tensor(value) else from_array(np.asarray(value, dtype), constant=True)


def array_of(value: Any) -> np.ndarray:
    """Return the contents of a leaf as an array of the engine's dtypes."""
    array = value.data_or_traced() if is_tensor(value) else np.asarray(value)
    dtype = np.dtype(np.int64) if array.dtype.kind in "iu" else array.dtype
    return np.array(array, dtype, order="C")


def _first_element(value: Any) -> np.ndarray:
    """Return an array like an element of a sequence: the first one, or zeros of an empty sequence."""
    array = value.data_or_traced() if is_tensor(value) else np.asarray(value)
    return array_of(array[0] if len(array) else np.zeros(array.shape[1:], array.dtype))


def float_operand(value: Any, name: str) -> Any:
    """Return a leaf as an operand of an op, which are floats: integers and booleans as float64."""
    if value.dtype.kind == "f":
        return value
    if is_tensor(value):
        return value.astype(_FLOAT64)
    if value.dtype.kind in "iu" and value.size and int(np.abs(value.astype(float)).max()) >= EXACT:
        raise OverflowError(f"{name}: integers of a loop must be smaller than 2**53 in size")
    return value.astype(_FLOAT64)


def _restored(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand or a result of the op in the dtype of the leaf that it is."""
    if value.dtype == dtype:
        return value
    return value.astype(dtype)
