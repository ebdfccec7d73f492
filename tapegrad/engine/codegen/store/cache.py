"""The cache folder of compiled code, shared by the processes of a user.

Object code is named by its *content*: a digest of the text that is compiled, of LLVM's version and of the processor
(`machine.objects`). Beside it lie small files with *names*: which object code a kernel or a function has. A name ends
with the `state` of all that its text follows from, the sources of the package, Python and what else is installed. After
an edit the text is written once more; it is compiled only if it is another one.

Numba's own disk cache keys a function by its source file and bytecode. It does not notice a change in another
file that the function calls, nor one in the compiler flags.

Nothing that happens to that folder or to its files is a reason to stop: what cannot be read is compiled, what cannot
be written is done without, and the first of such things is said on stderr.
"""

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import logging
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

from tapegrad.engine.codegen.store import cache_files, shipped, upkeep
from tapegrad.engine.kernels.language import numba, numba_internals
from tapegrad.engine.runtime import sources, thread_stack
from tapegrad.engine.runtime.messages import logs, stderr
from tapegrad.engine.runtime.operating_system import cache_base
from tapegrad.engine.runtime.short_times import quantity
from tapegrad.engine.runtime.switches import TRANSLATES
from tapegrad.engine.runtime.whole_files import distrust

_FORMAT = "tapegrad: names and object code, format 1"
ENTRY, KERNEL = "entry", "kernel"  # what a function is called by: Python, or other compiled code
# Sources that the text of compiled code follows from: of all, and of rows and segments, which the emitter writes.
SOURCES = ("engine", "ops", "optimize/native/loops")
EMITTER = (
    "ops",
    *(
        f"engine/codegen/{name}"
        for name in ("ir", "kernels.py", "machine", "mathematics", "rows", "segments")
    ),
    *(f"engine/kernels/language/{name}.py" for name in ("frame", "library", "segment_frame", "status")),
    "engine/kernels/lines/accumulate.py",
)


@functools.cache
def version() -> str:
    """Return the name of the folder for files of this format."""
    return hashlib.sha256(_FORMAT.encode()).hexdigest()[:16]


def _version_of_numba() -> object:
    """Return the text of the file that has the version of Numba, for an import of it takes a hundred times as long."""
    spec = importlib.util.find_spec("numba")
    file = Path(spec.origin or "").with_name("_version.py") if spec else Path()
    text = file.read_bytes() if file.is_file() else b""
    return text if b"version_json" in text else numba.__version__


def _installed() -> tuple[object, ...]:
    """Return what Python and other packages say of themselves, as far as texts may follow from it."""
    python = (*sys.version_info[:2], getattr(sys, "abiflags", ""), object.__basicsize__, tuple.__basicsize__)
    return (*python, _version_of_numba(), llvmlite.__version__, np.__version__)


@functools.cache
def state(names: tuple[str, ...] = SOURCES) -> str:
    """Digest of all that the text of compiled code follows from: some sources, and what is installed."""
    from tapegrad.engine.codegen.ir.target import host  # noqa: PLC0415  an import of the package compiles nothing

    return hashlib.sha256(repr((*_installed(), host(), sources.digest(names))).encode()).hexdigest()[:16]


def root() -> Path:
    """Return the folder of the caches of all versions: ``TAPEGRAD_CACHE_DIR`` or the user's cache folder."""
    chosen = os.environ.get("TAPEGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()  # of the process's first folder, which it may leave
    return cache_base() / "tapegrad"


def folder() -> Path | None:
    """Return the cache folder, made if need be, perhaps read-only; ``None`` if it cannot be made.

    What lies in it is executed, so it is made for its owner alone, and is not used if another user may write to it;
    nor is it if the sources that names follow from have changed since the import.
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
        path = root() / version()
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


def is_ours(name: str) -> bool:
    """Return whether a module, or what is in it, is of this package: the state covers no other's functions."""
    return name.partition(".")[0] == sources.PACKAGE.name


def name_of(symbol: str, names: tuple[str, ...] = SOURCES) -> str:
    """Return the name of the file that says which object code a function has, whose text follows from sources."""
    return f"{symbol.removeprefix('tapegrad.')}.{state(names)}.name"


def _by_numba(symbol: str) -> str:
    """Return the name of the file with a function that Numba has compiled."""
    return f"{symbol.removeprefix('tapegrad.')}.{state(SOURCES)}.nbc"


class _Cache:
    """The cache of a function, as Numba calls it: it gives `None`, or keeps nothing, whatever goes wrong."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._begin = 0  # ns; when the function was asked for

    def _file(self) -> Path | None:
        # The module may have been imported after the digest was taken. The code of a pair of kernel and dtype lies in
        # another file.
        module = self._function.__module__
        sources.check(getattr(sys.modules.get(module), "__file__", None) or "")
        return named_file(_by_numba(self._name))

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
        file = self._file() if is_ours(self._function.__module__) else None
        return None if file is None else read(file, functools.partial(_rebuilt, target_context))

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep a function of the package, unless it holds addresses that mean nothing to another process."""
        if is_ours(self._function.__module__) and not cres.library.has_dynamic_globals:
            keep(self._file(), (numba_internals.dumps(cres._reduce()),))
        log_compilation(self._name, self._begin, COMPILED)


def _rebuilt(target_context: Any, parts: Any) -> Any:
    """Rebuild a function of Numba's without the parts for compiling one, which take as long as importing it.

    Machine code refers to nothing of that but Numba's runtime, in functions that return arrays.
    """
    numba_internals.rtsys.initialize(target_context)
    return numba_internals.CompileResult._rebuild(target_context, *pickle.loads(*parts))


def cache_of(function: Callable[..., Any]) -> Any:
    """Return the cache that a compiled function reads and writes."""
    return _Cache(function)


# --- the log ------------------------------------------------------------------------------------------------------

COMPILED, READ = ("compiled", logging.INFO), ("read from the cache", logging.DEBUG)
SHIPPED = ("read from the package", logging.DEBUG)


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
    """Return whether a wheel has brought a function of the package, compiled, or the cache folder has it."""
    from tapegrad.engine.codegen.ir.target import host  # noqa: PLC0415  an import of the package compiles nothing

    symbol = f"{module}.{function}"
    kinds = (ENTRY, KERNEL) if TRANSLATES else ()
    if any(shipped.holds(host().level, f"{symbol}.{kind}", SOURCES) for kind in kinds):
        return True
    names = [
        _by_numba(symbol),
        *(name_of(f"{symbol}.{kind}") for kind in kinds),
    ]
    return any(file is not None and cache_files.is_there(file) for file in map(named_file, names))
