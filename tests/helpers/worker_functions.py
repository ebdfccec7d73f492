"""Functions that workers of executors run. They import this module, and no more than it does."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad as tg


def decay(t: Any, amplitude: Any, rate: Any) -> Any:
    return amplitude * tg.exp(-rate * t)


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def dies_once(mark: Path, x: Any) -> Any:
    """Kill the first process that gets here."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return rosenbrock(x)
    os.kill(os.getpid(), signal.SIGKILL)
    return rosenbrock(x)


def dies(x: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


# --- parts of data -----------------------------------------------------------------------------------------------


def logistic(w: Any, part: Any) -> Any:
    """Compute minus the logarithm of a likelihood."""
    eta = part["x"] @ w
    return tg.sum(tg.logaddexp(0.0, eta) - part["y"] * eta)


def part_from(seed: int, rows: int = 40) -> dict[str, np.ndarray]:
    """Return a part that is made where it is needed."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((rows, 3)), "y": rng.integers(0, 2, rows).astype(float)}


def missing_file(number: int) -> Any:
    """Fail to read one of the parts."""
    if number == 3:
        raise FileNotFoundError(2, "No such file", f"{number}.dat")
    return part_from(number)


def part_of_the_dead(mark: Path, number: int) -> Any:
    """Kill the first process that reads a part."""
    if number == 2:
        dies_once(mark, np.ones(2))
    return part_from(number)


def slow_part(mark: Path, number: int) -> Any:
    """Wait in the first process that reads a part, until its result is not needed any more."""
    if number == 0:
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return part_from(number)
        for _ in range(600):
            if mark.with_suffix(".done").exists():
                break
            time.sleep(0.1)
        else:
            raise TimeoutError("no other worker was given the part")
    return part_from(number)
