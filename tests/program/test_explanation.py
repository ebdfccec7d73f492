"""Explanations of calls: each section says what is so, and why rows are not in segments."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.fusion.reasons import reasons_alone
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
        "certificate",
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


def test_many_segments_hide_no_reasons() -> None:
    """Of the segments of an unrolled loop some are listed, each in a short line, and the other rows behind them."""
    turns = np.eye(len(X))

    def long(x: Any) -> Any:
        for _ in range(8):
            for _ in range(20):
                x = tg.sin(x) * x
            x = turns @ x
        return x

    said = tg.jit(long, fuse=True).explain(X).section("fusion").lines
    assert re.fullmatch(r"\.\.\. and \d+ segments more", said[5])
    assert all(re.match(r"segment \d: forward: forward .*; 64 elements$", line) for line in said[:5])
    assert max(map(len, said)) < 200
    assert any(line.startswith("matmuls (8: ") for line in said[6:])


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


# --- what is slow, and what to write instead ------------------------------------------------------------------------

WIDE = np.linspace(-1.0, 1.0, 40 * 60, dtype=np.float32).reshape(40, 60)
TURNED = WIDE[:, ::2].T
COUNTS = np.arange(40)
ROW = np.linspace(0.0, 1.0, 40)
STRIDED = np.linspace(0.0, 1.0, 80)[::2]


def on_turned(x: Any) -> Any:
    return tg.sum(tg.sin(x) * TURNED)


def on_part(x: Any) -> Any:
    return tg.sum(tg.sin(x) * WIDE[:30, :40].T[:, :30].T)


def on_counts(x: Any) -> Any:
    return tg.sum(tg.sin(x) * COUNTS)


def on_narrow(x: Any) -> Any:
    return tg.sum(tg.sin(x) * ROW)


CONVERTED: dict[str, tuple[Any, Any, str]] = {
    "not contiguous": (
        on_turned,
        ROW,
        "converts the captured array TURNED, (30, 40) float32, not contiguous, to float64 at each replay"
        " (1,200 elements): keep np.ascontiguousarray(TURNED, dtype=np.float64)",
    ),
    "part": (
        on_part,
        ROW,
        "converts a part of the captured array WIDE, (30, 40) float32, not contiguous, to float64 at each replay"
        " (1,200 elements): keep it as np.ascontiguousarray(..., dtype=np.float64), made outside of the function",
    ),
    "integers": (
        on_counts,
        ROW,
        "converts the captured array COUNTS, (40,) int64, to float64 at each replay (40 elements): keep"
        " np.ascontiguousarray(COUNTS, dtype=np.float64)",
    ),
    "argument": (
        on_narrow,
        ROW.astype(np.float32),
        "converts v0, (40,) float32, to float64 at each replay (40 elements): compute it in float64 from the beginning",
    ),
    "argument as it is": (
        lambda x: tg.sum(x * ROW),
        ROW.astype(np.float32),
        "converts argument 0, (40,) float32, to float64 at each replay (40 elements): pass it as float64",
    ),
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("case", CONVERTED)
def test_conversions_are_named(case: str, fuse: bool) -> None:
    function, x, said = CONVERTED[case]
    explained = tg.value_and_grad(tg.jit(function, fuse=fuse)).explain(x).section("fusion")
    assert ("one by one" in explained.summary) is not fuse
    found = [line for line in explained.lines if "converts" in line]
    assert len({line.partition(": ")[2] for line in found}) == 1
    assert found[0].startswith("cast_f64 ")
    assert found[0].endswith(f": {said}")


def test_conversions_that_are_alike_are_one_line() -> None:
    def f(x: Any) -> Any:
        numbers = ROW.astype(np.float32)  # parts of it are converted at each replay
        return sum(x * numbers[k, ...] for k in range(1, len(ROW)))

    said = tg.jit(f, fuse=False).explain(np.full(3, 2.0)).section("fusion").lines
    assert len(said) == 1
    assert said[0].startswith("cast_f64s (39: 0, 3, 6, 9, ...): converts a constant, () float32, to float64")


@pytest.mark.parametrize("fuse", [False, True])
def test_the_copy_that_is_advised_is_not_converted(fuse: bool) -> None:
    copy = np.ascontiguousarray(TURNED, dtype=np.float64)
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x) * copy), fuse=fuse))
    assert "converts" not in lines(f, "fusion", ROW)
    for found, expected in zip(f(ROW), tg.value_and_grad(on_turned)(ROW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_conversion_is_never_stale() -> None:
    """Contents of captured arrays that are converted are read at each replay."""
    own = WIDE[0, :40].copy()
    f = tg.jit(lambda x: tg.sum(x * own))
    for k in range(5):
        own[k] = 100.0 + k
        assert f(ROW) == pytest.approx(np.sum(ROW * own), rel=1e-14)
    assert len(f.explain()) == 1


def test_strided_captured_arrays_are_named() -> None:
    f = tg.jit(lambda x: tg.sum(tg.sin(x * STRIDED) + x), fuse=True)
    assert (
        "multiply 0, forward: reads the captured array STRIDED, (40,) float64, not contiguous, at each replay: keep"
        " np.ascontiguousarray(STRIDED, dtype=np.float64)"
    ) in lines(f, "fusion", ROW)
    copy = np.ascontiguousarray(STRIDED)
    g = tg.jit(lambda x: tg.sum(tg.sin(x * copy) + x), fuse=True)
    assert "multiply" not in lines(g, "fusion", ROW)
    assert f(ROW) == g(ROW)


def test_rows_that_are_alike_have_one_line() -> None:
    f = tg.jit(lambda x: tg.sum(tg.sin(x) * ROW) + x @ ROW + ROW @ x, fuse=True)
    found = f.explain(ROW).section("fusion").lines
    guards = [line for line in found if line.startswith("guard")]
    assert len(guards) == 1
    count = len(f.explain()[0].guards)
    assert guards[0].startswith(f"guards ({count}: ")
    assert guards[0].endswith(", forward: a guard is checked by itself")
    assert any(line.startswith("matmuls (2: ") for line in found)


def test_unrolled_loops_are_told() -> None:
    def loop(x: Any) -> Any:
        parts = []
        for k in range(100):
            parts.append(tg.exp(-0.1 * x[k] * ROW[k % 40]) - 1.0)
        return tg.sum(tg.stack(parts) ** 2)

    x = np.linspace(0.0, 1.0, 100)
    first = inspect.getsourcelines(loop)[1]
    (told,) = tg.value_and_grad(tg.jit(loop, fuse=False)).explain(x).section("recording").lines
    assert told == (
        f"500 of 502 instructions compute single numbers, 4 of them 100 times by test_explanation.py, line {first + 3}:"
        " parts.append(tg.exp(-0.1 * x[k] * ROW[k % 40]) - 1.0): write operations on arrays instead of the loop, or"
        " say jit(f, roll=True)"
    )


def test_ops_beside_a_loop_do_not_hide_it() -> None:
    def loop(x: Any) -> Any:
        total = tg.sin(x[0])
        for k in range(100):
            total = total + tg.exp(-x[1] * k) * x[k] if k else total
        return total

    line = inspect.getsourcelines(loop)[1] + 3
    (told,) = tg.jit(loop, fuse=False).explain(np.linspace(0.0, 1.0, 100)).section("recording").lines
    assert f" of them 99 times by test_explanation.py, line {line}: total = total + tg.exp" in told


def test_loops_of_unknown_lines_are_told() -> None:
    state = iter(range(9))

    def loop(x: Any) -> Any:
        total = x * float(next(state))
        for _ in range(100 + next(state)):
            total = tg.sin(total)
        return total

    (told,) = tg.jit(loop, fuse=False).explain(1.0).section("recording").lines
    assert (
        told
        == "102 of 102 instructions compute single numbers: write operations on arrays instead of the loop, or"
        " say jit(f, roll=True)"
    )


@pytest.mark.parametrize(
    "function",
    [lambda x: tg.sum(tg.sin(x) ** 2), lambda x: sum(tg.sum(tg.sin(x * k)) for k in range(1, 120))],
    ids=["arrays", "loop over arrays"],
)
def test_other_functions_are_told_nothing(function: Any) -> None:
    assert tg.jit(function).explain(ROW).section("recording").lines == ()


def test_repeated_recordings_are_told() -> None:
    f = tg.jit(doubled)
    f(X)
    assert f.explain(X[:9]).section("recording").lines == (
        "the function was recorded 2 times, the latest because: argument 0: shape (64,) -> (9,);"
        " explain() lists the recordings",
    )


def test_of_many_recordings_the_first_and_the_latest_are_shown() -> None:
    f = tg.jit(lambda x, n: tg.sum(x * ROW[:n]), static_argnums=1)
    for n in range(1, 41):
        f(2.0, n)
    recordings = f.explain()
    assert len(recordings) == 40
    text = repr(recordings).split("\n")
    numbers = [line.split()[0] for line in text[2:] if line.startswith("  ")]
    below = numbers.index("1-40:")
    assert numbers[:below] == [*map(str, range(1, 6)), "...", *map(str, range(21, 41))]
    assert "15 more" in text[7]
    assert [line for line in text if "layout" in line] == ["  1-40: the layout of ROW (2 times)"]
    assert "15 more" in recordings._repr_html_()
