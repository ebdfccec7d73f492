"""A specialization of a compiled function in a file: a recording, what is computed of it, and where the results lie."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad.autodiff.sparsity.shared_columns import SharedColumns
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.program.archive.contents import Contents, ReadContents, array_of
from tapegrad.program.archive.fields import DamagedFileError, field, in_range, integers, refuse_unless
from tapegrad.program.archive.pack import packed
from tapegrad.program.archive.unpack import Unpacked
from tapegrad.program.programs.handle import Source, Specialization
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.spec import (
    FORWARD,
    JACFWD,
    JACREV,
    JVP,
    NEVER,
    NOW,
    VALUE_AND_GRAD,
    ProgramSpec,
)
from tapegrad.program.traces.trace import optimized

_KINDS = (FORWARD, VALUE_AND_GRAD, JACREV, JVP, JACFWD)
_OF_ONE = (VALUE_AND_GRAD, JACREV, JACFWD)  # kinds that differentiate the first output
_NO = -1


def packed_specialization(
    specialization: Specialization, contents: Contents
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Pack a specialization into a header and arrays."""
    program: Any = specialization.program
    header, arrays = packed(program.recording, contents)
    spec = program.spec
    header |= {"kind": spec.kind, "wrt": list(spec.wrt), "values": spec.values, "fused": bool(program.fused)}
    if spec.shared is not None:
        header["shared"] = True
        arrays |= {
            "colours": spec.shared.colours,
            "entries": np.stack([spec.shared.rows, spec.shared.columns], 1),
        }
    header |= {
        "order": specialization.order,
        "sources": [_fields(source, contents) for source in specialization.sources],
    }
    return header, arrays


def _fields(source: Source, contents: Contents) -> list[int]:
    number = _NO if source.array is None else contents.number(source.array.tobytes())
    return [source.binding, source.offset, number, source.passed]


def unpacked_specialization(
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    contents: ReadContents,
    specs: tuple[Sequence[View], Sequence[View]],
) -> Specialization:
    """Rebuild a specialization from a file, for arguments and results of the given specs."""
    unpacked = Unpacked(header, arrays, contents)
    spec = _spec(header, unpacked)
    if "shared" in header:
        spec = replace(spec, shared=_shared_columns(spec, unpacked, arrays))
    fusion = NOW if field(header, "fused", bool) else NEVER
    try:
        program = make_program(unpacked.recording, optimized(unpacked.tape), spec, fusion)
    except UnsupportedError as error:
        raise DamagedFileError(str(error)) from None
    inputs, results = specs
    order = integers(header.get("order"), 0, len(inputs), "order")
    refuse_unless(
        sorted(order) == list(range(len(inputs))) and len(order) == program.given, "order of arguments"
    )
    for binding, number in zip(program.bindings, order, strict=False):
        same = (binding.shape, binding.dtype) == (inputs[number].shape, inputs[number].dtype)
        refuse_unless(same, f"argument {number} does not look as the program takes it")
    records = field(header, "sources", list)
    refuse_unless(len(records) == len(results), f"{len(records)} sources for {len(results)} results")
    sources = [
        _source(record, program, contents.constants, view, inputs)
        for record, view in zip(records, results, strict=True)
    ]
    return Specialization(program, sources, order)


def _spec(header: dict[str, Any], unpacked: Unpacked) -> ProgramSpec:
    """Return the spec of the program, if the recording has all that it asks for."""
    tape, kind, values = unpacked.tape, field(header, "kind", str), field(header, "values", bool)
    refuse_unless(kind in _KINDS, f"kind {kind!r}")
    wrt = integers(header.get("wrt"), 0, len(tape.inputs), "wrt")
    views = [tape.slots[tape.inputs[k]].view for k in wrt]
    refuse_unless(
        len(set(wrt)) == len(wrt) and all(v.dtype.kind in DIFFERENTIABLE_KINDS for v in views), "wrt"
    )
    if kind == FORWARD:
        refuse_unless(not wrt and not values, "a program of values has no derivatives")
    if kind in _OF_ONE:
        refuse_unless(wrt and tape.outputs, f"{kind} of nothing")
        output = tape.slots[tape.outputs[0]].view
        of_rows = kind in (JACREV, VALUE_AND_GRAD)
        refuse_unless(of_rows or all(v.dtype.kind == "f" for v in views), "wrt")
        refuse_unless(output.dtype.kind == "f", f"{kind} of {output.dtype}")
        refuse_unless(
            kind != VALUE_AND_GRAD or output.size == 1, f"gradient of an array of shape {output.shape}"
        )
    return ProgramSpec(kind, tuple(wrt), values)


def _shared_columns(spec: ProgramSpec, unpacked: Unpacked, arrays: dict[str, np.ndarray]) -> SharedColumns:
    """Return the columns that share tangents, and the entries, if the Jacobian has them."""
    tape, colours, entries = unpacked.tape, array_of(arrays, "colours", 1), array_of(arrays, "entries", 2)
    refuse_unless(spec.kind == JACFWD, f"columns of {spec.kind} that share tangents")
    count = sum(tape.slots[tape.inputs[k]].view.size for k in spec.wrt)
    refuse_unless(len(colours) == count and entries.shape[1] == 2, "shared columns")
    in_range(colours, -1, count, "colours")
    in_range(entries[:, 0], 0, tape.slots[tape.outputs[0]].view.size, "rows of entries")
    in_range(entries[:, 1], 0, count, "columns of entries")
    return SharedColumns(colours, entries[:, 0], entries[:, 1])


def _source(
    record: Any, program: Program, constants: list[np.ndarray], view: View, inputs: Sequence[View]
) -> Source:
    """Return the source of a whole result."""
    least = -(1 << 62)
    fields = integers(record, least, -least, "sources")
    refuse_unless(len(fields) == 4, "sources")
    binding, offset, constant, passed = fields
    refuse_unless((binding, constant, passed).count(_NO) >= 2, "a result in two places")
    if binding != _NO:
        refuse_unless(program.given <= binding < len(program.bindings), f"a result in binding {binding}")
        refuse_unless(
            0 <= offset <= program.bindings[binding].nbytes - view.nbytes, "a result outside of a binding"
        )
        return Source(binding, offset)
    refuse_unless(offset == 0, "an offset of no binding")
    if constant != _NO:
        refuse_unless(0 <= constant < len(constants), f"constant {constant}")
        refuse_unless(len(constants[constant]) == view.nbytes, "a constant result")
        array: np.ndarray = constants[constant].view(view.dtype).reshape(view.shape)
        return Source(array=array)
    if passed != _NO:
        refuse_unless(
            0 <= passed < len(inputs) and inputs[passed].nbytes == view.nbytes, "an argument as a result"
        )
        return Source(passed=passed)
    outputs = program.workspace_outputs()
    if not outputs or outputs[0][1].nbytes != view.nbytes:
        raise DamagedFileError("a result that is nowhere")
    return Source()
