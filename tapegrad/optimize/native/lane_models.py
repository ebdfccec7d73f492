"""A model over lanes, as the loop of many fits evaluates it."""

import ctypes

import numpy as np

from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.optimize.native.loops import driver
from tapegrad.optimize.native.recorded import ReplayedFunction
from tapegrad.program.lanes.job import LaneWorkspace
from tapegrad.program.lanes.programs import LaneProgram, Port, lane_program
from tapegrad.program.lanes.rules import widened
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.spec import JACFWD, NOW, ProgramSpec

_MAX_LANES, _MIN_LANES = 128, 8
_CACHE = 1 << 20  # bytes of the second-level cache of a core
_SPEC = ProgramSpec(JACFWD, (0,), values=True)


def lanes_for(program: Program, points: int, fits: int) -> int:
    """Return how many fits of so many points are solved at once, as the cache has room for; 1 if these are few."""
    bytes_ = program.bytes + sum(view.nbytes for view in program.bindings) + 4 * 8 * points
    most = min(_MAX_LANES, _CACHE // bytes_, fits // 2)
    lanes = 1 << (max(most, 1).bit_length() - 1)
    return lanes if lanes >= _MIN_LANES else 1


def program_of(recorded: ReplayedFunction, lanes: int) -> LaneProgram:
    """Return the program of the model and its Jacobian over so many lanes, which is kept with the recording."""
    key, trace = (recorded.specialization, lanes), recorded.trace
    found: LaneProgram | None = recorded.over_lanes.get(key)
    if found is None:
        made = lane_program(widened(trace.recording, trace.tape, (True,), lanes), _SPEC, NOW)
        found = recorded.over_lanes.setdefault(key, made)
    return found


class LaneModel(Uncopied):
    """A model over lanes on a workspace of its own, for one thread.

    Parameters
    ----------
    program
        The model and its Jacobian.
    start
        Parameters that all lanes have at first.

    Attributes
    ----------
    address
        Address of the workspace.
    trial, values
        Addresses of the parameters, and of the model at these.
    columns
        Addresses of the columns of its Jacobian; 0 stands for zeros.
    """

    def __init__(self, program: LaneProgram, start: np.ndarray) -> None:
        self._workspace = workspace = LaneWorkspace(program)
        self.address = workspace.address
        self.trial, self.values = int(workspace.inside[0]), int(workspace.inside[1])
        lanes = program.widened.lanes
        self.columns = np.zeros(len(start), np.int64)
        for port, address in zip(program.ports[2:], workspace.inside[2:].tolist(), strict=True):
            self._list_columns(port, address, lanes)
        self._place_bindings(program)
        trial = (ctypes.c_double * (len(start) * lanes)).from_address(self.trial)
        np.ctypeslib.as_array(trial).reshape(len(start), lanes)[:] = start[:, None]

    def _list_columns(self, port: Port, address: int, lanes: int) -> None:
        """List the columns of a port, which lie one after another."""
        count, rows = port.shape
        first = port.start // port.view.itemsize
        self.columns[first : first + count] = address + 8 * rows * lanes * np.arange(count)

    def _place_bindings(self, program: LaneProgram) -> None:
        pairs = [
            (port.binding, address)
            for port, address in zip(program.ports, self._workspace.inside.tolist(), strict=True)
            if port.binding >= 0
        ]
        bindings, addresses = (np.array(words, np.int64) for words in zip(*pairs, strict=True))
        driver.bind_lanes(self.address, bindings.ctypes.data, addresses.ctypes.data, len(pairs))
