"""Plain functions that are called from outside: the text of all parts, the entry wrapper, and their object code."""

import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.c_code import CCode
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.machine import machine, objects
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.codegen.machine.machine import ModuleSource, Optimization
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator import values
from tapegrad.engine.codegen.translator.parts import FunctionIR, part, text_of
from tapegrad.engine.codegen.translator.values import NotPlainError
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.runtime import sources
from tapegrad.engine.runtime.messages import stderr
from tapegrad.engine.runtime.switches import TRANSLATES

_WRAPPER = "tapegrad.wrapper"  # until the text is known, which the symbol is made of
_shared: dict[str, FunctionIR] = {}  # parts with object code of their own that have been translated, by name


# --- addresses -----------------------------------------------------------------------------------------------------


def entry_unit(function: Any, kinds: tuple[Any, ...]) -> objects.Unit:
    """Return the unit of ``int32 (int64 *result, void *exception, arguments...)``, of arguments of LLVM's types."""
    return _unit(function, cache.ENTRY, lambda: entry_definition(function, kinds))


def c_unit(function: Any) -> objects.Unit:
    """Return the unit of ``int64 (int64 arguments...)``."""
    return _unit(function, cache.KERNEL, lambda: c_definition(function))


def address(function: Any, unit: objects.Unit) -> int:
    """Return the address of the unit of a function; 0 where Numba must compile it."""
    if not TRANSLATES:
        return 0
    # The module may have been imported after the state was taken.
    sources.check(getattr(function.__code__, "co_filename", ""))
    try:
        try:
            return _load(_code(unit))
        except UnknownPartError:
            return _load(objects.make(host(), unit.define))  # which translates its callees as well
    except NotPlainError:
        return 0
    except Exception as error:  # it leans on names of Numba's that any version may change
        complaint.make(function, error)
        return 0


def _unit(function: Any, kind: str, define: Callable[[], objects.Definition]) -> objects.Unit:
    return objects.Unit(f"{function.__module__}.{function.__qualname__}.{kind}", define)


def _code(unit: objects.Unit) -> objects.ObjectCode:
    return objects.obtain(unit, host()) if cache.is_ours(unit.name) else objects.make(host(), unit.define)


def _load(code: objects.ObjectCode) -> int:
    """Load a function, and before it those that it calls."""
    for symbol in code.calls:
        if not machine.address_of(symbol):
            _load(_code(shared_unit(symbol)))
    with compiling:
        return machine.address_of(code.symbol) or machine.load(code.code, code.symbol)[0]


# --- functions that several others call ----------------------------------------------------------------------------


class UnknownPartError(Exception):
    """A part that is neither kept nor translated: its callers are known, and it has been lost."""


def shared_unit(symbol: str) -> objects.Unit:
    """Return the unit of a function that others call by its symbol."""
    return objects.Unit(symbol, lambda: _shared_definition(symbol))


def is_known(symbol: str) -> bool:
    """Return whether a function that others call by its symbol has been translated in this process."""
    return symbol in _shared


def _shared_definition(symbol: str) -> objects.Definition:
    if symbol not in _shared:
        raise UnknownPartError(symbol)
    return _definition(_shared[symbol], Optimization.PLAIN, symbol)


def _remember(parts: Iterable[FunctionIR]) -> None:
    """Remember parts that are compiled by themselves, and those that they call."""
    for shared in parts:
        if shared.name not in _shared:
            _shared[shared.name] = shared
            _remember(text_of(shared).shared)


# --- definitions ---------------------------------------------------------------------------------------------------


def entry_definition(function: Any, kinds: tuple[Any, ...]) -> objects.Definition:
    """Translate an entry point.

    Raises
    ------
    NotPlainError
        If it says something that is not translated.
    """
    whole = part(function, kinds)
    if whole.result not in (values.I64, values.I1, None):
        raise NotPlainError("a result of another type")
    arguments = [Type(str(kind)) for kind in whole.type.args]
    code = CCode(f'@"{_WRAPPER}"', [I64, I64, *arguments], "i32")
    pointer, _, *fields = code.arguments
    result = _called(code, whole, fields)
    if whole.result is not None:
        code.store(result, pointer)
    code.ret(code.body.constant(Type("i32"), 0))
    return _definition(whole, Optimization.PLAIN, before=code.body.text)


def c_definition(function: Any) -> objects.Definition:
    """Translate a C function of integers that returns one.

    Raises
    ------
    NotPlainError
        If it says something that is not translated.
    """
    whole = part(function, (values.I64,) * function.__code__.co_argcount)
    if whole.result != values.I64:
        raise NotPlainError("a result of another type")
    code = CCode(f'@"{_WRAPPER}"', [I64] * len(whole.type.args))
    code.ret(_called(code, whole, code.arguments))
    return _definition(whole, Optimization.FULL, before=code.body.text)


def _called(code: CCode, whole: FunctionIR, arguments: list[Value]) -> Value:
    """Emit the call of a function that is defined beside the wrapper; its result as a field."""
    result = code.call_by_name(f'@"{whole.name}"', *arguments, result=str(whole.type.return_type))
    return code.body.convert("zext", result, "i64")


def _definition(
    whole: FunctionIR, optimization: Optimization, symbol: str = "", before: str = ""
) -> objects.Definition:
    """Return the definition of a part with all that it calls, and a wrapper `before` it if it has no symbol."""
    text = text_of(whole, keeps_large_parts=optimization == Optimization.PLAIN)
    loops = [(loop, text_of(loop)) for loop in text.loops]
    if any(within.loops or within.shared for _, within in loops):
        raise NotPlainError("a loop of loops")
    parts = [
        whole,
        *text.parts,
        *itertools.chain.from_iterable([loop, *within.parts] for loop, within in loops),
    ]
    rename = _renaming(part for part in parts if part.name != symbol)
    _remember(text.shared)
    linked = tuple((_renamed(rename, loop.name), rename(within.text)) for loop, within in loops)
    source = ModuleSource(rename(f"{before}\n{text.text}"), optimization, linked)
    if not symbol:
        # Of its content, so that functions of one name may lie beside one another in a process.
        content = hashlib.sha256(repr(source).encode()).hexdigest()[:16]
        symbol = f"{_renamed(rename, whole.name)}.{content}"
        source = source._replace(text=source.text.replace(f'@"{_WRAPPER}"', f'@"{symbol}"'))
    return objects.Definition(source, symbol, tuple(shared.name for shared in text.shared))


def _renaming(parts: Iterable[FunctionIR]) -> Callable[[str], str]:
    """Return what gives parts names by their order, in place of those that one process gave them."""
    names: dict[str, str] = {}
    for each in parts:
        names.setdefault(each.name, f"{each.name.rpartition('.')[0]}.{len(names)}")
    return functools.partial(re.sub, r'@"([^"]+)"', lambda match: f'@"{names.get(match[1], match[1])}"')


def _renamed(rename: Callable[[str], str], name: str) -> str:
    return rename(f'@"{name}"')[2:-1]


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
