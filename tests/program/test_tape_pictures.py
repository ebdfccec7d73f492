"""Pictures of tapes: well-formed, every instruction legible, segments beside their instructions, blocks apart."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

SVG = "{http://www.w3.org/2000/svg}"
X = np.linspace(0.1, 1.0, 100)


def short(x: Any) -> Any:
    y = tg.sin(x) * 2.0
    return tg.sum(tg.exp(-y) @ y) + tg.sum(tg.log(x * x + 1.0) / y)


def long(x: Any) -> Any:
    for _ in range(85):
        x = tg.sin(x) * 1.1 + tg.exp(-x * x)
    return tg.sum(x)


def scalar(x: Any) -> Any:
    return x * 2.0


CASES = {"short": (short, X), "long": (long, X), "one instruction": (scalar, 1.5), "empty": (scalar, X[:0])}


def elements(picture: Any, kind: str) -> list[ET.Element]:
    return list(ET.fromstring(str(picture)).iter(f"{SVG}{kind}"))


def texts(picture: Any) -> list[str]:
    return [each.text or "" for each in elements(picture, "text")]


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_every_instruction_is_there(case: str, fuse: bool, tmp_path: Path) -> None:
    function, x = CASES[case]
    f = tg.jit(function, fuse=fuse)
    tape = f.tape(x)
    picture = tape.plot()
    lines = tape.text.split("\nsegments")[0].split("\n")
    assert [text for text in texts(picture) if text in lines] == lines
    assert texts(picture)[0] == f"tape of {len(tape)} instructions"
    picture.save(tmp_path / "tape.svg")
    assert ET.parse(tmp_path / "tape.svg").getroot().tag == f"{SVG}svg"
    bands = {text.split(",")[0] for text in texts(picture) if text.startswith("segment ")}
    assert len(bands) == min(len(tape.segments), 12)


def test_lines_do_not_overlap() -> None:
    picture = tg.jit(long).tape(X).plot()
    rows = [float(each.attrib["y"]) for each in elements(picture, "text") if each.attrib["x"] == "14.00"][1:]
    assert len(rows) > 500
    assert np.diff(rows).min() >= 16
    assert max(rows) < picture.height


def test_bands_are_beside_their_instructions() -> None:
    f = tg.jit(lambda x: tg.sum(tg.sin(x) * 2.0), fuse=True)
    tape = f.tape(X)
    (segment,) = tape.segments
    picture = tape.plot()
    found = [(re.match(r" *(\d+)  v", each.text or ""), each) for each in elements(picture, "text")]
    heights = {int(number[1]): float(each.attrib["y"]) for number, each in found if number}
    tip = f"segment 0, {segment.summary}"
    own = [each for each in elements(picture, "rect") if [title.text for title in each] == [tip]]
    full = sorted(float(each.attrib["y"]) for each in own if each.attrib["fill-opacity"] == "0.75")
    assert full == [heights[number] - 12 for number in segment.instructions]


@pytest.mark.parametrize("fuse", [False, True])
def test_blocks_in_use_at_one_time_lie_apart(fuse: bool) -> None:
    f = tg.jit(long, fuse=fuse)
    tg.value_and_grad(f)(X)
    trace = next(iter(f.traces))
    (program,) = [each() for spec, each in trace.recording.programs.items() if spec.kind == "value_and_grad"]
    assert program is not None
    uses = program.lifetimes()
    assert len(uses) > 3
    for k, (start, stop, offset, bytes_) in enumerate(uses.tolist()):
        for other in uses[k + 1 :].tolist():
            if other[0] <= stop and start <= other[1]:
                assert offset + bytes_ <= other[2] or other[2] + other[3] <= offset
    assert (uses[:, 2] + uses[:, 3]).max() <= program.bytes
    blocks = [
        each
        for each in elements(f.tape(X).plot("value_and_grad"), "rect")
        if " at " in (each[0].text or "" if len(each) else "")
    ]
    assert len(blocks) == len(uses)


def test_the_program_is_chosen() -> None:
    f = tg.jit(short)
    tg.value_and_grad(f)(X)
    tape = f.tape(X)
    assert any(text.startswith("workspace of value_and_grad") for text in texts(tape.plot("value_and_grad")))
    assert any(text.startswith("workspace of forward") for text in texts(tape.plot("forward")))
    with pytest.raises(
        ValueError, match="no call has made the program 'jacrev' of this tape; made: forward, value_and_grad"
    ):
        tape.plot("jacrev")


T = np.linspace(0.0, 1.0, 20)


def decay(t: Any, a: Any, r: Any) -> Any:
    return a * tg.exp(-r * t)


SHOWN: dict[str, tuple[Any, list[str]]] = {
    "compiled": (
        lambda: tg.compile(tg.jit(decay), (T, 1.0, 2.0)),
        [
            "argument",
            "0",
            "float64 (20,)",
            "argument",
            "1",
            "float64 ()",
            "argument",
            "2",
            "float64 ()",
            "result",
            "0",
            "float64 (20,)",
        ],
    ),
    "one fit": (
        lambda: tg.optimize.curve_fit(decay, T, 3 * np.exp(-2 * T) + 0.01 * np.sin(50 * T), [2.0, 1.5]),
        ["p0", None, None, "p1", None, None],
    ),
    "fits": (
        lambda: tg.optimize.curve_fit(decay, T, np.linspace(1.0, 2.0, 9)[:, None] * np.exp(-T), [2.0, 1.5]),
        [cell for k in range(8) for cell in (str(k), *[None] * 8)],
    ),
}


@pytest.mark.parametrize("case", SHOWN)
def test_results_in_a_notebook(case: str) -> None:
    make, wanted = SHOWN[case]
    shown = make()
    root = ET.fromstring(f"<div>{shown._repr_html_()}</div>")
    cells = ["".join(cell.itertext()) for cell in root.iter("td")]
    assert len(cells) == len(wanted)
    assert all(want in (None, cell) for cell, want in zip(cells, wanted, strict=True))
    assert all(cells)


def test_names_of_the_user_are_escaped() -> None:
    named = tg.custom_op("a<b>&c", lambda x: x * 2.0, lambda g, y, x: g * 2.0)
    tape = tg.jit(lambda x: tg.sum(named(x))).tape(X)
    assert any("a<b>&c(" in text for text in texts(tape.plot()))
    assert "a&lt;b&gt;&amp;c(" in tape._repr_html_()
