"""Measurements in a process of their own: modules of `perf.programs` that print one line of JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

_ROOT = Path(__file__).parent.parent


def run(
    program: str, *arguments: object, folder: Path = _ROOT, **environment: str
) -> tuple[dict[str, Any], float]:
    """Run a program of `perf.programs`. It may keep bytecode, as an installed package does.

    Parameters
    ----------
    program : str
        Name of the module.
    *arguments : object
        Its command line.
    folder : Path, optional
        Where the package is imported from.
    **environment : str
        Variables that are set for it.

    Returns
    -------
    tuple of dict and float
        What it found, and the seconds from its start to its end.
    """
    command = [sys.executable, "-m", f"perf.programs.{program}", *map(str, arguments)]
    path = {"PYTHONPATH": os.pathsep.join(map(str, (folder, _ROOT)))}
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **path, **environment}
    start = perf_counter()
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=1800)
    seconds = perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"perf.programs.{program} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1]), seconds
