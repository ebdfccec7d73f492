"""Object code between processes: in the cache folder, a file for each kernel and each function that kernels call.

A file is named by what it holds, by a digest of what it was made from, and by the processor. As with the other files
of that folder, what cannot be read is made anew, and what cannot be written is done without.
"""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from tapegrad import ops
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.store import cache, cache_files
from tapegrad.engine.kernels.language import frame, library, segment_frame
from tapegrad.engine.kernels.lines import accumulate
from tapegrad.engine.runtime import sources


class ObjectCode(NamedTuple):
    """Object code, the functions of ours that it calls, and the library loops."""

    code: bytes
    calls: tuple[str, ...]
    loops: tuple[str, ...]


def _sources() -> list[Path]:
    """Return the source files whose text can change object code."""
    read = (accumulate, frame, segment_frame, library)
    return [
        *sorted(Path(__file__).parents[1].rglob("*.py")),
        *sorted(Path(str(ops.__file__)).parent.glob("*.py")),
        *(Path(str(module.__file__)) for module in read),
    ]


@functools.cache
def digest(target: Target) -> str:
    """Digest of the sources, of LLVM's version and of the processor."""
    state = hashlib.sha256(repr((llvm.llvm_version_info, target)).encode())
    sources.add(state, _sources())
    return state.hexdigest()[:16]


def _file(name: str, target: Target) -> Path | None:
    return cache.named_file(f"{name}.{digest(target)}.o")


def is_kept(name: str, target: Target) -> bool:
    file = _file(name, target)
    return file is not None and cache_files.is_there(file)


def _checked(parts: tuple[Any, ...]) -> ObjectCode:
    """Return the contents of a file, if it is as it was written."""
    compiled = ObjectCode(*parts)
    if not isinstance(compiled.code, bytes) or not all(type(names) is tuple for names in compiled[1:]):
        raise cache_files.DamagedObjectError(parts)
    return compiled


def obtain(name: str, target: Target, make: Callable[[], ObjectCode]) -> ObjectCode:
    """Return the object code that the cache folder has under a name, or compile and keep it."""
    found: ObjectCode = cache.obtain(name, _file(name, target), lambda: tuple(make()), _checked)
    return found
