"""Loops of PyTensor's Scan: one instruction if they are long, else run step by step while a graph is recorded."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.scan import scan
from tapegrad.loops.while_loop import while_loop

# Of elements, states and carried values: the next states and carried values, and what the step adds to the traces
_StepOn = Callable[
    [Sequence[Any], Sequence[list[Any]], Sequence[Any]], tuple[list[list[Any]], list[Any], list[Any]]
]
# Shorter loops are recorded step by step: their instructions are fused across steps.
_MIN_SCANNED_STEPS = 128


@dataclass(frozen=True)
class LoopLayout:
    """The order of a loop's operands, as PyTensor's `ScanInfo` has it.

    Attributes
    ----------
    sequences
        The number of sequences, of which each step reads an element.
    read_written
        For each buffer that is read and written at several places (MIT-MOT) the offsets that it is read at, and those
        that it is written at, from the first element of the step.
    taps
        For each state the steps before that it is read at, such as (-2, -1) (MIT-SOT and SIT-SOT).
    collected
        The number of results without a state (NIT-SOT).
    carried
        The number of states of which the last value alone is wanted.
    is_ended
        Whether a condition, the last result of a step, ends the loop.
    """

    sequences: int
    read_written: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    taps: tuple[tuple[int, ...], ...]
    collected: int
    carried: int
    is_ended: bool

    @classmethod
    def of(cls, info: Any) -> "LoopLayout":
        """Return the layout of a Scan."""
        return cls(
            info.n_seqs,
            tuple(zip(info.normalized_mit_mot_in_slices, info.normalized_mit_mot_out_slices, strict=True)),
            (*info.mit_sot_in_slices, *info.sit_sot_in_slices),
            info.n_nit_sot,
            info.n_untraced_sit_sot,
            info.as_while,
        )


def run_loop(step: Callable[..., Sequence[Any]], layout: LoopLayout, count: Any, *operands: Any) -> Any:
    """Run the steps of a loop, and return its outputs: one, or a tuple.

    Parameters
    ----------
    step
        A function of elements of the sequences, of the buffers, of earlier states, carried values and all further
        operands, that returns a list: what is written to buffers, the states, the collected and the carried values.
    layout
        What is what among the operands.
    count
        The number of steps.
    *operands
        Sequences, buffers, arrays that begin with the first states, carried values, the number of elements that is
        wanted of each collected result, and what all steps read. An array has as many elements as are wanted of its
        state: all, or the last ones.
    """
    count, rest = int(count), list(operands)
    sequences = _take(rest, layout.sequences)
    buffers = [_rows(buffer) for buffer in _take(rest, len(layout.read_written))]
    given = _take(rest, len(layout.taps))
    states = [_rows(array[: -min(taps)]) for array, taps in zip(given, layout.taps, strict=True)]
    carried = _take(rest, layout.carried)
    wanted = [np.shape(array)[0] for array in given] + [int(n) for n in _take(rest, layout.collected)]
    step_on = functools.partial(_step_on, step, layout, rest)
    if not layout.is_ended and _can_be_scanned(layout, count, operands, carried):
        return _outputs(_scanned(step_on, count, sequences, states, carried, wanted))
    if layout.is_ended and any(map(is_tensor, operands)):
        return _outputs(_run_to_the_end(step_on, count, sequences, states, carried))
    traces: list[list[Any]] = [*states, *([] for _ in range(layout.collected))]
    for i in range(count):
        read = [sequence[i] for sequence in sequences]
        for buffer, (offsets, _) in zip(buffers, layout.read_written, strict=True):
            read += [buffer[i + offset] for offset in offsets]
        for state, taps in zip(states, layout.taps, strict=True):
            read += [state[tap] for tap in taps]
        found = list(step(*read, *carried, *rest))
        for buffer, (_, offsets) in zip(buffers, layout.read_written, strict=True):
            for offset, value in zip(offsets, _take(found, len(offsets)), strict=True):
                buffer[i + offset] = value
        for trace in traces:
            trace.append(found.pop(0))
        ends = layout.is_ended and found.pop()
        carried = found
        if ends:
            break
    results = [
        *(np.stack(buffer) for buffer in buffers),
        *(_last(trace, n) for trace, n in zip(traces, wanted, strict=True)),
        *carried,
    ]
    return _outputs(results)


def _outputs(results: Sequence[Any]) -> Any:
    """Return the outputs of a Scan: one, or a tuple."""
    return tuple(results) if len(results) > 1 else results[0]


def _can_be_scanned(layout: LoopLayout, count: int, operands: Sequence[Any], carried: Sequence[Any]) -> bool:
    """Return whether a loop is long, and what changes in it are floats: integers may be positions, shapes or slices."""
    changing = [*operands[: layout.sequences + len(layout.taps)], *carried]
    is_long = count >= _MIN_SCANNED_STEPS and not layout.read_written
    return is_long and any(map(is_tensor, operands)) and all(np.result_type(x).kind == "f" for x in changing)


def _scanned(
    step_on: _StepOn,
    count: int,
    sequences: Sequence[Any],
    states: Sequence[list[Any]],
    carried: Sequence[Any],
    wanted: Sequence[int],
) -> list[Any]:
    """Return the outputs of a loop by `scan`, whose carry has the states that steps look back to."""

    def body(carry: Any, elements: Any) -> Any:
        windows, kept, values = step_on(elements, *carry)
        return (windows, kept), values

    (_, last), traces = scan(body, (list(states), list(carried)), [x[:count] for x in sequences], count)
    whole = [
        np.concatenate([np.stack(state), trace]) for state, trace in zip(states, traces, strict=False)
    ] + list(traces[len(states) :])
    return [*(trace[len(trace) - n :] for trace, n in zip(whole, wanted, strict=True)), *last]


def _step_on(
    step: Callable[..., Sequence[Any]],
    layout: LoopLayout,
    rest: Sequence[Any],
    elements: Sequence[Any],
    windows: Sequence[list[Any]],
    kept: Sequence[Any],
) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """Return the states that the next step looks back to, its carried values, and what this one adds to the traces."""
    read = [window[tap] for window, taps in zip(windows, layout.taps, strict=True) for tap in taps]
    found = list(step(*elements, *read, *kept, *rest))
    values = _take(found, len(windows) + layout.collected)
    return [[*window[1:], value] for window, value in zip(windows, values, strict=False)], found, values


def _run_to_the_end(
    step_on: _StepOn,
    count: int,
    sequences: Sequence[Any],
    states: Sequence[list[Any]],
    carried: Sequence[Any],
) -> list[Any]:
    """Return the outputs of a loop that a condition ends, with the first rows and the last one of each array.

    The number of steps is data, and a recording has fixed shapes: graphs that ask for other rows have been refused.
    """

    def advance(carry: Any) -> Any:
        i, _, windows, kept, _ = carry
        windows, kept, values = step_on([x[i] for x in sequences], windows, kept)
        return i + 1, kept.pop() != 0, windows, kept, values

    first = advance((0, False, list(states), list(carried), None))
    _, _, _, last, values = while_loop(lambda carry: ~carry[1] & (carry[0] < count), advance, first)
    rows = [[*state, value] for state, value in zip(states, values, strict=False)]
    rows += [[value] for value in values[len(states) :]]
    return [*(np.stack(each) for each in rows), *last]


def _take(values: list[Any], count: int) -> list[Any]:
    """Remove the first values from a list, and return them."""
    taken, values[:] = values[:count], values[count:]
    return taken


def _rows(array: Any) -> list[Any]:
    return [array[k] for k in range(np.shape(array)[0])]


def _last(trace: list[Any], count: int) -> Any:
    """Return the last elements of a trace as an array."""
    return np.stack(trace[max(len(trace) - count, 0) :]) if count else np.zeros((0, *np.shape(trace[0])))
