"""Dependence of a result on some inputs, read off the tape."""

import numpy as np

from tapegrad.engine.sweep.derivatives import subgraph
from tapegrad.engine.tape import memory
from tapegrad.engine.tape.memory import D_BUFFER
from tapegrad.engine.tape.tape import Tape


def depends(tape: Tape, slot: int, inputs: list[int]) -> bool:
    """Return whether a derivative flows into a slot from one of the slots `inputs`; not through a freed graph."""
    if any(_buffer(tape, slot) == _buffer(tape, each) for each in inputs):
        return True
    roots, wanted = np.array([slot], np.int64), np.array(inputs, np.int64)
    return bool(subgraph.list_graph(tape.header, id(roots), id(wanted), id(roots), 0) > 0)


def _buffer(tape: Tape, slot: int) -> int:
    buffer: int = memory.describe(tape.header, slot, False)[D_BUFFER]
    return buffer
