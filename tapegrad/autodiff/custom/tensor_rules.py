"""The derivatives of a user's op as expressions on Tensors, for derivatives of derivatives.

If `vjp` and `jvp` may be called with Tensors, they are: an op that was declared so, or functions that are custom ops
themselves. Otherwise the call of `vjp` is recorded as an op in turn, which has no derivative: whoever asks for it is
told what to write. A sweep that is not to be differentiated just calls `vjp` with arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad.autodiff.custom.call import Call, call_at
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp, is_op
from tapegrad.autodiff.custom.packing import Part
from tapegrad.engine.tape.layout import CALLS
from tapegrad.engine.tape.tape import Tape, words_at
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.joining import concatenate
from tapegrad.frontend.modes import current
from tapegrad.frontend.shape import reshape
from tapegrad.frontend.tensor import Tensor, from_array, is_tensor
from tapegrad.ops import CODES

_CUSTOM = CODES["custom"]


def reverse_rule(cell: int, x: Tensor, rest: Tensor, y: Tensor, y_bar: Tensor) -> Tensor | None:
    """The cotangent of operand 0 of an instruction, from its operands 0 and 2, its result and that's cotangent.

    `cell` is the instruction's first parameter, the address of the cell of its call. All Tensors are flat. `None`: it
    is zero.
    """
    call = call_at(cell)
    tape, differentiate = current()
    if not tape.recording and not differentiate:
        x_bar = call.reverse(*(tensor.data_or_traced().copy() for tensor in (x, rest, y, y_bar)))
        return None if x_bar is None else from_array(x_bar, constant=True)
    arguments = (_output(call, y_bar), _output(call, y), *_inputs(call, x, rest))
    result = _function(call, "vjp")(*arguments, **call.statics)
    values = [result] if len(call.inputs) == 1 and not isinstance(result, tuple | list) else list(result)
    if len(values) != len(call.inputs):
        raise ValueError(
            f"custom op {call.functions.name!r}: vjp returned {len(values)} cotangents instead of {len(call.inputs)}"
        )
    floats = [value for value, part in zip(values, call.inputs, strict=True) if part.dtype.kind == "f"]
    return _joined(call, "cotangent", floats, call.floats)


def forward_rule(cell: int, x: Tensor, rest: Tensor, y: Tensor, x_dot: Tensor) -> Tensor:
    """The tangent of the result of an instruction, from the tangent of its operand 0; see `reverse_rule`."""
    call = call_at(cell)
    parts = iter(_split(x_dot, call.floats))
    x_dots = tuple(next(parts) if part.dtype.kind == "f" else None for part in call.inputs)
    result = _function(call, "jvp")(x_dots, _output(call, y), *_inputs(call, x, rest), **call.statics)
    return _joined(call, "tangent", [result] if call.single else list(result), call.outputs)


def all_have_forward_rules(tape: Tape) -> bool:
    """Whether there is a forward mode through all users' ops on a tape."""
    return all(functions.jvp is not None for functions in _functions_on(tape))


def check_forward_rules(recorded: Any) -> None:
    """Refuse a recording with users' ops through which there is no forward mode."""
    for functions in _functions_on(recorded.recording):
        if functions.jvp is None:
            raise functions.lacks("jvp")


def _functions_on(tape: Tape) -> list[Functions]:
    """The functions of the users' ops on a tape."""
    if not tape.words[CALLS]:
        return []
    called = tape.column("params")[tape.column("op") == _CUSTOM]
    return [_call(int(params)).functions for params in called]


def _call(params: int) -> Call:
    """The call of an instruction, from the address of its parameters."""
    return call_at(int(words_at(params, 1)[0]))


# --- Tensors in their shapes, and end to end -------------------------------------------------------------------


def _split(flat: Tensor, parts: Sequence[Part]) -> list[Tensor]:
    tensors, start = [], 0
    for part in parts:
        tensor = reshape(flat[start : start + part.size], part.shape)
        tensors.append(tensor if tensor.dtype == part.dtype else tensor.astype(part.dtype))
        start += part.size
    return tensors


def _output(call: Call, flat: Tensor) -> Any:
    tensors = _split(flat, call.outputs)
    return tensors[0] if call.single else tuple(tensors)


def _inputs(call: Call, x: Tensor, rest: Tensor) -> list[Any]:
    """The float inputs as Tensors, the others as they are."""
    floats, others = iter(_split(x, call.floats)), iter(_other_inputs(call, rest))
    return [next(floats) if part.dtype.kind == "f" else next(others) for part in call.inputs]


