"""Upkeep of the cache folder: its contents by version, and what is removed to keep it below its size limit.

Only regular files with the cache's names, in folders with the name of a digest, are counted or removed. Links are
never followed. Other processes may read and write meanwhile: a file that they miss is compiled once more.
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tapegrad.engine.codegen.store import cache_files, name_locks
from tapegrad.engine.runtime.messages import stderr
from tapegrad.engine.runtime.whole_files import distrust

_VARIABLE = "TAPEGRAD_CACHE_SIZE"
_DEFAULT_LIMIT = 1e9  # bytes
_KEPT_SHARE = 0.8  # of the limit, so that not each upkeep has to remove something
_PERIOD_S = 24 * 3600.0  # between two upkeeps of a version
_UNUSED_S = 60 * 24 * 3600.0  # until a folder of another version is removed
_ABANDONED_S = 3600.0  # until a temporary file is taken for that of a process that has ended

_MARKER = "upkeep"  # its modification time is that of the last upkeep
# Compiled where they are used: to compile them all takes 2 ms
_VERSION = r"[0-9a-f]{16}"
_TEMPORARY = r"\..+\.[0-9a-f]{16}\.tmp"
_CODE, _OF_A_STATE = r"[0-9a-f]{32}\.o", rf".+\.{_VERSION}\.(name|nbc)"
_FILE = (
    rf"{_CODE}|{_OF_A_STATE}|(program|outline)\.[0-9a-f]{{32}}"
    rf"|.+\.py\d+\w*\.[0-9a-f]{{8}}\.nbc|.+\.{_VERSION}\.o"  # of earlier versions of the package
    rf"|libscipy_openblas-[0-9a-f]+\.so|{_TEMPORARY}|{_MARKER}|{name_locks.FILE}"
)
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SIZE = r"(\d+\.?\d*(?:e\d+)?)\s*([kmgt]?)b?"


class CachedFile(NamedTuple):
    """File of the cache: its size in bytes, and the times, in s, when it was written and last used."""

    path: Path
    size: int
    written: float
    used: float


class Version(NamedTuple):
    """Folder of a version of the compiled sources, and the time, in s, when a process last began to use it."""

    folder: Path
    used: float
    files: list[CachedFile]

    @property
    def size(self) -> int:
        """Number of bytes of its files."""
        return sum(file.size for file in self.files)


def limit() -> float:
    """Return the largest size of the cache in bytes: ``TAPEGRAD_CACHE_SIZE``; infinity for no limit."""
    text = os.environ.get(_VARIABLE)
    if text is None:
        return _DEFAULT_LIMIT
    found = re.fullmatch(_SIZE, text.strip() or "0", re.IGNORECASE)
    if found is None:
        stderr.tell(f"{_VARIABLE}={text}: not a size such as 500MB or 2GB; the limit is 1 GB")
        return _DEFAULT_LIMIT
    return float(found[1]) * _UNITS[found[2].lower()] or float("inf")


# --- contents ----------------------------------------------------------------------------------------------------


def versions(root: Path) -> list[Version]:
    """Return the folders of all versions, the last used one first."""
    found = []
    for entry, status in _entries(root):
        if stat.S_ISDIR(status.st_mode) and re.fullmatch(_VERSION, entry.name):
            found.append(Version(Path(entry.path), status.st_mtime, list(_files(entry.path))))
    return sorted(found, key=lambda version: -version.used)


def _files(folder: str) -> Iterator[CachedFile]:
    for entry, status in _entries(folder):
        if stat.S_ISREG(status.st_mode) and re.fullmatch(_FILE, entry.name):
            used = max(status.st_mtime, status.st_atime)
            yield CachedFile(Path(entry.path), status.st_size, status.st_mtime, used)


def _entries(folder: str | Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Yield the entries of a folder with their own states, not those of what they link to."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process has removed it
                yield entry, entry.stat(follow_symlinks=False)


# --- removal -----------------------------------------------------------------------------------------------------


class Removal(NamedTuple):
    """Number of files that were removed, and their bytes."""

    files: int = 0
    size: int = 0

    def __add__(self, other: "Removal") -> "Removal":  # type: ignore[override]
        return Removal(self.files + other.files, self.size + other.size)


def clear(root: Path, spared: str = "") -> Removal:
    """Remove all versions but one; return what was removed.

    Parameters
    ----------
    root
        Folder of all versions.
    spared
        Name of a version that stays.

    Raises
    ------
    PermissionError
        If other users may change the folder: a name in it may lead elsewhere then.
    """
    _require_trust(root)
    found = [version for version in versions(root) if version.folder.name != spared]
    return sum(map(_remove_version, found), Removal())


def clear_old(root: Path, own: str, states: Collection[str]) -> Removal:
    """Remove what the present sources, and the versions that are installed, have no use for.

    Parameters
    ----------
    root
        Folder of all versions.
    own
        Name of this process's version.
    states
        Ends of the names of files that are of use, and so is the object code that they name.

    Raises
    ------
    PermissionError
        If other users may change the folder.
    """
    gone = clear(root, spared=own)
    folder = root / own
    if not folder.exists() or distrust(folder, folder.lstat()):
        return gone
    files = {file.path.name: file for file in _files(str(folder))}
    ends = tuple(f".{state}.{kind}" for state in states for kind in ("name", "nbc"))
    present = [name for name in files if name.endswith(ends)]
    used = {*present, *(f"{digest}.o" for name in present for digest in _named(files[name].path))}
    versioned = [name for name in files if re.fullmatch(f"{_CODE}|{_OF_A_STATE}", name)]
    return gone + _remove_files(files[name] for name in versioned if name not in used)


def _named(file: Path) -> tuple[str, ...]:
    """Return the digest of the object code that a file with a name stands for; nothing for a file of another kind."""
    if file.suffix == ".name":
        with contextlib.suppress(Exception):  # a damaged one: unpickling can raise anything
            return ((cache_files.read(file) or ("",))[0],)
    return ()


def tidy(root: Path, own: str) -> Removal:
    """Remove versions that are long out of use, and what is least recently used above the limit of the size.

    Parameters
    ----------
    root
        Folder of all versions.
    own
        Name of this process's version. Files of others go first, version by version.

    Raises
    ------
    PermissionError
        If other users may change the folder.
    """
    _require_trust(root)
    now, most = time.time(), limit()
    found = versions(root)
    others = [version for version in reversed(found) if version.folder.name != own]
    unused = [version for version in others if now - version.used > _UNUSED_S]
    gone = sum(map(_remove_version, unused), Removal())
    abandoned = [file for version in found for file in version.files if _is_abandoned(file, now)]
    gone += _remove_files(abandoned)
    size = sum(version.size for version in found) - gone.size
    if size <= most:
        return gone
    excess = size - _KEPT_SHARE * most
    for version in others[len(unused) :]:
        if excess > 0:
            removed = _remove_version(version, keep_folder=now - version.used < _PERIOD_S)
            gone, excess = gone + removed, excess - removed.size
    own_files = [file for version in found if version.folder.name == own for file in version.files]
    return gone + _remove_least_used(own_files, excess)


def _require_trust(root: Path) -> None:
    """Raise where another user could put a link in the place of a version's folder."""
    with contextlib.suppress(FileNotFoundError):
        reason = distrust(root, root.stat())
        if reason:
            raise PermissionError(f"nothing is removed from the cache: {reason}")


