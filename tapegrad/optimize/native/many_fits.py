"""The worker of `curve_fit`: fits of one model on one thread."""

from typing import NamedTuple

import numpy as np

from tapegrad.optimize.native.blocks import Block, Shape
from tapegrad.optimize.native.loops import batch as compiled
from tapegrad.optimize.native.loops import batch_words as word
from tapegrad.optimize.native.recorded import Recorded, Session

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
        **dict.fromkeys(("cost", "tried_cost", "damping", "check"), lanes),
        **dict.fromkeys(("square", "inverse"), (k, k)),
    }


class Worker:
    """Fits on one thread.

    Parameters
    ----------
    recorded
        The model and its Jacobian.
    task, found
        What is to be fitted; where results go.
    lanes
        Fits at a time.
    """

    def __init__(self, recorded: Recorded, task: Task, found: Found, lanes: int = 1) -> None:
        n, k = task.data.shape[1], task.starts.shape[1]
        counts = np.zeros(word.SWEEPS + 1, np.int64)
        counts[word.MAX_NFEV] = task.most
        numbers = {
            "n": n,
            "k": k,
            "lanes": lanes,
            "loss": task.loss,
            "absolute": int(task.absolute),
            "bounded": int(np.isfinite(task.lower).any() or np.isfinite(task.upper).any()),
        }
        by_lane = ("states", "problems", "evaluations", "points")
        arrays = {
            **vars(found),
            **{name: np.zeros(lanes, np.int64) for name in by_lane},
            "column_words": np.zeros(k, np.int64),
            "counts": counts,
            "settings": task.numbers.copy(),
            "lower": task.lower,
            "upper": task.upper,
            "all_data": task.data,
            "all_starts": task.starts,
        }
        self._block = block = Block(word.Batch, _shapes(n, k, lanes), numbers, arrays)
        block["trial"][:] = task.starts[0][:, None]  # valid numbers for lanes without a fit
        if task.weights is not None:
            block.add("weights", np.ones((n, lanes)))
            block.add("all_weights", task.weights)
            block.set_word("weights_step", task.weights.strides[0] if task.weights.ndim > 1 else 0)
        results = block.addresses("values")
        if not recorded.has_columns:
            block.add("rows", np.zeros((n, k)))
            block.add("columns", np.zeros((k, n)))
            results += block.addresses("rows")
        self._session = Session(recorded, block.addresses("trial"), results)
        block.set_word("session", self._session.address)

    def run(self, first: int, end: int) -> None:
        """Take up some of the fits, and go on until all of them have begun."""
        counts = self._block["counts"]
        counts[word.NEXT], counts[word.END] = first, end
        while status := compiled.run_batch(self._block.address):
            self._session.go_on(status, self._block["trial"][:, 0].copy())

    def finish(self) -> None:
        """End the fits that have begun."""
        self._block["counts"][word.DRAIN] = 1
        self.run(0, 0)

    def close(self) -> None:
        """Close the session."""
        self._session.close()
