"""Where compiled code is kept between processes, and how a function is compiled into it.

Numba's own disk cache keys a function by its source file and bytecode. It does not notice a change in another
file that the function calls, nor one in the compiler flags. Here every function is kept in a folder named by a
digest of all the sources that are compiled, so any change of any of them starts a fresh folder.
"""

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.ccallback import CFunc

_PACKAGE = Path(__file__).parent
_COMPILED = ("cache.py", "kernels", "tape", "sweep")
_UNUSED_AFTER = 60 * 24 * 3600.0  # seconds until a folder of another version is removed


def _sources() -> list[Path]:
    """Every source file whose text can change compiled code."""
    files: list[Path] = []
    for name in _COMPILED:
        path = _PACKAGE / name
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return files


@functools.cache
def digest() -> str:
    """Digest of the compiled sources and the compiler's version."""
    state = hashlib.sha256(numba.__version__.encode())
    for file in _sources():
        state.update(file.name.encode() + b"\0" + file.read_bytes())
    return state.hexdigest()[:16]


def root() -> Path:
    """The folder that holds the caches of all versions: ``TAPEGRAD_CACHE_DIR`` or the user's cache folder."""
    chosen = os.environ.get("TAPEGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tapegrad"


@functools.cache
def folder() -> Path | None:
    """The cache folder of this version, made if need be; ``None`` where it cannot be written."""
    try:
        path = root() / digest()
        fresh = not path.is_dir()
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except (OSError, RuntimeError):  # RuntimeError: no home directory is known
        return None
    os.utime(path)
    if fresh:
        _remove_unused(path.parent, keep=path)
    return path


def _remove_unused(parent: Path, keep: Path) -> None:
    """Remove the folders of versions that have not been used for a long time."""
    for other in parent.iterdir():
        if other != keep and other.is_dir() and time.time() - other.stat().st_mtime > _UNUSED_AFTER:
            shutil.rmtree(other, ignore_errors=True)


class _Locator(_CacheLocator):
    """Every function in the one folder of this version, told apart by module and name."""

    def __init__(self, function: Callable[..., Any], path: Path) -> None:
        self._function = function
        self._path = path

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return digest()

    def get_disambiguator(self) -> str:
        return self._function.__module__.rpartition("tapegrad.")[2]

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator | None":
        path = folder()
        return None if path is None else cls(py_func, path)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _Impl


def _cache_of(function: Callable[..., Any]) -> Any:
    return NullCache() if folder() is None else _Cache(function)


def native(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with the engine's flags and cache; compiled at the first call.

    Calls between Python and such a function pass 64-bit integers and floats, nothing else.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(error_model="numpy", **flags)(function)
        dispatcher._cache = _cache_of(function)
        return dispatcher

    return decorate


def compile_kernel(function: Callable[..., Any], **flags: Any) -> int:
    """Compile ``int64 kernel(int64 frame, int64 loops)`` or load it from the cache; its address."""
    signature = numba.types.int64(numba.types.int64, numba.types.int64)
    options = {"nopython": True, "error_model": "numpy", **flags}
    compiled = CFunc(function, (signature.args, signature.return_type), locals={}, options=options)
    compiled._cache = _cache_of(function)
    compiled.compile()
    _KEEP_ALIVE.append(compiled)
    return int(compiled.address)


_KEEP_ALIVE: list[CFunc] = []
