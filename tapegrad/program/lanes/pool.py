"""Calls of programs over lanes: programs and workspaces by the number of lanes, the caller's arrays, threads."""

import functools
from collections.abc import Sequence

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.binding.control_fields import THREADS
from tapegrad.engine.sweep.replays import lanes
from tapegrad.engine.tape.fields.layout import CONTROL
from tapegrad.engine.tape.tape import fields_at
from tapegrad.program.lanes.programs import LaneProgram, LaneWorkspace, lane_program
from tapegrad.program.lanes.rules import widened
from tapegrad.program.passes.op_facts import CALLS
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.workspace import PooledProgram
from tapegrad.program.streams.spec import FORWARD, JVP, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace

_MIN_LANES = 8  # with room for fewer in the cache, a program has one lane
_CACHE_BYTES = 1 << 20  # of a workspace that stays in the second-level cache of a core
_FREE_KINDS = (FORWARD, VALUE_AND_GRAD, JVP)  # without seeds by elements, which need the lanes last
_CHUNKS_PER_THREAD, _MAX_CHUNKS = 4, 64
_MIN_THREADED_NS = 2e5  # of work: a second thread pays
_ROW_NS, _ELEMENT_NS = 15.0, 0.5  # of a row, and of an element in it


class LanePrograms(Uncopied):
    """Programs of a recording and a spec over lanes, one for each number of lanes.

    Parameters
    ----------
    trace, spec
        The recording, and the kind of the programs.
    batched
        For each input whether it is batched.

    Attributes
    ----------
    certified
        Whether an instance was held against the same one by itself.
    """

    certified = False

    def __init__(self, trace: Trace, spec: ProgramSpec, batched: Sequence[bool]) -> None:
        self._trace, self._spec, self._batched = trace, spec, tuple(batched)
        self._programs: dict[int, PooledProgram[LaneProgram]] = {}  # by the number of lanes
        self._countdown: dict[int, int] = {}  # blocks until the fusion policy is consulted
        self._serial = bool(np.isin(trace.tape.columns.op, CALLS).any())
        self._max_lanes = lanes_in_cache(trace.program(spec))

    def run(self, given: Sequence[np.ndarray], instances: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Run for so many instances. Return arrays of the results, and a mask of the instances without results.

        Parameters
        ----------
        given
            Arrays of the program's inputs in C order, batched ones with all instances.
        """
        count = min(self._max_lanes, 1 << (instances - 1).bit_length())
        pooled, blocks = self._pooled(count), -(-instances // count)
        program = pooled.program
        chunks, threads = self._chunks(program, blocks)
        workspaces = [pooled.take(program) or self._new_workspace(program) for _ in range(threads)]
        results, failed = _run(program, workspaces, given, instances, chunks)
        pooled.idle += workspaces
        self._count(count, blocks)
        return results, failed

    def _pooled(self, count: int) -> PooledProgram[LaneProgram]:
        """Return the program of so many lanes."""
        if count not in self._programs:
            made = PooledProgram(functools.partial(self._made, count), LaneWorkspace, self._trace.fusion)
            self._countdown[count] = made.pending.replays if made.pending else 0
            self._programs[count] = made
        return self._programs[count]

    def _made(self, count: int, fusion: str) -> LaneProgram:
        free = self._spec.kind in _FREE_KINDS
        made = widened(self._trace.recording, self._trace.tape, self._batched, count, free)
        return lane_program(made, self._spec, fusion)

    def _new_workspace(self, program: LaneProgram) -> LaneWorkspace:
        workspace = LaneWorkspace(program)
        self._trace.bytes += workspace.bytes
        return workspace

    def _count(self, count: int, blocks: int) -> None:
        """Count blocks that were run, and consult the fusion policy when its countdown is over."""
        pending = self._programs[count].pending
        if pending is None or not self._countdown[count]:
            return
        self._countdown[count] = max(self._countdown[count] - blocks, 0)
        if self._countdown[count] == 0:
            self._countdown[count] = pending.decide()

    def _chunks(self, program: LaneProgram, blocks: int) -> tuple[int, int]:
        """Return the number of chunks of blocks, and of threads."""
        if self._serial or blocks == 1 or blocks * _nanoseconds(program) < _MIN_THREADED_NS:
            return 1, 1
        threads = min(_threads(), blocks)
        return min(blocks, threads * _CHUNKS_PER_THREAD, _MAX_CHUNKS) if threads > 1 else 1, threads


def lanes_in_cache(program: Program, further_bytes: int = 0, most: int = lanes.MAX_LANES) -> int:
    """Return the largest power of two, at most `most`, of lanes that stay in the cache; 1 below `_MIN_LANES`.

    Parameters
    ----------
    program
        The program of one instance.
    further_bytes
        Bytes of a lane beside the program's workspace and bindings.
    most
        Number of lanes that there may be.
    """
    bytes_ = program.bytes + sum(view.nbytes for view in program.bindings) + further_bytes
    most = max(min(most, lanes.MAX_LANES, _CACHE_BYTES // max(bytes_, 1)), 1)
    found = 1 << (most.bit_length() - 1)
    return found if found >= _MIN_LANES else 1


def _nanoseconds(program: LaneProgram) -> float:
    """Estimate the time of a block, in ns."""
    elements = sum(
        float(np.maximum(s.frames[:, field.COUNT], 1).sum()) for s in (program.forward, program.reverse)
    )
    rows = len(program.forward) + program.rows * len(program.reverse)
    return _ROW_NS * rows + _ELEMENT_NS * elements


# --- jobs ---------------------------------------------------------------------------------------------------------


def _results_of(program: LaneProgram, instances: int) -> list[np.ndarray]:
    """Return arrays for the results: zeros for Jacobians, of which not all elements are computed."""
    found: dict[int, np.ndarray] = {}
    for port in program.ports:
        if port.direction == lanes.GIVE and port.array not in found:
            make = np.empty if port.shape[0] else np.zeros
            found[port.array] = make((instances, *port.view.shape), port.view.dtype)
    return list(found.values())


def _run(
    program: LaneProgram,
    workspaces: Sequence[LaneWorkspace],
    given: Sequence[np.ndarray],
    instances: int,
    chunks: int,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Run a program as `LanePrograms.run` does.

    Parameters
    ----------
    workspaces
        One for each thread that may run the program.
    chunks
        Number of parts of the instances, which threads share.
    """
    results, failed = _results_of(program, instances), np.zeros(instances, np.uint8)
    ports, outside = program.port_fields, _outside(program, given, results)
    addresses = np.array([workspace.address for workspace in workspaces], np.int64)
    job = np.zeros(lanes.JOB_FIELDS, np.int64)
    count = program.widened.lanes
    job[lanes.LANES], job[lanes.INSTANCES] = count, instances
    job[lanes.CHUNK] = -(-instances // (chunks * count)) * count
    job[lanes.FAILED] = failed.ctypes.data
    job[lanes.PORTS], job[lanes.PORT_COUNT] = ports.ctypes.data, len(ports)
    job[lanes.OUTSIDE] = outside.ctypes.data
    job[lanes.WORKSPACES], job[lanes.WORKSPACE_COUNT] = addresses.ctypes.data, len(addresses)
    kernel = kernel_table.address_of(lanes.lanes_chunk)
    lanes.replay_lanes(job.ctypes.data, kernel, kernel_table.tables()[CONTROL], chunks)
    return results, failed.astype(np.bool_)


def _outside(program: LaneProgram, given: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> np.ndarray:
    """Return the address of the caller's elements for each port, and the bytes from an instance to the next."""
    fields = np.zeros((len(program.ports), 2), np.int64)
    for row, port in zip(fields, program.ports, strict=True):
        array = (results if port.direction == lanes.GIVE else given)[port.array]
        row[0] = array.ctypes.data + port.start
        row[1] = array.strides[0] if port.direction != lanes.SHARED and len(array) else 0
    return fields


def _threads() -> int:
    """Return the number of threads that a job may have."""
    kernel_table.load_driver()
    return max(1, int(fields_at(kernel_table.tables()[CONTROL] + 8 * THREADS, 1)[0]))
