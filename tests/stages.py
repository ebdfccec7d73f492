"""Stages of continuous integration and of ``make test-all``: targets of the Makefile, one after the other.

``.ci/run`` is ``python tests/stages.py ci``. It runs `ALWAYS`, parts of which the seed draws, then those stages of
`SOMETIMES` whose sources have changed or which the seed draws, as far as they fit into `BUDGET_MIN`. The output ends
with the minutes of the stages, what was left out, and the closing lines of pytest. The environment is made by these
stages, so this file imports nothing but Python's own.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SEED = "TAPEGRAD_TESTS_SEED"
BUDGET_MIN = 40  # of continuous integration, on two busy cores
DAY_S = 86_400
POLL_INTERVAL_S = 0.02  # of the output of a target
CLOSING = re.compile(r"\b\d+ (passed|failed|skipped|errors?)\b.* in [\d.]+ ?s")


class Stage(NamedTuple):
    """A target of the Makefile, with the sources that it is about."""

    target: str
    minutes: int  # on two busy cores
    beside: tuple[str, ...] = ()  # targets that run meanwhile, and show their output afterwards
    left_out: str = ""  # cases that the stage has a part of, and the target that runs all of them
    folders: tuple[str, ...] = ()  # beginnings of the paths of its sources
    packages: tuple[str, ...] = ()  # what other sources of it import


# mypy, the site, and the comparison of the compilers, which takes five minutes from an empty cache, each use one core:
# they run together. Packages are installed before, for two runs of pip at a time spoil an environment.
ALWAYS = (
    Stage("install", 2),
    Stage("lint", 8, beside=("docs", "test-numba-tiny")),
    Stage("test-checked", 11),
    Stage(
        "test-guarded-half", 4, left_out="half of the tests on memory between guard pages: make test-guarded"
    ),
    Stage("test-eighth", 4, left_out="seven eighths of the cases that are not daily: make test-rest"),
)
# Each takes so long that one of them fits into the budget.
VERSIONS = ("pyproject.toml", "tests/versions.py")
SOMETIMES = (
    # Private names of these packages are what other versions do not have.
    Stage("test-oldest", 6, folders=VERSIONS, packages=("numba", "llvmlite")),
    Stage(
        "test-libraries",
        9,
        folders=(*VERSIONS, "tapegrad/interop/", "tapegrad/optimize/sharding/", "tests/interop/"),
    ),
    Stage(
        "test-numba", 10, folders=("tapegrad/engine/codegen/translator/", "tapegrad/engine/kernels/language/")
    ),
)
NEVER = ("other versions of Python and of the dependencies: make test-versions",)
ALL = ("test-checked", "test-rest", "test-numba", "test-guarded", "test-versions", "test-libraries")


# --- choice ------------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    """Return what git prints; nothing where there is no git, no history, or no such commit."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def seed_of_the_run() -> int:
    """Return the seed that is set, else the number of commits on the branch, else a random one.

    The number moves by itself: runs of eight successive commits or merges have all eighths. Of longer steps the eighths
    come as if they were drawn. A failure is repeated by a run of the same commit.
    """
    if SEED in os.environ:
        return int(os.environ[SEED])
    is_shallow = git("rev-parse", "--is-shallow-repository") == "true"
    commits = "" if is_shallow else git("rev-list", "--count", "--first-parent", "HEAD")
    return int(commits) if commits else random.randrange(1_000_000)


def changed_files() -> list[str] | None:
    """Return the files that the last day of commits changed, uncommitted changes included; `None` if git cannot tell.

    The day ends with the newest commit: a clone of an old state has the same answer at any time.
    """
    newest = git("log", "-1", "--format=%ct")
    base = newest and git("rev-list", "-1", "--first-parent", f"--before={int(newest) - DAY_S}", "HEAD")
    return git("diff", "--name-only", base).splitlines() if base else None


def is_about(stage: Stage, file: str) -> bool:
    """Return whether a stage is about a source file."""
    if file.startswith(stage.folders):
        return True
    path = ROOT / file
    if not stage.packages or path.suffix != ".py" or not path.exists():
        return False
    pattern = rf"^\s*(from|import) ({'|'.join(stage.packages)})\b"
    return re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def changed_stages(files: list[str] | None) -> list[Stage]:
    """Return the stages of `SOMETIMES` whose sources are among the changed files; all of them if these are unknown."""
    return [stage for stage in SOMETIMES if files is None or any(is_about(stage, file) for file in files)]


