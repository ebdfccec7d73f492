"""Profiles: every row of a replay is accounted for, with its source lines; the replay itself is any other."""

import inspect
import traceback
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.cli import main
from tapegrad.engine.sweep.replays.clock_rows import ClockedStream, rows_at
from tapegrad.program.recording.svg import Picture
from tapegrad.program.streams.stream import CONTINUED
from tapegrad.program.traces.profiled import observing
from tapegrad.program.traces.timed_replay import _TimedReplay, time_replay
from tests.helpers.daily import daily

X = np.linspace(0.2, 1.1, 6)
MATRIX = np.eye(3) * 4 + 0.5


def waves(x: Any) -> Any:
    first = tg.sin(x) * 1.5
    second = tg.exp(-first)
    return tg.sum(second @ first)


def factor(a: Any) -> Any:
    return tg.sum(tg.linalg.cholesky(a) ** 2)


def curve(x: Any) -> Any:
    return tg.cumsum(x) * tg.sum(x * x)


def pair(x: Any, y: Any) -> Any:
    return tg.sum(tg.exp(x) * y) * tg.sum(y**3)


def custom(x: Any) -> Any:
    return tg.sum(tg.vmap(lambda v: tg.sin(v) * v)(x))


def jitted(function: Any, fuse: bool) -> Any:
    return tg.jit(function, fuse=fuse)


CASES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "jit": (lambda f: f, waves, (X,)),
    "grad": (tg.grad, waves, (X,)),
    "value_and_grad": (tg.value_and_grad, factor, (MATRIX,)),
    "value_and_grad of two": (lambda f: tg.value_and_grad(f, (0, 1)), pair, (X, X + 1)),
    "jacobian": (tg.jacobian, curve, (X,)),
    "jacrev": (tg.jacrev, curve, (X,)),
    "jacfwd": (tg.jacfwd, curve, (X,)),
    "jacfwd in chunks": (tg.jacfwd, curve, (np.linspace(0.0, 1.0, 300),)),
    "hessian": (tg.hessian, waves, (X,)),
    "hessian in chunks": (tg.hessian, waves, (np.linspace(0.0, 1.0, 200),)),
    "hessian of two": (lambda f: tg.hessian(f, (0, 1)), pair, (X, X + 1)),
    "hvp": (tg.hvp, waves, (X, X)),
    "grad of vmap": (tg.grad, custom, (X,)),
    "grad of float32": (tg.grad, waves, (X.astype(np.float32),)),
}


def observed(f: Any, args: tuple[Any, ...]) -> Any:
    with observing() as found:
        f._run_observed(args, {})
    (replayed,) = found
    return replayed


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [leaf for part in result for leaf in flat(part)]
    return [np.asarray(result).tobytes()]


@daily("fuse")
@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_every_row_is_accounted_for(case: str, fuse: bool) -> None:
    way, function, args = CASES[case]
    f = way(jitted(function, fuse))
    before = f(*args)
    profile = f.profile(*args)
    assert flat(f(*args)) == flat(before)
    replayed = observed(f, args)
    program = replayed.trace.program(replayed.spec)
    rows = [
        row for stream in (program.forward, program.reverse) for row in stream.kernels if row != CONTINUED
    ]
    edge = 2 * len(replayed.spec.wrt) if "chunk" in case else 0
    assert len(profile) == 1 + len(rows) - edge
    assert profile[0].name == "call, seeds and results"
    assert profile[0].instructions == ()
    assert all(row.ns >= 0 for row in profile[1:])
    assert profile.total > 0
    assert profile.measured > 0
    fused = {row.name for row in profile if row.name.startswith("segment: ")}
    assert bool(fused) == program.fused
    assert profile.by_op
    assert profile.by_line
    for totals in (profile.by_op, profile.by_line):
        assert sum(each.ns for each in totals) == pytest.approx(profile.total)
    for text in (repr(profile), profile._repr_html_()):
        assert "plain replay" in text
        assert "time by line" in text


@daily("fuse")
@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_clock_rows_change_no_result(case: str, fuse: bool) -> None:
    way, function, args = CASES[case]
    replayed = observed(way(jitted(function, fuse)), args)
    timed = _TimedReplay(replayed.trace.program(replayed.spec), replayed.given)
    found = []
    for fields in (timed.plain, timed.clocked):
        for array in timed._arrays[len(replayed.given) :]:
            array.fill(7.0)
        assert timed.run(fields) > 0
        arrays = [*timed._arrays, *timed._workspace.outputs]
        found.append([array.tobytes() for array in arrays])
        assert bool(timed.reads.sum()) == (fields is timed.clocked)
    assert found[0] == found[1]
    assert timed.parts().sum() > 0


def test_the_order_is_that_of_execution_and_the_lines_are_those_of_the_source() -> None:
    profile = jitted(waves, False).profile(X)
    names = [row.name for row in profile[1:]]
    assert names[:4] == ["sin", "multiply", "negative", "exp"]
    first = inspect.getsourcelines(waves)[1]
    lines = {row.name: row.lines[0].line - first for row in profile[1:] if row.lines}
    assert lines == {"sin": 1, "multiply": 1, "negative": 2, "exp": 2, names[4]: 3, names[5]: 3}
    assert {row.direction for row in profile} == {"", "forward"}
    assert any("second = tg.exp(-first)" in each.name for each in profile.by_line)


def test_derivatives_have_the_lines_of_what_is_differentiated() -> None:
    profile = tg.hessian(jitted(waves, False)).profile(X)
    own = range(inspect.getsourcelines(waves)[1], inspect.getsourcelines(waves)[1] + 4)
    lines = [line for row in profile for line in row.lines]
    assert lines
    assert {line.file for line in lines} == {__file__}
    assert {line.line for line in lines} <= set(own)


