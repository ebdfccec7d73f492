"""Machine code of LLVM modules and its addresses."""

import ctypes
import enum
import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.machine.interrupts import uninterrupted
from tapegrad.engine.codegen.machine.lock import calling_llvm, compiling
from tapegrad.engine.kernels.language import linking
from tapegrad.engine.kernels.language.llvm_types import unlocked
from tapegrad.engine.runtime import pace, thread_stack


class Optimization(enum.StrEnum):
    """Passes of LLVM that a module goes through: none for emitted code, those of an entry point, or of a kernel."""

    NONE = "none"
    PLAIN = "plain"
    FULL = "full"


class ModuleSource(NamedTuple):
    """Text of a module and the passes over it: all that object code is made of, but for the processor and LLVM.

    Attributes
    ----------
    text
        LLVM's text of a module.
    optimization
        The passes that are run.
    loops
        Name and text of each function that is linked to the module after it has been optimised by itself.
    """

    text: str
    optimization: Optimization = Optimization.NONE
    loops: tuple[tuple[str, str], ...] = ()


@functools.cache
def _initialize(is_host: bool) -> None:
    if is_host:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


@functools.cache
def _engine() -> Any:
    """Return the engine that holds the loaded code of this process; it is never freed, for addresses lead into it."""
    context = llvm.create_context()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", context), host().machine())
    _KEPT.append(context)
    return engine


_KEPT: list[Any] = []


def module_text(bodies: Iterable[Body]) -> str:
    """Write a module of functions, their data, and declarations of undefined callees."""
    bodies = list(bodies)
    declarations = {name: text for body in bodies for name, text in body.declarations.items()}
    texts = [body.text for body in bodies]
    defined = [text[: text.index("\n")] for text in texts]
    missing = [text for name, text in declarations.items() if not any(f"{name}(" in head for head in defined)]
    return "\n".join([*missing, "", *texts])


# --- compiling -----------------------------------------------------------------------------------------------------


def compile_source(source: ModuleSource, target: Target) -> bytes:
    """Compile a module to object code."""
    thread_stack.require()
    _initialize(target == host())
    with calling_llvm(), uninterrupted:
        return pace.aside(lambda: _object_code(source, target))


def _object_code(source: ModuleSource, target: Target) -> bytes:
    machine, context = target.machine(source.optimization != Optimization.NONE), llvm.create_context()
    with _parsed(source.text, target, machine, context) as module:
        for name, text in source.loops:
            with llvm.parse_bitcode(_optimized_loop(text, target), context) as loop:
                module.link_in(loop, preserve=True)
            module.get_function(name).linkage = "internal"
        if source.optimization != Optimization.NONE:
            module.verify()
            linking.simplify_functions(module, machine)
            is_plain = source.optimization == Optimization.PLAIN
            (linking.optimize_plainly if is_plain else linking.optimize_fully)(module, machine)
        return _emitted(module, machine)


def _parsed(text: str, target: Target, machine: Any, context: Any) -> Any:
    module = llvm.parse_assembly(text, context)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    return module


@functools.lru_cache(64)
def _optimized_loop(text: str, target: Target) -> bytes:
    """Return the bitcode of a loop over elements, optimised in full even if its callers are not."""
    machine, context = target.machine(True), llvm.create_context()
    with _parsed(text, target, machine, context) as module:
        linking.simplify_functions(module, machine)
        linking.optimize_fully(module, machine)
        return bytes(module.as_bitcode())


def _emitted(module: Any, machine: Any) -> bytes:
    """Return the object code of a module. It is `TargetMachine.emit_object` without llvmlite's lock."""
    with ffi.OutputString() as error:
        buffer = unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(f"LLVM: {error}")
    try:
        size = ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


# --- loading -------------------------------------------------------------------------------------------------------

_addresses: dict[str, int] = {}


def address_of(symbol: str) -> int:
    """Return the address of what was last loaded by this name; 0 for nothing."""
    return _addresses.get(symbol, 0)


def load(code: bytes, *symbols: str) -> list[int]:
    """Load object code; return the addresses of functions and data. From now on other code can call them by name."""
    with compiling, uninterrupted:
        engine = _engine()
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        addresses = [int(engine.get_global_value_address(symbol)) for symbol in symbols]
        for symbol, address in zip(symbols, addresses, strict=True):
            llvm.add_symbol(symbol, address)
            _addresses[symbol] = address
    return addresses
