"""The selections of the suite: parts by the seed, and the budget of a daily case."""

import ast
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import case_times, daily
from helpers.offenders import assert_none

TIMES = case_times.read_times()
NAMES = [f"tests/test_rows.py::test_row[{number}]" for number in range(400)]


def test_consecutive_seeds_have_all_cases_of_a_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily, "SELECTION", "rest")
    monkeypatch.setattr(daily, "PARTS", 8)
    parts = []
    for seed in range(1353, 1361):
        monkeypatch.setenv(daily.SEED, f"{seed}")
        parts.append([name for name in NAMES if daily.selects(name, is_daily=False)])
        assert not any(daily.selects(name, is_daily=True) for name in NAMES)
    assert sorted(name for part in parts for name in part) == sorted(NAMES)
    assert min(map(len, parts)) > len(NAMES) / 16


class Case:
    """A case without markers."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid

    def get_closest_marker(self, name: str) -> None:
        return None


def test_a_run_of_the_whole_suite_has_a_half_of_many_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two consecutive seeds have all; functions with few cases are whole, and so is a run of some files."""
    few = [f"tests/test_rows.py::test_few[{number}]" for number in range(daily.MAX_WHOLE_CASES)]
    items: Any = list(map(Case, [*NAMES, *few]))
    monkeypatch.setattr(daily, "SELECTION", "daily")
    monkeypatch.setattr(daily, "IS_DAILY", True)
    gone = []
    for seed in (7, 8):
        monkeypatch.setenv(daily.SEED, f"{seed}")
        assert daily.left_out(items, is_whole=False) == []
        gone.append({item.nodeid for item in daily.left_out(items, is_whole=True)})
    assert gone[0] | gone[1] == set(NAMES)
    assert not gone[0] & gone[1]
    assert min(map(len, gone)) > len(NAMES) / 3


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({}, set()),
        ({"a.py::test[1]": 2.0}, {"a.py::test[1]"}),
        ({"a.py::test[1]": 0.9, "a.py::test[2]": 0.8}, {"a.py::test[1]"}),
        ({"a.py::test[1]": 0.8, "a.py::test[2]": 0.8}, {"a.py::test[2]"}),
        ({"a.py::test[1]": 2.0, "a.py::test[2]": 1.5}, {"a.py::test[1]", "a.py::test[2]"}),
        ({"a.py::other": 0.9, "b.py::test": 5.0}, set()),
        (
            {"tests/test_tree.py::slow": 7.0, "tests/room/test_op.py::slow": 7.0},
            {"tests/room/test_op.py::slow"},
        ),
        ({"a.py::other": 3.0, "a.py::test[1]": 2.0, "a.py::test[2]": 2.5}, {"a.py::other", "a.py::test[2]"}),
    ],
    ids=[
        "none",
        "one of two",
        "both",
        "both alike",
        "both, for long",
        "the only one of a file",
        "of the package",
        "a whole file",
    ],
)
def test_the_cheapest_of_the_dear_cases_are_daily(times: dict[str, float], expected: set[str]) -> None:
    names = {"a.py::test[1]", "a.py::test[2]", "a.py::other", "b.py::test"}
    names |= {
        f"tests/{file}.py::{name}" for file in ("test_tree", "room/test_op") for name in ("slow", "quick")
    }
    assert case_times.over_budget(names, times) == expected


# --- the measured times ------------------------------------------------------------------------------------------


def test_measured_times_are_sorted_and_over_the_budget() -> None:
    lines = case_times.FILE.read_text(encoding="utf-8").splitlines()
    assert lines == case_times.written_lines(TIMES)
    assert not [line for line in lines if float(line.split()[0]) < case_times.BUDGET_S]


@cache
def statements(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def has_a_function(name: str) -> None:
    """Refuse the node id of a case whose function is not in its file."""
    file, *scopes = case_times.function_of(name).split("::")
    path = case_times.ROOT / file
    assert path.exists(), "no such file"
    body = statements(path)
    for scope in scopes:
        definitions = [node for node in body if scope in names_of(node)]
        assert definitions, f"no {scope}"
        if isinstance(definitions[-1], ast.Assign):  # a class that hypothesis makes
            return
        body = getattr(definitions[-1], "body", [])


def names_of(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {getattr(node, "name", ""), *(target.id for target in targets if isinstance(target, ast.Name))}


def test_measured_cases_are_there(request: pytest.FixtureRequest) -> None:
    """All functions are looked for; cases of parametrized ones, where the whole suite is collected.

    Files that need a package which is not installed, and cases of other systems, are not collected.
    """
    assert_none(has_a_function, sorted({case_times.function_of(name) for name in TIMES}))
    collected = request.config.stash[case_times.COLLECTED]
    files = {case_times.file_of(name) for name in collected}
    if request.config.args == request.config.getini("testpaths") and sys.platform == "linux":
        missing = [name for name in TIMES if case_times.file_of(name) in files and name not in collected]
        assert not missing, "measure anew: make test-times"


def report(name: str, seconds: float, *marks: str) -> Any:
    return SimpleNamespace(nodeid=name, cpu_s=seconds, keywords=dict.fromkeys(marks, 1))


@pytest.fixture
def measured_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the times, in a folder where `a.py` and `b.py` are the tests."""
    monkeypatch.setattr(case_times, "ROOT", tmp_path)
    monkeypatch.setattr(case_times, "FILE", tmp_path / "case_times.txt")
    monkeypatch.setattr(case_times, "IS_MEASURED", True)
    for name in ("a.py", "b.py"):
        (tmp_path / name).touch()
    return case_times.FILE


def test_a_run_rewrites_the_lines_of_its_files(measured_files: Path) -> None:
    lines = ["2.0 a.py::now_cheap", "1.5 a.py::removed", "0.7 b.py::not_run", "0.9 c.py::of_no_file"]
    measured_files.write_text("".join(f"{line}\n" for line in lines))
    plugin = case_times.CaseTimes(is_daily=False)
    for name, seconds in [
        ("now_cheap", 0.1),
        ("dear", 0.2),
        ("dear", 0.3),
        ("case[1]", 1.0),
        ("case[0]", 3.0),
    ]:
        plugin.pytest_runtest_logreport(report(f"a.py::{name}", seconds))
    plugin.pytest_runtest_logreport(report("a.py::random[1234560]", 5.0, "anew"))
    plugin.pytest_sessionfinish(SimpleNamespace(config=SimpleNamespace()))
    expected = ["3.0 a.py::case[0]", "1.0 a.py::case[1]", "0.5 a.py::dear", "0.7 b.py::not_run"]
    assert measured_files.read_text().splitlines() == expected


def test_the_dearest_file_comes_first_in_its_order(measured_files: Path) -> None:
    measured_files.write_text("2.0 b.py::dear\n")
    items: list[Any] = [report(name, 0) for name in ("a.py::x", "a.py::y", "b.py::cheap", "b.py::dear")]
    case_times.sort_dearest_file_first(items)
    assert [item.nodeid for item in items] == ["b.py::cheap", "b.py::dear", "a.py::x", "a.py::y"]
