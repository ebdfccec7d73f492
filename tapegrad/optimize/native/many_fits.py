"""Many fits of one model: in lanes, on several threads."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.optimize.native.blocks import Block, Shape
from tapegrad.optimize.native.loops import batch as compiled
from tapegrad.optimize.native.loops import driver
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.cost import LINEAR
from tapegrad.optimize.native.recorded import ReplayedFunction, Session
from tapegrad.optimize.native.settings import FitSettings
from tapegrad.optimize.native.sharing import Results, reporting_one, run_shared
from tapegrad.optimize.native.slices import Slices
from tapegrad.program.lanes.pool import lanes_in_cache
from tapegrad.program.lanes.programs import LaneProgram, LaneWorkspace, Port, lane_program
from tapegrad.program.lanes.rules import widened
from tapegrad.program.streams.spec import JACFWD, NOW, ProgramSpec

_SPEC = ProgramSpec(JACFWD, (0,), values=True)


class Task(NamedTuple):
    """Fits of one model.

    Attributes
    ----------
    data, starts
        A row for each fit: its points, and its starting parameters.
    weights
        By fit and point, or by point if they are equal for all; `None` where all are one.
    absolute
        Whether weights are absolute.
    settings
        Bounds, tolerances, loss and limit of evaluations.
    """

    data: np.ndarray
    starts: np.ndarray
    weights: np.ndarray | None
    absolute: bool
    settings: FitSettings

    def part(self, numbers: Any) -> "Task":
        """Return some of the fits."""
        weights = self.weights
        if weights is not None and weights.ndim > 1:
            weights = weights[numbers]
        return self._replace(data=self.data[numbers], starts=self.starts[numbers], weights=weights)


class FitResults(Results):
    """Results by fit: interrupted, and nan, until they are entered."""

    def __init__(self, count: int, size: int) -> None:
        self.out_x = np.full((count, size), np.nan)
        self.out_covariance = np.full((count, size, size), np.nan)
        self.out_cost = np.full(count, np.nan)
        self.out_status, self.out_evaluations = np.full(count, fields.INTERRUPTED), np.zeros(count, np.int64)

    def give_up(self, starts: np.ndarray) -> None:
        """Enter that the model cannot be computed at any start."""
        self.out_x[:], self.out_status[:], self.out_evaluations[:] = starts, fields.NOT_FINITE, 1

    def leave(self, numbers: np.ndarray) -> None:
        """Enter that some fits have no points: they have no parameters, rather than those of the start."""
        self.out_x[numbers] = self.out_covariance[numbers] = self.out_cost[numbers] = np.nan
        self.out_status[numbers] = fields.NO_POINTS


def _program_of(recorded: ReplayedFunction, lanes: int) -> LaneProgram:
    """Return the program of the model and its Jacobian over so many lanes, which is kept with the recording."""
    key, trace = (recorded.specialization, lanes), recorded.trace
    found: LaneProgram | None = recorded.over_lanes.get(key)
    if found is None:
        made = lane_program(widened(trace.recording, trace.tape, (True,), lanes), _SPEC, NOW)
        found = recorded.over_lanes.setdefault(key, made)
    return found


class _LaneModel(Uncopied):
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
        trial = (ctypes.c_double * (len(start) * lanes)).from_address(self.trial)
        np.ctypeslib.as_array(trial).reshape(len(start), lanes)[:] = start[:, None]

    def _list_columns(self, port: Port, address: int, lanes: int) -> None:
        """List the columns of a port, which lie one after another."""
        count, rows = port.shape
        first = port.start // port.view.itemsize
        self.columns[first : first + count] = address + 8 * rows * lanes * np.arange(count)


def _shapes(n: int, k: int, lanes: int, robust: bool) -> dict[str, Shape]:
    """Return the shapes of the float64 arrays of a thread."""
    points = ("values", "data", "slopes", "squares", *(("excesses",) if robust else ()))
    by_parameter = ("trial", "x", "gradient", "step", "scale", "tried_gradient")
    packed = ("matrix", "tried_matrix", "factor", *(("excess", "tried_excess") if robust else ()))
    return {
        **dict.fromkeys(points, (n, lanes)),
        **dict.fromkeys(by_parameter, (k, lanes)),
        **dict.fromkeys(packed, (k * (k + 1) // 2, lanes)),
        **dict.fromkeys(("cost", "tried_cost", "damping", "check", "accepted"), lanes),
        **dict.fromkeys(("square", "inverse"), (k, k)),
        **dict.fromkeys(("lengths", "alone", "example"), k),
        "alone_values": n,
    }


class FittingWorker:
    """Fits on one thread.

    Parameters
    ----------
    recorded
        The model and its Jacobian.
    task, found
        The fits, and their results.
    program
        The model and its Jacobian over lanes; `None` for one fit at a time.
    line
        Line about the fit, where there is only one.
    """

    def __init__(
        self,
        recorded: ReplayedFunction,
        task: Task,
        found: FitResults,
        program: LaneProgram | None = None,
        line: Progress | None = None,
    ) -> None:
        n, k = task.data.shape[1], task.starts.shape[1]
        lanes = program.widened.lanes if program is not None else 1
        self._recorded = recorded
        self._block = block = Block(
            fields.BatchFields,
            _shapes(n, k, lanes, task.settings.loss != LINEAR),
            _numbers(task, lanes),
            _arrays(task, found, lanes),
        )
        block["example"][:] = recorded.example
        self._found = found
        self._slices = Slices(block["counts"], line or Progress(wanted=False), self._text)
        if task.weights is not None:
            block.add("weights", np.ones((n, lanes)))
            block.add("all_weights", task.weights)
            block.set_field("weights_step", task.weights.strides[0] if task.weights.ndim > 1 else 0)
        self._session: Session | None = None
        if program is not None:
            self._lanes = _LaneModel(program, recorded.example)
            block.set_field("workspace", self._lanes.address)
            block.set_field("trial", self._lanes.trial)
            block.set_field("values", self._lanes.values)
            block.set_field("specialization", recorded.specialization)
            block["column_addresses"][:] = self._lanes.columns
        else:
            self._open(block.addresses("trial"), block.addresses("values"))

    def _text(self) -> str:
        """Return how far the first lane is."""
        return text_of_fit(self._block["evaluations"][0], self._block["cost"][0])

    def _open(self, trial: list[int], values: list[int]) -> None:
        """Open the session for one lane, with its parameters and the model at these addresses."""
        block, results = self._block, values
        if not self._recorded.has_columns:
            n, k = self._recorded.size, len(self._recorded.example)
            block.add("rows", np.zeros((n, k)))
            block.add("columns", np.zeros((k, n)))
            results = values + block.addresses("rows")
        self._session = Session(self._recorded, trial, results)
        block.set_field("session", self._session.address)

    def run(self, first: int, end: int) -> None:
        """Run until all of these fits have begun."""
        counts = self._block["counts"]
        counts[fields.NEXT], counts[fields.END] = first, end
        while status := compiled.run_batch(self._block.address):
            if status == driver.PAUSED:
                if not self._slices.go_on():
                    return
            elif self._session is None:  # some lane has an error: which one is found by itself
                self._open(self._block.addresses("alone"), self._block.addresses("alone_values"))
            else:
                self._session.go_on(status, self._block["trial"][:, 0].copy())

    def finish(self) -> None:
        """Run until the fits that have begun are finished."""
        self._block["counts"][fields.DRAIN] = 1
        self.run(0, 0)

    def stop(self) -> None:
        """Leave `run` at the end of a slice."""
        self._slices.stopped = True

    def close(self) -> None:
        """Enter where fits stand that have not ended, and close the session."""
        block, found = self._block, self._found
        going = np.flatnonzero(block["states"] == fields.GOING)
        numbers = block["problems"][going]
        found.out_x[numbers], found.out_cost[numbers] = block["x"].T[going], block["cost"][going]
        found.out_evaluations[numbers] = block["evaluations"][going]
        if self._session is not None:
            self._session.close()


def _numbers(task: Task, lanes: int) -> dict[str, int]:
    """Return the fields that are no addresses."""
    return {
        "n": task.data.shape[1],
        "k": task.starts.shape[1],
        "lanes": lanes,
        "loss": task.settings.loss,
        "absolute": int(task.absolute),
        "bounded": int(task.settings.bounded),
    }


def _arrays(task: Task, found: FitResults, lanes: int) -> dict[str, np.ndarray]:
    """Return the arrays that are not made in one memory."""
    counts = np.zeros(fields.PROPOSED + 1, np.int64)
    counts[driver.MAX_NFEV] = task.settings.max_evaluations
    by_lane = ("states", "problems", "evaluations", "points", "failed", "outcomes")
    return {
        **vars(found),
        **{name: np.zeros(lanes, np.int64) for name in by_lane},
        "column_addresses": np.zeros(task.starts.shape[1], np.int64),
        "counts": counts,
        "settings": task.settings.numbers,
        "lower": task.settings.lower,
        "upper": task.settings.upper,
        "all_data": task.data,
        "all_starts": task.starts,
    }


def text_of_fit(evaluations: int, cost: float) -> str:
    """Return what is said of a fit while it runs, or when it has ended."""
    return f"curve_fit: {evaluations} evaluations, cost {cost:.6g}"


def _fit_one(recorded: ReplayedFunction, task: Task, found: FitResults, progress: Any) -> None:
    """Fit the only problem, with a line about its evaluations."""

    def text() -> str:
        return text_of_fit(found.out_evaluations[0], found.out_cost[0])

    with reporting_one(progress, text) as line:
        told = False if progress is None or progress is True else progress
        run_shared(1, 1, lambda: FittingWorker(recorded, task, found, None, line), told)


def fit_all(recorded: ReplayedFunction, task: Task, found: FitResults, threads: int, progress: Any) -> None:
    """Fit everything: in lanes where there are enough fits, and one by one what cannot be fitted there."""
    count, points = task.data.shape
    if count == 1:
        _fit_one(recorded, task, found, progress)
        return
    lanes = (
        lanes_in_cache(recorded.program, 4 * 8 * points, count // threads // 2) if recorded.has_columns else 1
    )
    program = _program_of(recorded, lanes) if lanes > 1 else None
    interrupted = run_shared(count, threads, lambda: FittingWorker(recorded, task, found, program), progress)
    left = np.flatnonzero(found.out_status == fields.NOT_IN_LANES)
    if interrupted:
        found.out_status[left] = fields.INTERRUPTED
    elif len(left):
        part = task.part(left)
        rest = FitResults(len(left), task.starts.shape[1])
        quiet = False if progress is False else None
        run_shared(len(left), threads, lambda: FittingWorker(recorded, part, rest), quiet)
        found.enter(left, vars(rest))
