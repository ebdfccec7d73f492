"""Journal of evaluations in a file, by which a fit that was interrupted goes on to the same bits.

An optimiser does the same steps again if it is given the same numbers again. So what is written is each evaluation,
where it was and what came out; a later run finds those of an earlier one, and computes from where that has ended.
"""

import contextlib
import errno
import gc
import hashlib
import io
import os
import re
import struct
import time
import warnings
import weakref
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.operating_system import try_lock
from tapegrad.foreign import is_sparse
from tapegrad.frontend.words.frames import program_level
from tapegrad.optimize.sharding.recordings import EvaluationPoint
from tapegrad.optimize.sharding.tree import Value
from tapegrad.pytree import flatten

_MAGIC = b"tapegrad evaluations 1\n"
_LABEL_BYTES = 8
_HEAD = struct.Struct(f"<{_LABEL_BYTES + 32}sQI")  # key, bytes of the content, checksum
_SYNC_INTERVAL_S = 1.0
_open: weakref.WeakValueDictionary[Path, "Journal"] = weakref.WeakValueDictionary()  # of this process


class Journal:
    """File of evaluations.

    Parameters
    ----------
    path
        The file; it is made if it is not there.

    Notes
    -----
    Before an evaluation of an earlier run is taken, the last one of its kind is computed again. A bit that differs says
    that function, data or arithmetic are others. A record that was cut off, by the end of a process or of the disk, is
    dropped.

    Raises
    ------
    ValueError
        If the file is none of evaluations.
    OSError
        If it cannot be written, or another process writes to it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).resolve()
        self._places: dict[bytes, int] = {}
        self._earlier: dict[bytes, int] = {}  # the last record of each kind, until it is computed again
        self._guard = lock()
        self._is_full = False
        self._synced = time.monotonic()
        self._file = _opened(self._path)
        _open[self._path] = self
        self._end = self._read()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if _open.get(self._path) is self:
            del _open[self._path]

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()

    def answer(self, kind: str, point: EvaluationPoint, compute: Callable[[EvaluationPoint], Value]) -> Value:
        """Return the value of an evaluation, from the file or computed.

        Raises
        ------
        ValueError
            If what the file says is not what comes out now.
        """
        if self._file.closed:
            return compute(point)
        label = _label(kind)
        key = label + _digest(point)
        with self._guard:
            place = self._places.get(key)
            if place is None:
                value = compute(point)
                self._append(key, point, value)
                return value
            if label in self._earlier:
                self._check(key, point, compute)
                del self._earlier[label]
            return _unpacked(self._content(place))[1]

    def _check(self, key: bytes, point: EvaluationPoint, compute: Callable[[EvaluationPoint], Value]) -> None:
        """Compute an evaluation of an earlier run again: the last one, or this one if that had other arguments.

        The last one is more telling, for the first is often at zero; but the file does not have its arguments.
        """
        last = self._earlier[key[:_LABEL_BYTES]]
        (x, *directions), value = _unpacked(self._content(last))
        elsewhere = EvaluationPoint(x, point.args, tuple(directions))
        if self._places.get(key[:_LABEL_BYTES] + _digest(elsewhere)) != last:
            elsewhere, value = point, _unpacked(self._content(self._places[key]))[1]
        again = compute(elsewhere)
        if _packed((), again) != _packed((), value):
            raise ValueError(
                f"sharded: checkpoint={str(self._path)!r} is of another function, of other data or of a processor with"
                " other arithmetic: an evaluation of it comes out differently now. Remove the file, or name another"
            )

    def _read(self) -> int:
        """Note the evaluations of the file, and return where the last whole one ends."""
        start = self._file.read(len(_MAGIC))
        end = len(_MAGIC)
        if start != _MAGIC[: len(start)]:
            raise ValueError(
                f"sharded: checkpoint={str(self._path)!r} is no file of evaluations; name another file"
            )
        if len(start) < end:
            self._file.seek(0)
            self._file.write(_MAGIC)
        while (record := self._record(end)) is not None:
            key, content = record
            self._places[key] = self._earlier[key[:_LABEL_BYTES]] = end
            end += _HEAD.size + len(content)
        self._file.truncate(end)
        return end

    def _record(self, place: int) -> tuple[bytes, bytes] | None:
        """Return key and content of a record; `None` where it does not end, or is damaged."""
        self._file.seek(place)
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        key, size, checksum = _HEAD.unpack(head)
        content = self._file.read(size)
        return (key, content) if len(content) == size and zlib.crc32(content) == checksum else None

    def _content(self, place: int) -> bytes:
        record = self._record(place)
        if record is None:
            raise OSError(f"sharded: checkpoint={str(self._path)!r} was changed by another program")
        return record[1]

    def _append(self, key: bytes, point: EvaluationPoint, value: Value) -> None:
        """Write a record; where that fails, the file ends with the last whole one, and the evaluation counts."""
        content = _packed((point.x, *point.directions), value)
        try:
            self._file.seek(self._end)
            self._file.write(_HEAD.pack(key, len(content), zlib.crc32(content)))
            self._file.write(content)
            self._file.flush()
            if time.monotonic() - self._synced > _SYNC_INTERVAL_S:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            self._tell(error)
            return
        self._places[key] = self._end
        self._end += _HEAD.size + len(content)

    def _tell(self, error: OSError) -> None:
        """Warn that an evaluation is not in the file; once."""
        with contextlib.suppress(OSError):
            self._file = _reopened(self._file, self._end)
            try_lock(self._file.fileno(), 0)
        if not self._is_full:
            self._is_full = True
            warnings.warn(
                f"sharded: checkpoint={str(self._path)!r} cannot be written ({error.strerror}): evaluations from here"
                " on will be computed again by a fit that goes on from it",
                RuntimeWarning,
                stacklevel=program_level(),
            )


def _opened(path: Path) -> BinaryIO:
    """Open a file for this process alone, unless a journal has it: any other use would end its lock."""
    if path in _open:
        gc.collect()  # a function that nobody has any more may be part of a cycle
    if path not in _open:
        file: BinaryIO = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115  closed by `Journal.close`
        if try_lock(file.fileno(), 0):
            return file
        file.close()
    text = "sharded: another function writes to the checkpoint; close() that one first"
    raise BlockingIOError(errno.EAGAIN, text, str(path))


def _reopened(file: BinaryIO, end: int) -> BinaryIO:
    """Return the file without what could not be written, which its buffer would try to write again."""
    fresh = os.fdopen(os.dup(file.fileno()), "r+b")
    with contextlib.suppress(OSError):
        file.close()
    fresh.truncate(end)
    return fresh


def _label(kind: str) -> bytes:
    return hashlib.sha256(kind.encode()).digest()[:_LABEL_BYTES]


def _digest(point: EvaluationPoint) -> bytes:
    """Return a digest of where something is evaluated."""
    digest = hashlib.sha256()
    for leaf in flatten(tuple(point))[0]:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes() if array.dtype != object else repr(leaf).encode())
    return digest.digest()


def _packed(inputs: Sequence[np.ndarray], value: Value) -> bytes:
    """Return vectors and a value as the bytes of an ``.npz``: sparse matrices by their arrays, lists item by item."""
    arrays = {f"input{k}": array for k, array in enumerate(inputs)}
    for k, each in enumerate(value):
        if is_sparse(each):
            arrays |= {
                f"sparse{k}.{name}": getattr(each, name) for name in ("data", "indices", "indptr", "shape")
            }
        elif isinstance(each, list):
            arrays |= {f"list{k}.{number}": item for number, item in enumerate(each)}
        else:
            arrays[f"array{k}"] = each
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _unpacked(content: bytes) -> tuple[list[np.ndarray], Value]:
    """Return vectors and value."""
    inputs, values, lists = list[np.ndarray](), dict[int, Any](), dict[int, list[Any]]()
    with np.load(io.BytesIO(content)) as arrays:
        for name in arrays.files:
            kind, number = re.fullmatch(r"([a-z]+)(\d+)(?:\..*)?", name).groups()  # type: ignore[union-attr]
            array = arrays[name]
            if kind == "input":
                inputs.append(array)
            elif kind == "array":
                values[int(number)] = array[()]
            else:
                lists.setdefault(int(number), []).append(array)
                values[int(number)] = kind
    for number, parts in lists.items():
        from scipy.sparse import csr_array  # noqa: PLC0415  slow to import

        values[number] = csr_array(tuple(parts[:3]), tuple(parts[3])) if values[number] == "sparse" else parts
    return inputs, tuple(values[number] for number in sorted(values))
