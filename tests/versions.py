"""The tests with the oldest and the newest dependencies, on each Python at hand: ``make test-versions``.

These are the tests of each room and of the engine; with the newest dependencies also those of replays and of
transforms, which follow the bytecode of functions.

``python tests/versions.py oldest`` takes the oldest ones and this Python alone, and the tests of what leans on them;
``python tests/versions.py libraries`` takes the packages that `tapegrad.interop` makes functions for, of which PyMC
holds Numba back, and its tests; those of PyMC's models also with the generation that needs Python 3.12, where there is
one (``python tests/versions.py pymc`` runs these alone). Of the two generations a run with a seed takes one, by the
seed. Continuous integration runs both commands. Environments are made in `.venv-versions`, anew if `pyproject.toml`
allows others.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv-versions"
TOOLS = {"hypothesis", "mpmath", "packaging", "pytest", "pytest-xdist"}  # of the tests that are run
TINY, ENGINE = "tests/test_tiny.py", "tests/engine"
# What breaks first: private names of Numba's, LLVM's text, offsets, NumPy's and SciPy's loops.
LEANING = [
    f"{ENGINE}/test_{name}.py"
    for name in ("definitions", "fast_calls", "interpreter", "linking", "plain", "vector_mathematics")
]


# Of several interpreters with one cache folder none may load what was compiled with offsets of another one.
SHARED = """
import numpy as np, tapegrad as tg
a = tg.tensor([[2.0, 1.0], [1.0, 3.0]])
(np.linalg.inv(a) @ np.sin(a)).sum().backward()
f = tg.grad(tg.jit(lambda a: (np.linalg.inv(a) @ np.sin(a)).sum()))
print(*(round(float(gradient.sum()), 12) for gradient in (a.grad, f(a.data), f(a.data))))
"""
SHARED_ANSWER = f"{' '.join(3 * ['-0.578371188354'])}\n"  # by complex steps through NumPy


class Run(NamedTuple):
    """A run of tests: its name, the files, and the environment variables."""

    name: str
    files: list[str]
    variables: dict[str, str]


# The extras of `tapegrad.interop` and of sums over parts, and that of the benchmarks for the version of PyTorch.
LIBRARIES = (
    "ceres", "emcee", "gtsam", "iminuit", "jax", "lmfit", "nlopt", "nutpie", "parquet", "pymc", "pyomo", "ray", "torch",
    "zarr",
)  # fmt: skip
PINNED = ("perf", "torch")
# What takes functions for JAX, or C pointers, and what writes functions.
OTHERS = ("blackjax>=1.2", "numpyro>=0.15", "sympy>=1.12", "walnutpie>=0.0.3")
# Models and graphs, which PyMC 5 and 6 have another PyTensor for; 6 needs a later Python than tapegrad.
PYMC = sorted(
    str(path.relative_to(ROOT))
    for name in ("pymc", "pytensor")
    for path in (ROOT / "tests").glob(f"interop/test_{name}*")
)
SECOND_GENERATION = Version("3.12")
REPLAYS = Run("program and transforms", ["tests/program", "tests/transforms"], {})
SEED = "TAPEGRAD_TESTS_SEED"
WITHOUT_TRANSLATOR = Run("tiny, by Numba alone", [TINY], {"TAPEGRAD_TRANSLATE": "0"})
RUNS = {
    "oldest": [Run("tiny, engine in part", [TINY, *LEANING], {}), WITHOUT_TRANSLATOR],
    "libraries": [Run("interop", ["tests/interop"], {})],
    "pymc": [Run("interop with PyMC and PyTensor", PYMC, {})],
    "all": [Run("tiny", [TINY], {}), WITHOUT_TRANSLATOR, Run("engine", [ENGINE], {})],
}


def pythons() -> dict[str, str]:
    """Return the interpreters from 3.11 on that are at hand, by version; this one before others of its version."""
    root = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    folders = os.environ.get("PATH", "").split(os.pathsep)
    named = [
        path for folder in folders for path in sorted(glob.glob(f"{glob.escape(folder)}/python3.[0-9]*"))
    ]
    candidates = [path for path in named if re.fullmatch(r"python3\.\d+", Path(path).name)]
    found: dict[str, str] = {}
    for path in (sys.executable, *candidates, *sorted(glob.glob(f"{root}/versions/3.*/bin/python"))):
        code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        version = done.stdout.strip()
        if done.returncode == 0 and Version(version) >= Version("3.11"):
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: Version(item[0])))


def requirements(python: str, age: str) -> Iterator[str]:
    """Yield what to install for a version of Python: the oldest or other dependencies, libraries, and the tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds: dict[str, list[Version]] = {}
    for requirement in map(Requirement, project["dependencies"]):
        if requirement.marker is None or requirement.marker.evaluate({"python_version": python}):
            yield f"{requirement.name}{requirement.specifier}"
            lower = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
            bounds.setdefault(requirement.name, []).extend(lower)
    if age == "oldest":
        yield from (f"{name}=={max(lower)}" for name, lower in bounds.items())
    extras = project["optional-dependencies"]
    if age == "libraries":
        yield from (each for extra in LIBRARIES for each in extras[extra])
        yield from OTHERS
        yield from (each for each in extras[PINNED[0]] if Requirement(each).name == PINNED[1])
    if age == "pymc":
        yield from extras["pymc"]
    test = map(Requirement, extras["test"])
    tools = TOOLS - {"mpmath"} | {"ipyopt"} if age == "libraries" else TOOLS  # SymPy holds mpmath back
    yield from (str(each) for each in test if each.name in tools)


