"""The cache folder of compiled code, shared by the processes of a user.

Numba's own disk cache keys a function by its source file and bytecode. It does not notice a change in another
file that the function calls, nor one in the compiler flags. Here every function is kept in a folder named by a
digest of all the sources that are compiled, so any change of any of them starts a fresh folder.

Nothing that happens to that folder or to its files is a reason to stop: what cannot be read is compiled, what cannot
be written is done without, and the first of such things is said on stderr.
"""

import atexit
import contextlib
import functools
import hashlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba

from tapegrad.engine.codegen.store import cache_files, upkeep
from tapegrad.engine.kernels.language.numba_internals import CompileResult, cpu_target, rtsys
from tapegrad.engine.runtime import sources, thread_stack
from tapegrad.engine.runtime.messages import logs, stderr
from tapegrad.engine.runtime.operating_system import cache_base
from tapegrad.engine.runtime.short_times import quantity
from tapegrad.engine.runtime.switches import TRANSLATES
from tapegrad.engine.runtime.whole_files import distrust

_PACKAGE_DEPTH = 3  # folders, of the packages with compiled code that stand on the engine
_COMPILED = (
    "engine/runtime",
    "engine/codegen/machine",
    "engine/codegen/store",
    "engine/codegen/python_calls",
    "engine/codegen/translator",
    "engine/kernels",
    "engine/tape",
    "engine/sweep",
    "ops/structural",  # records of parameters, which compiled code reads
)
_CONSTANTS = "ops/params.py"  # what these records share
_BY_NUMBA = "" if TRANSLATES else " by Numba"  # without the translator, nothing that it has made is used


def _sources() -> list[Path]:
    """Return the source files whose text can change compiled code."""
    files = [file for name in _COMPILED for file in sorted((sources.PACKAGE / name).rglob("*.py"))]
    return [*files, sources.PACKAGE / _CONSTANTS]


@functools.cache
def digest() -> str:
    """Digest of the compiled sources, of the compilers, and of the size of an object's head, which is compiled in."""
    versions = f"{numba.__version__} {llvmlite.__version__} {object.__basicsize__}{_BY_NUMBA}"
    state = hashlib.sha256(versions.encode())
    sources.add(state, _sources())
    return state.hexdigest()[:16]