def chosen_stages(seed: int, changed: Sequence[Stage]) -> list[Stage]:
    """Return the stages of `SOMETIMES` that run: changed ones first, then that of the seed, as far as the budget goes.

    Three seeds of four draw one of them each; changed ones take turns.
    """
    turns = {stage: (number - seed) % 4 for number, stage in enumerate(SOMETIMES)}
    candidates = [stage for stage in SOMETIMES if stage in changed or turns[stage] == 0]
    chosen: list[Stage] = []
    minutes = sum(stage.minutes for stage in ALWAYS)
    for stage in sorted(candidates, key=lambda stage: (stage not in changed, turns[stage])):
        if minutes + stage.minutes <= BUDGET_MIN:
            chosen.append(stage)
            minutes += stage.minutes
    return chosen


def left_out(chosen: Sequence[Stage], changed: Sequence[Stage]) -> Iterator[str]:
    """Yield what a run leaves out, with the command that runs it."""
    yield from (stage.left_out for stage in ALWAYS if stage.left_out)
    for stage in SOMETIMES:
        if stage not in chosen:
            reason = "changed, but there is no time" if stage in changed else "its sources have not changed"
            yield f"{reason}: make {stage.target}"
    yield from NEVER


# --- run ---------------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """How a target ended: the minutes that it took, and the last line of pytest's, if it ran tests."""

    target: str
    passed: bool
    minutes: float
    closing: str


class Run:
    """A running target, whose output goes to a file: processes that tests leave behind would keep a pipe open."""

    def __init__(self, target: str, logs: Path) -> None:
        self.target = target
        self._log = logs / target
        self._begin_s = time.monotonic()
        command = [os.environ.get("MAKE", "make"), "--no-print-directory", target]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)

    def finish(self) -> Result:
        """Show the output until the target ends."""
        print(f"--- make {self.target}", flush=True)
        is_over = False
        with self._log.open("rb") as log:
            while not is_over:
                is_over = self._process.poll() is not None
                sys.stdout.buffer.write(log.read())
                sys.stdout.buffer.flush()
                time.sleep(0 if is_over else POLL_INTERVAL_S)
        minutes = (time.monotonic() - self._begin_s) / 60
        return Result(self.target, self._process.returncode == 0, minutes, self._closing())

    def _closing(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line for line in reversed(lines) if CLOSING.search(line)), "")

    def stop(self) -> None:
        """End the target if it still runs: make ends its commands."""
        self._process.terminate()
        self._process.wait()


def run_stage(stage: Stage, logs: Path) -> list[Result]:
    """Run a target, and those beside it, up to the first one that fails: it ends the others."""
    runs = [Run(target, logs) for target in (stage.target, *stage.beside)]
    results: list[Result] = []
    try:
        for run in runs:
            results.append(run.finish())
            if not results[-1].passed:
                break
    finally:
        for run in runs:
            run.stop()
    return results


def run_stages(stages: Sequence[Stage]) -> list[Result]:
    """Run stages up to the first one that fails."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as logs:
        for stage in stages:
            results += run_stage(stage, Path(logs))
            if not results[-1].passed:
                break
    return results


def report(results: Sequence[Result], notes: Sequence[str]) -> None:
    """Print the minutes of the stages, the notes, and what pytest said at the end of each stage."""
    print("--- stages")
    for target, passed, minutes, _ in results:
        print(f"{minutes:6.1f} min  {target}{'' if passed else ': FAILED'}")
    print(*notes, sep="\n")
    for result in results:
        if result.closing:
            print(result.closing)
    sys.stdout.flush()


def main(plan: str) -> int:
    """Run the stages of a plan, ``ci`` or ``all``; return 1 if one of them fails, else 0."""
    seed = seed_of_the_run()
    os.environ[SEED] = f"{seed}"
    notes = [f"{SEED}={seed} repeats this run"]
    if plan == "ci":
        changed = changed_stages(changed_files())
        chosen = chosen_stages(seed, changed)
        stages = [*ALWAYS, *chosen]
        notes += [f"left out: {text}" for text in left_out(chosen, changed)]
    else:
        stages = [Stage(target, 0) for target in ALL]
    print("stages:", *(stage.target for stage in stages))
    print(*notes, sep="\n", flush=True)
    results = run_stages(stages)
    missing = [stage.target for stage in stages if stage.target not in {result.target for result in results}]
    report(results, [*notes, *(f"not run: make {target}" for target in missing)])
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    if sys.argv[1:] not in (["ci"], ["all"]):
        sys.exit("usage: python tests/stages.py ci|all")
    sys.exit(main(sys.argv[1]))