def environment(python: str, path: str, age: str) -> Path | None:
    """Make an environment if it is not there; return its interpreter, or `None` if there are no such packages."""
    folder, wanted = FOLDER / f"{python}-{age}", "\n".join(requirements(python, age))
    stamp, interpreter = folder / "installed.txt", folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted:
        # An interpreter that is unpacked somewhere does not find the wheels that `ensurepip` installs.
        has_pip = subprocess.run([path, "-c", "import pip"], capture_output=True).returncode == 0
        flags = ["--clear", "--without-pip"] if has_pip else ["--clear"]
        subprocess.run([path, "-m", "venv", *flags, str(folder)], check=True)
        pip = [path if has_pip else str(interpreter), "-m", "pip", "--python", str(interpreter), "install"]
        pip += ["--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "--only-binary", ":all:", *wanted.split("\n")]).returncode != 0:
            return None
        stamp.write_text(wanted)
    return interpreter


def versions(interpreter: Path) -> str:
    """Return the versions in an environment."""
    code = "import llvmlite, numba, numpy, scipy; print(*(f'{m.__name__} {m.__version__}' for m in "
    code += "(numba, llvmlite, numpy, scipy)), sep=', ')"
    return subprocess.run(
        [str(interpreter), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def result_of(interpreter: Path, run: Run) -> tuple[bool, str]:
    """Run tests; return whether they passed, and pytest's last line."""
    flags = ["-q", "-n", "auto", "--maxprocesses=2", "--dist", "loadfile"]
    command = [str(interpreter), "-m", "pytest", *flags, *run.files]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **run.variables}
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n", flush=True)
    last = done.stdout.strip().rpartition("\n")[2]
    return done.returncode == 0, f"{last or 'nothing was run'} ({time.monotonic() - began:.0f} s)"


def shares_a_cache(interpreters: list[Path]) -> bool:
    """Run a program with one cache folder by several interpreters, in both orders; print what each has compiled."""
    answers = set()
    for order in (interpreters, interpreters[::-1]):
        with tempfile.TemporaryDirectory() as folder:
            variables = {**os.environ, "PYTHONPATH": str(ROOT), "TAPEGRAD_CACHE_DIR": folder}
            counts = []
            for interpreter in order:
                command = [str(interpreter), "-c", SHARED]
                done = subprocess.run(command, env=variables, capture_output=True, text=True)
                answers.add((done.returncode, done.stdout))
                counts.append(len(list(Path(folder).rglob("[0-9a-f]*.o"))))
            new = [after - before for before, after in zip([0, *counts], counts, strict=False)]
            print(
                f"    one cache folder: {', '.join(map(str, new))} objects compiled, one interpreter after the other"
            )
    passed = answers == {(0, SHARED_ANSWER)}
    print(f"    {'passed' if passed else f'FAILED ({answers})'}  one cache folder", flush=True)
    return passed


def planned(which: str) -> Iterator[tuple[str, str, str, list[Run]]]:
    """Yield Pythons with their interpreters, what is installed, and the tests to run."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = pythons() if which in ("all", "libraries", "pymc") else {}
    if which == "all":
        for python, path in found.items():
            yield python, path, "oldest", RUNS["all"]
            yield python, path, "newest", [*RUNS["all"], REPLAYS]
        return
    later = [each for each in found.items() if Version(each[0]) >= SECOND_GENERATION]
    is_first = Version(own) < SECOND_GENERATION
    has_second = which == "pymc" or (which == "libraries" and is_first and bool(later))
    chosen = int(os.environ[SEED]) % 2 if which == "libraries" and has_second and SEED in os.environ else None
    if which != "pymc":
        left_out = [f"--ignore={file}" for file in PYMC] if chosen == 1 else []
        yield own, sys.executable, which, [run._replace(files=[*run.files, *left_out]) for run in RUNS[which]]
    if has_second and chosen != 0:
        yield from ((python, path, "pymc", RUNS["pymc"]) for python, path in later[:1])


def main(which: str) -> int:
    """Run the tests in all environments and print a line for each run; return the number of those that failed."""
    failed, interpreters = 0, [Path(sys.executable)]
    for python, path, age, runs in planned(which):
        interpreter = environment(python, path, age)
        print(
            f"Python {python}, {age}: {versions(interpreter) if interpreter else 'cannot be installed'}",
            flush=True,
        )
        failed += interpreter is None
        interpreters += [interpreter] if interpreter else []
        for run in runs if interpreter else ():
            passed, said = result_of(interpreter, run)
            failed += not passed
            print(f"    {'passed' if passed else 'FAILED'}  {run.name}: {said}", flush=True)
    return failed + (which in ("all", "oldest") and not shares_a_cache(interpreters))


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1] if sys.argv[1:2] and sys.argv[1] in RUNS else "all"), 1))
