"""Explanations of calls: each section says what is so, and why rows are not in segments."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.fusion.grouping.reasons import reasons_alone
from tapegrad.program.traces.explanation import Explanation

X = np.linspace(0.5, 1.5, 64)
SCALES = {"a": 2.0}


def guarded(x: Any) -> Any:
    y = tg.sin(x) * SCALES["a"]
    if tg.sum(y) > 0:
        y = y * 2.0
    return tg.sum(tg.exp(-y) @ y)


def doubled(x: Any) -> Any:
    return tg.sum(x * 2.0)


def lines(f: Any, section: str, *args: Any) -> str:
    explained = f.explain(*args).section(section)
    return "\n".join([explained.summary, *explained.lines])


def test_the_sections() -> None:
    f = tg.value_and_grad(tg.jit(guarded, fuse=True))
    explained = f.explain(X)
    assert isinstance(explained, Explanation)
    assert [section.name for section in explained] == [
        "recording",
        "guards",
        "watched",
        "fusion",
        "memory",
        "threads",
    ]
    assert explained.title.startswith("a call of value_and_grad(guarded) replays value_and_grad of ")
    assert (
        explained.section("recording").summary
        == "number 1, of guarded for argument 0: (64,) float64: first call"
    )
    assert explained.section("guards").summary == "1 value checked by each replay"
    assert "if tg.sum(y) > 0" in explained.section("guards").lines[0]
    assert any(
        line.startswith("global SCALES: variable, 1 item, ") for line in explained.section("watched").lines
    )
    for text in (repr(explained), explained._repr_html_()):
        assert all(
            section.summary.replace(">", "&gt;") in text or section.summary in text for section in explained
        )


def test_the_recording_is_that_of_the_call() -> None:
    f = tg.jit(doubled)
    f(X)
    assert lines(f, "recording", X[:3]).startswith(
        "number 2, of doubled for argument 0: (3,) float64: argument 0: shape"
    )
    assert len(f.explain()) == 2


REASONS: dict[str, tuple[Any, str]] = {
    "matmul": (
        lambda x: tg.sum(tg.sin(x)) * (x @ x),
        "matmul has a kernel of its own, which is no loop over elements",
    ),
    "strided": (lambda x: tg.sum(tg.sin(x[::2])), "neither adjacent nor a single one"),
    "guard": (lambda x: tg.sum(tg.sin(x)) if tg.sum(x) > 0 else x, "a guard is checked by itself"),
    "alone": (lambda x: tg.sin(x), "no other row over 64 elements can run beside it"),
    "short lines": (
        lambda x: tg.sum(tg.sin(x[:60].reshape(20, 3)[:, :2])),
        "too few for a loop around it",
    ),
    "library": (lambda x: tg.special.zeta(x + 1.5) * 2.0, "zeta calls a library for each element"),
}


@pytest.mark.parametrize("case", REASONS)
def test_reasons(case: str) -> None:
    function, said = REASONS[case]
    assert said in lines(tg.jit(function, fuse=True), "fusion", X)


def test_every_row_that_is_in_no_segment_has_a_reason() -> None:
    f = tg.value_and_grad(tg.jit(guarded, fuse=True))
    f(X)
    trace = next(iter(f._recorder().traces))
    for made in trace.recording.programs.values():
        program = made()
        for stream in (program.forward, program.reverse):
            assert sorted(reasons_alone(stream)) == np.flatnonzero(stream.op >= 0).tolist()


@pytest.mark.parametrize(
    ("fuse", "size", "said"),
    [
        (False, 64, "one by one: fusion is off"),
        (None, 70, "one by one: it is fused in the background when that pays, after about "),
    ],
)
def test_programs_that_are_not_fused(
    fuse: bool | None, size: int, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv("TAPEGRAD_FUSE", raising=False)
    salt = float(np.pi) / size  # a program that no cache knows
    f = tg.jit(
        lambda x: tg.sum(tg.sin(x * salt) + tg.cosh(x) - tg.arctan(x * x)) + tg.sum(x[1:] * x[0]), fuse=fuse
    )
    assert said in lines(f, "fusion", np.linspace(0.0, 1.0, size))


def test_memory_and_threads() -> None:
    f = tg.grad(tg.jit(lambda x: tg.sum(tg.sin(x) ** 2), fuse=True))
    large = np.linspace(0.0, 1.0, 500_000)
    assert "4,000,000 bytes of arguments are read where they lie, 4,000,000 bytes of results" in lines(
        f, "memory", large
    )
    assert lines(f, "threads", X).startswith("0 of 1 row large enough for several of the ")
    assert "segment: sin, square, sum, forward and reverse" in lines(f, "threads", large)


def test_refusals() -> None:
    with pytest.raises(
        tg.UnsupportedError, match=r"explain: grad\(guarded\) is run at each call, not replayed"
    ):
        tg.grad(guarded).explain(X)
    with pytest.raises(tg.UnsupportedError, match=r"explain: a call of vmap\(doubled\)"):
        tg.vmap(tg.jit(doubled)).explain(X)


def test_without_arguments_recordings_are_listed() -> None:
    f = tg.jit(guarded)
    f(X)
    assert [record.reason for record in f.explain()] == ["first call"]
    assert tg.grad(guarded).explain() == ()
