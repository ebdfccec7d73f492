"""Loops that were unrolled: what repeats becomes one kernel, whatever stands before and after it."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.fusion.grouping.accesses import ADD, READ, WRITE, Access, Span, StreamRow
from tapegrad.program.fusion.grouping.dependences import dependences
from tapegrad.program.fusion.grouping.repeats import form_of, windows

START = np.linspace(0.5, 1.5, 6)


def row(op, count=4):
    return StreamRow(op, "f64", "forward", count, ())


LOOP = ["sin", "add", "multiply", "exp", "subtract"]


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([*LOOP] * 12, [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50), (50, 60)]),
        (["log", *LOOP * 5, "sqrt"], [(0, 1), (1, 11), (11, 21), (21, 26), (26, 27)]),
        (LOOP * 4, [(0, 30)]),  # so few may become one group
        ([*"abcdefghijklm", *LOOP * 3], [(0, 28)]),  # so seldom is not worth it
        (
            ["a", "b", *LOOP * 4, "c", *LOOP[::-1] * 4],
            [(0, 2), (2, 12), (12, 22), (22, 23), (23, 33), (33, 43)],
        ),
        ([], []),
    ],
)
def test_parts_begin_where_repetitions_do(ops, expected):
    found = windows([row(op) for op in ops], 30, 12)
    assert [(each.start, each.stop) for each in found] == expected


def test_what_does_not_repeat_is_cut_as_before():
    rows = [row("sin", count) for count in range(1, 66)]
    assert [(each.start, each.stop) for each in windows(rows, 30, 12)] == [(0, 30), (30, 60), (60, 65)]


class Pages:
    """Memory in blocks of 4096 bytes."""

    def around(self, address):
        return address // 4096 * 4096, address // 4096 * 4096 + 4096


def part(*spans):
    """Rows that read from one place each and add to the next, at these offsets."""
    places = [Span(start, start + 32, "f64", length=4) for start in spans]
    rows = [
        StreamRow("sin", "f64", "forward", 4, (Access(0, READ, a), Access(3, mode, b)))
        for a, b, mode in zip(places, places[1:], [WRITE, ADD, WRITE], strict=False)
    ]
    return form_of(rows, dependences(rows, Pages()), Pages())


@pytest.mark.parametrize(
    ("spans", "is_alike"),
    [
        ((4096, 8192, 12288, 16384), True),
        ((0, 32, 64, 96), True),  # beside one another in a block
        ((0, 8192, 0, 16384), False),  # one of them twice
        ((0, 4096, 4104, 8192), False),  # two of them overlap
        ((0, 4096, 8192), False),
    ],
)
def test_parts_are_alike_but_for_where_their_operands_lie(spans, is_alike):
    assert (part(*spans) == part(40960, 0, 20480, 12288)) is is_alike


def test_how_operands_overlap_is_part_of_the_form():
    assert part(0, 4096, 4104, 8192) == part(0, 8192, 8200, 40960) != part(0, 4096, 4112, 8192)


def runge_kutta(y, k):
    """Forty steps of the pendulum."""
    for _ in range(40):
        half = y - 0.05 * k * tg.sin(y)
        full = y - 0.1 * k * tg.sin(half)
        y = y + 0.1 * (half - full) * tg.exp(-full * full)
    return tg.sum(y * y)


def test_repetitions_are_compiled_once_and_change_nothing():
    fused, plain = (tg.value_and_grad(tg.jit(runge_kutta, fuse=fuse), (0, 1)) for fuse in (True, False))
    (value, gradients), (own, others) = fused(START, 1.5), plain(START, 1.5)
    assert value == own
    for found, expected in zip(gradients, others, strict=True):
        np.testing.assert_array_equal(found, expected)
    placed = fused._fast.__self__[1].specialization.workspaces[0].program.forward.segments
    assert len({each.bound.segment for each in placed}) < 0.7 * len(placed)