def root() -> Path:
    """Return the folder of the caches of all versions: ``TAPEGRAD_CACHE_DIR`` or the user's cache folder."""
    chosen = os.environ.get("TAPEGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()  # of the process's first folder, which it may leave
    return cache_base() / "tapegrad"


def folder() -> Path | None:
    """Return the cache folder of this version, made if need be, perhaps read-only; ``None`` if it cannot be made.

    What lies in it is executed, so it is made for its owner alone, and is not used if another user may write to it;
    nor is it if the sources that it is named by have changed since the import.
    """
    path, changed = _folder(), sources.changed()
    if changed:
        complaints.make(
            f"no cache folder is used: {changed} has changed since it was imported (start Python anew)"
        )
    return None if changed else path


@functools.cache
def _folder() -> Path | None:
    try:
        path = root() / digest()
        make_folder(path)
        reason = distrust(path, path.stat())
    except (OSError, RuntimeError):  # RuntimeError: no home directory is known
        return None
    if reason:
        complaints.make(f"the cache folder is not used, for {reason}")
        return None
    with contextlib.suppress(OSError):  # it is read-only
        os.utime(path)
    return path


def make_folder(path: Path) -> None:
    """Make a folder of the cache, and the one around it, for their owner alone."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)


def intended() -> str:
    """Return the path of the cache folder for messages, whether it exists or not."""
    try:
        return str(root())
    except RuntimeError:
        return "in an unknown home directory: set TAPEGRAD_CACHE_DIR"


def writable() -> bool:
    """Return whether files can be written to the cache folder."""
    path = folder()
    try:
        if path is not None:
            tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return path is not None


# --- the cache of a function -------------------------------------------------------------------------------------


class Complaints:
    """Reports of faults of the cache folder, each made once, when it is first noticed."""

    def __init__(self) -> None:
        self.made = False

    def make(self, what: str, error: BaseException | None = None) -> None:
        """Say what is wrong, and what error told."""
        if not self.made:
            self.made = True
            reason = "" if error is None else f" ({getattr(error, 'strerror', None) or error})"
            stderr.tell(f"{what}{reason}; what is missing there is compiled")


complaints = Complaints()


@functools.cache
def _processor() -> str:
    """Digest of the processor that Numba compiles for."""
    kind = cpu_target.target_context.codegen().magic_tuple()
    return hashlib.sha256(repr(kind).encode()).hexdigest()[:8]


@functools.cache
def _digest_above(package: str) -> str:
    """Digest of the sources of a package that stands on the engine; nothing for the engine's own.

    Of a folder inside of such a package it is that of the whole one: the folder's functions call those around it.
    """
    name = "/".join(package.split(".")[1 : 1 + _PACKAGE_DEPTH])
    if not name or name.startswith(_COMPILED):
        return ""
    state = hashlib.sha256()
    sources.add(state, sorted((sources.PACKAGE / name).rglob("*.py")))
    return state.hexdigest()[:8] + "."


def _file(module: str, function: str) -> Path | None:
    """Return the file of a function's compiled code."""
    above = _digest_above(module.rpartition(".")[0])
    return named_file(f"{module.partition('.')[2]}.{function}.{above}{_python_and_processor()}.nbc")


def _python_and_processor() -> str:
    python = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    return f"{python}.{_processor()}"


class _Cache:
    """The cache of one function, as Numba calls it: it gives `None`, or keeps nothing, whatever goes wrong."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._begin = 0  # ns; when the function was asked for

    def _file(self) -> Path | None:
        # The module may have been imported after the digest was taken. The code of a pair of kernel and dtype lies in
        # another file.
        module = self._function.__module__
        sources.check(getattr(sys.modules.get(module), "__file__", None) or "")
        return _file(module, self._function.__qualname__)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the function as it was compiled before; where it has to be compiled now, `None`.

        Raises
        ------
        RuntimeError
            Where it has to be, and this thread has no room for that.
        """
        self._begin = time.perf_counter_ns()
        found = self._load(target_context)
        if found is None:
            thread_stack.require()
        else:
            log_compilation(self._name, self._begin, READ)
        return found

    @property
    def _name(self) -> str:
        return f"{self._function.__module__}.{self._function.__qualname__}"

    def _load(self, target_context: Any) -> Any:
        file = self._file()
        return None if file is None else read(file, functools.partial(_rebuilt, target_context))

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the function, unless it holds addresses that mean nothing to another process.

        Numba alone compiles such ones. Else a function that handed another one on at run time would be one.
        """
        has_addresses = cres.library.has_dynamic_globals
        assert not (has_addresses and TRANSLATES), f"{self._name} cannot be kept: it holds an address"
        if not has_addresses:
            keep(self._file(), (cres.library.shared, *cres._reduce()))
        log_compilation(self._name, self._begin, COMPILED)


def _rebuilt(target_context: Any, parts: Any) -> CompileResult | None:
    """Rebuild a function of Numba's without the parts for compiling one, which take as long as importing it.

    Machine code refers to nothing of that but Numba's runtime, in functions that return arrays. `None` if a function
    that it calls is missing.
    """
    if not all(map(has_shared, parts[0])):
        return None
    rtsys.initialize(target_context)
    return CompileResult._rebuild(target_context, *parts[1:])


def cache_of(function: Callable[..., Any]) -> Any:
    """Return the cache that a compiled function reads and writes."""
    return _Cache(function)


# --- the log ------------------------------------------------------------------------------------------------------

COMPILED, READ = ("compiled", logging.INFO), ("read from the cache", logging.DEBUG)


def log_compilation(name: str, begin: int, how: tuple[str, int]) -> None:
    """Log a function that was compiled or read since `begin`, in ns of `time.perf_counter_ns`."""
    if logs.enabled(logs.COMPILATION, how[1]):
        elapsed = quantity(time.perf_counter_ns() - begin)
        logs.log(logs.COMPILATION, "%s %s in %s", name, how[0], elapsed, level=how[1])


# --- files -------------------------------------------------------------------------------------------------------


def named_file(name: str) -> Path | None:
    """Return the file of a name in the cache folder; `None` if there is no folder."""
    path = folder()
    return None if path is None else path / name


def obtain(
    name: str, file: Path | None, make: Callable[[], tuple[Any, ...]], restore: Callable[[Any], Any]
) -> Any:
    """Return what a file of the cache folder holds, or its contents made now, which are kept if possible.

    Parameters
    ----------
    name
        Name of the function, for the log.
    file
        The file; `None` if there is no folder.
    make
        Makes the contents: a tuple that can be pickled.
    restore
        Takes the contents and returns the result, or raises if they are not as they should be.
    """
    begin = time.perf_counter_ns()
    found = None if file is None else read(file, restore)
    if found is None:
        made = make()
        keep(file, made)
        found = restore(made)
        log_compilation(name, begin, COMPILED)
    else:
        log_compilation(name, begin, READ)
    return found


def read(file: Path, restore: Callable[[Any], Any] = lambda parts: parts) -> Any:
    """Return what a file of the cache folder holds; `None`, and stderr says why, where that may not be used."""
    try:
        if not file.parent.is_dir():
            complaints.make(f"the cache folder {file.parent} is gone")
        parts = cache_files.read(file)
        return None if parts is None else restore(parts)
    except OSError as error:
        complaints.make(f"a file in the cache folder {file.parent} cannot be read", error)
    except Exception:  # unpickling can raise anything
        complaints.make(f"a damaged file in the cache folder {file.parent} is replaced")
    return None


def keep(file: Path | None, parts: tuple[Any, ...]) -> None:
    """Write contents to a file of the cache folder if possible; stderr says why if it is not."""
    if file is None:
        complaints.make(f"there is no cache folder {intended()}, and it cannot be made")
        return
    try:
        make_folder(file.parent)
        cache_files.write(file, parts)
        _tidy_at_exit(file.parent)
    except OSError as error:
        complaints.make(f"the cache folder {file.parent} cannot be written", error)


@functools.cache
def _tidy_at_exit(path: Path) -> None:
    """Have a process that has written to the cache look after its size when it ends."""
    atexit.register(upkeep.tidy_daily, path)


def holds(module: str, function: str) -> bool:
    """Return whether the cache folder holds a compiled function."""
    file = _file(module, function)
    return file is not None and cache_files.is_there(file)


# --- functions that several others call --------------------------------------------------------------------------

_shared: dict[str, Any] = {}  # their libraries, which hold their machine code


def share(name: str, library: Any) -> None:
    """Let machine code call a function by its name, and keep it if it can be."""
    _let_call(name, library)
    path = folder()
    if path is not None:
        with contextlib.suppress(OSError):  # who calls it cannot be written either, and says so
            make_folder(path)
            state = library.serialize_using_object_code()
            cache_files.write(_shared_file(path, name), (library.shared, state))


def has_shared(name: str) -> bool:
    """Return whether machine code can call a function of this name already.

    Where its file is missing or damaged, who calls it is compiled anew, and this with it.
    """
    path = folder()
    if name not in _shared and path is not None:
        with contextlib.suppress(Exception):  # unpickling can raise anything
            calls, state = read(_shared_file(path, name)) or ((), None)
            if state is not None and all(map(has_shared, calls)):
                _let_call(name, cpu_target.target_context.codegen().unserialize_library(state))
    return name in _shared


def _shared_file(path: Path, name: str) -> Path:
    return path / f"{name.partition('.')[2]}.{_python_and_processor()}.nbc"


def _let_call(name: str, library: Any) -> None:
    llvmlite.binding.add_symbol(name, library.get_pointer_to_function(name))
    _shared[name] = library
