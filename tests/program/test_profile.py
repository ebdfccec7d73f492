"""Profiles: every row of a replay is accounted for, with its source lines; the replay itself is any other."""

import inspect
import re
import traceback
import types
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.cli import main
from tapegrad.engine.inspection.svg import Picture
from tapegrad.engine.sweep.replays.clock_rows import ClockedStream, rows_at
from tapegrad.program.streams.stream import CONTINUED
from tapegrad.program.traces import timed_replay
from tapegrad.program.traces.profiled import CallTimes, _accuracy, _around, _delays, observing
from tapegrad.program.traces.timed_replay import ReplayTimes, _TimedReplay, time_replay
from tests.helpers.daily import daily

X = np.linspace(0.2, 1.1, 6)
MATRIX = np.eye(3) * 4 + 0.5


def waves(x: Any) -> Any:
    first = tg.sin(x) * 1.5
    second = tg.exp(-first)
    return tg.sum(second @ first)


def squares(x: Any) -> Any:
    return waves(x) ** 2


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
    "hessian in chunks": (tg.hessian, squares, (np.linspace(0.0, 1.0, 200),)),
    "hessian by shared columns": (tg.hessian, waves, (np.linspace(0.0, 1.0, 200),)),
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


DATA = np.linspace(0.5, 1.5, 6)


def on_a_global(x: Any) -> Any:
    return tg.sum((x * DATA - 1.0) ** 2)


def on_an_element(x: Any) -> Any:
    return tg.sum((x * DATA[0] - 1.0) ** 2)


def on_a_closure() -> Any:
    data = DATA.copy()

    def close_over(x: Any) -> Any:
        return tg.sum((x * data - 1.0) ** 2)

    return close_over


def on_an_attribute() -> Any:
    model = types.SimpleNamespace(data=DATA.copy())

    def ask(x: Any) -> Any:
        return tg.sum((x * model.data - 1.0) ** 2)

    return ask


def on_data_in_numpy(x: Any) -> Any:
    return tg.sum((x * np.exp(DATA) - 1.0) ** 2)


