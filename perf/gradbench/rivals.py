"""The evals and the tools of a clone of GradBench, as processes, and with which sizes the evals are run."""

import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from perf.gradbench.session import Speaker
from perf.peers import Unavailable

# Two sizes of each eval, the same for all tools, so that all tools have time for them
OPTIONS = {
    "hello": "", "llsq": "-n 1024 16392", "lse": "-n 2500 160000", "ode": "-n 10000 -s 10 100",
    "gmm": "-d 10 32 -k 25", "kmeans": "-k 10 100 -n 10000 -d 8", "ba": "--min 1 --max 2",
    "ht": "--min 5 --max 6", "lstm": "-l 2 -c 1024 4096", "det": "-l 6 9", "saddle": "", "particle": "",
}  # fmt: skip
PACKAGES = {"jax": "jax", "pytorch": "torch", "tensorflow": "tensorflow"}
BUILT = ("cppad", "adept", "adol-c", "codipack", "manual", "finite")
# GradBench's own side of a tool in C++, but for the rebuilding of all programs
_BUILT_TOOL = (
    "import pathlib; from gradbench import cpp; cpp.define = lambda *, args, module: "
    "{'success': pathlib.Path('tools', args.tool, 'bin', module).exists()}; cpp.main()"
)
_TEXT = "evals/lstm/data/lstm_full.txt"


def interpreter(of: str) -> str:
    """Return the Python that runs the evals, or a tool: this one, or what a variable names."""
    return os.environ.get(f"TAPEGRAD_GRADBENCH_{of.upper()}", sys.executable)


def own_speaker(module: str = "perf.gradbench", **environment: str) -> Speaker:
    root = str(Path(__file__).parents[2])
    return Speaker([sys.executable, "-m", module], {**os.environ, "PYTHONPATH": root, **environment})


class Clone:
    """A clone of GradBench."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(folder.resolve() / "python/gradbench")}

    def eval_speaker(self, name: str) -> Speaker:
        script = f"python/gradbench/gradbench/evals/{name}/run.py"
        return Speaker([interpreter("evals"), script, *OPTIONS[name].split()], self._environment)

    def tool_speaker(self, tool: str) -> Speaker:
        script = f"python/gradbench/gradbench/tools/{tool}/run.py"
        built = [interpreter("evals"), "-c", _BUILT_TOOL, tool]
        return Speaker([interpreter(tool), script] if tool in PACKAGES else built, self._environment)

    def outcomes(self, tool: str) -> dict[str, str]:
        """Return the evals that a tool has, and what GradBench itself says of those that it fails."""
        lines = (self.folder / "tools" / tool / "evals.txt").read_text().splitlines()
        return {name: outcome for name, _, outcome in (line.partition(" ") for line in lines)}

    def prepare(self, without: Collection[str]) -> Iterator[tuple[str, str]]:
        """Build what is missing, and make a text if there is none; yield tools that cannot run, and why."""
        text = self.folder / _TEXT
        if not text.exists():
            text.parent.mkdir(exist_ok=True)
            letters = np.random.default_rng(0).integers(32, 127, 8192)
            # The first character has 14 bits, as one of the benchmark's own text has
            text.write_text(chr(8230) + "".join(map(chr, letters)), encoding="utf-8")
        for tool, package in PACKAGES.items():
            found = subprocess.run([interpreter(tool), "-c", f"import {package}"], capture_output=True)
            if found.returncode:
                yield tool, "not installed"
        for tool in BUILT:
            if tool in without and tool != "manual":
                continue
            for name in self.outcomes(tool):
                if (self.folder / "tools" / tool / "bin" / name).exists():
                    continue
                command = ["make", "-C", f"tools/{tool}", f"bin/{name}"]
                done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
                if done.returncode and tool == "manual":
                    raise Unavailable(f"the evals need it to check answers: {' '.join(command)}")
                if done.returncode:
                    yield tool, f"not built: {' '.join(command)}"
                    break
