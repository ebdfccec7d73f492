"""The call of a compiled function in a function of Numba's, ``h(x, ..., g, ...)``.

Arrays and numbers for the inputs come first, then arrays for those results that are arrays, or None where one is not
wanted; results that are numbers are returned. Without arrays for results, new ones are made, and all are returned.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, overload_method

from tapegrad.engine.kernels.language.numba_internals import cpu_target
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    load_at,
    load_i64,
    stack_i64,
    store_at,
    store_i64,
)
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED, OUT_OF_MEMORY, OUT_OF_RANGE
from tapegrad.engine.sweep.replays.handle_fields import EXTENTS, NAN_ENTRY
from tapegrad.errors import UnrecordedWayError
from tapegrad.interop.numba_type import CompiledType

_Kind = tuple[Any, int]


@intrinsic
def _address(typingctx: Any, compiled: Any) -> Any:
    """Return the address of the handle."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0]

    return types.int64(compiled), codegen


@numba.njit
def _fits(extents: int, array: Any) -> bool:
    """Return whether an array has these extents."""
    for d in range(array.ndim):
        if array.shape[d] != load_i64(extents, d):
            return False
    return True


@numba.njit
def _raise(status: int) -> None:
    """Raise the exception for a status."""
    if status == GUARD_FAILED:
        raise UnrecordedWayError(
            "a compiled function has no specialization for these arguments: a branch went another way; its"
            " last_failure() says at which branch. Give compile() an example of it as well"
        )
    if status == CALL_FAILED:
        raise RuntimeError(
            "a custom op in a compiled function raised an exception: call it from Python to see it"
        )
    if status == OUT_OF_RANGE:
        raise IndexError("an index array in a compiled function names a row that does not exist")
    if status == OUT_OF_MEMORY:
        raise MemoryError("not enough memory to call a compiled function")
    raise np.linalg.LinAlgError(
        "a matrix in a compiled function is singular, not positive definite or not finite, or has no derivative there:"
        " call it from Python to see which"
    )


# --- what may be given -------------------------------------------------------------------------------------------


def _check_count(typ: CompiledType, given: tuple[Any, ...]) -> None:
    arrays = sum(ndim > 0 for _, ndim in typ.results)
    if len(given) not in (len(typ.inputs), len(typ.inputs) + arrays):
        raise numba.errors.TypingError(
            f"a compiled function of {len(typ.inputs)} inputs and {arrays} results that are arrays takes"
            f" {len(typ.inputs)} arguments, or {len(typ.inputs) + arrays} with arrays for the results, but got"
            f" {len(given)}: {typ}"
        )


def _check_array(what: str, given: Any, kind: _Kind) -> None:
    dtype, ndim = kind
    if not isinstance(given, types.Array) or given.dtype != dtype or given.ndim != ndim:
        raise numba.errors.TypingError(
            f"{what} of a compiled function is a {dtype} array of {ndim} dimensions, not {given}"
        )
    if given.layout != "C" or not given.aligned:
        raise numba.errors.TypingError(
            f"{what} of a compiled function must be C-contiguous for Numba, but is {given}; np.ascontiguousarray makes"
            " such an array, and row x[i] of one is one"
        )


def _check_input(number: int, given: Any, kind: _Kind) -> None:
    plain = isinstance(given, types.Integer | types.Float | types.Boolean)
    if kind[1] > 0 or not plain:
        _check_array(f"input {number}", given, kind)


def _check_result(number: int, given: Any, kind: _Kind) -> None:
    if isinstance(given, types.NoneType):
        return
    _check_array(f"result {number}", given, kind)
    if not given.mutable:
        raise numba.errors.TypingError(
            f"the array for result {number} of a compiled function is read-only: {given}"
        )


# --- the call -----------------------------------------------------------------------------------------------------


