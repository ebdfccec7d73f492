"""What the instructions of one op with operands of certain shapes have in common, and how Python executes them."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions, Statics
from tapegrad.autodiff.custom.packing import EXACT, Part, join, split, total
from tapegrad.engine.kernels.callback import CELL_WORDS
from tapegrad.engine.runtime.uncopied import Uncopied

# By the address of their cell. The arrays that are operands of the instructions keep them alive.
_calls: "weakref.WeakValueDictionary[int, Call]" = weakref.WeakValueDictionary()


class Call(Uncopied):
    """An op on operands of certain shapes and dtypes, with certain static arguments.

    Attributes
    ----------
    inputs, outputs
        The arrays that the functions take and return.
    single
        Whether `forward` returns an array and not a tuple of arrays.
    dtype
        Dtype of the instruction: of the float inputs end to end, and of the outputs end to end.
    cell, address
        The words by which compiled code knows it, and where they are.
    """

    def __init__(
        self,
        functions: Functions,
        number: int,
        statics: Statics,
        inputs: tuple[Part, ...],
        outputs: tuple[Part, ...],
        single: bool,
        dtype: np.dtype[Any],
    ) -> None:
        self.functions, self.number, self.statics = functions, number, statics
        self.inputs, self.outputs, self.single, self.dtype = inputs, outputs, single, dtype
        self.floats = tuple(part for part in inputs if part.dtype.kind == "f")
        self.others = tuple(part for part in inputs if part.dtype.kind != "f")
        self.x_size, self.rest_size, self.y_size = total(self.floats), total(self.others), total(outputs)
        self.cell = np.zeros(CELL_WORDS, np.int64)
        self.address = int(self.cell.ctypes.data)
        self.compiled: dict[int, Any] = {}  # by direction, `None` where it cannot be compiled
        self.derived: dict[str, Callable[..., Any]] = {}  # vjp and jvp as functions of Tensors
        _calls[self.address] = self

    # --- the directions, on flat arrays ------------------------------------------------------------------------

    def forward(self, x: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """The outputs end to end."""
        result = self.functions.call("forward", *self.arguments("forward", x, rest), statics=self.statics)
        return self._joined_outputs("forward", "output", result)

    def reverse(self, x: np.ndarray, rest: np.ndarray, y: np.ndarray, y_bar: np.ndarray) -> np.ndarray | None:
        """The cotangents of the float inputs end to end; `None` where all of them are zero."""
        arguments = (self._output("vjp", y_bar), self._output("vjp", y), *self.arguments("vjp", x, rest))
        result = self.functions.call("vjp", *arguments, statics=self.statics)
        found = self.functions.cotangents(result, self.inputs)
        return None if all(x_bar is None for x_bar in found) else join(found, self.floats, self.dtype)

    def tangent(self, x: np.ndarray, rest: np.ndarray, y: np.ndarray, x_dot: np.ndarray) -> np.ndarray:
        """The tangents of the outputs end to end."""
        x_dots = self._tangents(x_dot)
        arguments = (x_dots, self._output("jvp", y), *self.arguments("jvp", x, rest))
        result = self.functions.call("jvp", *arguments, statics=self.statics)
        return self._joined_outputs("jvp", "tangent", result)

    def arguments(self, role: str, x: np.ndarray, rest: np.ndarray) -> list[np.ndarray]:
        """The inputs as one of the functions gets them."""
        return unpacked(self.functions, role, self.inputs, x, rest)

    def other_arrays(self, rest: np.ndarray) -> list[np.ndarray]:
        """The inputs that are integers or booleans."""
        return split(rest, self.others, True)

    def _output(self, role: str, flat: np.ndarray) -> Any:
        """Outputs, or cotangents of outputs, as `forward` has returned them."""
        arrays = split(flat, self.outputs, self.functions.is_compiled(role))
        return arrays[0] if self.single else tuple(arrays)

    def _tangents(self, x_dot: np.ndarray) -> tuple[np.ndarray | None, ...]:
        arrays = iter(split(x_dot, self.floats, self.functions.is_compiled("jvp")))
        return tuple(next(arrays) if part.dtype.kind == "f" else None for part in self.inputs)

    def _joined_outputs(self, role: str, what: str, result: Any) -> np.ndarray:
        if self.single == isinstance(result, tuple | list):
            expected = "one array" if self.single else f"a tuple of {len(self.outputs)} arrays"
            raise TypeError(
                f"custom op {self.functions.name!r}: {role} returned {type(result).__name__} where {expected} was"
                " returned before; the number of outputs may not change"
            )
        return join(self.functions.expect(role, what, result, self.outputs), self.outputs, self.dtype)


def unpacked(
    functions: Functions, role: str, inputs: tuple[Part, ...], x: np.ndarray, rest: np.ndarray
) -> list[np.ndarray]:
    """Inputs from the two flat arrays that hold them."""
    own = functions.is_compiled(role)
    if rest.size and float(np.abs(rest).max()) >= EXACT:
        raise ValueError(f"custom op {functions.name!r}: integers must be smaller than 2**53 in size")
    integers = [part for part in inputs if part.dtype.kind != "f"]
    if not integers:
        return split(x, inputs, own)
    floats = iter(split(x, [part for part in inputs if part.dtype.kind == "f"], own))
    others = iter(split(rest, integers, own))
    return [next(floats) if part.dtype.kind == "f" else next(others) for part in inputs]


def call_at(cell: int) -> Call:
    """The call to which a cell belongs; it is alive as long as an instruction of it is."""
    return _calls[cell]


class Token(np.ndarray):
    """The operand of an instruction that keeps its call alive: whoever owns the buffers' memory owns that, too."""

    call: Call

    @classmethod
    def of(cls, call: Call) -> "Token":
        token = np.array([call.number], np.int64).view(cls)
        token.call = call
        return token
