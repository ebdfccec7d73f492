"""TMB itself: examples compiled and run by R, by the script `drivers.R` of this folder."""

import os
import shutil
import subprocess
from pathlib import Path

from perf.peers import Unavailable

_SCRIPT = Path(__file__).parent / "drivers.R"


def check_installed() -> str:
    """Return the versions of TMB and of glmmTMB.

    Raises
    ------
    Unavailable
        If R or one of them is missing.
    """
    if shutil.which("Rscript") is None:
        raise Unavailable("no Rscript; on Debian: apt-get install r-base-dev r-cran-tmb r-cran-glmmtmb")
    said = 'for (p in c("TMB", "glmmTMB")) cat(p, as.character(packageVersion(p)), "")'
    done = subprocess.run(["Rscript", "-e", said], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"R has no TMB or no glmmTMB: {done.stderr.strip()[-200:]}")
    return done.stdout.strip()


def compiled(source: Path, folder: Path) -> float:
    """Compile an example, unless it is already; return the CPU seconds of that.

    They are kept beside the library, with those on the clock, so that a later run compiles nothing.
    """
    kept = folder / f"{source.stem}.seconds"
    if not kept.exists() or kept.stat().st_mtime < source.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        _run("compile", source, folder)
    return float(kept.read_text().split()[0])


def measured(source: Path | str, folder: Path, out: Path) -> Path:
    """Run a driver, or a model of glmmTMB's by its name; return the folder with its arrays and results."""
    out.mkdir(parents=True)
    _run("mixed" if isinstance(source, str) else "run", source, folder, out)
    return out


def _run(*words: object) -> None:
    single = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = list(map(str, ["Rscript", _SCRIPT, *words]))
    done = subprocess.run(command, env=single, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        said = f"ended with {done.returncode}:\n{done.stderr[-2000:]}"
        raise RuntimeError(f"drivers.R {words[0]} {words[1]} {said}")
