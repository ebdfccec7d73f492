"""A call of a program over lanes: the caller's arrays, workspaces, and threads."""

from collections.abc import Sequence

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.binding.control_fields import THREADS
from tapegrad.engine.sweep.replays import lanes
from tapegrad.engine.tape.fields.layout import CONTROL
from tapegrad.engine.tape.tape import words_at
from tapegrad.program.lanes.programs import LaneProgram, Port
from tapegrad.program.programs.workspace import Workspace

_LINE = 64  # bytes of a cache line


class LaneWorkspace(Uncopied):
    """Workspace of a program over lanes, with memory for the elements of its ports.

    Attributes
    ----------
    program
        The program.
    address
        Address of the struct that compiled code receives.
    bytes
        Size of the memory.
    inside
        For each port of the program, the address of its elements with lanes.
    """

    __slots__ = ("_keep", "address", "bytes", "inside", "program")

    def __init__(self, program: LaneProgram) -> None:
        self.program = program
        workspace = Workspace(program)
        memory = [_aligned(_inside_bytes(program, port)) for port in program.ports]
        self.inside = np.array(
            [
                part.ctypes.data if port.binding >= 0 else workspace.base + port.inside
                for port, part in zip(program.ports, memory, strict=True)
            ],
            np.int64,
        )
        words = _aligned(8 * lanes.WORKSPACE_WORDS).view(np.int64)
        words[:] = 0
        words[lanes.PROGRAM], words[lanes.MASK] = workspace.address, workspace.base + program.mask
        words[lanes.WIDTH] = program.widened.lanes
        words[lanes.ROWS], words[lanes.INSIDE] = program.rows, self.inside.ctypes.data
        self.address = int(words.ctypes.data)
        self.bytes = workspace.bytes + sum(part.nbytes for part in memory)
        self._keep = (workspace, memory, words)


def _inside_bytes(program: LaneProgram, port: Port) -> int:
    """Return the bytes of memory for a port: 0 if it uses memory of the program or of the caller."""
    has_own = port.binding >= 0 and port.direction != lanes.SHARED
    return program.bindings[port.binding].nbytes if has_own else 0


def _aligned(bytes_: int) -> np.ndarray:
    """Return memory that begins with a cache line."""
    memory = np.empty(bytes_ + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + bytes_]


def results_of(program: LaneProgram, instances: int) -> list[np.ndarray]:
    """Return arrays for the results: zeros for Jacobians, of which not all elements are computed."""
    found: dict[int, np.ndarray] = {}
    for port in program.ports:
        if port.direction == lanes.GIVE and port.array not in found:
            make = np.empty if port.shape[0] else np.zeros
            found[port.array] = make((instances, *port.view.shape), port.view.dtype)
    return list(found.values())


def run(
    program: LaneProgram,
    workspaces: Sequence[LaneWorkspace],
    given: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    instances: int,
    chunks: int,
) -> np.ndarray:
    """Run a program for so many instances. Return a mask of the instances that have no results.

    Parameters
    ----------
    workspaces
        One for each thread that may run the program.
    given, results
        Arrays in C order; results and batched inputs have the instances as their first dimension.
    chunks
        Number of parts of the instances, which threads share.
    """
    failed = np.zeros(instances, np.uint8)
    ports, outside = program.port_words, _outside(program, given, results)
    addresses = np.array([workspace.address for workspace in workspaces], np.int64)
    job = np.zeros(lanes.JOB_WORDS, np.int64)
    count = program.widened.lanes
    job[lanes.LANES], job[lanes.INSTANCES] = count, instances
    job[lanes.CHUNK] = -(-instances // (chunks * count)) * count
    job[lanes.FAILED] = failed.ctypes.data
    job[lanes.PORTS], job[lanes.PORT_COUNT] = ports.ctypes.data, len(ports)
    job[lanes.OUTSIDE] = outside.ctypes.data
    job[lanes.WORKSPACES], job[lanes.WORKSPACE_COUNT] = addresses.ctypes.data, len(addresses)
    kernel = kernel_table.address_of(lanes.lanes_chunk)
    lanes.replay_lanes(job.ctypes.data, kernel, kernel_table.tables()[CONTROL], chunks)
    return failed.astype(np.bool_)


def _outside(program: LaneProgram, given: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> np.ndarray:
    """Return the address of the caller's elements for each port, and the bytes from an instance to the next."""
    words = np.zeros((len(program.ports), 2), np.int64)
    for row, port in zip(words, program.ports, strict=True):
        array = (results if port.direction == lanes.GIVE else given)[port.array]
        row[0] = array.ctypes.data + port.start
        row[1] = array.strides[0] if port.direction != lanes.SHARED and len(array) else 0
    return words


def threads() -> int:
    """Return the number of threads that a job may have."""
    kernel_table.load_driver()
    return max(1, int(words_at(kernel_table.tables()[CONTROL] + 8 * THREADS, 1)[0]))
