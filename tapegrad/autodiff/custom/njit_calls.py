"""Calls of Numba-compiled functions from the sweeps, without Python.

For each call a function is generated that loads the operands from the frame, calls the user's function and stores its
results. If it fails, or cannot be compiled, the sweep asks Python to execute the instruction (see `callbacks`), which
repeats the call and raises the exception.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.packing import EXACT, ArraySpec
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.control.callback import FORWARD, REVERSE, TANGENT
from tapegrad.engine.kernels.language.frame import STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64

_FAILED = 1
_PLAIN = (int, float, bool, str)


# --- pieces of the generated functions --------------------------------------------------------------------------


@intrinsic
def _pointer(typingctx: Any, address: Any, zero: Any) -> Any:
    """Convert an address to a pointer to elements of the type of `zero`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_value_type(zero)
        assert isinstance(element, ir.Type)
        return builder.inttoptr(args[0], element.as_pointer())

    return types.CPointer(zero)(types.int64, zero), codegen


@numba.njit(error_model="numpy")
def _piece(address: int, start: int, shape: Any, size: int, zero: Any, packed: Any, dtype: Any) -> Any:
    """Return a copy of the array of `shape` that begins `start` elements after an address."""
    elements = numba.carray(_pointer(address, zero), start + size)[start:]
    return elements.astype(packed).view(dtype).reshape(shape)


@numba.njit(error_model="numpy")
def _are_exact(address: int, size: int) -> bool:
    """Return whether the float64 numbers at an address represent their integers exactly."""
    exact = True
    for k in range(size):
        exact &= abs(load_f64(address, k)) < EXACT
    return exact


def _put(target: Any, start: Any, shape: Any, value: Any, expected: Any) -> Any:
    """Write an array or a number to a flat array. Return whether it has the expected shape."""
    raise NotImplementedError


@overload(_put)
def _put_overload(target: Any, start: Any, shape: Any, value: Any, expected: Any) -> Any:
    if isinstance(value, types.NoneType):
        return lambda target, start, shape, value, expected: True
    is_complex = isinstance(expected.dtype, types.Complex)
    if isinstance(value, types.Array):
        put = _put_complex_array if is_complex else _put_array
        return put if value.dtype == expected.dtype and value.ndim == len(shape) else None
    put = _put_complex_number if is_complex else _put_number
    return put if value == expected.dtype and len(shape) == 0 else None


def _put_array(target: Any, start: Any, shape: Any, value: Any, expected: Any) -> Any:
    if value.shape != shape:
        return False
    target[start : start + value.size] = value.reshape(value.size)
    return True


def _put_number(target: Any, start: Any, shape: Any, value: Any, expected: Any) -> Any:
    target[start] = value
    return True


def _put_complex_array(target: Any, start: Any, shape: Any, value: Any, expected: Any) -> Any:
    if value.shape != shape:
        return False
    for k, z in enumerate(value.flat):
        target[start + 2 * k] = z.real
        target[start + 2 * k + 1] = z.imag
    return True


def _put_complex_number(target: Any, start: Any, shape: Any, value: Any, expected: Any) -> Any:
    target[start] = value.real
    target[start + 1] = value.imag
    return True


# --- the generated functions -----------------------------------------------------------------------------------


