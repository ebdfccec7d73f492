"""Programs of a recording over lanes, and their workspaces, by the number of lanes."""

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
    """

    def __init__(self, trace: Trace, spec: ProgramSpec, batched: Sequence[bool]) -> None:
        self._trace, self._spec, self._batched = trace, spec, tuple(batched)
        self._programs: dict[int, LaneProgram] = {}
        self._free: dict[int, list[job.LaneWorkspace]] = {}
        self._waiting: dict[int, PendingFusion] = {}  # fusion policies of programs that are not fused yet
        self._countdown: dict[int, int] = {}  # blocks until the policy is consulted
        self._serial = bool(np.isin(trace.tape.columns.op, CALLS).any())
        self._max_lanes = self._lanes_in_cache()

    def run(self, given: Sequence[np.ndarray], instances: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Run for so many instances. Return arrays of the results, and a mask of the instances without results.

        Parameters
        ----------
        given
            Arrays of the program's inputs in C order, batched ones with all instances.
        """
        lanes = min(self._max_lanes, 1 << (instances - 1).bit_length())
        program = self._program(lanes)
        blocks = -(-instances // lanes)
        chunks, threads = self._chunks(program, blocks)
        workspaces = [self._take(program) for _ in range(threads)]
        results = job.results_of(program, instances)
        failed = job.run(program, workspaces, given, results, instances, chunks)
        self._free[lanes] += workspaces
        self._count(lanes, blocks)
        return results, failed

    def _lanes_in_cache(self) -> int:
        """Return the largest number of lanes whose workspace stays in the cache; 1 below `_MIN_LANES`."""
        program = self._trace.program(self._spec)
        bytes_ = program.bytes + sum(map(_bytes, program.bindings))
        lanes = min(MAX_LANES, 1 << max(_CACHE_BYTES // max(bytes_, 1), 1).bit_length() - 1)
        return lanes if lanes >= _MIN_LANES else 1

    def _program(self, lanes: int) -> LaneProgram:
        if lanes not in self._programs:
            program = self._made(lanes, self._trace.fusion)
            self._free[lanes] = []
            self._programs[lanes] = program
            if self._trace.fusion == IF_KNOWN and not program.fused:
                streams = program.forward, program.reverse
                self._waiting[lanes] = PendingFusion(streams, functools.partial(self._fuse, lanes))
                self._countdown[lanes] = self._waiting[lanes].replays
        return self._programs[lanes]

    def _made(self, lanes: int, fusion: str) -> LaneProgram:
        free = self._spec.kind in _FREE_KINDS
        made = widened(self._trace.recording, self._trace.tape, self._batched, lanes, free)
        return lane_program(made, self._spec, fusion)

    def _fuse(self, lanes: int) -> None:
        """Replace a program by a fused one."""
        self._programs[lanes] = self._made(lanes, NOW)
        self._waiting.pop(lanes, None)

    def _count(self, lanes: int, blocks: int) -> None:
        """Count blocks that were run, and consult the fusion policy when its countdown is over."""
        waiting = self._waiting.get(lanes)
        if waiting is None or not self._countdown[lanes]:
            return
        self._countdown[lanes] = max(self._countdown[lanes] - blocks, 0)
        if self._countdown[lanes] == 0:
            self._countdown[lanes] = waiting.decide()

    def _take(self, program: LaneProgram) -> job.LaneWorkspace:
        """Return an idle workspace, or a new one."""
        free = self._free[program.widened.lanes]
        try:
            while (workspace := free.pop()).program is not program:
                pass  # drop workspaces of the unfused program
        except IndexError:
            workspace = job.LaneWorkspace(program)
            self._trace.bytes += workspace.bytes
        return workspace

    def _chunks(self, program: LaneProgram, blocks: int) -> tuple[int, int]:
        """Return the number of chunks of blocks, and of threads."""
        if self._serial or blocks == 1 or blocks * _nanoseconds(program) < _MIN_THREADED_NS:
            return 1, 1
        threads = min(job.threads(), blocks)
        return min(blocks, threads * _CHUNKS_PER_THREAD, _MAX_CHUNKS) if threads > 1 else 1, threads


def _bytes(view: View) -> int:
    return view.nbytes


def _nanoseconds(program: LaneProgram) -> float:
    """Estimate the time of a block, in ns."""
    elements = sum(
        float(np.maximum(s.frames[:, word.COUNT], 1).sum()) for s in (program.forward, program.reverse)
    )
    rows = len(program.forward) + max(1, program.rows) * len(program.reverse)
    return _ROW_NS * rows + _ELEMENT_NS * elements
