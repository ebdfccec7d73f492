"""Public functions of rows: a fast path for the operands alone, all other arguments behind them."""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.frontend.recording.record import (
    apply,
    apply_to_any,
    beside_constant,
    binary,
    finished,
    slots_are_due,
)
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, elementwise, from_slot
from tapegrad.ops import CODES


def make_unary_function(code: int, with_arguments: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function ``op(x)``; a call with further arguments goes to `with_arguments`."""

    def function(x: Any, /, *out: Any, **options: Any) -> Any:
        if out or options:
            return with_arguments(x, *out, **options)
        made = elementwise[0](code, x)
        if made is not None:
            return made
        if type(x) is not Tensor:
            return apply_to_any(code, x)
        mode = thread.mode
        tape = mode.tape
        slot = NONE
        if x._tape is tape:
            own, base = x._slot, x._base
            if base is not None and x._version != base._version:
                own = x._slot_on(tape)
            slot = eager.record_elementwise(tape.header, code, own, NONE, NONE, mode.differentiate)
            if slot >= 0 and mode.anomaly is None and not slots_are_due:
                return from_slot(tape, slot)
        return finished(mode, code, slot, False, (x,))

    return function


def make_binary_function(code: int, with_arguments: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function ``op(x1, x2)``; a call with further arguments goes to `with_arguments`."""
    reflected = binary(code, is_reflected=True)

    def function(x1: Any, x2: Any, /, *out: Any, **options: Any) -> Any:
        if out or options:
            return with_arguments(x1, x2, *out, **options)
        made = elementwise[0](code, x1, x2)
        if made is not None:
            return made
        if type(x1) is not Tensor:
            return reflected(x2, x1) if type(x2) is Tensor else apply_to_any(code, x1, x2)
        mode = thread.mode
        tape = mode.tape
        slot = NONE
        if x1._tape is tape:
            first, base = x1._slot, x1._base
            if base is not None and x1._version != base._version:
                first = x1._slot_on(tape)
            kind = type(x2)
            if kind is Tensor:
                if x2._tape is tape:
                    second, base = x2._slot, x2._base
                    if base is not None and x2._version != base._version:
                        second = x2._slot_on(tape)
                    slot = eager.record_elementwise(
                        tape.header, code, first, second, NONE, mode.differentiate
                    )
            elif kind is float or kind is int:
                slot = eager.record_with_number(tape.header, code, first, x2, 0, mode.differentiate)
            else:
                slot = beside_constant(mode, code, first, x2, False)
            if slot >= 0 and mode.anomaly is None and not slots_are_due:
                return from_slot(tape, slot)
        return finished(mode, code, slot, False, (x1, x2))

    return function


_SELECT = CODES["where"]


def select(condition: Any, x: Any, y: Any) -> Tensor:
    """Compute ``where(condition, x, y)``."""
    return apply(_SELECT, condition, x, y)
