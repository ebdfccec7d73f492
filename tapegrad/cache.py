"""Where compiled code is kept between processes.

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
from typing import Any, ClassVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator

_PACKAGE = Path(__file__).parent
_COMPILED = ("cache.py", "compiler.py", "kernels", "tape", "sweep")
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
    """Digest of the compiled sources, the compiler's version, and the size of what all Python objects begin with."""
    state = hashlib.sha256(f"{numba.__version__} {object.__basicsize__}".encode())
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
        self._py_file = function.__code__.co_filename  # Numba's warnings name it
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
    _locator_classes: ClassVar = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _Impl


def cache_of(function: Callable[..., Any]) -> Any:
    """The cache that a compiled function reads and writes; one that keeps nothing where no folder is writable."""
    return NullCache() if folder() is None else _Cache(function)


def holds(module: str, function: str) -> bool:
    """Whether the cache folder holds a compiled function."""
    path = folder()
    return path is not None and any(path.glob(f"{module.rpartition('.')[2]}.{function}-*.nbi"))
