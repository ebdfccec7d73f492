"""Operators, basic indexing and the finaliser of Tensors in C, from the first eager operator on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.codegen.python_calls import fast_calls, handle_slots
from tapegrad.engine.codegen.translator.compiler import when_compiled
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape import slots, views
from tapegrad.frontend.tensor.attachments import attachments
from tapegrad.frontend.tensor.modes import EAGER, Mode, entered, thread
from tapegrad.frontend.tensor.tensor import Tensor, elementwise, handles, stale_leaf_slots
from tapegrad.ops import CODES

_OPERATORS = handle_slots.Operators(
    binary={
        "__add__": CODES["add"],
        "__sub__": CODES["subtract"],
        "__mul__": CODES["multiply"],
        "__truediv__": CODES["divide"],
        "__pow__": CODES["power"],
    },
    unary={
        "__neg__": CODES["negative"],
        "__pos__": CODES["positive"],
        "__abs__": CODES["absolute"],
    },
    powers={2: CODES["square"], 0.5: CODES["sqrt"], -1: CODES["reciprocal"]},
)
_FUNCTIONS = handle_slots.module_of(_OPERATORS)
_MODULES = (slots, eager, eager, views, views, views)  # of `handle_slots.CALLS`
_calls = np.zeros(len(handle_slots.CALLS), np.int64)


def write_slots() -> None:
    """Write the type slots of the Tensor, and have its handles made in C."""
    for number, (module, name) in enumerate(zip(_MODULES, handle_slots.CALLS, strict=True)):
        when_compiled(module, name, _address_taker(number))
    functions = handle_slots.write_handle_slots(
        Tensor,
        EAGER,
        _OPERATORS,
        _FUNCTIONS,
        _calls,
        Mode,
        thread=thread,
        entered=entered,
        attachments=attachments,
        stale=stale_leaf_slots,
    )
    if functions is not None:
        handles[0], elementwise[0] = functions


def _address_taker(number: int) -> Callable[[Any], None]:
    """Return a function that notes the address of a compiled entry point."""

    def take(compiled: Any) -> None:
        _calls[number] = fast_calls.address_of(compiled)

    return take
