"""``stan_models FOLDER``: make libraries of posteriordb's models by BridgeStan, for contenders of `perf.posteriors`.

FOLDER is a copy of posteriordb; the libraries go into a folder beside it. Those that are there are left.
"""

import shutil
import sys
from pathlib import Path

from perf.peers import load
from perf.posteriors.cases import CASES
from perf.posteriors.contenders import stan_library


def main(folder: str) -> None:
    """Print each library that is made."""
    for name in CASES:
        library = stan_library(Path(folder), name)
        if not library.exists():
            library.parent.mkdir(exist_ok=True)
            model = library.name.replace("_model.so", ".stan")
            written = shutil.copy(Path(folder) / "posterior_database/models/stan" / model, library.parent)
            print(load("bridgestan").compile_model(written))


if __name__ == "__main__":
    main(sys.argv[1])
