"""Fast paths: calls with arrays, floats and structures of them that replay a program without Python.

A call that does not fit (another shape, dtype or structure, a guard that does not hold, a variable of the function that
was bound again) returns `None`, and the general path takes it.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.engine.codegen.python_calls.array_calls import ArrayCall, ArraySpecialization, fixed_of
from tapegrad.engine.codegen.python_calls.fast_calls import address_of
from tapegrad.engine.codegen.python_calls.structures import (
    Container,
    LeafBlock,
    LeafSlot,
    Structure,
    slots_of,
)
from tapegrad.engine.codegen.translator.compiler import make_ready
from tapegrad.engine.sweep.replays import replay
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.transforms.calling.argnums import Selection
from tapegrad.transforms.calling.call_structures import CallArguments, Described, around, result_of, together
from tapegrad.transforms.calling.watching_cost import tell_of_dear_watching

Path = Callable[..., Any]
_without_value: WeakKeyDictionary[Path, Path] = WeakKeyDictionary()
_in_blocks: WeakKeyDictionary[Path, Path] = WeakKeyDictionary()
_first_parts: WeakKeyDictionary[Path, Path] = WeakKeyDictionary()


def results_path(function: Any, trace: Any, call: CallArguments) -> Path | None:
    """Return the fast path to the results of calls like a given one, or `None` if there is none."""
    return _path(function, trace, ProgramSpec(), call, result_of(trace))


def gradient_path(
    function: Any, trace: Any, spec: ProgramSpec, call: CallArguments, selection: Selection
) -> Path | None:
    """Return the fast path to value and gradients, or `None`. In place of a value with `aux`, it returns both."""
    others = len(trace.output_slots) - 1 if spec.values else 0  # outputs that lie before the gradients
    behind = others + len(selection.leaves)
    value = result_of(trace, [behind, *range(others)])
    return _path(function, trace, spec, call, together([value, _per_leaf(selection, others)]), valued=True)


def jacobian_path(
    function: Any, trace: Any, spec: ProgramSpec, call: CallArguments, selection: Selection
) -> Path | None:
    """Return the fast path to Jacobians, or `None`; of a pair with `aux`, to Jacobians and `aux`."""
    outputs, program = len(trace.output_slots), trace.program(spec)
    first = len(program.bindings) - program.given - len(selection.leaves)
    found = _per_leaf(selection, first)
    if spec.values:
        pair = result_of(
            trace, range(first - outputs, first)
        )  # where the first output is another's, it is left out
        found = together([found, _parts_of(pair)[1]]) if pair else None
    return _path(function, trace, spec, call, found)


def product_path(
    function: Any, trace: Any, spec: ProgramSpec, call: CallArguments, selection: Selection
) -> Path | None:
    """Return the fast path to products with the Hessian, the tangents of a recorded gradient, or `None`."""
    if len(trace.computed) < len(trace.results):
        return None  # a constant's tangent is made anew in each call
    found = around(selection.unflatten_results([LeafSlot(number) for number in trace.results]))
    return _path(function, trace, spec, call, found)


def direction_path(function: Any, trace: Any, spec: ProgramSpec, call: CallArguments) -> Path | None:
    """Return the fast path to values and tangents, or `None`."""
    if len(trace.computed) < len(trace.results):
        return None
    count = len(trace.output_slots)
    found = together([result_of(trace), result_of(trace, range(count, 2 * count))])
    return _path(function, trace, spec, call, found)


def without_value(path: Path) -> Path:
    """Return the fast path that does the same as another one to value and gradient, but does not return the value."""

    def changed(own: ArraySpecialization) -> ArraySpecialization:
        value, gradient = _parts_of(own.returns)
        returns = gradient
        if not isinstance(value, LeafSlot):
            returns = Container(tuple, (), (gradient, _parts_of(value)[1]))
        return own._replace(returns=returns, valued=False)

    return _derived(_without_value, path, changed)


def first_part(path: Path) -> Path:
    """Return the fast path that does the same as one to a tuple, but returns its first part alone."""
    return _derived(_first_parts, path, lambda own: own._replace(returns=_parts_of(own.returns)[0]))


def in_blocks(path: Path, has_aux: bool) -> Path:
    """Return the fast path to a Hessian by leaves, of one to the Jacobian of the gradient in one vector."""

    def changed(own: ArraySpecialization) -> ArraySpecialization:
        columns, *aux = _parts_of(own.returns) if has_aux else [own.returns]
        blocks = _blocks(columns, own.results)
        return own._replace(returns=Container(tuple, (), (blocks, *aux)) if has_aux else blocks)

    return _derived(_in_blocks, path, changed)


def _derived(
    known: WeakKeyDictionary[Path, Path],
    path: Path,
    changed: Callable[[ArraySpecialization], ArraySpecialization],
) -> Path:
    """Return the path that is known for another one, or make one with its changed specialization."""
    found = known.get(path)
    if found is None:
        call: ArrayCall = fixed_of(path)[1]
        found = known[path] = call._replace(specialization=changed(call.specialization)).function()
    return found


def _blocks(columns: Structure, arrays: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Structure:
    """Describe the rows of the derivatives by each leaf that belong to each leaf, a structure of structures.

    A leaf's derivatives have one row for each element of the vector, and the shape of the leaf behind that.
    """
    begins, begin = {}, 0
    for slot in sorted(slots_of(columns), key=lambda slot: slot.number):
        begins[slot.number] = begin
        begin += math.prod(arrays[slot.number][0][1:])

    def block(row: LeafSlot, column: LeafSlot) -> LeafBlock:
        shape, dtype = arrays[column.number][0][1:], arrays[column.number][1]
        offset = begins[row.number] * math.prod(shape) * dtype.itemsize
        return LeafBlock(column.number, offset, (*arrays[row.number][0][1:], *shape))

    return _with_slots(columns, lambda row: _with_slots(columns, functools.partial(block, row)))


def _with_slots(structure: Structure, replace: Callable[[LeafSlot], Structure]) -> Structure:
    """Return a description with others in place of its slots."""
    if isinstance(structure, Container):
        parts = tuple(_with_slots(part, replace) for part in structure.parts)
        return Container(structure.kind, structure.keys, parts)
    return replace(structure) if isinstance(structure, LeafSlot) else structure


def _parts_of(structure: Structure) -> tuple[Structure, ...]:
    assert isinstance(structure, Container)
    return structure.parts


def _per_leaf(selection: Selection, first: int) -> Described:
    """Describe one result for each leaf of the selected arguments, which are the arrays from number `first` on."""
    return around(selection.unflatten_results([LeafSlot(first + k) for k in range(len(selection.leaves))]))


def _path(
    function: Any,
    trace: Any,
    spec: ProgramSpec,
    call: CallArguments,
    returns: Described,
    valued: bool = False,
) -> Path | None:
    """Return the path that the trace keeps, or a new one: to make one takes as long as twenty calls of it."""
    if call.described is None or returns is None:
        return None
    key, holds = (spec, call.described, returns), function.captured.holds
    path: Path | None
    seen, path = trace.paths.get(key, (None, None))
    if seen is not holds:
        program = trace.program(spec)
        fits = program.given == sum(1 for _ in slots_of(call.described))
        specialization = array_specialization(program, trace.workspaces(spec), returns, valued=valued)
        path = ArrayCall(call.described, specialization, holds, failure).function() if fits else None
        trace.paths[key] = holds, path
        if path is not None:
            tell_of_dear_watching(function, trace, path, call.given)
    return path


def array_specialization(
    program: Any, workspaces: list[Any], returns: Structure, *, valued: bool
) -> ArraySpecialization:
    """Return the specialization for a fast path of a program whose results are its bindings."""
    results = [(binding.shape, binding.dtype) for binding in program.bindings[program.given :]]
    make_ready(getattr(replay, program.entry))  # which puts another function in its place
    return ArraySpecialization(
        address_of(getattr(replay, program.entry)), results, workspaces, returns, valued
    )
