"""Fusion policy: the program of a recording is fused at once, never, or when that pays.

A program whose like has been fused before, in whatever process, is fused from the first replay on. Any other begins
with its rows. From what these cost follows after how many replays the time that fusion saves would exceed the time
that compiling takes; then a thread in the background fuses the program while replays go on, and the next one that
takes a workspace takes one of the new program.
"""

import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.runtime.pace import pace_beside, working
from tapegrad.engine.tape.fields.layout import BROADCAST_SUM, ELEMENTWISE, NONE, OP_KIND
from tapegrad.program.fusion.background import worker
from tapegrad.program.fusion.grouping.nests import seed_counts
from tapegrad.program.streams.spec import IF_KNOWN, NEVER, NOW, WHOLE
from tapegrad.program.streams.stream import InstructionStream

_COMPILE_NS = 2e7  # an upper bound of the time to compile a segment
_ROW_NS, _ELEMENT_NS = 6.0, 0.15  # saved by a segment for each row, and for each element of a row
_POLL_INTERVAL_S = 0.05  # between two checks whether a program is fused: each may take longer than a replay
_MIN_PERIOD_S = 1e-8  # of a replay
_MAX_REPLAYS = 1 << 40


def fusion_of(fuse: bool | str | None) -> str:
    """Return the policy for the argument `fuse` of `jit`, or by default for the environment: one of those in `spec`."""
    if fuse == WHOLE:
        return WHOLE
    chosen = os.environ.get("TAPEGRAD_FUSE", "")
    if fuse is False or (fuse is None and chosen == "0"):
        return NEVER
    return NOW if fuse or chosen == "1" else IF_KNOWN


def saving(stream: InstructionStream) -> float:
    """Estimate what fusion saves per replay, in ns: the cost of the instructions that can join segments."""
    kinds = kernel_table.op_fields(np.maximum(stream.op, 0))[:, OP_KIND]
    able = (stream.op != NONE) & ((kinds == ELEMENTWISE) | (kinds == BROADCAST_SUM))
    if able.sum() < 2:
        return 0.0
    return float(_ROW_NS * able.sum() + _ELEMENT_NS * (stream.elements * seed_counts(stream))[able].sum())


class PendingFusion:
    """A program that runs on rows until it pays to fuse it.

    Parameters
    ----------
    streams
        The streams of the program.
    fuse
        Puts a fused program in its place.

    Attributes
    ----------
    replays
        Replays until the policy is consulted; 0: never.
    """

    def __init__(self, streams: Sequence[InstructionStream], fuse: Callable[[], Any]) -> None:
        self._fuse = fuse
        each = sum(map(saving, streams))
        self._over = False
        self._clock = 0.0  # when half of the replays were over
        self._period = 0.0  # s from one replay to the next
        self.replays = min(int(_COMPILE_NS / each) // 2 + 2, _MAX_REPLAYS) if each else 0

    def decide(self) -> int:
        """Time replays on the first call, request fusion in the background on later ones.

        Returns the replays until the next call, 0 for never.

        The first call is due when half of the replays are over, and the second when fusion pays.
        """
        if self._over:
            return 0
        now = time.perf_counter()
        if not self._clock:
            self._clock = now
            return self.replays  # which is never before the replay that has asked
        self._period = self._period or max((now - self._clock) / self.replays, _MIN_PERIOD_S)
        worker.add(self._try)
        return max(int(_POLL_INTERVAL_S / self._period), 2)  # nor is this

    def _try(self) -> None:
        try:
            with working(pace_beside(self._period)):
                self._fuse()
        except Exception as error:  # the rows go on doing what segments would have done
            warnings.warn(
                f"a recorded function runs row by row, for it could not be fused: {error!r}", stacklevel=2
            )
        finally:
            self._over = True