class _Text:
    """The text of the function that does a call with arguments of certain types."""

    def __init__(self, typ: CompiledType, given: tuple[Any, ...]) -> None:
        self._typ, self._given, self._kinds = typ, given, (*typ.inputs, *typ.results)
        self._starts = np.cumsum([0, *(ndim for _, ndim in self._kinds)]).tolist()  # of the extents of each
        self._names: dict[str, Any] = {
            "Any": Any, "np": np, "address": _address, "call_kernel": call_kernel, "fits": _fits, "load": load_i64,
            "load_at": load_at, "raise_for": _raise, "stack_i64": stack_i64, "store": store_i64,
            "store_at": store_at,
        }  # fmt: skip
        fields = max(len(self._kinds), 1)
        self._lines = [
            f"fields, rooms, handle = stack_i64({fields}), stack_i64({fields}), address(h)",
            f"extents = load(handle, {EXTENTS})",
        ]

    def made(self) -> Callable[..., Any]:
        """Return the function."""
        for k, given in enumerate(self._given[: len(self._typ.inputs)]):
            self._add_input(k, given)
        returned = self._add_results()
        self._lines += [
            f"status = call_kernel(load(handle, {NAN_ENTRY}), handle, fields)",
            "if status != 0:",
            "    raise_for(status)",
            f"return {', '.join(returned) if len(returned) != 1 else returned[0]}",
        ]
        exec("\n    ".join(["def call(h: Any, *args: Any) -> Any:", *self._lines]), self._names)
        found: Callable[..., Any] = self._names["call"]
        return found

    def _zero(self, k: int) -> str:
        """Name of a number of the dtype of an argument, as it lies in memory."""
        dtype = np.dtype(self._kinds[k][0].name)
        self._names[f"zero{k}"] = np.uint8(0) if dtype == np.bool_ else dtype.type(0)
        return f"zero{k}"

    def _room(self, k: int) -> None:
        """Pass a stack slot as an argument."""
        self._lines.append(f"store(fields, {k}, rooms + {8 * k})")

    def _array(self, k: int, array: str, what: str) -> None:
        """Let an array be an argument, if it is of the right shape."""
        self._lines += [
            f"if not fits(extents + {8 * self._starts[k]}, {array}):",
            f"    raise ValueError('{what} of a compiled function has another shape than it was compiled for: print"
            " the function to see its arguments')",
            f"store(fields, {k}, {array}.ctypes.data)",
        ]

    def _add_input(self, k: int, given: Any) -> None:
        _check_input(k, given, self._kinds[k])
        if isinstance(given, types.Array):
            self._array(k, f"args[{k}]", f"input {k}")
        else:
            self._lines.append(f"store_at(rooms, {8 * k}, args[{k}], {self._zero(k)})")
            self._room(k)

    def _add_results(self) -> list[str]:
        """Add places for the results; what is returned."""
        returned, following = [], len(self._typ.inputs)
        makes = len(self._given) == following
        for number, kind in enumerate(self._typ.results):
            k = number + len(self._typ.inputs)
            if kind[1] == 0:
                returned.append(self._add_number(k))
            elif makes:
                returned.append(self._add_new(k))
            else:
                self._add_given(k, number, following)
                following += 1
        return returned

    def _add_number(self, k: int) -> str:
        self._room(k)
        value = f"load_at(rooms, {8 * k}, {self._zero(k)})"
        return f"({value} != 0)" if self._kinds[k][0] == types.boolean else value

    def _add_new(self, k: int) -> str:
        start, (dtype, ndim) = self._starts[k], self._kinds[k]
        extents = ", ".join(f"load(extents, {start + d})" for d in range(ndim))
        self._names[f"dtype{k}"] = np.dtype(dtype.name)
        self._lines += [f"r{k} = np.empty(({extents},), dtype{k})", f"store(fields, {k}, r{k}.ctypes.data)"]
        return f"r{k}"

    def _add_given(self, k: int, number: int, parameter: int) -> None:
        given = self._given[parameter]
        _check_result(number, given, self._kinds[k])
        if isinstance(given, types.NoneType):
            self._lines.append(f"store(fields, {k}, 0)")
        else:
            self._array(k, f"args[{parameter}]", f"result {number}")


@overload_method(CompiledType, "__call__")
def _call(h: Any, *args: Any) -> Any:
    given = tuple(types.unliteral(arg.value if isinstance(arg, types.Omitted) else arg) for arg in args)
    if len(given) == 1 and isinstance(given[0], types.BaseTuple):
        given = tuple(map(types.unliteral, given[0]))  # how Numba hands on what *args stands for
    _check_count(h, given)
    return _Text(h, given).made()


# Numba may be about to type a function that has a compiled one as a global, and looks for what is new before it begins.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
