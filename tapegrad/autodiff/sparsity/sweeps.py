"""Forward sweeps along several directions, that leave out what no direction reaches, and keep constants apart."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import Geometry, GraphInstruction
from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.autodiff.sparsity.detection import Detection
from tapegrad.autodiff.tensor_sweeps import push
from tapegrad.frontend.recording.rules import Value
from tapegrad.frontend.tensor.tensor import Tensor, fixed_constant, is_tensor


class Along(NamedTuple):
    """Tangents along a direction.

    Attributes
    ----------
    constant
        Their part that is the same at all inputs.
    varying
        The other part.
    """

    constant: Accumulator
    varying: Accumulator


def sweep(
    detection: Detection,
    inputs: Sequence[int],
    directions: Sequence[Sequence[Tensor | None]],
    reached: Sequence[Sequence[Sequence[int]]],
    results: Sequence[int],
    constants_alone: bool = False,
) -> list[Along]:
    """Compute the tangents of results of a detection, on the current tape of the thread.

    Parameters
    ----------
    inputs
        Slots of the inputs.
    directions
        For each direction the tangents of the inputs; `None` for zero.
    reached
        For the constant and the varying part, each instruction and operand: the directions along which the operand's
        tangent is not zero, a bit for each.
    results
        Slots of the results.
    constants_alone
        Whether only the constant part is wanted.
    """
    tape = detection.tape
    found = [Along(Accumulator(tape), Accumulator(tape)) for _ in directions]
    for along, x_dots in zip(found, directions, strict=True):
        for slot, x_dot in zip(inputs, x_dots, strict=True):
            if x_dot is not None:
                along.constant.add(slot, x_dot)
    forgotten = used_up(detection.steps, detection.geometry, results)
    for k, step in enumerate(detection.steps):
        is_constant = detection.is_constant[k]
        if constants_alone and not is_constant:
            continue
        for c, along in enumerate(found):
            dots = [_dots(step, part, bits[k], c) for part, bits in zip(along, reached, strict=True)]
            if is_constant:
                for part, own in zip(along, dots, strict=True):
                    _push(step, own, part)
            else:
                fixed = [None if x_dot is None else _fixed(x_dot) for x_dot in dots[0]]
                _push(step, [_sum(*pair) for pair in zip(fixed, dots[1], strict=True)], along.varying)
        for part in (each for along in found for each in along):
            for buffer in forgotten.get(k, ()):
                part.forget(buffer)
    return found


def used_up(
    steps: Sequence[SweepStep | GraphInstruction], geometry: Callable[[int], Geometry], kept: Sequence[int]
) -> dict[int, list[int]]:
    """Return by instruction the buffers that it reads for the last time, without those of the slots `kept`."""
    last = {geometry(slot).buffer: k for k, step in enumerate(steps) for slot in step.operands}
    for slot in kept:
        last.pop(geometry(slot).buffer, None)
    found: dict[int, list[int]] = {}
    for buffer, k in last.items():
        found.setdefault(k, []).append(buffer)
    return found


def _fixed(x_dot: Value) -> Value:
    """Return the value of a constant tangent: a number if all elements are equal and real, or a new constant."""
    if not is_tensor(x_dot):
        return x_dot
    array: np.ndarray = x_dot.data_or_traced()
    if array.size and array.dtype.kind != "c" and (array == array.flat[0]).all():
        return float(array.flat[0])
    return fixed_constant(np.array(array, order="C"))


def _dots(step: SweepStep, tangents: Accumulator, bits: Sequence[int], direction: int) -> list[Value | None]:
    """Return the tangents of the operands along a direction; `None` for zero."""
    return [
        tangents.get(slot) if own >> direction & 1 else None
        for slot, own in zip(step.operands, bits, strict=True)
    ]


def _push(step: SweepStep, dots: list[Value | None], tangents: Accumulator) -> None:
    if any(x_dot is not None for x_dot in dots):
        push(step, dots, tangents)


def _sum(first: Value | None, second: Value | None) -> Value | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second
