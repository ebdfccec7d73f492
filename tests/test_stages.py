"""Stages of continuous integration: they are targets of the Makefile, and a stage that fails fails the run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import stages

MAKEFILE = (stages.ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
ALWAYS = [target for stage in stages.ALWAYS for target in (stage.target, *stage.beside)]
OLDEST, LIBRARIES, NUMBA = stages.SOMETIMES
# Prints what pytest prints, and fails where it is told to.
MAKE = """#!/bin/sh
echo "target $2, seed $TAPEGRAD_TESTS_SEED"
echo "==== 3 passed, 1 skipped in 2.50s ===="
echo "[ $2 ]"
[ "$2" != "$FAILING" ]
"""


def recipe(target: str) -> str:
    """Return the commands of a target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


def test_stages_are_targets_of_the_makefile() -> None:
    texts = [*stages.NEVER, *(stage.left_out for stage in stages.ALWAYS)]
    named = {target for text in texts for target in re.findall(r"make ([a-z-]+)", text)}
    assert named | {*ALWAYS, *stages.ALL} | {stage.target for stage in stages.SOMETIMES} <= TARGETS
    assert "stages.py ci" in (stages.ROOT / ".ci" / "run").read_text()
    assert "stages.py all" in recipe("test-all")


def test_the_daily_cases_are_those_of_make_test() -> None:
    assert recipe("test-checked") == "\t$(MAKE) test MALLOC=checking\n"
    assert "TAPEGRAD_TESTS" not in recipe("test")


def test_programs_are_certified_in_the_parts_that_are_drawn() -> None:
    assert "TAPEGRAD_CHECK=derivatives" in recipe("test-eighth")
    assert "TAPEGRAD_CHECK=derivatives" in recipe("test-guarded")


def test_other_plans_are_refused() -> None:
    command = [sys.executable, str(Path(stages.__file__)), "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "usage: python tests/stages.py ci|all\n"


def test_sources_are_there() -> None:
    folders = {folder for stage in stages.SOMETIMES for folder in stage.folders}
    assert not [folder for folder in folders if not (stages.ROOT / folder).exists()]


def test_one_more_stage_fits_into_the_budget() -> None:
    minutes = sum(stage.minutes for stage in stages.ALWAYS)
    assert all(minutes + stage.minutes <= stages.BUDGET_MIN for stage in stages.SOMETIMES)


def test_each_stage_has_its_turn() -> None:
    drawn = [stages.chosen_stages(seed, []) for seed in range(1353, 1357)]
    assert sorted(drawn) == [[], *([stage] for stage in sorted(stages.SOMETIMES))]
    of_all = [stages.chosen_stages(seed, stages.SOMETIMES) for seed in range(1353, 1357)]
    assert {stage for chosen in of_all for stage in chosen} == {*stages.SOMETIMES}


def test_a_stage_whose_sources_have_changed_runs() -> None:
    for seed in range(4):
        assert stages.chosen_stages(seed, [LIBRARIES])[0] == LIBRARIES
    assert stages.changed_stages(["README.md", "tests/test_tiny.py", "tapegrad/errors.py"]) == []
    assert stages.changed_stages(["tapegrad/interop/thunk.py"]) == [LIBRARIES]
    assert stages.changed_stages(["pyproject.toml"]) == [OLDEST, LIBRARIES]
    assert stages.changed_stages(["tapegrad/engine/kernels/language/numba_internals.py"]) == [OLDEST, NUMBA]
    assert stages.changed_stages(["tapegrad/engine/kernels/removed.py"]) == []
    assert stages.changed_stages(None) == [*stages.SOMETIMES]


# --- in a repository ---------------------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the stages alone, in which `stages` asks git."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text(MAKE)
    (tmp_path / "bin" / "make").chmod(0o755)
    for name in (".ci/run", "tests/stages.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(stages.ROOT / name, tmp_path / name)
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv(stages.SEED)
    return tmp_path


def commit(folder: Path, name: str, day: int) -> None:
    """Commit a file with the date of a day."""
    (folder / name).write_text(f"{day}")
    git = ["git", "-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    date = f"2026-01-{day:02} 12:00 +0000"
    variables = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    for words in (["init", "-q"], ["add", name], ["commit", "-q", "-m", name]):
        subprocess.run([*git, *words], cwd=folder, env=variables, check=True)


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
needs_a_shell = pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")


@needs_git
def test_the_last_day_of_commits_counts_as_changed(clone: Path) -> None:
    commit(clone, "first", 1)
    assert stages.changed_files() is None  # there is no older state
    commit(clone, "second", 8)
    assert stages.changed_files() == ["second"]
    commit(clone, "third", 9)
    assert stages.changed_files() == ["third"]
    (clone / "first").write_text("edited")
    assert stages.changed_files() == ["first", "third"]


@needs_git
def test_the_seed_is_the_number_of_commits(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in (1, 2, 3):
        commit(clone, f"{day}", day)
        assert stages.seed_of_the_run() == day
    monkeypatch.setenv(stages.SEED, "77")
    assert stages.seed_of_the_run() == 77


@needs_git
def test_a_clone_without_history_draws_a_seed_and_takes_all_as_changed(
    clone: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 5, 9):
        commit(clone, f"{day}", day)
    shallow = tmp_path_factory.mktemp("shallow") / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", clone.as_uri(), str(shallow)], check=True)
    monkeypatch.setattr(stages, "ROOT", shallow)
    monkeypatch.setattr(stages.random, "randrange", lambda stop: stop - 1)
    assert stages.changed_files() is None
    assert stages.seed_of_the_run() == 999_999


def run(clone: Path, variables: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run all stages by a `make` that only prints; return the status, and the lines of the output."""
    path = f"{clone / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHON": sys.executable, **variables}
    environment.pop("MAKE", None)
    command = ["bash", str(clone / ".ci" / "run")]
    done = subprocess.run(command, cwd=clone.parent, env=environment, capture_output=True, text=True)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


@needs_a_shell
def test_all_stages_run_with_one_seed(clone: Path) -> None:
    status, lines = run(clone, {stages.SEED: "6"})
    assert status == 0
    targets = [*ALWAYS, NUMBA.target]  # nothing is known of changes without git
    assert [line for line in lines if line.startswith("target")] == [f"target {t}, seed 6" for t in targets]
    assert lines[-len(targets) :] == ["==== 3 passed, 1 skipped in 2.50s ===="] * len(targets)
    assert "left out: changed, but there is no time: make test-oldest" in lines


@needs_a_shell
@pytest.mark.parametrize("target", [*ALWAYS, NUMBA.target])
def test_a_stage_that_fails_fails_the_run(clone: Path, target: str) -> None:
    status, lines = run(clone, {stages.SEED: "6", "FAILING": target})
    assert status == 1
    (failed,) = (line for line in lines if line.endswith("FAILED"))
    assert failed.endswith(f" min  {target}: FAILED")
    reached = [line for line in lines if line.startswith("--- make")]
    assert reached[-1].endswith(f"make {target}")
    assert lines[-1].startswith("====")
