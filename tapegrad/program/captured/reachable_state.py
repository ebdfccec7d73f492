"""Reachable state of a function: all that it, and the functions that it may call, can see beside its arguments."""

import functools
import operator
import types
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad.program.captured.function_visits import FunctionVisits
from tapegrad.program.captured.hidden import (
    FIXED,
)
from tapegrad.program.captured.methods import DESCRIPTORS
from tapegrad.program.captured.origin import (
    is_made_here,
)
from tapegrad.program.captured.walk import MAPPINGS, SEQUENCES

_BUFFERS = (memoryview, bytearray)


class ReachableState(FunctionVisits):
    """The finished walk from a function, or from objects that it is called with, over everything that it can see."""

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