def _other_inputs(call: Call, rest: Tensor) -> list[Any]:
    """Integers and booleans: arrays, which while recording are guarded, for the vjp may compute with them."""
    if not call.others:
        return []
    arrays = call.other_arrays(rest.data_or_traced())
    if rest._traced():
        raise UnsupportedError(
            f"custom op {call.functions.name!r}: the derivative of its derivative with integer or boolean arguments"
            " of a recorded function; let the function close over them"
        )
    return arrays


def _joined(call: Call, what: str, values: list[Any], parts: Sequence[Part]) -> Tensor:
    pieces = [
        _piece(call, f"{what} {k}", value, part)
        for k, (value, part) in enumerate(zip(values, parts, strict=True))
    ]
    flat = pieces[0] if len(pieces) == 1 else concatenate(pieces)
    return flat if flat.dtype == call.dtype else flat.astype(call.dtype)


def _piece(call: Call, what: str, value: Any, part: Part) -> Tensor:
    """A result of the user's function in one dimension."""
    if value is None:
        return from_array(np.zeros(part.size, part.dtype), constant=True)
    tensor = value if is_tensor(value) else from_array(np.asarray(value, part.dtype), constant=True)
    if tensor.shape != part.shape or tensor.dtype != part.dtype:
        raise ValueError(f"custom op {call.functions.name!r}: {what} is {Part.of(tensor)} instead of {part}")
    return reshape(tensor, -1)


# --- the functions ---------------------------------------------------------------------------------------------


def _function(call: Call, role: str) -> Callable[..., Any]:
    """The vjp or the jvp as a function of Tensors."""
    functions = call.functions
    function: Callable[..., Any] | None = getattr(functions, role)
    if function is not None and (functions.differentiable or is_op(function)):
        return function
    made = call.derived.get(role)
    if made is None:
        made = call.derived[role] = _vjp_as_op(call) if role == "vjp" else _jvp_as_op(call)
    return made


def _vjp_as_op(call: Call) -> Callable[..., Any]:
    """The vjp as an op without derivatives."""
    functions, inputs, count, single = call.functions, call.inputs, len(call.outputs), call.single

    def forward(*arrays: np.ndarray, **statics: Any) -> Any:
        y_bar, y = _packed(arrays[:count], single), _packed(arrays[count : 2 * count], single)
        result = functions.call("vjp", y_bar, y, *arrays[2 * count :], statics=statics)
        found = functions.cotangents(result, inputs)
        floats = [part for part in inputs if part.dtype.kind == "f"]
        return tuple(
            np.zeros(p.shape, p.dtype) if x_bar is None else x_bar
            for x_bar, p in zip(found, floats, strict=True)
        )

    op = _without_derivative(functions, "vjp", forward)

    def apply(y_bar: Any, y: Any, *xs: Any, **statics: Any) -> list[Any]:
        found = iter(op(*_unpacked(y_bar, single), *_unpacked(y, single), *xs, **statics))
        return [next(found) if part.dtype.kind == "f" else None for part in inputs]

    return apply


def _jvp_as_op(call: Call) -> Callable[..., Any]:
    """The jvp as an op without derivatives."""
    functions, inputs, count, single = call.functions, call.inputs, len(call.outputs), call.single
    outputs = call.outputs
    floats = [k for k, part in enumerate(inputs) if part.dtype.kind == "f"]

    def forward(*arrays: np.ndarray, **statics: Any) -> Any:
        x_dots: list[Any] = [None] * len(inputs)
        for k, array in zip(floats, arrays, strict=False):
            x_dots[k] = array
        y, xs = _packed(arrays[len(floats) : len(floats) + count], single), arrays[len(floats) + count :]
        result = functions.call("jvp", tuple(x_dots), y, *xs, statics=statics)
        return _packed(functions.expect("jvp", "tangent", result, outputs), single)

    op = _without_derivative(functions, "jvp", forward)

    def apply(x_dots: Any, y: Any, *xs: Any, **statics: Any) -> Any:
        return op(*[x_dots[k] for k in floats], *_unpacked(y, single), *xs, **statics)

    return apply


def _without_derivative(functions: Functions, role: str, forward: Callable[..., Any]) -> CustomOp:
    name = functions.name

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(
            f"custom op {name!r}: the derivative of its {role} was asked for, which computes on arrays only. Write it"
            " with tapegrad's functions and say differentiable=True, or make it a custom op of its own"
        )

    return CustomOp(Functions(f"{name}.{role}", forward, refuse, refuse))


def _packed(arrays: Sequence[Any], single: bool) -> Any:
    return arrays[0] if single else tuple(arrays)


def _unpacked(value: Any, single: bool) -> tuple[Any, ...]:
    return (value,) if single else tuple(value)