def _is_abandoned(file: CachedFile, now: float) -> bool:
    return bool(re.fullmatch(_TEMPORARY, file.path.name)) and now - file.written > _ABANDONED_S


def _remove_version(version: Version, keep_folder: bool = False) -> Removal:
    """Remove the files of a version, and its folder if nothing else is in it.

    The folder stays where a process may still write to it: it would complain that its cache is gone.
    """
    if distrust(version.folder, version.folder.lstat()):
        return Removal()
    gone = _remove_files(version.files)
    with contextlib.suppress(OSError):  # something else is in it
        if keep_folder:
            os.utime(version.folder, (version.used, version.used))
        else:
            version.folder.rmdir()
    return gone


def _remove_files(files: Iterable[CachedFile]) -> Removal:
    count = size = 0
    for file in files:
        with contextlib.suppress(OSError):  # another process has removed it, or (on Windows) reads it
            file.path.unlink()
            count, size = count + 1, size + file.size
    return Removal(count, size)


def _remove_least_used(files: list[CachedFile], excess: float) -> Removal:
    """Remove files, the least recently used ones first, until so many bytes are gone."""
    gone = Removal()
    for file in sorted(files, key=lambda file: file.used):
        if gone.size >= excess:
            break
        if file.path.name not in (_MARKER, name_locks.FILE):
            gone += _remove_files([file])
    return gone


# --- once a day --------------------------------------------------------------------------------------------------


def tidy_daily(folder: Path) -> None:
    """Tidy the cache of this version's folder, unless a process has done so within a day."""
    marker = folder / _MARKER
    with contextlib.suppress(OSError):
        if _is_due(marker):
            marker.touch(mode=0o600)
            tidy(folder.parent, folder.name)


def _is_due(marker: Path) -> bool:
    try:
        return abs(time.time() - marker.stat().st_mtime) > _PERIOD_S
    except FileNotFoundError:
        return True
