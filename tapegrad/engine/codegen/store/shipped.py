"""Object code that a wheel brings: a file for each kind of processor, which is read where it lies.

Code is found by a digest of what it follows from: the sources, the layout of Python's objects, and its name. An edited
file of the package, or another Python, finds nothing there. Which Numba and which LLVM have made it does not matter.

Code of names beside one another is compressed together, for much of it is alike: by zlib, or to a third less by LZMA,
which takes four times as long to read. Each such block has a checksum, and so has the index; a file that others may
write to, while they may not write to the package's sources, is not used.
"""

import bisect
import functools
import hashlib
import io
import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import numpy as np

from tapegrad.engine.codegen.store.cache_files import DamagedObjectError
from tapegrad.engine.runtime import sources
from tapegrad.engine.runtime.operating_system import BINARY
from tapegrad.engine.runtime.whole_files import UntrustedFileError, distrust

FOLDER = sources.PACKAGE / "objects"
_HEAD = b"tapegrad: object code of a wheel, format 1\n"
_DIGEST = hashlib.sha256().digest_size
_KEY = 16  # bytes of a key
_COUNTS, _PLACE, _SPAN = Struct("<2I"), Struct("<3I"), Struct(f"<2Q{_DIGEST}s")
_BLOCK = 64_000  # bytes of code that are compressed together: read and unpacked in a third of a millisecond


class ObjectCode(NamedTuple):
    """Object code, the name of its function, the functions of ours that it calls, and the library loops."""

    code: bytes
    symbol: str
    calls: tuple[str, ...]
    loops: tuple[str, ...]


NamedCode = tuple[str, bytes, ObjectCode]  # beside its name and its key


class _Index(NamedTuple):
    """Index of a file.

    Attributes
    ----------
    keys
        The keys of all code, sorted, without anything between them.
    places
        For each key the number of a block, and the first byte of its code there and the one after: `_PLACE`.
    blocks
        For each block its first byte in the file and the one after, and its digest: `_SPAN`.
    packing
        The module that compresses blocks: `zlib` or `lzma`.
    made_by
        Versions of what has made it.
    """

    keys: bytes
    places: bytes
    blocks: bytes
    packing: str
    made_by: dict[str, str]


def layout() -> str:
    """Return the layout of Python's objects, which functions of its C interface follow from."""
    return f"{object.__basicsize__} {tuple.__basicsize__} {getattr(sys, 'abiflags', '')}"


_digest = functools.cache(sources.digest)


def key_of(name: str, names: tuple[str, ...]) -> bytes:
    """Return the key of the code of a name that follows from some sources."""
    return hashlib.sha256("\0".join((_digest(names), layout(), name)).encode()).digest()[:_KEY]


def file_of(level: str) -> Path:
    """Return the file for a kind of processor."""
    return FOLDER / level


# --- reading -------------------------------------------------------------------------------------------------------


def find(level: str, name: str, names: tuple[str, ...]) -> ObjectCode | None:
    """Return the code of a name that follows from some sources, if there is any.

    Raises
    ------
    DamagedObjectError
        If the file is not as it was written.
    OSError
        If it cannot be read, or may have been written by others than who may write the sources.
    """
    index = _index(level)
    where = -1 if index is None else _position(index.keys, key_of(name, names))
    if index is None or where < 0:
        return None
    number, begin, end = _PLACE.unpack_from(index.places, where * _PLACE.size)
    head, _, code = _block(level, number)[begin:end].partition(b"\n")
    symbol, calls, loops = json.loads(head)
    return ObjectCode(code, symbol, tuple(calls), tuple(loops))


def holds(level: str, name: str, names: tuple[str, ...]) -> bool:
    """Return whether there is code of a name that follows from some sources, as far as the index says."""
    index = _usable_index(level)
    return index is not None and _position(index.keys, key_of(name, names)) >= 0


