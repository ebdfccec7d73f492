"""Parts: the text of each plain function is made once, and put into every function from outside that needs it."""

import ast
import hashlib
import itertools
from typing import Any, NamedTuple

from llvmlite import ir

from tapegrad.engine.codegen.translator import values
from tapegrad.engine.codegen.translator.definitions import definition
from tapegrad.engine.codegen.translator.statements import RetryTyping, Statements, TypeEnvironment
from tapegrad.engine.codegen.translator.values import Constant, NotPlainError
from tapegrad.engine.kernels.language.inlining import Helper

_OWN = "internal"  # each object has its own: names are those of one process
_KEPT = "weak_odr"  # of a loop, while it is alone in its module
_SHARED = ""  # others call it by its name
_numbers = itertools.count()
_COMPILERS = ("PlainPartCompiler", "PartCompiler", "LoopPartCompiler", "SharedPartCompiler")
_MAX_INLINED_INSTRUCTIONS = 130  # instructions of a part that is not inlined where large parts are kept


class CompileOptions(NamedTuple):
    """Options for compiling a function.

    Attributes
    ----------
    is_loop
        Whether it is a loop over elements, which is optimised in full before it is put anywhere.
    is_inlined
        Whether it is put into every function that calls it.
    is_shared
        Whether it has machine code of its own, which others call.
    flags
        What may be done with its arithmetic of floats.
    """

    is_loop: bool = False
    is_inlined: bool = False
    is_shared: bool = False
    flags: tuple[str, ...] = ()


_AS_IT_IS = CompileOptions()


class FunctionIR(NamedTuple):
    """A function in LLVM's text.

    Attributes
    ----------
    name
        Its name there.
    type
        LLVM's type of it.
    result
        The kind of what it returns.
    texts
        What it is defined by and refers to, by name; each with whether it is a definition.
    parts
        The parts that it calls.
    how
        How it is compiled.
    size
        The number of its instructions before any are simplified.
    """

    name: str
    type: ir.FunctionType
    result: Any
    texts: dict[str, tuple[str, bool]]
    parts: tuple["FunctionIR", ...]
    how: CompileOptions
    size: int


_parts: dict[Any, FunctionIR] = {}
_begun: set[Any] = set()


def part(function: Any, kinds: tuple[Any, ...], how: CompileOptions = _AS_IT_IS) -> FunctionIR:
    """Return the part for a Python function and the kinds of its arguments; tables among them are `Constant`.

    Raises
    ------
    NotPlainError
        If the function, or one that it calls, says something that is not translated.
    """
    key = (function, kinds, _types_in(kinds))
    if how.is_shared and any(isinstance(kind, Constant) for kind in kinds):
        how = how._replace(is_shared=False)  # tables have no name that another process knows
    if key not in _parts:
        if key in _begun:
            raise NotPlainError("a function that calls itself")
        _begun.add(key)
        try:
            name = f"{function.__module__}.{function.__qualname__}"
            end = _spelled(kinds) if how.is_shared else next(_numbers)
            _parts[key] = _translate(function, kinds, f"{name}.{end}", how)
        finally:
            _begun.discard(key)
    return _parts[key]


def _types_in(value: Any) -> Any:
    """Return the types of all items of nested tuples: zeros of float64 and float32 are equal, their code is not."""
    return tuple(map(_types_in, value)) if isinstance(value, tuple) else type(value)


def _spelled(kinds: tuple[Any, ...]) -> str:
    """Spell the kinds of arguments as a short text that is the same in each process."""

    def spelled(kind: Any) -> str:
        if isinstance(kind, values.RecordType):
            return f"{kind.make and kind.make.__qualname__}({', '.join(map(spelled, kind.items))})"
        return str(kind)

    return hashlib.sha256(", ".join(map(spelled, kinds)).encode()).hexdigest()[:8]


