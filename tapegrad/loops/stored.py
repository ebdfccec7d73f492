"""Loops in files: bodies as recordings inside a recording, and loops that run what comes from a file.

All that a file says is checked: recordings as those of functions are, and how leaves go from one iteration to the next
by the shapes that these have.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom import callbacks
from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.packing import ArraySpec
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPES
from tapegrad.errors import UnsupportedError
from tapegrad.loops.loop_op import LoopOp, packed_dtype
from tapegrad.loops.programs import MAX_SPECIALIZATIONS, PULLBACK, VALUES, BodyPrograms, constant_of
from tapegrad.loops.pulled import PulledOp, prepare_pullback
from tapegrad.loops.table import LoopShape
from tapegrad.program.archive.contents import Contents, OpKind, ReadContents, add_kind, prefix_of
from tapegrad.program.archive.fields import (
    DamagedFileError,
    extents_of,
    field,
    integers,
    most_bytes,
    refuse_unless,
)
from tapegrad.program.archive.pack import packed
from tapegrad.program.archive.unpack import Unpacked
from tapegrad.program.programs.handle import Handle
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.constant_results import ConstantOutput, PassthroughOutput
from tapegrad.program.streams.spec import NEVER, WHOLE, ProgramSpec
from tapegrad.program.traces.trace import optimized

_OUTPUT, _INPUT, _CONSTANT = range(3)  # what a result of a recording is, before its number
_DTYPES: dict[str, np.dtype[Any]] = {dtype.name: dtype for dtype in DTYPES}
_MAX_ITERATIONS = 1 << 40  # and any other number
_NUMBERS = ("carry", "sequences", "length", "most", "snapshots", "each", "cursor")


# --- to a file -----------------------------------------------------------------------------------------------------


def _packed_loop(op: LoopOp, contents: Contents) -> dict[str, Any]:
    shape = op.loop_shape
    sizes = {name: getattr(shape, name) for name in _NUMBERS if name != "each"}
    of_body, of_condition = op.table.constants
    return {
        "name": op.name,
        **sizes,
        "each": op.each,
        "reverse": shape.reverse,
        "data": list(shape.data),
        "body": _packed_body(op.body, of_body, contents),
        "condition": None if op.condition is None else _packed_body(op.condition, of_condition, contents),
    }


def _packed_body(body: BodyPrograms, constants: Sequence[int], contents: Contents) -> dict[str, Any]:
    """Pack the recordings of a function, and for each of its Tensors from outside the number among the loop's."""
    ways = [_packed_trace(trace, contents) for trace in body.traces]
    views = [[view.dtype.name, list(view.shape)] for view in body.results]
    rules = [_packed_body(rule, (), contents) for rule in body.rules()]
    return {"results": views, "constants": list(constants), "ways": ways, "rules": rules}


def _packed_trace(trace: Any, contents: Contents) -> dict[str, Any]:
    header, arrays = packed(trace.recording, contents)
    results = [_packed_result(result, contents) for result in trace.results]
    fused = trace.fusion == WHOLE
    return {**header, "arrays": contents.add_arrays(arrays), "results": results, "fused": fused}


def _packed_result(result: Any, contents: Contents) -> list[int]:
    if isinstance(result, int):
        return [_OUTPUT, result]
    if isinstance(result, PassthroughOutput):
        return [_INPUT, result.number]
    return [_CONSTANT, contents.number(constant_of(result).tobytes())]


def _packed_pullback(op: PulledOp, contents: Contents) -> dict[str, Any]:
    if contents.derivatives:
        raise TypeError(
            f"save: {contents.name} differentiates the gradient of a loop, which records the loop once more, and a file"
            " has no function to record"
        )
    return {"loop": contents.op_number(op.loop)}


# --- from a file ---------------------------------------------------------------------------------------------------


