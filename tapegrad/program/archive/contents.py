"""Contents that the recordings of a file share: constants, and ops that have recordings of their own."""

import hashlib
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.program.archive.fields import DamagedFileError, field, refuse_unless


class Contents:
    """Contents of a file that is written, each once.

    Parameters
    ----------
    name
        Name of the function, for messages.
    derivatives
        Whether its programs differentiate the recordings.
    """

    def __init__(self, name: str, derivatives: bool) -> None:
        self.name, self.derivatives = name, derivatives
        self._arrays: list[np.ndarray] = []
        self._numbers: dict[str, int] = {}
        self._ops: list[dict[str, Any]] = []
        self._op_numbers: dict[int, tuple[Any, int]] = {}  # by id, with the op, so that no other one gets it
        self._recordings: list[dict[str, np.ndarray]] = []

    def number(self, content: bytes) -> int:
        """Return the number of a constant, which is added if it is new."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._numbers:
            self._numbers[digest] = len(self._arrays)
            self._arrays.append(np.frombuffer(content, np.uint8))
        return self._numbers[digest]

    def op_number(self, op: Any) -> int:
        """Return the number of an op, which is added behind those that its recordings need."""
        if id(op) not in self._op_numbers:
            kind = next(kind for kind in _all_kinds().values() if type(op) is kind.of)
            record = {"kind": kind.name, **kind.pack(op, self)}
            self._op_numbers[id(op)] = op, len(self._ops)
            self._ops.append(record)
        return self._op_numbers[id(op)][1]

    def add_arrays(self, arrays: dict[str, np.ndarray]) -> int:
        """Add the arrays of an op's recording; return its number."""
        self._recordings.append(arrays)
        return len(self._recordings) - 1

    @property
    def header(self) -> dict[str, Any]:
        """The part of the header that describes them."""
        constants = [
            {"bytes": len(a), "sha256": digest} for a, digest in zip(self._arrays, self._numbers, strict=True)
        ]
        return {"constants": constants, **({"inner": self._ops} if self._ops else {})}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the file."""
        found = {f"constant{k}": array for k, array in enumerate(self._arrays)}
        for number, arrays in enumerate(self._recordings):
            found |= {f"{prefix_of(number)}{key}": array for key, array in arrays.items()}
        return found


def prefix_of(recording: int) -> str:
    """Return what the names of the arrays of an op's recording begin with."""
    return f"inner{recording}."


class ReadContents:
    """Contents of a file that is read.

    Attributes
    ----------
    constants
        The constants, each in aligned memory of its own that is never written to.
    calls
        The ops, as far as they are read: instructions of a recording name earlier ones alone.
    """

    def __init__(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.constants = _constants_of(header, arrays)
        self.calls: list[Call] = []
        self._arrays = arrays
        for record in header.get("inner", []):
            kind = _all_kinds().get(field(record, "kind", str))
            if kind is None:
                raise DamagedFileError(f"this version of tapegrad has no op of kind {record['kind']!r}")
            self.calls.append(kind.unpack(record, self))

    def arrays_of(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the arrays of a recording."""
        return {
            name.removeprefix(prefix): array
            for name, array in self._arrays.items()
            if name.startswith(prefix)
        }


class OpKind:
    """Kind of ops that files can hold.

    Parameters
    ----------
    name
        What files call it.
    of
        The class of the ops.
    pack
        Returns what the header says of an op.
    unpack
        Returns a call that does the same, of that.
    """

    def __init__(
        self,
        name: str,
        of: type,
        pack: Callable[[Any, Contents], dict[str, Any]],
        unpack: Callable[[dict[str, Any], ReadContents], Call],
    ) -> None:
        self.name, self.of, self.pack, self.unpack = name, of, pack, unpack


_kinds: dict[str, OpKind] = {}
_HOME = "tapegrad.loops.stored"  # of a later room, imported for files that have its ops


def add_kind(kind: OpKind) -> None:
    """Let files hold ops of a kind."""
    _kinds[kind.name] = kind


def _all_kinds() -> dict[str, OpKind]:
    """Return the kinds by their names."""
    importlib.import_module(_HOME)
    return _kinds


def _constants_of(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    found = []
    for number, record in enumerate(field(header, "constants", list)):
        array = array_of(arrays, f"constant{number}", 1)
        refuse_unless(array.dtype == np.uint8, f"constant {number} is not of bytes")
        refuse_unless(field(record, "bytes", int) == len(array), f"constant {number} has {len(array)} bytes")
        right = field(record, "sha256", str) == hashlib.sha256(array.tobytes()).hexdigest()
        refuse_unless(right, f"constant {number} is damaged: its SHA-256 is another one")
        fields = np.zeros(-(-len(array) // 8) + 1, np.int64)
        own = fields.view(np.uint8)[: len(array)]
        own[:] = array
        found.append(own)
    return found


def array_of(arrays: dict[str, np.ndarray], name: str, ndim: int) -> np.ndarray:
    """Return an array of the file with so many dimensions."""
    found = arrays.get(name)
    if found is None or found.ndim != ndim:
        raise DamagedFileError(f"there is no array {name!r} of {ndim} dimensions")
    return found
