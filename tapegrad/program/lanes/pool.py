"""The programs of a recording over lanes: how many lanes a call gets, and its workspaces."""

from collections.abc import Sequence

import numpy as np

from tapegrad.engine.kernels import frame as word
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape.view import View
from tapegrad.program.lanes import job
from tapegrad.program.lanes.programs import LaneProgram, lane_program
from tapegrad.program.lanes.rules import widened
from tapegrad.program.op_facts import CALLS
from tapegrad.program.spec import ProgramSpec
from tapegrad.program.trace import Trace

_MOST_LANES = 128
_FEWEST_LANES = 8  # where the cache has no room for as many, instances are computed one by one
_CACHE = 1 << 20  # bytes of a workspace that stays in the second-level cache of a core
_CHUNKS_OF_A_THREAD = 4
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
        chunks, threads = self._chunks(program, instances)
        workspaces = [self._take(lanes) for _ in range(threads)]
        results = job.results_of(program, instances)
        failed = job.run(program, workspaces, given, results, chunks)
        self._free[lanes] += workspaces
        return results, failed

    def _most_lanes(self) -> int:
        """The most lanes whose workspace stays in the cache; 1 where these are few."""
        program = self._trace.program(self._spec)
        bytes_ = program.bytes + sum(map(_bytes, program.bindings))
        lanes = min(_MOST_LANES, 1 << max(_CACHE // max(bytes_, 1), 1).bit_length() - 1)
        return lanes if lanes >= _FEWEST_LANES else 1

    def _program(self, lanes: int) -> LaneProgram:
        if lanes not in self._programs:
            made = widened(self._trace.recording, self._trace.tape, self._batched, lanes)
            self._programs[lanes] = lane_program(made, self._spec, self._trace.fusion)
            self._free[lanes] = []
        return self._programs[lanes]

    def _take(self, lanes: int) -> job.LaneWorkspace:
        """A workspace that is not in use, or a new one."""
        try:
            return self._free[lanes].pop()
        except IndexError:
            made = job.LaneWorkspace(self._program(lanes))
            self._trace.bytes += made.bytes
            return made

    def _chunks(self, program: LaneProgram, instances: int) -> tuple[int, int]:
        """Into how many chunks instances are divided, and for how many threads."""
        blocks = -(-instances // program.widened.lanes)
        if self._serial or blocks == 1 or blocks * _nanoseconds(program) < _WORTH_A_THREAD:
            return 1, 1
        threads = min(job.threads(), blocks)
        return min(blocks, threads * _CHUNKS_OF_A_THREAD, 64) if threads > 1 else 1, threads


def _bytes(view: View) -> int:
    return view.nbytes


def _nanoseconds(program: LaneProgram) -> float:
    """About what a block takes."""
    elements = sum(
        float(np.maximum(s.frames[:, word.COUNT], 1).sum()) for s in (program.forward, program.reverse)
    )
    rows = len(program.forward) + max(1, program.rows) * len(program.reverse)
    return _ROW * rows + _ELEMENT * elements