class _StoredTrace:
    """Recording from a file, of which programs are made."""

    def __init__(self, header: dict[str, Any], contents: ReadContents, views: Sequence[View]) -> None:
        arrays = contents.arrays_of(prefix_of(field(header, "arrays", int)))
        unpacked = Unpacked(header, arrays, contents)
        tape = unpacked.tape
        self.recording = unpacked.recording
        self.output_slots = list(tape.outputs)
        self.size = len(tape.instructions)
        self.inputs = [tape.slots[s].view for s in tape.inputs]
        self._tape, self._fusion = optimized(tape), WHOLE if field(header, "fused", bool) else NEVER
        outputs = [tape.slots[s].view for s in tape.outputs]
        records = field(header, "results", list)
        refuse_unless(len(records) == len(views), f"{len(records)} results of a body instead of {len(views)}")
        self._outputs, self._constants = outputs, contents.constants
        self.results = [self._result(*pair) for pair in zip(records, views, strict=True)]
        computed = [result for result in self.results if isinstance(result, int)]
        refuse_unless(computed == list(range(len(outputs))), "the results of a body are in another order")

    def _result(self, record: Any, view: View) -> Any:
        kind, number = integers(record, 0, _MAX_ITERATIONS, "a result of a body")
        known = (self._outputs, self.inputs, self._constants)
        refuse_unless(kind < len(known) and number < len(known[kind]), f"a result {record} of a body")
        if kind == _CONSTANT:
            own = self._constants[number]
            refuse_unless(len(own) == view.nbytes, "a constant result of a body")
            return ConstantOutput(own.view(view.dtype).reshape(view.shape))
        found = known[kind][number]
        refuse_unless(found == view, f"a result of a body is {found} instead of {view}")
        if kind == _OUTPUT:
            return number
        refuse_unless(view.dtype.kind != "f", "a result of a body is an operand")
        return PassthroughOutput(number, view.dtype)

    def program(self, spec: ProgramSpec) -> Program:
        """Return the program for a spec."""
        return make_program(self.recording, self._tape, spec, self._fusion)


class _StoredBody(BodyPrograms):
    """Function of a loop from a file.

    Attributes
    ----------
    constants
        For each of its operands after the arguments the number among the constants of the loop.
    """

    def __init__(self, record: dict[str, Any], contents: ReadContents) -> None:
        self.results = [_view(each) for each in field(record, "results", list)]
        self.constants = integers(record.get("constants"), 0, _MAX_ITERATIONS, "constants of a loop")
        ways = field(record, "ways", list)
        refuse_unless(0 < len(ways) <= MAX_SPECIALIZATIONS, f"{len(ways)} recordings of a body")
        traces = []
        for way in ways:
            refuse_unless(type(way) is dict, "a recording of a body is no record")
            traces.append(_StoredTrace(way, contents, self.results))
        self.traces, self.size = traces, traces[0].size
        self.inputs = [View.in_c_order(view.shape, view.dtype) for view in traces[0].inputs]
        refuse_unless(all(trace.inputs == self.inputs for trace in traces), "operands of a body differ")
        refuse_unless(len(self.constants) <= len(self.inputs), "more constants than operands of a body")
        self._rules = [_StoredBody(rule, contents) for rule in field(record, "rules", list)]
        if self._rules:
            self._check_rules()

    def _check_rules(self) -> None:
        """Refuse rules whose arguments and results are not those of a pullback and of tangents."""
        floats, duals = [self.inputs[k] for k in self.floats], [self.results[k] for k in self.float_results]
        refuse_unless(len(self._rules) == 2, "a body has two rules")
        pullback, tangents = self._rules
        fits = pullback.inputs == [*self.inputs, *duals] and pullback.results == floats
        fits &= tangents.inputs == [*self.inputs, *floats] and tangents.results == [*self.results, *duals]
        refuse_unless(fits and not pullback.constants and not tangents.constants, "rules of a body")

    def handle(self, which: int) -> Handle:
        """Return the handle of a program."""
        if which == VALUES or not self._rules:
            return super().handle(which)
        return self._rules[0 if which == PULLBACK else 1].handle(VALUES)


def _view(record: Any) -> View:
    refuse_unless(type(record) is list and len(record) == 2, "a result of a body")
    name, shape = record
    refuse_unless(type(name) is str and name in _DTYPES, f"dtype {name!r}")
    return View.in_c_order(extents_of(shape, _DTYPES[name].itemsize, "a result of a body"), _DTYPES[name])


class StoredLoop(LoopOp):
    """Loop from a file: one without the functions that it was recorded from."""

    def _united(self, body: Any) -> list[int]:
        return list(body.constants)

    def _listing(self) -> list[str]:
        return []

    def _record_branch(self, frame: np.ndarray) -> bool:
        return False


def _unpacked_loop(record: dict[str, Any], contents: ReadContents) -> Call:
    name = field(record, "name", str)
    numbers = integers([record.get(each) for each in _NUMBERS], -1, _MAX_ITERATIONS, "numbers of a loop")
    sizes = dict(zip(_NUMBERS, numbers, strict=True))
    body = _StoredBody(field(record, "body", dict), contents)
    condition = None
    if record.get("condition") is not None:
        condition = _StoredBody(field(record, "condition", dict), contents)
    each = sizes.pop("each")
    views = [*body.inputs, *body.results, *(condition.inputs if condition else ())]
    dtype = packed_dtype(views, condition is not None)
    data = field(record, "data", list)
    refuse_unless(all(type(each) is bool for each in data), "which sequences are data")
    shape = LoopShape(reverse=field(record, "reverse", bool), dtype=dtype, data=tuple(data), **sizes)
    _check(shape, body, condition)
    refuse_unless(each > 0, "iterations of none")
    try:
        loop = StoredLoop(name, body, condition, shape, None, each, None)
    except UnsupportedError as error:
        raise DamagedFileError(str(error)) from None
    call = _call(loop.functions, loop.table.operand_size, loop.result_shapes, dtype, False)
    loop.prepare(call)
    return call


