"""Object code between processes: named by its content, and found by the name of what it is the code of.

A file of the cache folder with a *name* says which object code a kernel or a function has, and what that calls. The
object code lies in another file, which is named by a digest of all that it is compiled from. It does not matter who has
compiled it: two versions of Python, of NumPy or of this package share what they have in common, and two processors
share nothing.

As with the other files of that folder, what cannot be read is made anew, and what cannot be written is done without.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.machine.lock import compiling, without_lock
from tapegrad.engine.codegen.machine.machine import ModuleSource, compile_source
from tapegrad.engine.codegen.store import cache, cache_files, name_locks
from tapegrad.engine.runtime import thread_stack


class Definition(NamedTuple):
    """Definition of object code.

    Attributes
    ----------
    source
        What is compiled.
    symbol
        The name of its function.
    calls
        The functions of ours that it calls, which are loaded before it.
    loops
        The library loops that it calls.
    """

    source: ModuleSource
    symbol: str
    calls: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()


class ObjectCode(NamedTuple):
    """Object code, the name of its function, the functions of ours that it calls, and the library loops."""

    code: bytes
    symbol: str
    calls: tuple[str, ...]
    loops: tuple[str, ...]


class _Name(NamedTuple):
    """Contents of a file with a name: the digest of object code, and the other fields of `ObjectCode`."""

    digest: str
    symbol: str
    calls: tuple[str, ...]
    loops: tuple[str, ...]


def digest(source: ModuleSource, target: Target) -> str:
    """Return the name of the object code of a module."""
    return hashlib.sha256(repr((llvm.llvm_version_info, target, *source)).encode()).hexdigest()[:32]


def _file_of(symbol: str, target: Target, names: tuple[str, ...]) -> str:
    """Return the name of a file with a name; the state in it has the host's processor, but no other one."""
    foreign = "" if target == host() else f"{hashlib.sha256(repr(target).encode()).hexdigest()[:8]}."
    return f"{foreign}{cache.name_of(symbol, names)}"


def is_kept(symbol: str, names: tuple[str, ...] = cache.SOURCES) -> bool:
    """Return whether the cache folder says which object code a function has."""
    file = cache.named_file(_file_of(symbol, host(), names))
    return file is not None and cache_files.is_there(file)


def obtain(
    symbol: str, target: Target, define: Callable[[], Definition], names: tuple[str, ...] = cache.SOURCES
) -> ObjectCode:
    """Return the object code of a function, as the cache folder has it, or compile and keep it.

    No lock of the compiler is held meanwhile but while `define` runs: other threads compile other code.

    Parameters
    ----------
    symbol
        What the function is called in the cache folder.
    target
        The processor.
    define
        Says what is compiled, where the folder does not know it.
    names
        The sources that this follows from.
    """
    begin, name = time.perf_counter_ns(), _file_of(symbol, target, names)
    with without_lock():
        compiled = _find(name)
        if compiled is not None:
            cache.log_compilation(symbol, begin, cache.READ)
            return compiled
        with name_locks.locked(name, cache.folder()):
            return _find(name) or _make(target, define, name)


def make(target: Target, define: Callable[[], Definition]) -> ObjectCode:
    """Return the object code of a definition that no name stands for in another process."""
    with without_lock():
        return _make(target, define)


def _find(name: str) -> ObjectCode | None:
    named = _read(name, _checked_name)
    code = None if named is None else _read(f"{named.digest}.o", _checked_code)
    return None if named is None or code is None else ObjectCode(code, *named[1:])


def _make(target: Target, define: Callable[[], Definition], name: str = "") -> ObjectCode:
    """Compile code and keep it, under a name if there is one; code of the same content is not compiled once more."""
    begin = time.perf_counter_ns()
    thread_stack.require()  # to write a text takes as much of it as LLVM does
    with compiling:
        defined = define()
    content = digest(defined.source, target)
    code = _read(f"{content}.o", _checked_code)
    how = cache.READ if code else cache.COMPILED
    if code is None:
        code = compile_source(defined.source, target)
        cache.keep(cache.named_file(f"{content}.o"), (code,))
    if name:
        cache.keep(cache.named_file(name), (content, *defined[1:]))
    cache.log_compilation(defined.symbol, begin, how)
    return ObjectCode(code, *defined[1:])


def _read(name: str, restore: Callable[[Any], Any]) -> Any:
    file = cache.named_file(name)
    return None if file is None else cache.read(file, restore)


def _checked_name(parts: tuple[Any, ...]) -> _Name:
    """Return the contents of a file with a name, if it is as it was written."""
    named = _Name(*parts)
    texts = (named.digest, named.symbol, *named.calls, *named.loops)
    if (
        not all(isinstance(text, str) for text in texts)
        or not type(named.calls) is type(named.loops) is tuple
    ):
        raise cache_files.DamagedObjectError(parts)
    return named


def _checked_code(parts: tuple[Any, ...]) -> bytes:
    (code,) = parts
    if not isinstance(code, bytes):
        raise cache_files.DamagedObjectError(parts)
    return code
