"""A file with the compiled code of one function, and a checksum: LLVM ends the process over code that is damaged."""

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

from tapegrad.engine.runtime.whole_files import OWNER_ONLY, read_trusted, write_whole

_HEAD = b"tapegrad: compiled code, format 1\n"
_START = len(_HEAD) + hashlib.sha256().digest_size


class DamagedObjectError(Exception):
    """A file that is not as it was written."""


def write(path: Path, parts: Any) -> None:
    """Write what a function was reduced to; another process sees all of it or nothing."""
    data = pickle.dumps(parts)
    write_whole(path, _HEAD + _checksum(path, data) + data, OWNER_ONLY)


def read(path: Path) -> tuple[Any, ...] | None:
    """Read the contents that `write` has written; `None` if there is no such file.

    Raises
    ------
    DamagedFileError
        If the file is not as it was written. Nothing of it has been used then.
    OSError
        If it cannot be read, or another user may have written it (`UntrustedFileError`): it is unpickled.
    """
    try:
        content = read_trusted(path)
    except FileNotFoundError:
        return None
    data = content[_START:]
    if content[:_START] != _HEAD + _checksum(path, data):
        raise DamagedObjectError(path)
    parts = pickle.loads(data)
    if not isinstance(parts, tuple):
        raise DamagedObjectError(path)
    return parts


def is_there(path: Path) -> bool:
    """Return whether there is a file of this name, as far as this can be told."""
    try:
        return path.exists()
    except OSError:  # its folder may not be searched
        return False


def _checksum(path: Path, data: bytes) -> bytes:
    """Checksum of the data and of the name: a file of another function or processor is not what it should be."""
    return hashlib.sha256(os.fsencode(path.name) + b"\0" + data).digest()
