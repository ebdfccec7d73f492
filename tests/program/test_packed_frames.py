"""A workspace has of each frame the fields that the row's kernel reads, and all of those that others look at."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.sweep.replays import replay
from tapegrad.program.programs.packed_frames import PackedFrames
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.spec import JACFWD, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.streams.stream import CONTINUED, InstructionStream
from tapegrad.program.traces.trace import Trace

LARGE = 300_000  # elements: rows run on several threads
FORWARD, REVERSE = 5, 9  # fields that bound kernels read


def lines(x: Any) -> Any:
    return tg.sum(tg.sin(x) * x - 2.0)


def loops(x: Any) -> Any:
    return tg.sum(tg.exp(x[:, None] * x[::-1]) @ x + tg.cumsum(x)[::-1])


def scalar(x: Any) -> Any:
    return (x * x + 1.0) / tg.cos(x)


PROGRAMS = {
    "lines": (lines, np.linspace(0.0, 1.0, 5), VALUE_AND_GRAD, False),
    "lines for threads": (lines, np.zeros(LARGE), VALUE_AND_GRAD, False),
    "loops": (loops, np.linspace(0.0, 1.0, 7), VALUE_AND_GRAD, False),
    "numbers": (scalar, np.float64(0.3), VALUE_AND_GRAD, False),
    "segments": (lines, np.linspace(0.0, 1.0, 5), VALUE_AND_GRAD, True),
    "tangents": (lambda x: tg.sin(x) * x[::-1], np.linspace(0.0, 1.0, 200), JACFWD, False),
}


def made(name: str) -> Program:
    function, x, kind, fuse = PROGRAMS[name]
    return Trace(function, flatten_args((x,), {}), fuse=fuse).program(ProgramSpec(kind, (0,)))


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return made(request.param)


def executed(program: Program, packed: PackedFrames) -> list[tuple[InstructionStream, int, int, int]]:
    """Of each row its stream, its number there, the first field of its frame, and its threshold."""
    found = []
    for stream, rows in zip((program.forward, program.reverse), packed.rows(0), strict=True):
        begun = np.flatnonzero(stream.kernels != CONTINUED)
        assert np.array_equal(stream.kernels[begun], rows[:, 0])
        found += [(stream, k, at // 8, limit) for k, (_, at, limit) in zip(begun, rows.tolist(), strict=True)]
    return found


@pytest.mark.parametrize("on_threads", [False, True])
def test_fields_are_those_of_the_frames(program: Program, on_threads: bool) -> None:
    packed, end = PackedFrames(program, on_threads), 0
    for stream, k, first, threshold in executed(program, packed):
        assert first == end
        is_one_call = threshold == replay.ONE_CALL  # otherwise others than the kernel look at the frame
        assert not is_one_call or (stream.frames[k, field.OUTER] == 0 and stream.frames[k, field.COUNT] >= 0)
        width = stream.fields[k] if is_one_call else field.FIELDS
        continued = k + 1
        while continued < len(stream) and stream.kernels[continued] == CONTINUED:
            continued, width = continued + 1, width + field.FIELDS
        expected = stream.frames[k:continued].reshape(-1)[:width]
        end += width
        assert np.array_equal(packed.fields[first:end], expected)
    assert end == len(packed.fields)


def test_relocations_are_all_addresses_that_are_made_up(program: Program) -> None:
    packed = PackedFrames(program)
    places = packed.relocations(len(program.bindings))
    for k, (at, offsets) in enumerate(places, 1):
        assert np.array_equal(packed.fields[at], (k << 48) + offsets)
    assert (
        sorted(np.concatenate([at for at, _ in places])) == np.flatnonzero(packed.fields >= 1 << 48).tolist()
    )


def widths(name: str, on_threads: bool) -> list[int]:
    program = made(name)
    packed = PackedFrames(program, on_threads)
    return np.diff([*(first for *_, first, _ in executed(program, packed)), len(packed.fields)]).tolist()


def test_rows_of_numbers_have_what_kernels_read() -> None:
    assert widths("numbers", True) == widths("numbers", False) == [FORWARD] * 4 + [REVERSE] * 3


def test_rows_for_threads_have_all_where_there_are_threads() -> None:
    assert set(widths("lines for threads", True)) == {field.FIELDS}
    assert {FORWARD, REVERSE} < set(widths("lines for threads", False))


def test_rows_of_tangents_have_all() -> None:
    program = made("tangents")
    assert {field.FIELDS} == set(program.reverse.fields)
    assert FORWARD in set(program.forward.fields)
