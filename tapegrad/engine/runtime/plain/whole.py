"""A plain function that is called from outside: the text of all its parts, and a way in as Numba's callers know it."""

import functools
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import compile_result
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.lowering import Environment
from numba.core.registry import cpu_target
from numba.core.typing import signature

from tapegrad.engine.kernels.linking import LoopPartCompiler, PlainWholeCompiler
from tapegrad.engine.runtime.plain import values
from tapegrad.engine.runtime.plain.parts import Part, part, text_of
from tapegrad.engine.runtime.plain.values import F64, I1, I64, NotPlainError

_I32 = ir.IntType(32)
_KINDS = {types.int64: I64, types.float64: F64}
_RESULTS: dict[Any, Any] = {I64: types.int64, I1: types.boolean, None: types.none}


def translated(function: Any, arguments: tuple[Any, ...], uid: int) -> tuple[Any, Any, Any] | None:
    """Numba's description of a function of numbers, its module, and Numba's type of its result.

    `None` where Numba must compile it.
    """
    try:
        whole = part(function, tuple(_KINDS[each] for each in arguments))
        described = _description(function, arguments, _result(whole), uid)
        text, loops = text_of(whole)
        module = _module(f"{_way_in(whole, described)}\n{text}", loops)
    except NotPlainError:
        return None
    module.name = described.mangled_name
    return described, module, described.restype


def _result(whole: Part) -> Any:
    if whole.result not in _RESULTS:
        raise NotPlainError("a result that is no word")
    return _RESULTS[whole.result]


def _description(function: Any, arguments: tuple[Any, ...], result: Any, uid: int) -> Any:
    names = function.__code__.co_varnames[: len(arguments)]
    return PythonFunctionDescriptor(
        native=True,
        modname=function.__module__,
        qualname=function.__qualname__,
        unique_name=f"{function.__qualname__}${uid}",
        doc=function.__doc__ or "",
        typemap={},
        restype=result,
        calltypes={},
        args=names,
        kws=(),
        argtypes=arguments,
        uid=uid,
    )


def environment(described: Any) -> Any:
    """What Numba keeps Python objects of a function in. There are none."""
    return Environment.from_fndesc(described)


def _way_in(whole: Part, described: Any) -> ir.Module:
    """A module with ``int32 function(result, exception, arguments...)``, which returns 0."""
    module = ir.Module(described.mangled_name)
    module.triple = cpu_target.target_context.codegen()._llvm_module.triple
    place = I64.as_pointer()
    function = ir.Function(
        module, ir.FunctionType(_I32, [place, place, *whole.type.args]), described.mangled_name
    )
    cpu_target.target_context.declare_env_global(module, described.env_name)
    builder = ir.IRBuilder(function.append_basic_block())
    callee = ir.Function(module, whole.type, whole.name)
    returned = builder.call(callee, function.args[2:])
    if whole.result is not None:
        builder.store(values.cast(builder, returned, I64), function.args[0])
    builder.ret(_I32(0))
    del module.globals[whole.name]  # it is defined beside it
    return module


@functools.cache
def _loop(name: str, text: str) -> Any:
    """The library of a loop, optimised in full."""
    library = LoopPartCompiler.library(cpu_target.target_context.codegen(), name)
    library.add_llvm_module(binding.parse_assembly(text))
    library.finalize()
    return library


def _module(text: str, loops: list[Part]) -> Any:
    """LLVM's module of a text, with the loops that are called in it."""
    module = binding.parse_assembly(text)
    for each in loops:
        its, more = text_of(each)
        if more:
            raise NotPlainError("a loop of loops")
        module.link_in(_loop(each.name, its).alone(), preserve=True)
        module.get_function(each.name).linkage = "internal"
    module.verify()
    return module


class DirectCompiler(PlainWholeCompiler):
    """Translates a function of numbers without Numba's passes; what says more goes through them."""

    def compile_extra(self, func: Any) -> Any:
        """The result of compiling a Python function."""
        identity = FunctionIdentity.from_function(func)
        found = translated(func, self.state.args, identity.unique_id)
        if found is None:
            return super().compile_extra(func)
        described, module, result = found
        target = self.state.targetctx
        library = self.library(target.codegen(), func.__qualname__)
        library.enable_object_caching()
        library.add_llvm_module(module)
        library.finalize()
        made = environment(described)
        return compile_result(
            typing_context=self.state.typingctx,
            target_context=target,
            entry_point=target.get_executable(library, described, made),
            library=library,
            signature=signature(result, *self.state.args),
            objectmode=False,
            fndesc=described,
            environment=made,
        )
