"""Functions that workers of executors run. They import this module, and no more than it does."""

import os
import signal
from pathlib import Path
from typing import Any

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
