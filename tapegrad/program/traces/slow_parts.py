"""Slow parts of a recording, by instruction: conversions, strided arrays, unrolled loops; and what to write instead."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import Slot
from tapegrad.engine.tape.tape import DTYPES
from tapegrad.ops import GUARDS
from tapegrad.program.fusion.reasons import STRIDED, is_conversion, reasons_alone
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.recording import memory_of
from tapegrad.program.traces.profiled import short
from tapegrad.program.traces.source_lines import SourceLines
from tapegrad.program.traces.trace import Trace

_MIN_SINGLES, _MIN_SHARE = 100, 0.5  # instructions on single numbers, from which a loop is told of
_MAX_SKEW = 4  # between the ops of a loop; others are rarer: one was hoisted, or the first iteration has none
_MAX_NUMBERS = 4  # of instructions that are alike
_ITEM = np.array([dtype.itemsize for dtype in DTYPES])


class Names(NamedTuple):
    """Names of arrays: those of the arguments in order, and captured arrays, each with the path to it."""

    arguments: Sequence[str]
    captured: Sequence[tuple[str, np.ndarray]]


class _Operand(NamedTuple):
    """An operand as a message describes it: its name, what it is, and code for a contiguous copy of a dtype."""

    name: str
    form: str
    copy: str


def rows_alone(trace: Trace, program: Program, names: Names) -> list[str]:
    """Return the rows of a fused program that no segment has, alike ones in one line, and why."""
    found: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for stream in (program.forward, program.reverse):
        for k, reason in reasons_alone(stream).items():
            number, op, direction = (
                int(column[k]) for column in (stream.number, stream.op, stream.direction)
            )
            name = "guard" if op in GUARDS else kernel_table.op_name(op)
            text = _particular(trace, number, names, reason)
            found[name, kernel_table.DIRECTIONS[direction], text].append(number)
    return [
        f"{_numbered(name, numbers)}, {direction}: {text}"
        for (name, direction, text), numbers in found.items()
    ]


def conversions(trace: Trace, names: Names) -> list[str]:
    """Return the instructions that convert elements to another dtype, alike ones in one line; how to do without."""
    tape = trace.tape
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    ops = tape.columns.op[tape.columns.live]
    converting = [op for op in np.unique(ops).tolist() if is_conversion(op)]
    for i in tape.columns.live[np.isin(ops, converting)].tolist():
        found[kernel_table.op_name(int(tape.columns.op[i])), _conversion(trace, i, names)].append(i)
    return [f"{_numbered(name, numbers)}: {text}" for (name, text), numbers in found.items()]


def unrolled(trace: Trace, lines: Callable[[], SourceLines]) -> list[str]:
    """Say of a recording that is mostly arithmetic of single numbers which source line has recorded it."""
    live, singles = _arithmetic(trace)
    if len(singles) < max(_MIN_SINGLES, _MIN_SHARE * len(live)):
        return []
    whole = f"{len(singles):,} of {len(live):,} instructions compute single numbers"
    where = _repeated_line(trace, singles, lines().lines)
    return [f"{whole}{where}: write operations on arrays instead of the loop, or say jit(f, roll=True)"]


def _arithmetic(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the instructions but for guards, and those of them with a result of one element."""
    columns = trace.tape.columns
    live = columns.live[~np.isin(columns.op[columns.live], list(GUARDS))]
    slots = columns.line[columns.result[live]]
    single = columns.views.bytes[slots] == _ITEM[columns.slots.lines[slots, 2]]
    return live, live[single]


def _repeated_line(trace: Trace, singles: Iterable[int], lines: Mapping[int, SourceLine]) -> str:
    """Name the source line that has recorded most of some instructions, if the same ops again and again."""
    ops = trace.recording.column("op")
    own: defaultdict[SourceLine, Counter[int]] = defaultdict(Counter)
    for number in singles:
        if number in lines:
            own[lines[number]][int(ops[number])] += 1
    if not own:
        return ""
    line, counts = max(own.items(), key=lambda each: each[1].total())
    often = [count for count in counts.values() if count * _MAX_SKEW >= max(counts.values())]
    times = min(often)
    return f", {sum(often) // times} of them {times:,} times by {short(line)}" if times > 1 else ""


def _numbered(name: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    listed = ", ".join(map(str, numbers[:_MAX_NUMBERS])) + (", ..." if numbers[_MAX_NUMBERS:] else "")
    return f"{name}s ({len(numbers):,}: {listed})"


def _particular(trace: Trace, number: int, names: Names, reason: str) -> str:
    """Return a reason with the operand that it is about."""
    if number < 0:
        return reason
    if is_conversion(trace.tape.instructions[number].op):
        return _conversion(trace, number, names)
    strided = [slot for slot in trace.tape.operands(number) if not slot.contiguous]
    captured = [each for slot in strided if (each := _captured(trace, slot, names, slot.view.dtype.name))]
    if reason != STRIDED or not captured:
        return reason
    return f"reads {captured[0].name}, {captured[0].form}, at each replay: {captured[0].copy}"


def _conversion(trace: Trace, number: int, names: Names) -> str:
    (operand,), result = trace.tape.operands(number), trace.tape.result(number)
    dtype = result.view.dtype.name
    found = _captured(trace, operand, names, dtype) or _other(trace, operand, names, dtype)
    count = f"{operand.size:,} element{'s' * (operand.size != 1)}"
    return f"converts {found.name}, {found.form}, to {dtype} at each replay ({count}): {found.copy}"


def _captured(trace: Trace, slot: Slot, names: Names, dtype: str) -> _Operand | None:
    """Describe an operand that lies in an array that the function closes over; `None` if it is another one."""
    array = trace.recording.owners.get(slot.buffer)
    if not isinstance(array, np.ndarray):
        return None
    around = [(name, each) for name, each in names.captured if memory_of(each) == memory_of(array)]
    around.sort(key=lambda each: -each[1].size)
    exact = [(name, each) for name, each in around if _is_same(each, array)]
    if exact:
        name, whole = exact[0]
        copy = f"keep np.ascontiguousarray({name}, dtype=np.{dtype})"
        return _Operand(f"the captured array {name}", _form(whole), copy)
    if around:
        copy = f"keep it as np.ascontiguousarray(..., dtype=np.{dtype}), made outside of the function"
        return _Operand(f"a part of the captured array {around[0][0]}", _form(array), copy)
    return None


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays have the same elements in memory, but for axes of length 1."""
    extents = [[(n, s) for n, s in zip(each.shape, each.strides, strict=True) if n != 1] for each in (a, b)]
    return bool(a.ctypes.data == b.ctypes.data) and a.dtype == b.dtype and extents[0] == extents[1]


def _other(trace: Trace, slot: Slot, names: Names, dtype: str) -> _Operand:
    """Describe an operand that is an argument, a constant, or computed."""
    tape, form = trace.tape, f"{slot.shape} {slot.view.dtype.name}"
    inputs = [tape.slots[each].buffer for each in tape.inputs]
    if slot.buffer in inputs:
        return _Operand(names.arguments[inputs.index(slot.buffer)], form, f"pass it as {dtype}")
    if slot.buffer in tape.writers:
        return _Operand(f"v{tape.writers[slot.buffer][0]}", form, f"compute it in {dtype} from the beginning")
    return _Operand("a constant", form, f"make it {dtype}")


def _form(array: np.ndarray) -> str:
    return f"{array.shape} {array.dtype}{'' if array.flags.c_contiguous else ', not contiguous'}"
