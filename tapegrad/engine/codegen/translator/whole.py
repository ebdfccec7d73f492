"""Plain functions that are called from outside: the text of all parts, and the entry wrapper for callers."""

import functools
import itertools
from typing import Any, NamedTuple

import numba
from llvmlite import binding
from numba import types

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.c_code import CCode
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator import values
from tapegrad.engine.codegen.translator.parts import FunctionIR, Text, part, text_of
from tapegrad.engine.codegen.translator.values import NotPlainError
from tapegrad.engine.kernels.language.linking import LoopPartCompiler, PlainWholeCompiler
from tapegrad.engine.kernels.language.numba_internals import (
    CompileResult,
    Environment,
    PythonFunctionDescriptor,
    cpu_target,
)
from tapegrad.engine.runtime.messages import stderr
from tapegrad.engine.runtime.switches import TRANSLATES

_RESULTS: dict[Any, Any] = {values.I64: types.int64, values.I1: types.boolean, None: types.none}


_numbers = itertools.count(1)  # of functions of one name: part of their symbols


class Translated(NamedTuple):
    """Numba's description of a function of numbers, its module, and what that was made from."""

    described: Any
    module: Any
    text: Text


def translated(
    function: Any, arguments: tuple[Any, ...], uid: int, returned: Any = None
) -> Translated | None:
    """Translate a function of numbers.

    `None` where Numba must compile it. `returned` is the type of the result of a C function.
    """
    if not TRANSLATES:
        return None
    cpu_target.target_context.refresh()  # it learns conversions when it is first used
    try:
        whole = part(function, tuple(values.KINDS[each] for each in arguments))
        described = _description(function, arguments, _result(whole, returned), uid)
        wrapper = _entry_wrapper(whole, described) if returned is None else _c_entry_wrapper(whole, described)
        text = text_of(whole, keeps_large_parts=returned is None)
        module = _module(text, wrapper)
    except NotPlainError:
        return None
    module.name = described.mangled_name
    return Translated(described, module, text)


def _result(whole: FunctionIR, returned: Any) -> Any:
    found = _RESULTS.get(whole.result)
    if found is None or (returned is not None and (found == types.none or returned != types.int64)):
        raise NotPlainError("a result of another type")
    return returned or found


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


def _entry_wrapper(whole: FunctionIR, described: Any) -> str:
    """Write the entry wrapper ``int32 function(result, exception, arguments...)``, which returns 0."""
    arguments = [Type(str(each)) for each in whole.type.args]
    code = CCode(f'@"{described.mangled_name}"', [I64, I64, *arguments], "i32")
    pointer, _, *given = code.arguments
    found = _called(code, whole, given)
    if whole.result is not None:
        code.store(found, pointer)
    code.ret(code.body.constant(Type("i32"), 0))
    return _text(code, described)


def _c_entry_wrapper(whole: FunctionIR, described: Any) -> str:
    """Write the entry wrapper ``int64 function(arguments...)``."""
    arguments = [Type(str(each)) for each in whole.type.args]
    code = CCode(f'@"{described.llvm_cfunc_wrapper_name}"', arguments)
    code.ret(_called(code, whole, code.arguments))
    return _text(code, described)


def _called(code: CCode, whole: FunctionIR, given: list[Value]) -> Value:
    """Emit the call of a function that is defined beside the wrapper; its result as a field."""
    found = code.call_by_name(f'@"{whole.name}"', *given, result=str(whole.type.return_type))
    return code.body.convert("zext", found, "i64")


def _text(code: CCode, described: Any) -> str:
    """Write the wrapper, and the environment that Numba asks for."""
    triple = cpu_target.target_context.codegen()._llvm_module.triple
    environment = f'@"{described.env_name}" = common global ptr null'
    return f'target triple = "{triple}"\n{environment}\n{code.body.text}'


@functools.cache
def _loop(name: str, text: str) -> Any:
    """Return the library of a loop, optimised in full."""
    library = LoopPartCompiler.library(cpu_target.target_context.codegen(), name)
    library.add_llvm_module(binding.parse_assembly(text))
    library.finalize()
    return library


def _module(found: Text, before: str = "") -> Any:
    """LLVM's module of a text, with the loops that are called in it."""
    module = binding.parse_assembly(f"{before}\n{found.text}")
    for each in found.loops:
        its = text_of(each)
        if its.loops or its.shared:
            raise NotPlainError("a loop of loops")
        module.link_in(_loop(each.name, its.text).alone(), preserve=True)
        module.get_function(each.name).linkage = "internal"
    module.verify()
    return module


def _fill(library: Any, module: Any, text: Text) -> None:
    """Make machine code of a module, and before of what it calls."""
    for each in text.shared:
        if not cache.has_shared(each.name):
            _share(each)
    library.shared = tuple(each.name for each in text.shared)
    library.add_llvm_module(module)
    library.finalize()


def _share(part: FunctionIR) -> None:
    """Make machine code of a part that is shared."""
    library = PlainWholeCompiler.empty_library(cpu_target.target_context.codegen(), part.name)
    text = text_of(part, keeps_large_parts=True)
    _fill(library, _module(text), text)
    cache.share(part.name, library)


class Complaint:
    """A failure of the translator is said once: Numba compiles in its place, which takes four times as long."""

    def __init__(self) -> None:
        self.made = False

    def make(self, function: Any, error: Exception) -> None:
        """Say which function could not be translated, and why."""
        if not self.made:
            self.made = True
            stderr.tell(
                f"the translator failed at {function.__module__}.{function.__qualname__}"
                f" ({type(error).__name__}: {error}); Numba {numba.__version__} compiles what it fails at, which takes"
                " longer and gives the same results (TAPEGRAD_TRANSLATE=0: without the translator)"
            )


complaint = Complaint()


def compile_directly(compiler: Any, function: Any) -> Any:
    """Compile a function for a compiler of Numba's; `None` where Numba must, or the translator fails for any reason."""
    try:
        return _compiled(compiler, function)
    except Exception as error:  # it leans on names of Numba's that any version may change
        complaint.make(function, error)
        return None


def _compiled(compiler: Any, function: Any) -> Any:
    found = translated(function, compiler.state.args, next(_numbers), compiler.state.return_type)
    if found is None:
        return None
    described = found.described
    target = compiler.state.targetctx
    library = compiler.empty_library(target.codegen(), function.__qualname__)
    _fill(library, found.module, found.text)
    environment = Environment.from_fndesc(described)  # no Python objects
    given = dict.fromkeys(CompileResult._fields) | {
        "typing_context": compiler.state.typingctx,
        "target_context": target,
        "entry_point": target.get_executable(library, described, environment),
        "library": library,
        "signature": described.restype(*compiler.state.args),
        "objectmode": False,
        "fndesc": described,
        "environment": environment,
    }
    return CompileResult(**given)