def _check(shape: LoopShape, body: _StoredBody, condition: _StoredBody | None) -> None:
    """Refuse a loop whose leaves do not fit together."""
    arguments, counted = shape.carry + shape.sequences, shape.is_counted
    refuse_unless(min(shape.carry, shape.sequences, shape.snapshots) >= 0, "a negative number of leaves")
    refuse_unless(counted == (condition is None), "a loop has either a length or a condition")
    refuse_unless(len(body.inputs) == arguments + len(body.constants), "operands of a body")
    carry = body.inputs[: shape.carry]
    refuse_unless(body.results[: shape.carry] == carry, "the carry changes")
    refuse_unless(
        shape.length >= 0 or (not shape.sequences and len(body.results) == shape.carry), "elements of no axis"
    )
    if shape.cursor >= 0:
        is_number = shape.cursor < shape.carry and carry[shape.cursor] == View.in_c_order((), np.dtype(float))
        refuse_unless(is_number and shape.length > 0 and not shape.reverse, "what names elements")
    if condition is not None:
        truth = [View.in_c_order((), np.dtype(np.bool_))]
        refuse_unless(condition.results == truth, "a condition is one boolean")
        fits = condition.inputs[: shape.carry] == carry
        refuse_unless(fits and len(condition.inputs) == shape.carry + len(condition.constants), "a condition")
    constants: dict[int, View] = {}
    for own in (body, condition):
        if own is not None:
            first = len(own.inputs) - len(own.constants)
            for number, view in zip(own.constants, own.inputs[first:], strict=True):
                refuse_unless(constants.setdefault(number, view) == view, "constants of a loop")
    refuse_unless(sorted(constants) == list(range(len(constants))), "constants of a loop")
    size = sum(view.size for view in (*body.inputs, *body.results)) + len(body.inputs) + len(body.results)
    refuse_unless(
        8 * size * max(1, shape.length) <= most_bytes(), "a loop is larger than this machine's memory"
    )


class StoredPullback:
    """Pullback of a loop from a file."""

    def __init__(self, loop: StoredLoop) -> None:
        self.loop = loop
        table = loop.table
        self._operands, self._results = table.operand_size, table.result_size
        name = f"pullback of {loop.name}"
        self.functions = Functions(name, self._forward, self._refused, self._refused, op=self)

    def _forward(self, x: np.ndarray) -> np.ndarray:
        end = self._operands + self._results
        (found,) = self.loop.pulled_back([x[end:]], [x[self._operands : end]], [x[: self._operands]])
        return found

    def _refused(self, *values: Any) -> Any:
        raise UnsupportedError(f"{self.functions.name}: it comes from a file, and has no derivatives")


def _unpacked_pullback(record: dict[str, Any], contents: ReadContents) -> Call:
    number = field(record, "loop", int)
    refuse_unless(0 <= number < len(contents.calls), f"a pullback of op {number}")
    loop = contents.calls[number].functions.op
    refuse_unless(isinstance(loop, StoredLoop), f"a pullback of op {number}")
    table, dtype = loop.table, loop.packed_dtype
    functions = StoredPullback(loop).functions
    size = table.operand_size + 2 * table.result_size
    call = _call(functions, size, [(table.operand_size,)], dtype, True)
    prepare_pullback(call, loop)
    return call


def _call(
    functions: Functions, size: int, shapes: Sequence[tuple[int, ...]], dtype: np.dtype[Any], single: bool
) -> Call:
    """Return a call of functions that take one packed array and return arrays of these shapes."""
    inputs = (ArraySpec((size,), dtype, size),)
    outputs = tuple(ArraySpec(shape, dtype, int(np.prod(shape, dtype=int))) for shape in shapes)
    call = Call(functions, 0, {}, inputs, outputs, single, dtype)
    callbacks.install(call)
    return call


add_kind(OpKind("loop", LoopOp, _packed_loop, _unpacked_loop))
add_kind(OpKind("pullback", PulledOp, _packed_pullback, _unpacked_pullback))
