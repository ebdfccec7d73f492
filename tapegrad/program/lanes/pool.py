"""The programs of a recording over lanes: how many lanes a call gets, and its workspaces."""

import functools
from collections.abc import Sequence

import numpy as np

from tapegrad.engine.kernels.language import frame as word
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.replays.lanes import MAX_LANES
from tapegrad.engine.tape.fields.view import View
from tapegrad.program.fusion.policy import PendingFusion
from tapegrad.program.lanes import job
from tapegrad.program.lanes.programs import LaneProgram, lane_program
from tapegrad.program.lanes.rules import widened
from tapegrad.program.passes.op_facts import CALLS
from tapegrad.program.streams.spec import FORWARD, IF_KNOWN, JVP, NOW, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace

_FEWEST_LANES = 8  # where the cache has no room for as many, instances are computed one by one
_CACHE = 1 << 20  # bytes of a workspace that stays in the second-level cache of a core
_FREE = (FORWARD, VALUE_AND_GRAD, JVP)  # programs without seeds that go by elements
_CHUNKS_OF_A_THREAD, _MOST_CHUNKS = 4, 64
_WORTH_A_THREAD = 2e5  # nanoseconds of work from which a second thread pays
_ROW, _ELEMENT = 15.0, 0.5  # nanoseconds that a row costs, and an element in it


class LanePrograms(Uncopied):
    """The programs of a recording and a spec over lanes, one for each number of lanes.

    Parameters
    ----------
    trace, spec
        The recording, and what is computed of it.
    batched
        For each input whether it has lanes.
    """

    def __init__(self, trace: Trace, spec: ProgramSpec, batched: Sequence[bool]) -> None:
        self._trace, self._spec, self._batched = trace, spec, tuple(batched)
        self._programs: dict[int, LaneProgram] = {}
        self._free: dict[int, list[job.LaneWorkspace]] = {}
        self._waiting: dict[int, PendingFusion] = {}  # programs that may be fused yet
        self._left: dict[int, int] = {}  # blocks until one of these is asked
        self._serial = bool(np.isin(trace.tape.columns.op, CALLS).any())
        self._most = self._most_lanes()

    def run(self, given: Sequence[np.ndarray], instances: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Run for so many instances: arrays of the results, and which instances have none.

        Parameters
        ----------
        given
            For each array that the program is given all instances in C order, or what they share.
        """
        lanes = min(self._most, 1 << (instances - 1).bit_length())
        program = self._program(lanes)
        blocks = -(-instances // lanes)
        chunks, threads = self._chunks(program, blocks)
        workspaces = [self._take(program) for _ in range(threads)]
        results = job.results_of(program, instances)
        failed = job.run(program, workspaces, given, results, instances, chunks)
        self._free[lanes] += workspaces
        self._count(lanes, blocks)
        return results, failed

    def _most_lanes(self) -> int:
        """Return the most lanes whose workspace stays in the cache; 1 if these are few."""
        program = self._trace.program(self._spec)
        bytes_ = program.bytes + sum(map(_bytes, program.bindings))
        lanes = min(MAX_LANES, 1 << max(_CACHE // max(bytes_, 1), 1).bit_length() - 1)
        return lanes if lanes >= _FEWEST_LANES else 1

    def _program(self, lanes: int) -> LaneProgram:
        if lanes not in self._programs:
            program = self._made(lanes, self._trace.fusion)
            self._free[lanes] = []
            self._programs[lanes] = program
            if self._trace.fusion == IF_KNOWN and not program.fused:
                streams = program.forward, program.reverse
                self._waiting[lanes] = PendingFusion(streams, functools.partial(self._fuse, lanes))
                self._left[lanes] = self._waiting[lanes].replays
        return self._programs[lanes]

    def _made(self, lanes: int, fusion: str) -> LaneProgram:
        free = self._spec.kind in _FREE
        made = widened(self._trace.recording, self._trace.tape, self._batched, lanes, free)
        return lane_program(made, self._spec, fusion)

    def _fuse(self, lanes: int) -> None:
        """Put a fused program in the place of one."""
        self._programs[lanes] = self._made(lanes, NOW)
        self._waiting.pop(lanes, None)

    def _count(self, lanes: int, blocks: int) -> None:
        """Count blocks that were run, and decide whether the program should be fused."""
        waiting = self._waiting.get(lanes)
        if waiting is None or not self._left[lanes]:
            return
        self._left[lanes] = max(self._left[lanes] - blocks, 0)
        if self._left[lanes] == 0:
            self._left[lanes] = waiting.decide()

    def _take(self, program: LaneProgram) -> job.LaneWorkspace:
        """Return an idle workspace, or a new one."""
        free = self._free[program.widened.lanes]
        try:
            while (workspace := free.pop()).program is not program:
                pass  # of the program before it was fused
        except IndexError:
            workspace = job.LaneWorkspace(program)
            self._trace.bytes += workspace.bytes
        return workspace

    def _chunks(self, program: LaneProgram, blocks: int) -> tuple[int, int]:
        """Into how many chunks the blocks are divided, and for how many threads."""
        if self._serial or blocks == 1 or blocks * _nanoseconds(program) < _WORTH_A_THREAD:
            return 1, 1
        threads = min(job.threads(), blocks)
        return min(blocks, threads * _CHUNKS_OF_A_THREAD, _MOST_CHUNKS) if threads > 1 else 1, threads


def _bytes(view: View) -> int:
    return view.nbytes


def _nanoseconds(program: LaneProgram) -> float:
    """About what a block takes."""
    elements = sum(
        float(np.maximum(s.frames[:, word.COUNT], 1).sum()) for s in (program.forward, program.reverse)
    )
    rows = len(program.forward) + max(1, program.rows) * len(program.reverse)
    return _ROW * rows + _ELEMENT * elements
