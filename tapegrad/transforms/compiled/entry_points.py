"""C entry point of a compiled function: tries its specializations in turn."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.engine.codegen.python_calls.array_calls import (
    ArrayCall,
    ArraySpecialization,
    first_of,
    fixed_of,
)
from tapegrad.engine.codegen.python_calls.structures import Container, LeafSlot, slots_of
from tapegrad.engine.tape.fields.view import View
from tapegrad.program.programs.handle import Handle, Source, Specialization
from tapegrad.program.programs.workspace import Workspace
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.calling.call_structures import around, described_arguments
from tapegrad.transforms.calling.fast_path import Path, array_specialization


class EntryPoints:
    """C entry points of a compiled function, by the structure of the arguments and the types of their leaves.

    Parameters
    ----------
    handle
        The handle of the function.
    workspaces
        For each specialization, those that are not in use.
    results
        For each specialization, what it has returned once.
    """

    def __init__(self, handle: Handle, workspaces: Sequence[list[Workspace]], results: Sequence[Any]) -> None:
        self._handle, self._workspaces, self._results = handle, workspaces, results
        self._paths: dict[Container, Path] = {}

    @functools.cached_property
    def _specializations(self) -> list[ArraySpecialization]:
        found = (
            _array_specialization(specialization, free, self._handle.results, result)
            for specialization, free, result in zip(
                self._handle.specializations, self._workspaces, self._results, strict=True
            )
        )
        return [specialization for specialization in found if specialization is not None]

    def path(self, args: tuple[Any, ...]) -> Path | None:
        """Return the entry point for arguments of this structure and these types, or `None`.

        Its calls return `None` if no specialization applies.
        """
        arguments = described_arguments(args)
        if arguments is None or not self._specializations:
            return None
        if sum(1 for _ in slots_of(arguments)) != len(self._handle.inputs):
            return None
        if arguments not in self._paths:
            paths = [ArrayCall(arguments, each, None, failure).function() for each in self._specializations]
            self._paths[arguments] = first_of([*map(fixed_of, paths)]) if len(paths) > 1 else paths[0]
        return self._paths[arguments]


def _array_specialization(
    specialization: Specialization, workspaces: list[Workspace], views: list[View], result: Any
) -> ArraySpecialization | None:
    """Return the entry of a specialization, or `None` if its results are not arrays in a structure that C can build."""
    valued = any(source.is_value for source in specialization.sources[:1])
    if valued and views[0].shape:  # a value that is an array is the workspace's own
        return None
    leaves, definition = flatten(result)
    plain = len(leaves) == len(views) and all(map(_is_plain, leaves, views))
    if not plain or not _is_in_order(specialization, views[valued:], specialization.sources[valued:]):
        return None
    slots = [LeafSlot(k) for k in range(len(leaves))]
    returns = around(unflatten(definition, [*slots[-1:], *slots[:-1]] if valued else slots))
    if returns is None:
        return None
    return array_specialization(specialization.program, workspaces, returns, valued=valued)


def _is_plain(part: Any, view: View) -> bool:
    """Return whether a leaf is an array (0-d: a NumPy scalar) of the recorded shape and dtype."""
    kind = np.ndarray if view.shape else np.generic
    return isinstance(part, kind) and (part.shape, part.dtype) == (view.shape, view.dtype)


def _is_in_order(specialization: Specialization, views: Sequence[View], sources: Sequence[Source]) -> bool:
    """Return whether the bindings are exactly the arguments, then the results."""
    given, bindings = specialization.program.given, specialization.program.bindings
    positions = [(source.binding, source.offset) for source in sources]
    specs = [(view.shape, view.dtype) for view in views]
    return (
        specialization.order == list(range(given))
        and positions == [(k, 0) for k in range(given, len(bindings))]
        and specs == [(binding.shape, binding.dtype) for binding in bindings[given:]]
    )
