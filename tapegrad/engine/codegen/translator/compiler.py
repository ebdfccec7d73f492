"""Compilation of entry points for Python, of helpers, and of kernels called by address."""

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad.engine.codegen.machine.interrupts import uninterrupted
from tapegrad.engine.codegen.machine.lock import compiling as compiling
from tapegrad.engine.codegen.python_calls import fast_calls
from tapegrad.engine.codegen.python_calls.wrapper_kinds import WrapperKind
from tapegrad.engine.codegen.store.announcer import announcer
from tapegrad.engine.codegen.store.cache import cache_of
from tapegrad.engine.codegen.translator import whole
from tapegrad.engine.kernels.language import linking, numba_internals, types
from tapegrad.engine.kernels.language.inlining import Helper
from tapegrad.engine.kernels.language.llvm_types import f64, i64
from tapegrad.engine.runtime import thread_stack


class EntryPoint(NamedTuple):
    """Function that Python calls.

    Attributes
    ----------
    function
        The Python function.
    kinds
        LLVM's types of its arguments.
    wrapper
        The kind of its wrapper.
    compiled
        Compiles it, or takes it from the cache; the function that Python calls from then on.
    """

    function: Callable[..., Any]
    kinds: tuple[Any, ...]
    wrapper: WrapperKind
    compiled: Callable[[], Any]


ENTRY_POINTS: dict[tuple[str, str], EntryPoint] = {}  # all that have been defined, by module and name

_GROUPS: dict[str, list[tuple[str, str]]] = {}
EVERY_COMPUTATION, EVERY_RECORDING, SPARSITY = "computation", "recording", "sparsity"


@functools.cache
def expect_group(group: str) -> None:
    """Announce that all entry points of a group will be needed."""
    if group:
        with compiling:
            announcer.expect(_GROUPS[group])


def _options(compiler: str) -> dict[str, Any]:
    """Return options of `numba.njit`."""
    return {
        "error_model": "numpy",
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
        "pipeline_class": compiler,
    }


