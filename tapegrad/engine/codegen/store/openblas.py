"""Private OpenBLAS: a second instance of the library in SciPy's wheels, single-threaded.

The threads of OpenBLAS spin and wait for each other, so that one busy processor makes a product several times slower.
Their number is one for a process, the caller's own SciPy included: the library's "local" setter is global where its
threads are those of the system. An instance of our own is loaded from a copy of the file, since the loader knows a file
that is loaded already; large calls are cut into parts for our pool instead (see `kernels.language.blas_parts`).
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import shutil
import threading
import uuid
from pathlib import Path

from tapegrad.engine.codegen.store import cache
from tapegrad.engine.runtime.operating_system import can_load_twice
from tapegrad.engine.runtime.whole_files import OWNER_ONLY, distrust

_PATTERN = "libscipy_openblas-*.so"
_PREFIX = "scipy_"  # of the symbols in SciPy's wheels
_THREADS = f"{_PREFIX}openblas_get_num_threads"


def address(name: str) -> int:
    """Return the address of a function of BLAS or LAPACK in the private instance; 0 if there is none."""
    library = _instance()
    return _symbol(library, f"{_PREFIX}{name}_") if library else 0


@functools.cache
def threads() -> int:
    """Return the number of threads that SciPy's own instance takes for a large call; 1 without a private one.

    It is that of the first call: results must not change with a later setting.
    """
    shared = _shared() if _instance() else None
    return max(1, int(shared[_THREADS]())) if shared else 1


def thread_counter() -> int:
    """Return the address of the function that returns the number of threads of SciPy's own instance; 0 if unknown."""
    shared = _shared()
    return _symbol(shared, _THREADS) if shared else 0


def _symbol(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(library[name], ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


@functools.cache
def _file() -> Path | None:
    """Return the file of SciPy's OpenBLAS; `None` where a distribution links another BLAS."""
    found = importlib.util.find_spec("scipy")
    if found is None or found.origin is None:
        return None
    files = list((Path(found.origin).parent.parent / "scipy.libs").glob(_PATTERN))
    return files[0] if len(files) == 1 else None


@functools.cache
def _shared() -> ctypes.CDLL | None:
    """Return SciPy's own instance; `None` if it has other symbols than expected."""
    path = _file()
    if path is None or not can_load_twice():
        return None
    from scipy.linalg import cython_blas  # noqa: F401  (loads it, and what it needs)

    try:
        library = ctypes.CDLL(str(path), os.RTLD_LOCAL | os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:  # SciPy has loaded another one
        return None
    return library if _symbol(library, _THREADS) else None


@functools.cache
def _instance() -> ctypes.CDLL | None:
    """Load the private instance; `None` where it cannot be had, or where SciPy's own has one thread as well."""
    shared, path = _shared(), _file()
    if shared is None or path is None or shared[_THREADS]() < 2:
        return None
    copy = _copy(path)
    library = _load(copy) if copy else None
    return library if library is not None and library[_THREADS]() == 1 else None


def _copy(path: Path) -> Path | None:
    """Return a copy of the library in the cache folder, made if need be; `None` if it cannot be."""
    folder = cache.folder()
    if folder is None:
        return None
    copy, temporary = folder / path.name, folder / f".{path.name}.{uuid.uuid4().hex[:16]}.tmp"
    try:
        if not (copy.exists() and copy.stat().st_size == path.stat().st_size):
            shutil.copyfile(path, temporary)
            temporary.chmod(OWNER_ONLY)
            temporary.replace(copy)
        return None if distrust(copy, copy.stat()) else copy
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return None


def _load(path: Path) -> ctypes.CDLL | None:
    """Load the library on a thread with one processor, so that it starts no threads of its own."""
    loaded: list[ctypes.CDLL] = []

    def load() -> None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            # Its own symbols come first: another instance may have been loaded with its symbols for all.
            loaded.append(ctypes.CDLL(str(path), os.RTLD_LOCAL | os.RTLD_NOW | os.RTLD_DEEPBIND))

    thread = threading.Thread(target=load, name="tapegrad-openblas")
    thread.start()
    thread.join()
    return loaded[0] if loaded else None
