"""Specialization of a custom op: its functions at given shapes, dtypes and static arguments."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions, Statics
from tapegrad.autodiff.custom.packing import EXACT, ArraySpec, pack, packed_size, unpack
from tapegrad.engine.kernels.control.callback import DESCRIPTOR_FIELDS
from tapegrad.engine.runtime.uncopied import Uncopied

# By the address of the descriptor; the handles that instructions hold as operands keep the calls alive.
_calls: "weakref.WeakValueDictionary[int, Call]" = weakref.WeakValueDictionary()


class Call(Uncopied):
    """Specialization of a custom op: one set of shapes, dtypes and static arguments, shared by its instructions.

    Attributes
    ----------
    inputs, outputs
        The arrays that the functions take and return.
    floats, others
        The inputs of floats or complex numbers, and those of integers or booleans.
    single
        Whether `forward` returns an array and not a tuple of arrays.
    dtype
        Dtype of the instruction: of the packed float inputs and of the packed outputs, in which complex numbers are
        pairs of floats.
    descriptor, address
        Fields that compiled code reads, and their address.
    over_lanes
        What is called in its place in a recording over lanes, if anything.
    """

    def __init__(
        self,
        functions: Functions,
        number: int,
        statics: Statics,
        inputs: tuple[ArraySpec, ...],
        outputs: tuple[ArraySpec, ...],
        single: bool,
        dtype: np.dtype[Any],
    ) -> None:
        self.functions, self.number, self.statics = functions, number, statics
        self.inputs, self.outputs, self.single, self.dtype = inputs, outputs, single, dtype
        self.floats = tuple(spec for spec in inputs if spec.is_differentiable)
        self.others = tuple(spec for spec in inputs if not spec.is_differentiable)
        self.x_size, self.rest_size, self.y_size = (
            packed_size(self.floats),
            packed_size(self.others),
            packed_size(outputs),
        )
        self.descriptor = np.zeros(DESCRIPTOR_FIELDS, np.int64)
        self.address = int(self.descriptor.ctypes.data)
        self.compiled: dict[int, Any] = {}  # by direction, `None` where it cannot be compiled
        self.derived: dict[str, Callable[..., Any]] = {}  # vjp and jvp as functions of Tensors
        self.over_lanes: Call | None = None
        _calls[self.address] = self

    # --- forward, reverse and tangent, on flat arrays --------------------------------------------------------------

    def forward(self, x: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return the packed outputs."""
        result = self.functions.call("forward", *self.arguments("forward", x, rest), statics=self.statics)
        return self._pack_outputs("forward", "output", result)

    def reverse(self, x: np.ndarray, rest: np.ndarray, y: np.ndarray, y_bar: np.ndarray) -> np.ndarray | None:
        """Return the packed cotangents of the float inputs, or `None` if all of them are zero."""
        arguments = (self._output("vjp", y_bar), self._output("vjp", y), *self.arguments("vjp", x, rest))
        result = self.functions.call("vjp", *arguments, statics=self.statics)
        found = self.functions.cotangents(result, self.inputs)
        return None if all(x_bar is None for x_bar in found) else pack(found, self.floats, self.dtype)

    def tangent(self, x: np.ndarray, rest: np.ndarray, y: np.ndarray, x_dot: np.ndarray) -> np.ndarray:
        """Return the packed tangents of the outputs."""
        x_dots = self._tangents(x_dot)
        arguments = (x_dots, self._output("jvp", y), *self.arguments("jvp", x, rest))
        result = self.functions.call("jvp", *arguments, statics=self.statics)
        return self._pack_outputs("jvp", "tangent", result)

    def arguments(self, role: str, x: np.ndarray, rest: np.ndarray) -> list[np.ndarray]:
        """Return the inputs in the form that the function `role` takes."""
        return unpack_inputs(self.functions, role, self.inputs, x, rest)

    def other_arrays(self, rest: np.ndarray) -> list[np.ndarray]:
        """Return the inputs of integers and booleans."""
        return unpack(rest, self.others, True)

    def _output(self, role: str, flat: np.ndarray) -> Any:
        """Unpack outputs, or their cotangents, into what `forward` returns: an array or a tuple."""
        arrays = unpack(flat, self.outputs, self.functions.is_compiled(role))
        return arrays[0] if self.single else tuple(arrays)

    def _tangents(self, x_dot: np.ndarray) -> tuple[np.ndarray | None, ...]:
        arrays = iter(unpack(x_dot, self.floats, self.functions.is_compiled("jvp")))
        return tuple(next(arrays) if spec.is_differentiable else None for spec in self.inputs)

    def _pack_outputs(self, role: str, what: str, result: Any) -> np.ndarray:
        if self.single == isinstance(result, tuple | list):
            expected = "one array" if self.single else f"a tuple of {len(self.outputs)} arrays"
            raise TypeError(
                f"custom op {self.functions.name!r}: {role} returned {type(result).__name__} where {expected} was"
                " returned before; the number of outputs may not change"
            )
        return pack(self.functions.expect(role, what, result, self.outputs), self.outputs, self.dtype)


def unpack_inputs(
    functions: Functions, role: str, inputs: tuple[ArraySpec, ...], x: np.ndarray, rest: np.ndarray
) -> list[np.ndarray]:
    """Unpack the float inputs from `x` and the others from `rest`, in the order of `inputs`."""
    copy = functions.is_compiled(role)  # copies, because compiled functions may write to their arguments
    if rest.size and float(np.abs(rest).max()) >= EXACT:
        raise ValueError(f"custom op {functions.name!r}: integers must be smaller than 2**53 in size")
    integers = [spec for spec in inputs if not spec.is_differentiable]
    if not integers:
        return unpack(x, inputs, copy)
    floats = iter(unpack(x, [spec for spec in inputs if spec.is_differentiable], copy))
    others = iter(unpack(rest, integers, copy))
    return [next(floats) if spec.is_differentiable else next(others) for spec in inputs]


def call_at(descriptor: int) -> Call:
    """Return the call of a descriptor. It lives as long as an instruction refers to it."""
    return _calls[descriptor]


class CallHandle(np.ndarray):
    """Operand of an instruction that keeps its call alive."""

    call: Call

    @classmethod
    def of(cls, call: Call) -> "CallHandle":
        handle = np.array([call.number], np.int64).view(cls)
        handle.call = call
        return handle