class _KernelSource:
    """Source text of a function ``function(frame, descriptor)``, and its globals."""

    def __init__(self, call: Call, role: str) -> None:
        self.call = call
        self.names: dict[str, Any] = {
            "load": load_i64, "are_exact": _are_exact,
            "piece": _piece, "pointer": _pointer, "put": _put, "carray": numba.carray,
            "function": call.functions.on_arrays(role), "zero": call.dtype.type(0), "zero_rest": np.float64(0),
        }  # fmt: skip
        self.lines: list[str] = []

    def name(self, value: Any) -> str:
        """Define a global for a constant and return its name."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def pieces(self, field: int, specs: tuple[ArraySpec, ...], zero: str = "zero") -> list[str]:
        """Unpack the arrays at the address in a field of the frame. Return the names of their variables."""
        found, start = [], 0
        for spec in specs:
            array = f"a{len(self.lines)}"
            dtypes = f"{self.name(spec.packed_dtype)}, {self.name(spec.dtype)}"
            of = f"{self.name(spec.shape)}, {spec.size}, {zero}, {dtypes}"
            self.lines.append(f"    {array} = piece(load(frame, {field}), {start}, {of})")
            found.append(array)
            start += spec.size
        return found

    def inputs(self) -> list[str]:
        if self.call.others:
            self.lines.append(f"    if not are_exact(load(frame, {X + 2}), {self.call.rest_size}):")
            self.lines.append(f"        return {_FAILED}")
        floats = iter(self.pieces(X, self.call.floats))
        others = iter(self.pieces(X + 2, self.call.others, "zero_rest"))
        return [next(floats) if spec.is_differentiable else next(others) for spec in self.call.inputs]

    def outputs(self, field: int) -> str:
        arrays = self.pieces(field, self.call.outputs)
        return arrays[0] if self.call.single else f"({', '.join(arrays)},)"

    def tangents(self) -> str:
        arrays = iter(self.pieces(X_BAR, self.call.floats))
        return f"({', '.join(next(arrays) if p.is_differentiable else 'None' for p in self.call.inputs)},)"

    def run(self, arguments: list[str]) -> None:
        """Append the call of the user's function."""
        statics = [f"{key}={self.name(value)}" for key, value in self.call.statics.items()]
        self.lines += [
            "    try:",
            f"        result = function({', '.join([*arguments, *statics])})",
            "    except Exception:",
            f"        return {_FAILED}",
        ]

    def put(self, field: int, specs: tuple[ArraySpec, ...], results: list[str]) -> None:
        """Append the stores of the results."""
        size = sum(spec.size for spec in specs)
        self.lines.append(f"    target = carray(pointer(load(frame, {field}), zero), {max(size, 1)})")
        start = 0
        for spec, result in zip(specs, results, strict=True):
            of = f"{start}, {self.name(spec.shape)}, {result}, {self.name(np.empty(1, spec.dtype))}"
            self.lines += [f"    if not put(target, {of}):", f"        return {_FAILED}"]
            start += spec.size

    def compiled(self) -> Any:
        """Compile the function as a C callback."""
        text = "\n".join(["def function_of_frame(frame, descriptor):", *self.lines, "    return 0"])
        namespace = {"__name__": __name__, **self.names}  # module name in Numba's messages about compilations
        exec(text, namespace)
        return compiler.compile_call(namespace["function_of_frame"])


def _names_of_outputs(call: Call) -> list[str]:
    return ["result"] if call.single else [f"result[{k}]" for k in range(len(call.outputs))]


def _forward(call: Call) -> Any:
    source = _KernelSource(call, "forward")
    source.run(source.inputs())
    source.put(Y, call.outputs, _names_of_outputs(call))
    return source.compiled()


def _tangent(call: Call) -> Any:
    source = _KernelSource(call, "jvp")
    source.run([source.tangents(), source.outputs(Y), *source.inputs()])
    source.put(Y_BAR, call.outputs, _names_of_outputs(call))
    return source.compiled()


def _reverse(call: Call) -> Any:
    """Emit the vjp and its stores.

    Results go to a temporary array first: all are checked before the first is accumulated.
    """
    source = _KernelSource(call, "vjp")
    source.run([source.outputs(Y_BAR), source.outputs(Y), *source.inputs()])
    floats = [k for k, spec in enumerate(call.inputs) if spec.is_differentiable]
    results = [f"result[{k}]" for k in floats] if len(call.inputs) > 1 else ["result"]
    source.names["zeros"] = np.zeros
    source.lines.append(f"    target = zeros({call.x_size}, {source.name(call.dtype)})")
    return _finished_reverse(source, results)


def _is_plain(values: Any) -> bool:
    """Return whether compiled code can hold all static arguments as constants."""
    return all(type(v) in _PLAIN or (type(v) is tuple and v and _is_plain(v)) for v in values)


def _finished_reverse(source: _KernelSource, results: list[str]) -> Any:
    start = 0
    for spec, result in zip(source.call.floats, results, strict=True):
        of = f"{start}, {source.name(spec.shape)}, {result}, {source.name(np.empty(1, spec.dtype))}"
        source.lines += [f"    if not put(target, {of}):", f"        return {_FAILED}"]
        start += spec.size
    source.lines += [
        f"    if load(frame, {X_BAR}) == 0:",
        "        return 0",
        f"    x_bar = carray(pointer(load(frame, {X_BAR}), zero), {source.call.x_size})",
        f"    if load(frame, {STORE}) & 1:",
        "        x_bar[:] = target",
        "    else:",
        "        x_bar += target",
    ]
    return source.compiled()


_COMPILE = {FORWARD: _forward, REVERSE: _reverse, TANGENT: _tangent}


def compile_direction(call: Call, direction: int) -> None:
    """Compile a direction, whose function is compiled by Numba, if what it is given is plain."""
    if not _is_plain(call.statics.values()):
        return
    try:
        call.compiled[direction] = compiled = _COMPILE[direction](call)
        call.descriptor[direction] = compiled.address
    except (numba.errors.NumbaError, numba.errors.TypingError):
        pass  # fall back to Python, whose error about a wrong result is readable
