"""`least_squares(method="native")`: one problem by compiled code, and the result as SciPy has it."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import name_of
from tapegrad.optimize.native.blocks import Block, Shape
from tapegrad.optimize.native.loops import driver, levenberg
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.messages import MESSAGES
from tapegrad.optimize.native.recorded import ReplayedFunction, Session
from tapegrad.optimize.native.settings import DenseFitSettings, FitSettings, SingleFitSettings
from tapegrad.optimize.native.sharing import reporting_one
from tapegrad.optimize.native.slices import Slices
from tapegrad.optimize.searches.interruption import interrupts

_WHO = 'least_squares(method="native")'


def _block(n: int, x0: np.ndarray, settings: DenseFitSettings) -> Block:
    k = len(x0)
    by_parameter = ("x", "gradient", "step", "norms", "right", "damped_right", "row", "scratch")
    shapes: dict[str, Shape] = {
        **dict.fromkeys(("values", "r", "factors", "curvatures", "along", "right_side"), n),
        **dict.fromkeys(by_parameter, k),
        **dict.fromkeys(("columns", "work"), (k, n)),
        **dict.fromkeys(("triangle", "damped", "covariance"), (k, k)),
    }
    numbers, arrays = begun(n, x0, settings, fields.FACTORED + 1)
    numbers |= {"normal": int(settings.normal), "geodesic": int(settings.geodesic)}
    arrays |= {"addresses": np.zeros(k, np.int64), "settings": settings.numbers}
    return Block(fields.FitFields, shapes, numbers, arrays)


def begun(
    n: int, x0: np.ndarray, settings: SingleFitSettings, counters: int
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return numbers and arrays that the record of any fit begins with; it has so many counters."""
    k = len(x0)
    numbers = {
        "n": n,
        "k": k,
        "loss": settings.loss,
        "scaled": int(settings.scale is None),
        "bounded": int(settings.bounded),
    }
    counts = np.zeros(counters, np.int64)
    counts[driver.MAX_NFEV], counts[driver.PHASE] = settings.max_evaluations, driver.STARTING
    arrays = {
        "trial": x0.copy(),
        "scale": np.zeros(k) if settings.scale is None else settings.scale,
        "lower": settings.lower,
        "upper": settings.upper,
        "free": np.zeros(k, np.int64),
        "counts": counts,
    }
    return numbers, arrays


def _run(recorded: ReplayedFunction, block: Block, line: Progress, text: Callable[[], str]) -> None:
    results = block.addresses("values")
    if not recorded.has_columns:
        block.add("rows", np.zeros(recorded.handle.results[1].shape))
        results += block.addresses("rows")
    with Session(recorded, block.addresses("trial"), results) as session:
        block.set_field("session", session.address)
        run_to_end(
            lambda: levenberg.run_fit(block.address),
            block["counts"],
            Slices(block["counts"], line, text),
            lambda status: session.go_on(status, block["trial"]),
        )


def text_of(block: Block) -> str:
    """Return how far a fit is."""
    cost = block["settings"][fields.COST]
    return f"least_squares: {block['counts'][driver.NFEV]} evaluations, cost {cost:.6g}"


def run_to_end(
    run: Callable[[], int], counts: np.ndarray, slices: Slices, act: Callable[[int], None]
) -> None:
    """Go on with a fit until it is finished, or interrupted after its start.

    `run` goes on until Python has to act on the status that it returns; `act` does so, unless a slice is over.
    """
    try:
        while status := run():
            if status == driver.PAUSED:
                slices.go_on()
            else:
                act(status)
    except KeyboardInterrupt:
        if counts[driver.PHASE] == driver.STARTING or interrupts.is_second():
            raise
        _end(run, counts)


def _end(run: Callable[[], int], counts: np.ndarray) -> None:
    """End a fit at its point, unless it is finished."""
    if counts[driver.PHASE] != driver.FINISHED:
        counts[driver.MAX_NFEV] = 0
        run()
        counts[fields.STATUS] = fields.INTERRUPTED


def check_start(block: Block, function: Any, who: str = _WHO) -> None:
    """Raise a `ValueError` for a fit that did not begin."""
    if block["counts"][fields.STATUS] in (fields.NOT_FINITE, fields.NOT_COMPUTED):
        message = MESSAGES[int(block["counts"][fields.STATUS])]
        raise ValueError(f"{who}: {message} ({name_of(function)})")


def fit(target: Any, x0: np.ndarray, args: Any, kwargs: Any, options: dict[str, Any]) -> Any:
    """Fit the residuals of a vector, and return a `scipy.optimize.OptimizeResult`."""
    if not x0.size:
        raise ValueError(f"{_WHO}: x0 has no elements")
    progress = options.pop("progress", None)
    settings = DenseFitSettings(_WHO, x0, options)
    recorded = ReplayedFunction(target.replayed, x0, args, kwargs)
    block = _block(recorded.size, x0, settings)
    text = functools.partial(text_of, block)
    with reporting_one(progress, text) as line:
        _run(recorded, block, line, text)
    check_start(block, target.function)
    residuals = block["r"].copy() if not settings.loss else target.fun(block["x"], *args, **(kwargs or {}))
    found = result_of(block, residuals, block["columns"].T.copy(), settings)
    found.covariance = block["covariance"].copy()
    return found


def result_of(block: Block, residuals: np.ndarray, jacobian: Any, settings: FitSettings) -> Any:
    """Return the result of a fit."""
    counts, numbers, x = block["counts"], block["settings"], block["x"]
    status = int(counts[fields.STATUS])
    return OptimizeResult(
        x=x.copy(),
        cost=float(numbers[fields.COST]),
        fun=residuals,
        jac=jacobian,
        grad=block["gradient"].copy(),
        optimality=float(numbers[fields.OPTIMALITY]),
        active_mask=active_mask(x, settings.lower, settings.upper),
        nfev=int(counts[driver.NFEV]),
        njev=int(counts[driver.NFEV]),
        status=status,
        message=MESSAGES[status],
        success=status > 0,
    )


def active_mask(x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return -1 for parameters at their lower bound, 1 at the upper one, 0 for the others."""
    return (x >= upper).astype(int) - (x <= lower)
