"""Captured state of a recorded function: the variables, containers and attributes that it can reach.

They are compared before each replay.
"""

import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad.engine.codegen.python_calls.comparisons import Comparisons
from tapegrad.engine.runtime.short_times import nanoseconds
from tapegrad.program.captured.function_visits import FunctionVisits
from tapegrad.program.captured.hidden import FIXED
from tapegrad.program.captured.methods import DESCRIPTORS
from tapegrad.program.captured.origin import is_made_here
from tapegrad.program.captured.references import Captured
from tapegrad.program.captured.walk import MAPPINGS, SEQUENCES

_BUFFERS = (memoryview, bytearray)


class ReachableState(FunctionVisits):
    """The finished walk from a function, or from objects that it is called with, over everything that it can see."""

    @property
    def named_arrays(self) -> list[tuple[str, np.ndarray]]:
        """The arrays that were reached, each with the path by which code comes to it."""
        return [(str(self.paths[number]), array) for number, array in self.arrays.items()]

    def _visit_one(self, value: Any) -> None:
        visit = ReachableState._visit_replayed if is_made_here(value) else _visitor(type(value))
        visit(self, value)


def _visitor(cls: type) -> "_Visit":
    """Return the visitor for values of a class."""
    return next((visit for kinds, visit in _VISITS if issubclass(cls, kinds)), ReachableState._visit_object)


_Visit = Callable[[ReachableState, Any], None]
_VISITS: tuple[tuple[Any, _Visit], ...] = (
    (types.FunctionType, ReachableState._visit_function),
    (types.MethodType, ReachableState._visit_method),
    (functools.partial, ReachableState._visit_partial),
    (property, ReachableState._visit_property),
    (DESCRIPTORS, ReachableState._visit_descriptor),
    (types.BuiltinFunctionType, ReachableState._visit_builtin),
    ((operator.attrgetter, operator.methodcaller), ReachableState._visit_attrgetter),
    (SEQUENCES, ReachableState._visit_sequence),
    (MAPPINGS, ReachableState._visit_mapping),
    (np.ndarray, ReachableState._visit_array),
    (_BUFFERS, ReachableState._visit_buffer),
    (weakref.ref, ReachableState._visit_reference),
    (types.ModuleType, ReachableState._visit_module),
    (type, ReachableState._visit_class),
    (weakref.ProxyTypes, lambda reach, value: reach.see(value.__init__.__self__, "contents", "")),
    (ContextVar, ReachableState._visit_context_variable),
    ((types.WrapperDescriptorType, types.MethodDescriptorType), ReachableState._visit_slot_method),
    (FIXED, ReachableState._visit_fixed),
    ((types.GetSetDescriptorType, types.MemberDescriptorType), lambda reach, value: None),
)


_MAX_CHEAP_ITEMS = 100  # compared in no more than a microsecond


class CapturedState:
    """Everything that a function can see, as it is now.

    Numbers and text are compared by type and bits, containers element by element, all else by identity.

    Parameters
    ----------
    roots
        The function, or objects that it is called with.
    base
        The surroundings of the function, where these are those of objects.

    Attributes
    ----------
    holds
        Whether every reference is to the same object as before: asked before every replay.
    """

    __slots__ = ("_base", "_comparisons", "_cost", "_owners", "_roots", "holds", "reach")

    def __init__(self, roots: Iterable[Any], base: "CapturedState | None" = None) -> None:
        self._roots = tuple(roots)
        self._base = base
        self._cost = -1.0
        self.reach: ReachableState = ReachableState(self._roots, None if base is None else base.reach)
        references = self.reach.references
        self._owners: list[Captured] = [reference for reference in references for _ in reference.rows]
        self._comparisons = Comparisons([row for reference in references for row in reference.rows])
        self.holds: Callable[[], bool] = self._comparisons.holds

    @property
    def cost(self) -> float:
        """Nanoseconds that all comparisons take; measured once, where there are many."""
        if self._cost < 0:
            many = sum(reference.items for reference in self.reach.references) > _MAX_CHEAP_ITEMS
            self._cost = nanoseconds(self.holds) if many else 0.0
        return self._cost

    def change(self) -> Captured | None:
        """Return the first captured reference whose value is another one now.

        What is equal to what was there, as a number that was computed once more, is compared with from now on.
        """
        while (number := self._comparisons.first_difference()) >= 0:
            row = self._owners[number].equal()
            if row is None:
                return self._owners[number]
            self._comparisons.replace(number, row)
        return None

    def renewed(self) -> "CapturedState | None":
        """Return the current state, if each change is to an equal value; else `None`."""
        now = CapturedState(self._roots, self._base)
        return now if now.reach.tokens == self.reach.tokens else None
