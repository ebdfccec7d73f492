"""Many fits of one model: in lanes, on several threads."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.optimize.native.blocks import Block, Shape
from tapegrad.optimize.native.lane_models import LaneModel, lanes_for, program_of
from tapegrad.optimize.native.loops import batch as compiled
from tapegrad.optimize.native.loops import batch_words as word
from tapegrad.optimize.native.recorded import Recorded, Session
from tapegrad.optimize.native.sharing import run_shared
from tapegrad.program.lanes.programs import LaneProgram

FIRST_DAMPING = 1e-3


class Task(NamedTuple):
    """Fits of one model.

    Attributes
    ----------
    data, starts
        A row for each fit: its points, and where its parameters begin.
    weights
        By fit and point, or by point where they are the same for all; `None` where all are one.
    lower, upper
        Bounds.
    numbers
        Tolerances, the scale of the loss, and the first damping.
    loss, absolute, most
        Number of the loss; whether weights are absolute; evaluations of each fit at most.
    """

    data: np.ndarray
    starts: np.ndarray
    weights: np.ndarray | None
    lower: np.ndarray
    upper: np.ndarray
    numbers: np.ndarray
    loss: int
    absolute: bool
    most: int


class Found:
    """Results by fit."""

    def __init__(self, count: int, size: int) -> None:
        self.out_x = np.full((count, size), np.nan)
        self.out_covariance = np.full((count, size, size), np.nan)
        self.out_cost = np.full(count, np.nan)
        self.out_status, self.out_evaluations = np.zeros(count, np.int64), np.zeros(count, np.int64)


def _shapes(n: int, k: int, lanes: int) -> dict[str, Shape]:
    """Shapes of what a thread works on."""
    points = ("values", "data", "slopes", "squares")
    by_parameter = ("trial", "x", "gradient", "step", "scale", "tried_gradient")
    packed = ("matrix", "tried_matrix", "factor")
    return {
        **dict.fromkeys(points, (n, lanes)),
        **dict.fromkeys(by_parameter, (k, lanes)),
        **dict.fromkeys(packed, (k * (k + 1) // 2, lanes)),
        **dict.fromkeys(("cost", "tried_cost", "damping", "check", "accepted"), lanes),
        **dict.fromkeys(("square", "inverse"), (k, k)),
        "lengths": k,
    }


class Worker:
    """Fits on one thread.

    Parameters
    ----------
    model
        The model and its Jacobian: for one lane, or a program over lanes.
    task, found
        What is to be fitted; where results go.
    example
        Parameters at which the model can be computed.
    """

    def __init__(self, model: Recorded | LaneProgram, task: Task, found: Found, example: np.ndarray) -> None:
        n, k = task.data.shape[1], task.starts.shape[1]
        lanes = model.widened.lanes if isinstance(model, LaneProgram) else 1
        self._block = block = Block(
            word.Batch, _shapes(n, k, lanes), _numbers(task, lanes), _arrays(task, found, lanes)
        )
        if task.weights is not None:
            block.add("weights", np.ones((n, lanes)))
            block.add("all_weights", task.weights)
            block.set_word("weights_step", task.weights.strides[0] if task.weights.ndim > 1 else 0)
        self._session: Session | None = None
        if isinstance(model, LaneProgram):
            self._lanes = LaneModel(model, example)
            block.set_word("workspace", self._lanes.address)
            block.set_word("trial", self._lanes.trial)
            block.set_word("values", self._lanes.values)
            block["column_words"][:] = self._lanes.columns
        else:
            self._session = self._open(model, n, k)

    def _open(self, model: Recorded, n: int, k: int) -> Session:
        block = self._block
        results = block.addresses("values")
        if not model.has_columns:
            block.add("rows", np.zeros((n, k)))
            block.add("columns", np.zeros((k, n)))
            results += block.addresses("rows")
        session = Session(model, block.addresses("trial"), results)
        block.set_word("session", session.address)
        return session

    def run(self, first: int, end: int) -> None:
        """Take up some of the fits, and go on until all of them have begun."""
        counts = self._block["counts"]
        counts[word.NEXT], counts[word.END] = first, end
        while status := compiled.run_batch(self._block.address):
            assert self._session is not None
            self._session.go_on(status, self._block["trial"][:, 0].copy())

    def finish(self) -> None:
        """End the fits that have begun."""
        self._block["counts"][word.DRAIN] = 1
        self.run(0, 0)

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()


def _numbers(task: Task, lanes: int) -> dict[str, int]:
    """The words that are no addresses."""
    return {
        "n": task.data.shape[1],
        "k": task.starts.shape[1],
        "lanes": lanes,
        "loss": task.loss,
        "absolute": int(task.absolute),
        "bounded": int(np.isfinite(task.lower).any() or np.isfinite(task.upper).any()),
    }


def _arrays(task: Task, found: Found, lanes: int) -> dict[str, np.ndarray]:
    """The arrays that are not made in one memory."""
    counts = np.zeros(word.SWEEPS + 1, np.int64)
    counts[word.MAX_NFEV] = task.most
    by_lane = ("states", "problems", "evaluations", "points", "outcomes")
    return {
        **vars(found),
        **{name: np.zeros(lanes, np.int64) for name in by_lane},
        "column_words": np.zeros(task.starts.shape[1], np.int64),
        "counts": counts,
        "settings": task.numbers.copy(),
        "lower": task.lower,
        "upper": task.upper,
        "all_data": task.data,
        "all_starts": task.starts,
    }


def fit_all(recorded: Recorded, task: Task, found: Found, threads: int, progress: Any) -> None:
    """Fit everything: in lanes where there are enough fits, and one by one what cannot be fitted there."""
    (count, points), example = task.data.shape, recorded.example
    program = recorded.handle.ways[0].program
    lanes = lanes_for(program, points, count // threads) if recorded.has_columns else 1
    if lanes == 1:
        run_shared(count, threads, lambda: Worker(recorded, task, found, example), progress)
        return
    widened = program_of(recorded, lanes)
    run_shared(count, threads, lambda: Worker(widened, task, found, example), progress)
    left = np.flatnonzero(found.out_status == word.NOT_IN_LANES)
    if len(left):
        weights = task.weights
        if weights is not None and weights.ndim > 1:
            weights = weights[left]
        part = task._replace(data=task.data[left], starts=task.starts[left], weights=weights)
        rest = Found(len(left), task.starts.shape[1])
        run_shared(len(left), threads, lambda: Worker(recorded, part, rest, example))
        for name, values in vars(rest).items():
            getattr(found, name)[left] = values