def _translate(function: Any, arguments: tuple[Any, ...], name: str, how: CompileOptions) -> FunctionIR:
    tree, kinds = _tree(function), TypeEnvironment()
    names = [argument.arg for argument in tree.args.args]
    given = dict(zip(names, arguments, strict=True))
    while True:
        called: dict[str, FunctionIR] = {}

        def callee(helper: Helper, wanted: tuple[Any, ...], called: dict[str, FunctionIR] = called) -> Any:
            found = part(helper.py_func, wanted, _how(helper))
            called[found.name] = found
            return found.name, found.type, found.result

        try:
            statements = Statements(function, callee, tree, given, kinds)
            statements.flags = how.flags
            module = _write(statements, name, given, kinds)
            module.globals[name].linkage = _SHARED if how.is_shared else _KEPT if how.is_loop else _OWN
            if how.is_inlined:
                module.globals[name].attributes.add("alwaysinline")
        except RetryTyping:
            continue
        made = module.globals[name]
        texts = {each.name: (str(each), not _is_declaration(each)) for each in module.globals.values()}
        size = sum(len(block.instructions) for block in made.blocks)
        return FunctionIR(name, made.function_type, kinds.result, texts, tuple(called.values()), how, size)


def _is_declaration(value: Any) -> bool:
    return value.is_declaration if isinstance(value, ir.Function) else value.initializer is None


def _write(statements: Statements, name: str, given: dict[str, Any], kinds: TypeEnvironment) -> ir.Module:
    """Write a module with the function, specialised to the kinds of its arguments."""
    module = ir.Module()
    fields = [
        type_ for kind in given.values() if not isinstance(kind, Constant) for type_ in values.fields_of(kind)
    ]
    function = ir.Function(module, ir.FunctionType(_returned(kinds.result), fields), name)
    statements.write(function)
    # What it returns may not have been known when it was begun.
    function.ftype = ir.FunctionType(_returned(kinds.result), fields)
    function.type = function.ftype.as_pointer()
    function.return_value = ir.values.ReturnValue(function, function.ftype.return_type)
    return module


def _returned(kind: Any) -> ir.Type:
    if isinstance(kind, values.RecordType):
        return ir.LiteralStructType(list(values.fields_of(kind)))
    return ir.VoidType() if kind is None else kind


def _how(helper: Helper) -> CompileOptions:
    """Return the options with which a helper is compiled."""
    options = helper.targetoptions
    kind = options.get("pipeline_class")
    is_inlined = options.get("inline") == "always"
    flags = options.get("fastmath", ())
    known = kind in _COMPILERS or is_inlined
    if not known or isinstance(flags, bool):
        raise NotPlainError(f"{helper.__qualname__} is compiled in another way")
    return CompileOptions(
        kind == "LoopPartCompiler", is_inlined, kind == "SharedPartCompiler", tuple(sorted(flags))
    )


class Text(NamedTuple):
    """Text and data of a part.

    Attributes
    ----------
    text
        Its definition and those of parts that it calls, with declarations of loops and of what is shared.
    parts, loops, shared
        The parts that are defined in it besides itself, and those that are declared.
    """

    text: str
    parts: list[FunctionIR]
    loops: list[FunctionIR]
    shared: list[FunctionIR]


def text_of(whole: FunctionIR, keeps_large_parts: bool = False) -> Text:
    """Collect the text of a part that becomes a module of its own.

    With `keeps_large_parts`, a large part stays a function where it is called, for the time that LLVM takes.
    """
    texts: dict[str, tuple[str, bool]] = {}
    found, seen, stack = Text("", [], [], []), set(), [whole]
    while stack:
        each = stack.pop()
        if each.name in seen:
            continue
        seen.add(each.name)
        if each is not whole:
            kept = found.loops if each.how.is_loop else found.shared if each.how.is_shared else found.parts
            kept.append(each)
            if kept is not found.parts:
                continue
        for name, text in each.texts.items():
            if text[1] or name not in texts:
                texts[name] = text
        if (
            keeps_large_parts
            and each is not whole
            and each.size > _MAX_INLINED_INSTRUCTIONS
            and not each.how.is_inlined
        ):
            texts[each.name] = (_not_inlined(texts[each.name][0]), True)
        stack.extend(each.parts)
    return found._replace(text="\n".join(text for text, _ in texts.values()))


def _not_inlined(definition: str) -> str:
    """Return the definition with the attribute, as text: llvmlite before 0.48 puts it on the result."""
    return definition.replace("\n{", " noinline\n{", 1)


def _tree(function: Any) -> ast.FunctionDef:
    tree = definition(function)
    if tree is None:
        raise NotPlainError("no source that says what was imported")
    plain = tree.args
    if plain.vararg or plain.kwarg or plain.kwonlyargs or plain.posonlyargs:
        raise NotPlainError("arguments of another form")
    return tree
