"""Arithmetic on integers that each replay computes, such as indices: instructions on 64-bit integers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.status import raise_for
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.memory import D_PRODUCER
from tapegrad.frontend.recording.running import run
from tapegrad.frontend.tensor.modes import watch_now
from tapegrad.frontend.tensor.recorder import Recorder
from tapegrad.frontend.tensor.tensor import Tensor, from_array, from_slot, is_tensor
from tapegrad.ops import CODES

_INT64, _BOOLEAN = np.dtype(np.int64), np.dtype(np.bool_)
_PREFIX = "integer_"
_OF_INTEGERS = {name.removeprefix(_PREFIX): code for name, code in CODES.items() if name.startswith(_PREFIX)}
_Operands = list[Any]


def is_computed_integer(value: Any, tape: Recorder) -> bool:
    """Return whether a value is an int64 Tensor that each replay computes, stored by the engine without conversion."""
    if not is_tensor(value) or value.dtype != _INT64 or not value._recorded() or tape.wraps(value):
        return False
    return bool(value._traced() or value._describe()[D_PRODUCER] != NONE)


def record_integers(name: str, values: _Operands, tape: Recorder) -> Tensor | None:
    """Record an elementwise op of 64-bit integers; `None` if it has no such instruction or an operand is not int64."""
    if name in _BY_OTHER_FUNCTIONS:
        return _BY_OTHER_FUNCTIONS[name](tape, *values)
    if name not in _OF_INTEGERS:
        return None
    first = [] if name != "where" else [_condition(values[0])]
    operands = [*first, *(_as_int64(value, tape) for value in values[len(first) :])]
    known = [x for x in operands if x is not None]
    return _run(_OF_INTEGERS[name], known, name, tape) if len(known) == len(operands) else None


def _run(code: int, operands: list[Tensor], name: str, tape: Recorder) -> Tensor:
    slot = run(tape, code, [x._slot_on(tape) for x in operands], False)
    if slot < 0:
        raise_for(slot, name, [x.shape for x in operands])
    return from_slot(tape, slot)


def _negative(tape: Recorder, x: Any) -> Tensor | None:
    return record_integers("subtract", [0, x], tape)


def _clip(tape: Recorder, x: Any, low: Any, high: Any) -> Tensor | None:
    limited = record_integers("maximum", [x, low], tape)
    return None if limited is None else record_integers("minimum", [limited, high], tape)


_BY_OTHER_FUNCTIONS: dict[str, Callable[..., Tensor | None]] = {
    "greater": lambda tape, x, y: record_integers("less", [y, x], tape),
    "greater_equal": lambda tape, x, y: record_integers("less_equal", [y, x], tape),
    "negative": _negative,
    "absolute": lambda tape, x: record_integers("maximum", [x, _negative(tape, x)], tape),
    "square": lambda tape, x: record_integers("multiply", [x, x], tape),
    "positive": lambda tape, x: record_integers("add", [x, 0], tape),
    "clip": _clip,
}


def _as_int64(value: Any, tape: Recorder) -> Tensor | None:
    """Return an operand as a Tensor of int64; `None` if int64 does not hold its dtype."""
    if is_tensor(value):
        if value.dtype == _BOOLEAN:
            return _run(CODES["cast_i64"], [value], "astype", tape)
        return value if value.dtype == _INT64 and not tape.wraps(value) else None
    array = np.asarray(value)
    if array.dtype == _INT64:
        return from_array(array, constant=True)
    if not np.can_cast(array.dtype, _INT64):
        return None
    watch_now(array)
    return from_array(array.astype(_INT64), constant=True)


def _condition(value: Any) -> Tensor | None:
    """Return a condition as a Tensor of booleans; `None` for a condition of numbers."""
    if is_tensor(value):
        return value if value.dtype == _BOOLEAN else None
    array = np.asarray(value)
    return from_array(array, constant=True) if array.dtype == _BOOLEAN else None


def as_computed_float(value: Any, tape: Recorder) -> Any:
    """Return an operand of a float-valued op, converted to float64 in each replay."""
    if is_tensor(value) and (value.dtype == _BOOLEAN or is_computed_integer(value, tape)):
        return _run(CODES["cast_f64"], [value], "astype", tape)
    array = np.asarray(value)
    watch_now(array)
    return array.astype(np.float64)