def entry_point(
    floats: tuple[str, ...] = (),
    tuples: tuple[str, ...] = (),
    returns_tuple: bool = False,
    group: str = "",
    nogil: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Compile an entry point: a function that Python calls with 64-bit integers, floats and tuples of integers.

    `floats` and `tuples` name the arguments that are such. Of a tuple the function is given the address of its fields;
    one that returns a tuple is given an address for its fields last, and returns their number.

    It is compiled, or taken from the cache, when it is first called. Then the name in its module is bound to the
    bare compiled function, which costs half as much to call as Numba's dispatcher: call it as ``module.name``.
    All of a `group` are needed where one of them is.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        letters = ["f" if name in floats else "t" if name in tuples else "i" for name in names]
        given = "".join(letters[:-1] if returns_tuple else letters)
        wrapper = WrapperKind(given, nogil, returns_tuple)
        kinds = tuple(f64 if name in floats else i64 for name in names)
        compiled_later = Helper(function, _options("PlainWholeCompiler"))

        @functools.cache
        def entry() -> Any:
            _make_finalisers_ready()
            expect_group(group)
            with compiling, uninterrupted, announcer.compiling(function):
                address = whole.address(function, whole.entry_unit(function, kinds)) or _address_by_numba(
                    compiled_later, kinds
                )
                compiled = fast_calls.fast_call(function.__qualname__, address, wrapper)
                _hand_out(function.__module__, function.__name__, compiled)
            return compiled

        @functools.wraps(function)
        def first_call(*args: Any) -> Any:
            return entry()(*args)

        ENTRY_POINTS[function.__module__, function.__name__] = EntryPoint(function, kinds, wrapper, entry)
        vars(first_call)["compile"] = entry
        _GROUPS.setdefault(group, []).append((function.__module__, function.__name__))
        return first_call

    return decorate


def _address_by_numba(entry: Helper, kinds: tuple[Any, ...]) -> int:
    """Return the address of an entry point that Numba compiles."""
    signature = tuple(types.float64 if kind == f64 else types.int64 for kind in kinds)
    dispatcher = entry.numbas
    dispatcher._cache = cache_of(entry.py_func)
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    # What fits the field of zeros that a result is written to
    if compiled.signature.return_type not in (types.int64, types.boolean, types.none):
        raise TypeError(f"{compiled.fndesc.qualname} returns {compiled.signature.return_type}, not a field")
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


_COMPILED: dict[tuple[str, str], Any] = {}
_WAITING: dict[tuple[str, str], list[Callable[[Any], None]]] = {}


def _hand_out(module: str, name: str, compiled: Any) -> None:
    """Bind a compiled entry point to its name in its module, and give it to those who wait for it."""
    setattr(sys.modules[module], name, compiled)
    _COMPILED[module, name] = compiled
    for take in _WAITING.pop((module, name), ()):
        take(compiled)


def when_compiled(module: Any, name: str, take: Callable[[Any], None]) -> None:
    """Call ``take(compiled)`` with an entry point once it is compiled, which may be now; compile nothing for it."""
    key = module.__name__, name
    with compiling:
        if key in _COMPILED:
            take(_COMPILED[key])
        else:
            _WAITING.setdefault(key, []).append(take)


def make_ready(*functions: Callable[..., Any]) -> None:
    """Compile entry points that finalisers call, or take them from the cache, before there is anything to finalise.

    The garbage collector may run a finaliser at any time, also where LLVM calls Python in the middle of its work. A
    compilation in there would enter LLVM once more, which ends the process.
    """
    for function in functions:
        compile_ = getattr(function, "compile", None)
        if compile_ is not None:  # otherwise it is compiled already
            compile_()


_FINALISERS: list[Callable[..., Any]] = []


def called_by_finalisers(*functions: Callable[..., Any]) -> None:
    """Say that finalisers call these entry points: `make_ready` is called on them before any other is compiled.

    Whatever is finalised was made by an entry point.
    """
    _FINALISERS.extend(functions)


def _make_finalisers_ready() -> None:
    if _FINALISERS:
        with compiling:
            while _FINALISERS:
                make_ready(_FINALISERS.pop())


def inline_njit(function: Callable[..., Any]) -> Any:
    """`numba.njit` for functions that only compiled code calls; compiled once, whatever the literals passed.

    Numba compiles a function anew for each combination of literal arguments. Here every integer and boolean
    argument is an int64.
    """
    return _Widening(function, _options("PlainPartCompiler"))


def shared_njit(function: Callable[..., Any]) -> Any:
    """Compile a large helper once, and link it to its callers instead of inlining it."""
    return _Widening(function, _options("SharedPartCompiler"))


class _Widening(Helper):
    """Helper that is compiled once for all integers and booleans."""

    def _make(self) -> Any:
        dispatcher = super()._make()
        template = dispatcher.get_call_template

        def get_call_template(args: tuple[Any, ...], kws: Any) -> Any:
            return template(tuple(_widened(arg) for arg in args), kws)

        dispatcher.get_call_template = get_call_template
        return dispatcher


def _widened(arg: Any) -> Any:
    """Return the type that a helper takes for an argument of type `arg`."""
    plain = types.unliteral(arg)
    return types.int64 if isinstance(plain, types.Integer | types.Boolean) else plain


def compile_c_function(function: Callable[..., Any]) -> int:
    """Compile a C function of int64 arguments that returns an int64, or take it from the cache; return its address.

    Kernels are called so, destructors, functions that threads run, and those of an allocator. C may ignore the result.
    """
    with uninterrupted, announcer.compiling(function):
        return whole.address(function, whole.c_unit(function)) or _c_address_by_numba(function)


def _c_address_by_numba(function: Callable[..., Any]) -> int:
    signature = types.int64(*[types.int64] * function.__code__.co_argcount)
    options = {"nopython": True, "error_model": "numpy"}
    types_ = signature.args, signature.return_type
    compiled = numba_internals.CFunc(function, types_, {}, options, linking.WholeCompiler)
    compiled._cache = cache_of(function)
    compiled.compile()
    _KEEP_ALIVE.append(compiled)
    return int(compiled.address)


def compile_call(function: Callable[..., Any]) -> Any:
    """Compile a kernel for a user's functions at run time; it is not cached, and its user keeps it alive."""
    signature = types.int64(types.int64, types.int64)
    options = {"nopython": True, "error_model": "numpy"}
    types_ = signature.args, signature.return_type
    compiled = numba_internals.CFunc(function, types_, locals={}, options=options)
    thread_stack.require()
    with compiling, uninterrupted, announcer.compiling(function):
        compiled.compile()
    return compiled


_KEEP_ALIVE: list[Any] = []
