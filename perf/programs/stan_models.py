"""``stan_models FOLDER``: make libraries of posteriordb's models by BridgeStan, for contenders of `perf.posteriors`.

FOLDER is a copy of posteriordb; the libraries go into a folder beside it. Those that are there are left.
"""

import json
import resource
import shutil
import sys
from pathlib import Path

from perf.peers import load
from perf.posteriors.cases import CASES
from perf.posteriors.contenders import stan_library


def main(folder: str) -> None:
    """Print the CPU seconds that each of the libraries took."""
    made, bridgestan = {}, load("bridgestan")
    for name in CASES:
        library = stan_library(Path(folder), name)
        if library.exists():
            continue
        library.parent.mkdir(exist_ok=True)
        model = library.name.replace("_model.so", ".stan")
        written = shutil.copy(Path(folder) / "posterior_database/models/stan" / model, library.parent)
        began = _seconds()
        bridgestan.compile_model(written)
        made[library.name] = _seconds() - began
    print(json.dumps(made))


def _seconds() -> float:
    """Return the CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1])
