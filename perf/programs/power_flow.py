"""``power_flow FILE SOLVERS SOLVING``: one network of PGLib-OPF in a process of its own; names by commas."""

import json
import sys
from pathlib import Path

from perf.environment import configure
from perf.power_flow.measurement import measure
from tapegrad.testing.timer import Budget


def main(file: str, names: str, solving: str) -> None:
    """Print what was measured."""
    configure()
    print(json.dumps(measure(Path(file), names.split(","), solving.split(","), Budget(0.005, 0.3, (5, 50)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
