"""Compiled functions as values in functions of Numba's: a type for all that take and give arrays of the same kinds.

In compiled code such a value is the address of a handle. What is compiled for one of a type does for all others, and
may be kept between processes; only a function that has one as a global holds its address.
"""

from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.extending import NativeValue, lower_builtin, models, register_model, unbox

from tapegrad.engine.kernels.language.numba_internals import lower_constant
from tapegrad.engine.sweep.replays.handle_fields import VERSION
from tapegrad.engine.tape.fields.view import View
from tapegrad.transforms.compiled.compiled import Compiled

_CONSTANTS: list[Compiled] = []  # machine code holds their addresses, and its lifetime is not known


class CompiledType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The type of compiled functions whose arguments and results have these dtypes and numbers of dimensions."""

    def __init__(self, inputs: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        self.inputs, self.results = inputs, results
        takes, gives = (", ".join(map(_described, kinds)) for kinds in (inputs, results))
        super().__init__(f"Compiled[{VERSION}](({takes}) -> ({gives}))")

    @property
    def key(self) -> Any:
        """Equal for equal types. Code that was compiled for another layout of handles is of another type."""
        return VERSION, self.inputs, self.results


def _described(kind: tuple[Any, int]) -> str:
    return f"{kind[0]}{[':'] * kind[1] if kind[1] else ''}".replace("'", "")


def type_of(compiled: Compiled) -> CompiledType:
    """Return the type of a compiled function."""
    return CompiledType(*(tuple(map(_kind, views)) for views in (compiled.inputs, compiled.results)))


def _kind(view: View) -> tuple[Any, int]:
    return from_dtype(view.dtype), view.ndim


@register_model(CompiledType)
class CompiledModel(models.PrimitiveModel):  # type: ignore[misc]  # the same
    """The address of a handle."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.IntType(64))


def _is_not_null(builder: Any, pointer: Any) -> Any:
    return builder.icmp_unsigned("!=", pointer, pointer.type(None))


@unbox(CompiledType)
def unbox_compiled(typ: Any, obj: Any, c: Any) -> Any:
    """Take the address; the caller holds the object as long as the call lasts."""
    field = c.pyapi.object_getattr_string(obj, "address")
    address = c.pyapi.long_as_longlong(field)
    c.pyapi.decref(field)
    return NativeValue(address, is_error=_is_not_null(c.builder, c.pyapi.err_occurred()))


@lower_constant(CompiledType)
def lower_compiled(context: Any, builder: Any, typ: Any, value: Any) -> Any:
    """Lower a global to its address, which means nothing to another process."""
    _CONSTANTS.append(value)
    address = context.add_dynamic_addr(builder, value.address, info="a compiled function of tapegrad's")
    return builder.ptrtoint(address, ir.IntType(64))


@lower_builtin(CompiledType, CompiledType, types.VarArg(types.Any))
def lower_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Call one as its method ``__call__``, which `numba_call` types and compiles."""
    function = context.typing_context.resolve_getattr(signature.args[0], "__call__")
    typed = context.typing_context.resolve_function_type(function, signature.args[1:], {})
    call = context.get_function(function, typed)
    context.add_linking_libs(getattr(call, "libs", ()))
    return call(builder, arguments)