ON_DATA = {
    "global": on_a_global,
    "element": on_an_element,
    "closure": on_a_closure(),
    "attribute": on_an_attribute(),
    "numpy": on_data_in_numpy,
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("case", ON_DATA)
def test_functions_of_captured_arrays_have_their_lines(case: str, fuse: bool) -> None:
    function = ON_DATA[case]
    profile = tg.value_and_grad(jitted(function, fuse)).profile(X)
    line = inspect.getsourcelines(function)[1] + 1
    assert profile.without_lines == ""
    own = [row for row in profile if row.instructions and row.name != "guard"]
    assert own
    for row in own:
        assert {(each.file, each.line) for each in row.lines} == {(__file__, line)}, row
    guarded = [str(each) for row in profile if row.name == "guard" for each in row.lines]
    assert guarded
    assert all(text.startswith(("the layout of ", "the contents of ")) for text in guarded)
    named = [total.name for total in profile.by_line if not total.name.startswith("(")]
    assert {name for name in named if name.startswith("the ")} == set(guarded)
    assert sum(f"line {line}: return tg.sum((x * " in name for name in named) == 1
    assert len(named) == 1 + len(set(guarded))


def test_elements_of_a_list_have_the_line_of_the_list() -> None:
    def stacked(x: Any) -> Any:
        parts = [tg.exp(x[k]) for k in range(6)]
        return tg.sum(tg.stack(parts) ** 2)

    profile = jitted(stacked, False).profile(X)
    first = inspect.getsourcelines(stacked)[1]
    assert all(row.lines for row in profile[1:])
    assert {row.lines[0].line - first for row in profile if row.name == "exp"} == {1}
    assert {row.lines[0].line - first for row in profile if row.name not in ("exp", profile[0].name)} == {2}


def test_lines_that_are_not_known_have_a_reason() -> None:
    state = iter(range(3))

    def alternating(x: Any) -> Any:
        y = tg.sin(x)
        return tg.sum(y) if next(state) % 2 else tg.sum(y * 2.0)

    f = jitted(alternating, False)
    f(X)
    other = f.profile(X)
    assert other.without_lines == "the function recorded other instructions when it was run again"
    assert not any(row.lines for row in other)
    assert other.by_line == ()
    assert f"no times by line: {other.without_lines}" in repr(other)
    assert other.without_lines in other._repr_html_()
    assert other.by_op
    next(state)
    ended = f.profile(X)
    assert ended.without_lines == "the function raised StopIteration when it was run again"
    assert np.array_equal(f(X), np.sum(np.sin(X) * 2.0))


def states(f: Any, *args: Any) -> tuple[str, list[str]]:
    profile = f.profile(*args)
    return profile.title.rpartition(", ")[2], [note for note in profile.notes if note.startswith("not fused")]


def test_the_title_says_whether_it_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPEGRAD_FUSE", raising=False)
    assert states(jitted(waves, True), X) == ("fused", [])
    assert states(jitted(waves, False), X) == ("not fused", ["not fused: fusion is off"])
    salt = float(np.e) / 11  # a program that no cache knows
    f = tg.jit(lambda x: tg.sum(tg.sin(x * salt) + tg.cosh(x) - tg.arctan(x * x)) + tg.sum(x[1:] * x[0]))
    state, (note,) = states(f, np.linspace(0.0, 1.0, 71))
    assert state == "not fused yet"
    assert note.startswith("not fused yet: it is fused in the background when that pays, after about ")


def test_the_time_of_a_call_is_said() -> None:
    profile = tg.value_and_grad(jitted(on_a_global, False)).profile(X)
    assert profile.call > profile.compared > 0
    (note,) = [note for note in profile.notes if note.startswith("a call takes ")]
    assert "for comparing what the function sees" in note
    assert "Python" not in note
    by_python = jitted(pair, False).profile(X, y=np.float32(2.0))
    assert any(note.endswith("lists or tuples of them it would not") for note in by_python.notes)


def test_a_difference_within_the_noise_is_not_told() -> None:
    told = _around(CallTimes(1200.0, 100.0, "a hint"), 900.0)
    assert (
        told
        == "a call takes 1.2 us: 100 ns for comparing what the function sees, 200 ns for arguments and results; a hint"
    )
    told = _around(CallTimes(1200.0, 100.0, "a hint"), 900.0, delayed=True)
    assert told.endswith("comparing what the function sees; the rest cannot be told from the delays; a hint")
    for replay in (1050.0, 1300.0):
        told = _around(CallTimes(1200.0, 100.0), replay)
        assert (
            told
            == "a call takes 1.2 us: 100 ns for comparing what the function sees; nearly all else is the replay"
        )


def test_recordings_are_counted() -> None:
    f = tg.grad(jitted(waves, False))
    assert not any("recorded" in note for note in f.profile(X).notes)
    for n in range(2, 5):
        f(X[:n])
    assert f.profile(X[:4]).notes[-1] == (
        "the function was recorded 4 times, the latest because: argument 0: shape (3,) -> (4,);"
        " explain() lists the recordings"
    )


@pytest.mark.parametrize(
    ("deviations", "used", "reliable"),
    [([0.02], 0, True), ([0.5, -0.05], 1, True), ([0.5, -0.2, 0.3], 1, False)],
)
def test_what_does_not_add_up_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, deviations: list[float], used: int, reliable: bool
) -> None:
    replayed = observed(jitted(waves, False), (X,))
    program = replayed.trace.program(replayed.spec)
    rows = [np.array([300.0, 200.0]), np.array([])]
    attempts = [ReplayTimes(1000.0, 30.0, True, rows, 500.0 + 1000.0 * each) for each in deviations]
    left = iter(attempts)
    monkeypatch.setattr(timed_replay, "_measure", lambda timed: next(left))
    found = time_replay(program, replayed.given)
    assert next(left, None) is None
    assert found is attempts[used]
    assert found.deviation == pytest.approx(deviations[used])
    assert found.reliable is reliable
    text = _accuracy(found)
    assert f"({100 * deviations[used]:+.1f} %)" in text
    assert ("unreliable: " in text) is not reliable
    assert ("fitted to the plain replay" in text) is reliable


@pytest.mark.parametrize(
    ("slow", "said"), [(1500.0, []), (25e6, ["a fifth of the replays took 25 ms or more"])]
)
def test_replays_that_wait_for_a_processor_are_told_of(slow: float, said: list[str]) -> None:
    """Rows are timed in the fastest replays, which do not show what calls take on a busy machine."""
    times = ReplayTimes(1000.0, 30.0, False, [np.array([500.0]), np.array([])], 500.0, slow)
    assert [line.partition(",")[0] for line in _delays(times)] == said


def test_the_dearest_rows_are_shown_and_guards_together() -> None:
    def long(x: Any) -> Any:
        for _ in range(40):
            x = tg.sin(x) * DATA
        return tg.sum(x)

    profile = jitted(long, False).profile(X)
    lines = profile._below()
    assert re.fullmatch(r"\.\.\. and \d+ shorter rows, \S+ \w+ together", lines[0])
    whole = [row for row in profile if row.name != "guard"]
    shown = profile._shown()
    left = int(lines[0].split()[2])
    assert len(shown) + left == len(whole) + 1
    assert min(row.ns for row in shown) >= sorted(row.ns for row in whole)[left - 1]
    few = jitted(on_a_global, False).profile(X)
    (guards,) = [row for row in few._shown() if "guard" in row.name]
    numbers = [row.instructions[0] for row in few if row.name == "guard"]
    assert guards.name == f"guards ({len(numbers)})"
    assert guards.instructions == tuple(numbers)
    assert guards.ns == pytest.approx(sum(row.ns for row in few if row.name == "guard"))
    assert f"guards ({len(numbers)})" in repr(few)


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
    assert out.split("\n")[0].startswith("profile of hessian(energy): ")
    assert out.split("\n")[0].endswith(", fused")
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
