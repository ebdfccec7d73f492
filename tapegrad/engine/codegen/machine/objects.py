"""Object code between processes: named by its content, and found by the name of what it is the code of.

A file of the cache folder with a *name* says which object code a kernel or a function has, and what that calls. The
object code lies in another file, which is named by a digest of all that it is compiled from. It does not matter who has
compiled it: two versions of Python, of NumPy or of this package share what they have in common, and two processors
share nothing.

As with the other files of that folder, what cannot be read is made anew, and what cannot be written is done without.
"""

import contextlib
import gc
import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from tapegrad.engine.codegen.ir.target import Target, host
from tapegrad.engine.codegen.machine.lock import compiling, without_lock
from tapegrad.engine.codegen.machine.machine import ModuleSource, compile_source
from tapegrad.engine.codegen.store import cache, cache_files, name_locks, shipped
from tapegrad.engine.codegen.store.shipped import ObjectCode as ObjectCode
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


class Unit(NamedTuple):
    """Unit of compilation: what is compiled to one object.

    Attributes
    ----------
    name
        What it is called in the cache folder, and in a wheel.
    define
        Says what is compiled.
    sources
        The sources that this follows from.
    """

    name: str
    define: Callable[[], Definition]
    sources: tuple[str, ...] = cache.SOURCES


class _Name(NamedTuple):
    """Contents of a file with a name: the digest of object code, and the other fields of `ObjectCode`."""

    digest: str
    symbol: str
    calls: tuple[str, ...]
    loops: tuple[str, ...]


def digest(source: ModuleSource, target: Target) -> str:
    """Return the name of the object code of a module."""
    return hashlib.sha256(repr((llvm.llvm_version_info, target, *source)).encode()).hexdigest()[:32]


def _file_of(unit: Unit, target: Target) -> str:
    """Return the name of a file with a name; the state in it has the host's processor, but no other one."""
    foreign = "" if target == host() else f"{hashlib.sha256(repr(target).encode()).hexdigest()[:8]}."
    return f"{foreign}{cache.name_of(unit.name, unit.sources)}"


def is_kept(unit: Unit, target: Target) -> bool:
    """Return whether a wheel has brought the object code of a unit, or the cache folder has it."""
    if shipped.holds(target.level, unit.name, unit.sources):
        return True
    file = cache.named_file(_file_of(unit, target))
    return file is not None and cache_files.is_there(file)


def obtain(unit: Unit, target: Target) -> ObjectCode:
    """Return the object code of a unit for a processor, as a wheel or the cache folder has it, or compile and keep it.

    No lock of the compiler is held meanwhile but while `define` runs: other threads compile other code.
    """
    begin = time.perf_counter_ns()
    with without_lock():
        found = shipped_code(unit, target)
        if found is not None:
            cache.log_compilation(unit.name, begin, cache.SHIPPED)
            return found
        name = _file_of(unit, target)
        found = _find(name)
        if found is not None:
            cache.log_compilation(unit.name, begin, cache.READ)
            return found
        with name_locks.locked(name, cache.folder()):
            return _find(name) or _make(target, unit.define, name)


def shipped_code(unit: Unit, target: Target) -> ObjectCode | None:
    """Return the object code of a unit that a wheel has brought; `None`, and stderr says why, if it may not be used."""
    try:
        return shipped.find(target.level, unit.name, unit.sources)
    except OSError as error:
        cache.complaints.make(f"object code in {shipped.FOLDER} cannot be used", error)
    except Exception:  # damaged in whatever way
        cache.complaints.make(f"a damaged file in {shipped.FOLDER} is not used")
    return None


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
    with compiling, _uncollected():
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


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Leave the collector of cycles alone: a text is many small objects, which it would go through again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


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
