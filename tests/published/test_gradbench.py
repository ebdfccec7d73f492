"""The tool of GradBench gives right answers, and what lets an eval talk to it refuses wrong ones."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from perf.figures import FIGURES, Settings
from perf.figures.gradbench import _cell, _targets
from perf.gradbench.__main__ import MODULES, respond
from perf.gradbench.rivals import OPTIONS, Clone, interpreter, own_speaker
from perf.gradbench.session import Evaluation, Session, Speaker, converse
from perf.gradbench.small_eval import FILE, close
from perf.peers import Unavailable
from perf.report import figure_text
from tests.helpers.gradbench_oracle import cases, plain


def test_the_quick_run_is_right_and_renders() -> None:
    figure = FIGURES["gradbench"]
    outcome = figure.measure(Settings(quick=True))
    assert [target.verdict for target in outcome.targets] == ["reached"]
    assert outcome.targets[0].measured == len(MODULES) == len(OPTIONS) == 12
    assert {row[0] for row in outcome.table[1:]} == MODULES.keys()
    assert "particle" in figure_text(figure, outcome)


def test_small_answers_are_those_of_the_oracles() -> None:
    kept = json.loads(FILE.read_text())
    for (module, function, given, wanted), again in zip(kept, cases(), strict=True):
        assert (module, function) == again[:2]
        assert given == plain(again[2])
        # By differences, whose last digits depend on the processor
        within = 1e-6 if module == "gmm" else 1e-9
        assert close(wanted, again[3], within), (module, function)
    assert {(each[0], each[1]) for each in kept} == {
        (name, each) for name, of in MODULES.items() for each in of
    }


@pytest.mark.parametrize(
    "found",
    [[1.0, 2.0], [1.0, 2.0, 3.1], [1.0, np.nan, 3.0], None, "1", {"a": [1.0, 2.0, 3.0]}, [[1.0, 2.0, 3.0]]],
)
def test_wrong_outputs_are_not_close(found: object) -> None:
    assert close([1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 1e-9])
    assert not close(found, [1.0, 2.0, 3.0])
    assert not close({"a": found}, {"a": [1.0, 2.0, 3.0]})
    assert not close({"a": [1.0]}, {"a": [1.0], "b": [1.0]})


def _script(text: str) -> Speaker:
    return Speaker([sys.executable, "-c", text], dict(os.environ))


_WRONG = """
import json, sys
for line in sys.stdin:
    timing = {"name": "evaluate", "nanoseconds": 3}
    response = {"id": json.loads(line)["id"], "success": True, "output": 0.5, "timings": [timing]}
    print(json.dumps(response), flush=True)
"""


def test_the_small_eval_refuses_wrong_answers(tmp_path: Path) -> None:
    session = converse(own_speaker("perf.gradbench.small_eval"), _script(_WRONG), tmp_path, 60)
    assert (session.failure, session.valid, session.complete) == ("", 0, False)
    assert len(session.evaluations) == len(json.loads(FILE.read_text()))
    assert "0.5 instead of 9.0" in session.evaluations[0].error
    assert session.evaluations[0].seconds == [3e-9]


def test_tools_that_end_or_take_too_long_are_told(tmp_path: Path) -> None:
    asking = own_speaker("perf.gradbench.small_eval")
    ended = converse(asking, _script("raise SystemExit('no such tool')"), tmp_path, 60)
    assert (ended.evaluations, ended.failure, ended.complete) == ([], "no such tool", False)
    slow = converse(
        _script("print('{}', flush=True); input()"), _script("import time; time.sleep(60)"), tmp_path, 0.5
    )
    assert slow.failure == "more than 0 s"
    broken = converse(_script("raise SystemExit('no data')"), _script(_WRONG), tmp_path, 60)
    assert broken.failure == "no data"


def test_the_tool_says_what_it_lacks() -> None:
    assert respond({"kind": "start"}) == {"tool": "tapegrad"}
    assert respond({"kind": "define", "module": "ba"}) == {"success": True}
    assert respond({"kind": "define", "module": "unknown"}) == {"success": False}
    assert respond({"kind": "analysis", "of": 1, "valid": True}) == {}
    failed = respond({"kind": "evaluate", "module": "lse", "function": "primal", "input": {}})
    assert not failed["success"]
    assert "KeyError" in failed["error"]


def test_runs_are_repeated_as_asked() -> None:
    for limits, least in (({"min_runs": 3, "min_seconds": 0}, 3), ({"min_runs": 1, "min_seconds": 0.01}, 2)):
        response = respond(
            {"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [0, 0], **limits}}
        )
        assert len(response["timings"]) >= least
        assert response["output"] == pytest.approx(np.log(2))


def _session(module: str, *seconds: list[float], valid: bool = True) -> Session:
    return Session([Evaluation(module, "f", each, valid=valid) for each in seconds])


def test_scores_are_gradbenchs_means_of_all_runs() -> None:
    assert _session("lse", [3.0, 1.0], [4.0]).seconds() == 6.0
    assert _session("saddle", [3.0, 1.0], [4.0]).seconds() == 2.0


def test_cells_and_targets() -> None:
    row = {
        "tapegrad": _session("lse", [2.0]),
        "jax": _session("lse", [3.0]),
        "cppad": _session("lse", [1.0]),
        "adept": _session("lse", [1.0], valid=False),
        "manual": Session([], "undefined"),
        "finite": Session([], "timeout"),
    }
    cells = [_cell(row, tool) for tool in row]
    assert cells == ["2 s", "1.50", "0.50", "wrong, 0 of 1 valid", "-", "timeout"]
    targets = _targets({"lse": row}, list(row)[1:])
    assert [(each.measured, each.limit) for each in targets] == [
        (1, 12),
        (1, 1),
        (0, 1),
        (0, 1),
        (0, 1),
        (0, 1),
    ]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    for tool in ("cppad", "adept", "adol-c", "codipack", "finite", "manual"):
        (tmp_path / "tools" / tool / "bin").mkdir(parents=True)
        (tmp_path / "tools" / tool / "evals.txt").write_text("hello\nkmeans timeout\n")
        for name in ("hello", "kmeans"):
            (tmp_path / "tools" / tool / "bin" / name).touch()
    (tmp_path / "evals" / "lstm").mkdir(parents=True)
    for package in ("jax", "torch", "tensorflow"):
        (tmp_path / f"{package}.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Clone(tmp_path)


def test_a_clone_is_read_and_made_ready(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_GRADBENCH_TENSORFLOW", sys.executable)
    assert interpreter("tensorflow") == sys.executable
    assert clone.outcomes("cppad") == {"hello": "", "kmeans": "timeout"}
    assert list(clone.prepare(())) == []
    text = (clone.folder / "evals/lstm/data/lstm_full.txt").read_text(encoding="utf-8")
    assert max(map(ord, text)).bit_length() == max(map(ord, text[:1])).bit_length() == 14


def test_programs_that_cannot_be_built_are_told(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPEGRAD_GRADBENCH_JAX", "/bin/false")
    (clone.folder / "tools/cppad/bin/hello").unlink()
    missing = dict(clone.prepare(()))
    assert missing["jax"] == "not installed"
    assert missing["cppad"] == "not built: make -C tools/cppad bin/hello"
    (clone.folder / "tools/manual/bin/hello").unlink()
    with pytest.raises(Unavailable, match="check answers: make -C tools/manual bin/hello"):
        list(clone.prepare(()))
