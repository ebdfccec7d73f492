"""Machine code of LLVM modules and its addresses. No optimisation pass runs in between."""

import functools
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.runtime import pace, thread_stack


@functools.cache
def _machine(target: Target) -> Any:
    if target == host():
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return target.machine()


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


def compile_text(text: str, target: Target) -> bytes:
    """Compile a module to object code. No thread forks meanwhile, for a child would find LLVM's own locks held."""
    thread_stack.require()
    machine, context = _machine(target), llvm.create_context()
    with compiling, llvm.parse_assembly(text, context) as module:
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        return pace.aside(lambda: bytes(machine.emit_object(module)))


def load(code: bytes, *symbols: str) -> list[int]:
    """Load object code; return the addresses of functions and data. From now on other code can call them by name."""
    engine = _engine()
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    addresses = [int(engine.get_global_value_address(symbol)) for symbol in symbols]
    for symbol, address in zip(symbols, addresses, strict=True):
        llvm.add_symbol(symbol, address)
    return addresses
