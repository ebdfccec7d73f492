"""From the text of a module to machine code, and from machine code to addresses. No pass of LLVM's runs in between."""

import functools
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.translator.compiler import compiling
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
    """What holds the loaded code of this process; it is never given up, for addresses lead into it."""
    context = llvm.create_context()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", context), host().machine())
    _KEPT.append(context)
    return engine


_KEPT: list[Any] = []


def module_text(bodies: Iterable[Body]) -> str:
    """A module of functions, their data, and declarations of what they call and do not define."""
    bodies = list(bodies)
    declarations = {name: text for body in bodies for name, text in body.declarations.items()}
    texts = [body.text for body in bodies]
    defined = [text[: text.index("\n")] for text in texts]
    missing = [text for name, text in declarations.items() if not any(f"{name}(" in head for head in defined)]
    return "\n".join([*missing, "", *texts])


def compile_text(text: str, target: Target) -> bytes:
    """The object code of a module. Nobody forks in the meantime, for a child would find LLVM's own locks held."""
    thread_stack.require()
    machine, context = _machine(target), llvm.create_context()
    with compiling, llvm.parse_assembly(text, context) as module:
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        return pace.aside(lambda: bytes(machine.emit_object(module)))


def load(code: bytes, symbol: str) -> int:
    """The address of a function in object code for this processor; from now on other code can call it by its name."""
    engine = _engine()
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = int(engine.get_function_address(symbol))
    llvm.add_symbol(symbol, address)
    return address