def contents(level: str) -> tuple[int, dict[str, str]] | None:
    """Return how much code a file has, in pieces, and what has made it; `None` without a file that can be used."""
    index = _usable_index(level)
    return None if index is None else (len(index.keys) // _KEY, index.made_by)


def _usable_index(level: str) -> _Index | None:
    try:
        return _index(level)
    except (OSError, DamagedObjectError):
        return None


def _position(keys: bytes, key: bytes) -> int:
    """Return the position of a key among all, -1 if it is not there."""
    count = len(keys) // _KEY
    where = bisect.bisect_left(range(count), key, key=lambda k: keys[_KEY * k : _KEY * (k + 1)])
    return where if keys[_KEY * where : _KEY * (where + 1)] == key else -1


@functools.cache
def _index(level: str) -> _Index | None:
    path = file_of(level)
    try:
        head = _read(path, 0, len(_HEAD) + _DIGEST + 8)
    except FileNotFoundError:
        return None
    begin, size = len(head), int.from_bytes(head[-8:], "little")
    index = _read(path, begin, begin + size) if head.startswith(_HEAD) else b""
    if not index or hashlib.sha256(index).digest() != head[len(_HEAD) : -8]:
        raise DamagedObjectError(path)
    keys, blocks = _COUNTS.unpack_from(index)
    part = _COUNTS.size + np.cumsum([0, keys * _KEY, keys * _PLACE.size, blocks * _SPAN.size])
    tables = [index[first:last] for first, last in itertools.pairwise(part.tolist())]
    return _Index(tables[0], tables[1], tables[2], *json.loads(index[part[-1] :]))


@functools.lru_cache(32)
def _block(level: str, number: int) -> bytes:
    index, path = _index(level), file_of(level)
    assert index is not None
    begin, end, digest = _SPAN.unpack_from(index.blocks, number * _SPAN.size)
    packed = _read(path, begin, end)
    if hashlib.sha256(packed).digest() != digest:
        raise DamagedObjectError(path)
    unpacked: bytes = import_module(index.packing).decompress(packed)
    return unpacked


def _read(path: Path, begin: int, end: int) -> bytes:
    """Return some bytes of a file that is as trustworthy as the package's sources."""
    with open(os.open(path, os.O_RDONLY | BINARY), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        reason = distrust(path, status)
        if reason and not _is_like(status, _source()):
            raise UntrustedFileError(reason)
        file.seek(begin)
        return file.read(end - begin)


def _source() -> os.stat_result:
    return os.stat(__file__)


def _is_like(status: os.stat_result, source: os.stat_result) -> bool:
    """Return whether who may write to a file may write to a source file as well, and so needs no detour."""
    return status.st_uid == source.st_uid and not status.st_mode & ~source.st_mode & 0o022


# --- writing -------------------------------------------------------------------------------------------------------


def write(path: Path, codes: Iterable[NamedCode], made_by: dict[str, str], packing: str = "zlib") -> None:
    """Write a file of code."""
    packed: list[bytes] = []
    places: dict[bytes, bytes] = {}
    for number, (block, parts) in enumerate(_blocks(sorted(codes))):
        packed.append(import_module(packing).compress(block))
        places |= {key: _PLACE.pack(number, *part) for key, part in parts.items()}
    made = json.dumps([packing, made_by]).encode()
    sizes = _COUNTS.size + len(places) * (_KEY + _PLACE.size) + len(packed) * _SPAN.size + len(made)
    ends = list(itertools.accumulate(map(len, packed), initial=len(_HEAD) + _DIGEST + 8 + sizes))
    spans = [
        _SPAN.pack(*span, hashlib.sha256(block).digest())
        for span, block in zip(itertools.pairwise(ends), packed, strict=True)
    ]
    keys = sorted(places)
    counts = _COUNTS.pack(len(keys), len(packed))
    index = b"".join([counts, *keys, *map(places.__getitem__, keys), *spans, made])
    head = _HEAD + hashlib.sha256(index).digest() + len(index).to_bytes(8, "little")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join([head, index, *packed]))


def _blocks(codes: Iterable[NamedCode]) -> Iterator[tuple[bytes, dict[bytes, tuple[int, int]]]]:
    """Yield the bytes of blocks, and where the code of each key is; equal code of several keys is there once."""
    block, last = io.BytesIO(), (b"", (0, 0))
    parts: dict[bytes, tuple[int, int]] = {}
    for _, key, code in codes:
        text = json.dumps(code[1:]).encode() + b"\n" + code.code
        if text != last[0]:
            if block.tell() + len(text) > _BLOCK and parts:
                yield block.getvalue(), parts
                block, parts = io.BytesIO(), {}
            last = text, (block.tell(), block.tell() + len(text))
            block.write(text)
        elif not parts:  # the block before has it
            last = text, (0, len(text))
            block.write(text)
        parts[key] = last[1]
    if parts:
        yield block.getvalue(), parts
