"""Derivative rules of custom ops on Tensors, for derivatives of higher order.

`vjp` and `jvp` are called with Tensors if they allow it: if the op is declared ``differentiable``, or if they are
custom ops themselves. Otherwise their call is recorded as an op without derivatives, and differentiating that op raises
an error which says what to write. A sweep that is not recorded calls `vjp` with arrays.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad.autodiff.custom.call import Call, call_at
from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp, is_op
from tapegrad.autodiff.custom.packing import ArraySpec
from tapegrad.engine.tape.fields.layout import CALLS
from tapegrad.engine.tape.tape import Tape, fields_at
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import complex_of, pairs_of
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.modes import current
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.ops import CODES
from tapegrad.ops.params import field_index
from tapegrad.ops.structural.control import CustomParams

_CUSTOM = CODES["custom"]


def reverse_rule(descriptor: int, x: Tensor, rest: Tensor, y: Tensor, y_bar: Tensor) -> Tensor | None:
    """Return the cotangent of operand 0 (`x`); operand 2 is `rest`. `None` if it is zero.

    `descriptor` is the address of the descriptor of the call: the instruction's first parameter. All Tensors are flat.
    """
    call = call_at(descriptor)
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
    floats = [value for value, spec in zip(values, call.inputs, strict=True) if spec.is_differentiable]
    return _pack(call, "cotangent", floats, call.floats)


def forward_rule(descriptor: int, x: Tensor, rest: Tensor, y: Tensor, x_dot: Tensor) -> Tensor:
    """Return the tangent of the result from that of operand 0; see `reverse_rule`."""
    call = call_at(descriptor)
    specs = iter(_unpack(x_dot, call.floats))
    x_dots = tuple(next(specs) if spec.is_differentiable else None for spec in call.inputs)
    result = _function(call, "jvp")(x_dots, _output(call, y), *_inputs(call, x, rest), **call.statics)
    return _pack(call, "tangent", [result] if call.single else list(result), call.outputs)


def all_have_forward_rules(tape: Tape) -> bool:
    """Return whether all custom ops on a tape have a jvp."""
    return all(functions.jvp is not None for functions in _functions_on(tape))


def check_forward_rules(recorded: Any) -> None:
    """Raise for a recorded custom op without a jvp."""
    for functions in _functions_on(recorded.recording):
        if functions.jvp is None:
            raise functions.lacks("jvp")


def _functions_on(tape: Tape) -> list[Functions]:
    """Return the functions of the custom ops on a tape."""
    if not tape.fields[CALLS]:
        return []
    called = tape.column("params")[tape.column("op") == _CUSTOM]
    return [_call(int(params)).functions for params in called]


def _call(params: int) -> Call:
    """Return the call of an instruction, given the address of its parameters."""
    return call_at(int(fields_at(params, 1)[field_index(CustomParams, "descriptor")]))


# --- Tensors, packed and unpacked ------------------------------------------------------------------------------


def _unpack(flat: Tensor, specs: Sequence[ArraySpec]) -> list[Tensor]:
    tensors, start = [], 0
    for spec in specs:
        tensor = reshape(flat[start : start + spec.size], spec.packed_shape)
        if spec.is_complex:
            tensor = complex_of(tensor)
        tensors.append(tensor if tensor.dtype == spec.dtype else tensor.astype(spec.dtype))
        start += spec.size
    return tensors


def _output(call: Call, flat: Tensor) -> Any:
    tensors = _unpack(flat, call.outputs)
    return tensors[0] if call.single else tuple(tensors)


def _inputs(call: Call, x: Tensor, rest: Tensor) -> list[Any]:
    """Unpack the inputs: floats and complex numbers to Tensors, others to arrays."""
    floats, others = iter(_unpack(x, call.floats)), iter(_other_inputs(call, rest))
    return [next(floats) if spec.is_differentiable else next(others) for spec in call.inputs]


def _other_inputs(call: Call, rest: Tensor) -> list[Any]:
    """Unpack integers and booleans to arrays. Raise if they are traced: a vjp could compute with them."""
    if not call.others:
        return []
    arrays = call.other_arrays(rest.data_or_traced())
    if rest._traced():
        raise UnsupportedError(
            f"custom op {call.functions.name!r}: the derivative of its derivative with integer or boolean arguments"
            " of a recorded function; let the function close over them"
        )
    return arrays


def _pack(call: Call, what: str, values: list[Any], specs: Sequence[ArraySpec]) -> Tensor:
    pieces = [
        _piece(call, f"{what} {k}", value, spec)
        for k, (value, spec) in enumerate(zip(values, specs, strict=True))
    ]
    flat = pieces[0] if len(pieces) == 1 else concatenate(pieces)
    return flat if flat.dtype == call.dtype else flat.astype(call.dtype)


def _piece(call: Call, what: str, value: Any, spec: ArraySpec) -> Tensor:
    """Return a result of the user's function as a flat Tensor."""
    if value is None:
        return from_array(np.zeros(spec.size, spec.packed_dtype), constant=True)
    tensor = value if is_tensor(value) else from_array(np.asarray(value, spec.dtype), constant=True)
    if tensor.shape != spec.shape or tensor.dtype != spec.dtype:
        raise ValueError(
            f"custom op {call.functions.name!r}: {what} is {ArraySpec.of(tensor)} instead of {spec}"
        )
    return reshape(pairs_of(tensor) if spec.is_complex else tensor, -1)