def test_a_segment_has_the_lines_of_its_instructions() -> None:
    profile = tg.value_and_grad(jitted(lambda x: tg.sum(tg.sin(x) * 2.0), True)).profile(X)
    (segment,) = profile[1:]
    assert segment.name == "segment: sin, multiply, sum"
    assert segment.direction == "forward and reverse"
    assert set(segment.instructions) == {0, 1, 2}
    assert len(segment.lines) == len(segment.instructions)
    assert {line.file for line in segment.lines} == {__file__}


def test_a_row_that_takes_longer_has_a_longer_time() -> None:
    def unequal(x: Any) -> Any:
        return tg.sum(tg.exp(x)) + tg.sum(tg.exp(tg.exp(x[:10])))

    profile = jitted(unequal, False).profile(np.linspace(0.0, 1.0, 50_000))
    times = [row.ns for row in profile if row.name == "exp"]
    assert len(times) == 3
    assert max(times) > 5 * sorted(times)[1]
    assert profile.by_op[0].name == "exp"


def test_clock_rows_count_each_run() -> None:
    replayed = observed(tg.jacrev(jitted(curve, False)), (X,))
    timed = _TimedReplay(replayed.trace.program(replayed.spec), replayed.given)
    timed.run(timed.clocked)
    forward, reverse = (stream.reads for stream in timed._streams)
    assert set(forward.tolist()) == {1}
    assert set(reverse.tolist()) == {X.size}


def test_rows_at_the_edge_have_no_clock_between_them() -> None:
    last = np.zeros(1, np.int64)
    rows = np.arange(21).reshape(7, 3)
    clocked = ClockedStream(rows, 2, 0, last).rows
    assert len(clocked) == 7 + 4
    assert clocked[[0, 1, -2, -1]].tolist() == rows[[0, 1, -2, -1]].tolist()
    own = np.flatnonzero((clocked[:, None] == rows[None]).all(2).any(1))
    assert clocked[own].tolist() == rows.tolist()
    assert rows_at(rows.ctypes.data, 7).tolist() == rows.tolist()


def test_a_replay_that_stops_is_no_profile() -> None:
    replayed = observed(jitted(factor, False), (MATRIX,))
    with pytest.raises(RuntimeError, match="stopped with status"):
        time_replay(replayed.trace.program(replayed.spec), (-MATRIX,))


@pytest.mark.parametrize(
    ("function", "args", "said"),
    [
        (tg.grad(waves), (X,), r"grad\(waves\) is run at each call, not replayed; write tg.jit"),
        (tg.vmap(jitted(waves, False)), (X[None],), r"vmap\(waves\) .* is not one replay"),
        (tg.grad(jitted(waves, False)), (tg.tensor(X),), r"grad\(waves\) .* is not one replay"),
    ],
)
def test_refusals(function: Any, args: tuple[Any, ...], said: str) -> None:
    with pytest.raises(tg.UnsupportedError, match=said):
        function.profile(*args)


def broken(x: Any) -> Any:
    return tg.sum(x + np.ones(4))


@pytest.mark.parametrize("report", ["profile", "explain"])
def test_tracebacks_show_the_program_alone(report: str) -> None:
    with pytest.raises(ValueError, match=r"shape") as caught:
        getattr(tg.grad(jitted(broken, False)), report)(X)
    assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}
    with pytest.raises(tg.UnsupportedError) as refused:
        getattr(tg.grad(broken), report)(X)
    assert {frame.filename for frame in traceback.extract_tb(refused.value.__traceback__)} == {__file__}


def test_the_picture(tmp_path: Path) -> None:
    profile = tg.grad(jitted(waves, False)).profile(X)
    picture = profile.plot()
    picture.save(tmp_path / "bars.svg")
    root = ET.parse(tmp_path / "bars.svg").getroot()
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert profile.title in texts
    assert {row.label for row in profile} <= set(texts)
    assert ET.fromstring(picture._repr_svg_()).tag.endswith("svg")
    assert "<svg " in profile._repr_html_()


def test_text_of_the_user_is_escaped() -> None:
    picture = Picture(100, 50)
    picture.text((1, 10), "a < b & '\"\x00\x1b", most=200)
    picture.rectangle((0, 0), (5, 5), "#000", tip="<script>&")
    parts = list(ET.fromstring(str(picture)))
    assert parts[1].text == "a < b & '\"??"
    assert parts[2][0].text == "<script>&"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "written.py"
    path.write_text("import tapegrad as tg\n\n\ndef energy(x, k):\n    return tg.sum(x * x) * k\n")
    return path


def test_the_command(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = file.with_name("energy.svg")
    assert (
        main(["profile", f"{file}:energy", "np.ones(3)", "2.0", "--of", "hessian", "--plot", str(svg)]) == 0
    )
    out, err = capsys.readouterr()
    assert out.startswith("profile of hessian(energy)")
    assert "written.py, line 5: return tg.sum(x * x) * k" in out
    assert f"wrote {svg}" in err
    ET.parse(svg)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{}:energy", "np.ones(3)"], "cannot be recorded: TypeError"),
        (
            ["{}:energy", "np.ones(3)", "2.0", "--plot", "bars.png"],
            "cannot draw bars.png: bars are written as .svg",
        ),
        (["{}:energy", "np.ones(3)", "2.0", "--plot", "{}/no/bars.svg"], "cannot draw"),
    ],
)
def test_refusals_of_the_command(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["profile", *(each.format(file) for each in arguments)]) == 2
    assert said in capsys.readouterr().err
