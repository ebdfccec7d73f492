"""Fast paths: calls with arrays and floats that replay a program without Python.

A call that does not fit (another shape or dtype, a guard that does not hold, a variable of the function that was bound
again) returns `None`, and the general path takes it.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.engine.codegen.python_calls.array_calls import ArrayCall, ArraySpecialization, fixed_of
from tapegrad.engine.codegen.python_calls.fast_calls import address_of
from tapegrad.engine.codegen.translator.compiler import make_ready
from tapegrad.engine.sweep.replays import replay
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.transforms.calling.watching_cost import tell_of_dear_watching

TRACED = frozenset({np.ndarray, float, np.float64})
Path = Callable[..., Any]
_without_value: WeakKeyDictionary[Path, Path] = WeakKeyDictionary()


def gradient_path(function: Any, trace: Any, spec: ProgramSpec, args: tuple[Any, ...], argnums: Any) -> Any:
    """Return the fast path to value and gradients of calls like one with `args`, or `None` if there is none."""
    if not trace.single:
        return None
    return _path(function, trace, spec, args, valued=True, together=isinstance(argnums, tuple))


def result_path(function: Any, trace: Any, spec: ProgramSpec, args: tuple[Any, ...], argnums: Any = 0) -> Any:
    """Return the fast path to derivatives alone of the one result, or `None`."""
    if not trace.single:
        return None
    return _path(function, trace, spec, args, valued=False, together=isinstance(argnums, tuple))


def results_path(function: Any, trace: Any, args: tuple[Any, ...]) -> Any:
    """Return the fast path to the one result or the tuple of results, or `None`."""
    if not (trace.single or trace.is_tuple):
        return None
    return _path(function, trace, ProgramSpec(), args, valued=False, together=not trace.single)


def without_value(path: Path) -> Path:
    """Return the fast path that does the same as another one, but does not return the value."""
    found = _without_value.get(path)
    if found is None:
        call: ArrayCall = fixed_of(path)[1]
        specialization = call.specialization._replace(valued=False)
        found = _without_value[path] = call._replace(specialization=specialization).function()
    return found


def _path(
    function: Any, trace: Any, spec: ProgramSpec, args: tuple[Any, ...], *, valued: bool, together: bool
) -> Any:
    """Return the path that the trace keeps, or a new one: to make one takes as long as twenty calls of it."""
    kinds, holds = tuple(map(type, args)), function.captured.holds
    if not TRACED.issuperset(kinds):
        return None
    key = spec, kinds, valued, together
    seen, path = trace.paths.get(key, (None, None))
    if seen is not holds:
        program = trace.program(spec)
        fits = program.given == len(kinds)
        specialization = array_specialization(
            program, trace.workspaces(spec), valued=valued, together=together
        )
        path = ArrayCall(kinds, specialization, holds, failure).function() if fits else None
        trace.paths[key] = holds, path
        if path is not None:
            tell_of_dear_watching(function, trace, path, args)
    return path


def array_specialization(
    program: Any, workspaces: list[Any], *, valued: bool, together: bool
) -> ArraySpecialization:
    """Return the specialization for a fast path of a program whose results are its bindings."""
    results = [(binding.shape, binding.dtype) for binding in program.bindings[program.given :]]
    make_ready(getattr(replay, program.entry))  # which puts another function in its place
    return ArraySpecialization(
        address_of(getattr(replay, program.entry)), results, workspaces, valued, together
    )
