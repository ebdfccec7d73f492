"""Files that are written atomically, and that no other user can have written."""

import contextlib
import os
import stat
import uuid
from pathlib import Path

from tapegrad.engine.runtime.operating_system import (
    BINARY,
    copy_permissions,
    is_of_another_user,
    is_open_to_others,
)

OWNER_ONLY = 0o600


class UntrustedFileError(PermissionError):
    """Raised for a file that another user may have written."""


def write_whole(path: Path, data: bytes, mode: int | None = None, durable: bool = False) -> None:
    """Write a file atomically: under a temporary name, which is then moved to its own.

    Parameters
    ----------
    path
        The file, or a link to it.
    data
        Its contents.
    mode
        Its permissions; by default those of the file that was there, or a new file's.
    durable
        Whether the contents are on the disk before the name is.
    """
    path = Path(os.path.realpath(path))
    try:
        before = os.stat(path)
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):  # a pipe, a device: nothing is lost there
        path.write_bytes(data)
        return
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:16]}.tmp")
    try:
        permissions = 0o666 if mode is None else mode
        with open(
            os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, permissions), "wb"
        ) as file:
            file.write(data)
            file.flush()
            if mode is None and before is not None:
                copy_permissions(before, file.fileno())
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def read_trusted(path: Path) -> bytes:
    """Return the contents of a file of this user's, or of root's, that no other user may write to.

    Raises
    ------
    UntrustedFileError
        For any other; its message says how to mend it. It is the opened file that is asked, so that none can be put
        in its place.
    """
    with open(os.open(path, os.O_RDONLY | BINARY), "rb") as file:
        reason = distrust(path, os.fstat(file.fileno()))
        if reason:
            raise UntrustedFileError(reason)
        return file.read()


def distrust(path: Path, status: os.stat_result) -> str:
    """Return why another user may have written a file or a folder, and what to do; empty if none can have."""
    if is_of_another_user(status):
        return f"{path} belongs to another user: remove it, or set TAPEGRAD_CACHE_DIR to a folder of your own"
    if is_open_to_others(status):
        return f"other users may write to {path}: remove it if they have, or run chmod go-w on it"
    return ""