# --- the vjp and the jvp ---------------------------------------------------------------------------------------


def _function(call: Call, role: str) -> Callable[..., Any]:
    """Return the vjp or the jvp as a function of Tensors."""
    functions = call.functions
    function: Callable[..., Any] | None = getattr(functions, role)
    if function is not None and (functions.differentiable or is_op(function)):
        return function
    made = call.derived.get(role)
    if made is None:
        made = call.derived[role] = _vjp_as_op(call) if role == "vjp" else _jvp_as_op(call)
    return made


def _vjp_as_op(call: Call) -> Callable[..., Any]:
    """Make the vjp an op without derivatives."""
    functions, inputs, count, single = call.functions, call.inputs, len(call.outputs), call.single

    def forward(*arrays: np.ndarray, **statics: Any) -> Any:
        y_bar, y = _from_tuple(arrays[:count], single), _from_tuple(arrays[count : 2 * count], single)
        result = functions.call("vjp", y_bar, y, *arrays[2 * count :], statics=statics)
        found = functions.cotangents(result, inputs)
        floats = [spec for spec in inputs if spec.is_differentiable]
        return tuple(
            np.zeros(p.shape, p.dtype) if x_bar is None else x_bar
            for x_bar, p in zip(found, floats, strict=True)
        )

    op = _without_derivative(functions, "vjp", forward)

    def apply(y_bar: Any, y: Any, *xs: Any, **statics: Any) -> list[Any]:
        found = iter(op(*_to_tuple(y_bar, single), *_to_tuple(y, single), *xs, **statics))
        return [next(found) if spec.is_differentiable else None for spec in inputs]

    return apply


def _jvp_as_op(call: Call) -> Callable[..., Any]:
    """Make the jvp an op without derivatives."""
    functions, inputs, count, single = call.functions, call.inputs, len(call.outputs), call.single
    outputs = call.outputs
    floats = [k for k, spec in enumerate(inputs) if spec.is_differentiable]

    def forward(*arrays: np.ndarray, **statics: Any) -> Any:
        x_dots: list[Any] = [None] * len(inputs)
        for k, array in zip(floats, arrays, strict=False):
            x_dots[k] = array
        y, xs = _from_tuple(arrays[len(floats) : len(floats) + count], single), arrays[len(floats) + count :]
        result = functions.call("jvp", tuple(x_dots), y, *xs, statics=statics)
        return _from_tuple(functions.expect("jvp", "tangent", result, outputs), single)

    op = _without_derivative(functions, "jvp", forward)

    def apply(x_dots: Any, y: Any, *xs: Any, **statics: Any) -> Any:
        return op(*[x_dots[k] for k in floats], *_to_tuple(y, single), *xs, **statics)

    return apply


def _without_derivative(functions: Functions, role: str, forward: Callable[..., Any]) -> CustomOp:
    name = functions.name

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(
            f"custom op {name!r}: its {role} cannot be differentiated, for it computes on arrays only. Write it"
            " with tapegrad's functions and say differentiable=True, or make it a custom op of its own"
        )

    return CustomOp(Functions(f"{name}.{role}", forward, refuse, refuse))


def _from_tuple(arrays: Sequence[Any], single: bool) -> Any:
    return arrays[0] if single else tuple(arrays)


def _to_tuple(value: Any, single: bool) -> tuple[Any, ...]:
    return (value,) if single else tuple(value)
