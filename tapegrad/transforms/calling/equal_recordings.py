"""Recordings of functions that are recorded at each call: an equal one of an earlier call lends its programs.

Recording takes a fifth of the time in which a program is planned and bound. A function that is not made by `jit` is run
at each call, whatever it sees and does, and its recording is compared with earlier ones, constants to the last bit; so
nothing of an earlier call can be stale.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.inspection.tape_view import constants_of, copied, without_addresses
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape.tape import fields_at
from tapegrad.frontend.tensor.array_checks import UNSHARED, reference_counts
from tapegrad.program.passes.op_facts import CALLS
from tapegrad.program.traces.trace import Trace

_CALLS = frozenset(CALLS.tolist())


class EqualRecordings(Uncopied):
    """Recordings that lend their programs to equal ones.

    Parameters
    ----------
    most
        How many are kept; of more, those used longest ago go.
    bytes_
        Memory that they may occupy together.
    """

    def __init__(self, most: int, bytes_: int) -> None:
        self._most, self._bytes = most, bytes_
        self._kept: OrderedDict[Hashable, _Lender] = OrderedDict()
        self._lock = lock()

    def get(self, key: Hashable) -> "_Lender | None":
        """Return the recording under a key, as the one used last."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: Hashable, made: "_Lender") -> None:
        """Keep a recording, in place of the one under its key."""
        dropped = []  # outside of the lock, for that may run anything
        with self._lock:
            dropped.append(self._kept.pop(key, None))
            self._kept[key] = made
            while len(self._kept) > 1 and self._are_too_many():
                dropped.append(self._kept.popitem(last=False)[1])

    def _are_too_many(self) -> bool:
        occupied = sum(each.trace.bytes for each in self._kept.values())
        return len(self._kept) > self._most or occupied > self._bytes


class _Lender(NamedTuple):
    """A recording, and address and size of each of its constants."""

    trace: Trace
    constants: list[list[int]]


# Of all functions: recordings that refer to nothing of the user's.
_SHARED = EqualRecordings(32, 16 << 20)


def own_recordings() -> EqualRecordings:
    """Return what a transform keeps itself: recordings that refer to arrays and Tensors of the user's."""
    return EqualRecordings(4, 64 << 20)


def lender(trace: Trace, own: EqualRecordings) -> Trace:
    """Return an equal recording of an earlier call, with its programs; without one `trace`, which is kept."""
    if not _CALLS.isdisjoint(
        trace.recording.column("op").tolist()
    ):  # what Python computes is not on the tape
        return trace
    fields = copied(trace.recording)
    made = _Lender(trace, constants_of(trace.recording, fields).tolist())
    key = _key_of(trace, fields)
    for kept in (own, _SHARED):
        earlier = kept.get(key)
        if earlier is not None and _are_equal(earlier, made):
            return earlier.trace
    (_SHARED if _stands_alone(trace) else own).keep(key, made)
    return trace


def _key_of(trace: Trace, fields: np.ndarray) -> Hashable:
    """Return what equal recordings share, but for the contents of constants and the structure of the result."""
    recording = trace.recording
    return (
        without_addresses(fields).tobytes(),
        tuple(recording.inputs),
        tuple(recording.outputs),
        frozenset(recording.weak),
        recording.closes_over_leaf,
        trace.outcomes,
        trace.arg_specs,
        trace.fusion,
        tuple(result if isinstance(result, int) else None for result in trace.results),
    )


def _are_equal(earlier: _Lender, made: _Lender) -> bool:
    """Return whether two recordings of one key have the same structure of the result, and the same constants now."""
    same_structure = earlier.trace.definition == made.trace.definition
    return same_structure and all(map(_have_same_bytes, earlier.constants, made.constants))


def _have_same_bytes(constant: list[int], other_constant: list[int]) -> bool:
    """Return whether two constants are the same memory, or have the same bytes."""
    (address, bytes_), (other, _) = constant, other_constant
    if address == other:
        return True
    return np.array_equal(fields_at(address, bytes_, np.uint8), fields_at(other, bytes_, np.uint8))


def _stands_alone(trace: Trace) -> bool:
    """Return whether a recording keeps nothing alive that the program could otherwise let go of."""
    owners: dict[int, Any] = trace.recording.owners
    return (
        not trace.recording.has_captured
        and all(isinstance(result, int) for result in trace.results)
        and all(count <= UNSHARED for count in reference_counts(owners.values()))
    )
