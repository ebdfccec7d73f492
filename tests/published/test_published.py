"""The page of public benchmarks shows what was measured, and nothing else."""

import json
from pathlib import Path

import pytest

from perf import published
from perf.__main__ import main
from perf.figures import Figure, Outcome, Settings, Target
from perf.peers import Unavailable
from perf.report import Report

MACHINE = {
    "processor": "P", "cores": 2, "system": "S", "python": "3", "load": 0, "measured": "now",
    "versions": {"tapegrad": "1", "torch": "not installed"},
}  # fmt: skip


def test_page_is_made_from_the_published_results() -> None:
    page = published.PAGE.read_text()
    assert published.rendered(page) == page
    for file in published.FOLDER.glob("*.json"):
        assert json.loads(file.read_text())["markdown"] in page


def test_a_block_is_made_anew_and_the_prose_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(published, "FOLDER", tmp_path / "published")
    monkeypatch.setattr(published, "PAGE", tmp_path / "page.md")
    published.PAGE.write_text(
        "Before.\n<!-- begin one -->\nold\n<!-- end one -->\nAfter.\n<!-- begin two -->\n<!-- end two -->\n"
    )
    outcome = Outcome([Target("a call", 2e-6, 3e-6, "s")], notes=["a remark"], table=[("a", "b"), ("1", "2")])
    figure = Figure("one", "A figure", lambda settings: outcome)
    assert published.publish(Report(MACHINE, [(figure, outcome)])) == ["one"]
    page = published.PAGE.read_text()
    for part in (
        "Before.",
        "After.",
        "| 2 us |",
        "| 1 | 2 |",
        "- a remark",
        "tapegrad 1;",
        "perf two` measures it",
    ):
        assert part in page
    assert "old" not in page
    assert "torch" not in page
    assert published.rendered(page) == page


def test_quick_runs_are_not_published(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rosenbrock-10", "--quick", "--publish"])
    assert "--publish without --quick" in capsys.readouterr().err


def test_data_are_asked_for_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert Settings(data=tmp_path).beside("there", "clone it") == tmp_path / "there"
    assert Settings(quick=True).beside("there", "clone it") is None
    with pytest.raises(Unavailable, match=r"no absent in the folder of data .* clone it"):
        Settings(data=tmp_path).beside("absent", "clone it")
