"""``tapegrad info``."""

import argparse
import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tapegrad import __version__


def _version(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _threads() -> str:
    """Return the number of threads for large instructions, and what limits it."""
    from tapegrad.engine import threads
    from tapegrad.engine.runtime.operating_system import processors

    limits = [f"{name}={os.environ[name]}" for name in threads.VARIABLES if name in os.environ]
    return f"{threads.allowed()} ({', '.join([f'processors: {processors()}', *limits])})"


def format_size(count: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _contents(folder: Path) -> str:
    """Return the number and size of the files in the cache folder."""
    sizes = []
    for file in folder.rglob("*"):
        with suppress(OSError):  # another process may remove it meanwhile
            if file.is_file():
                sizes.append(file.stat().st_size)
    return f"{len(sizes)} file{'s' if len(sizes) != 1 else ''}, {format_size(sum(sizes))}"


def _kernels() -> str:
    """Return how many kernels need not be compiled."""
    from tapegrad.engine import ahead_of_time, kernel_table
    from tapegrad.engine.codegen.ir.target import host
    from tapegrad.engine.codegen.machine import objects

    kept = [objects.is_kept(ahead_of_time.kernel_unit(name), host()) for name in kernel_table.kernels()]
    return f"{sum(kept)} of {len(kept)} in the package or the cache"


def _shipped() -> str:
    """Return what the package brings for this processor."""
    from tapegrad.engine.codegen.ir.target import host
    from tapegrad.engine.codegen.store import shipped

    found = shipped.contents(host().level)
    if found is None:
        return f"none for {host().level}: what is needed is compiled, and kept in the cache folder"
    count, made_by = found
    versions = ", ".join(f"{name} {version}" for name, version in made_by.items())
    return f"{count} for {host().level}, {format_size(shipped.file_of(host().level).stat().st_size)}, by {versions}"


def _layouts() -> str:
    """Return whether objects are laid out as compiled code reads them, or what is not."""
    from tapegrad.engine.runtime.object_layouts import unknown

    found = unknown()
    return f"unknown to compiled code: {', '.join(found)}" if found else "as compiled code reads them"


def _rows() -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each line."""
    from tapegrad.engine.codegen.store import cache

    yield "tapegrad", __version__
    yield "python", platform.python_version()
    for package in ("numba", "llvmlite", "numpy", "scipy"):
        yield package, _version(package)
    yield "object layouts", _layouts()
    yield "threads", _threads()
    yield "shipped objects", _shipped()
    folder = cache.folder()
    kept = "" if cache.writable() else " (cannot be written)"
    yield "cache folder", "none: no folder can be written" if folder is None else f"{folder}{kept}"
    if folder is not None:
        yield "cache contents", _contents(folder)
    yield "kernels", _kernels()


def run(options: argparse.Namespace) -> int:
    """Print versions, threads and the state of the cache."""
    for name, value in _rows():
        print(f"{name:<15}  {value}")
    return 0
