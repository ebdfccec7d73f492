"""The outer loops of a segment: its lines are gone through once at each step, with addresses that have moved."""

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, element_at, load_field, store
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.segments.segment import Segment
from tapegrad.engine.kernels.language.segment_frame import COUNTS, START, STOP, TURNS, field_of


def around(segment: Segment, target: Target, symbol: str, inner: str) -> Body:
    """Return the function with the loops around function `inner`, which takes a frame without loops."""
    body = Body(target, f'define i64 @"{symbol}"(ptr %frame, ptr %loops)')
    frame, first = body.named(POINTER, "%frame"), COUNTS + len(segment.counts)
    local = body.on_stack(f"[{field_of(segment.step(segment.loops))} x i64]")
    for number, value in enumerate(_lines_of(segment, frame)):
        store(value, element_at(local, I64, body.constant(I64, field_of(number))))
    addresses = [load_field(frame, field_of(first + k)) for k in range(segment.addresses)]
    _loop(_Loops(body, segment, frame, local, inner), 0, addresses)
    body.ret("i64 0")
    return body


def _lines_of(segment: Segment, frame: Value) -> list[Value]:
    """Store the start of the inner function's frame: that of the segment's, or all elements of the lines."""
    fields = [load_field(frame, field_of(number)) for number in range(COUNTS + len(segment.counts))]
    if segment.by_steps:
        fields[TURNS] = fields[STOP] = fields[COUNTS]
        fields[START] = fields[COUNTS].like(0)
    return fields


class _Loops:
    """Shared state of the loops: the segment's frame, and that of the inner function."""

    def __init__(self, body: Body, segment: Segment, frame: Value, local: Value, inner: str) -> None:
        self.body, self.segment, self.frame, self.local, self.inner = body, segment, frame, local, inner


def _loop(loops: _Loops, d: int, addresses: list[Value]) -> None:
    """Emit loop `d`, and those inside of it, from these addresses on."""
    body, segment = loops.body, loops.segment
    if d == segment.loops:
        _go_through_lines(loops, addresses)
        return
    number = segment.extent(d)
    start, stop = body.constant(I64, 0), load_field(loops.frame, field_of(number))
    if d == 0 and segment.by_steps:
        start, stop = load_field(loops.frame, field_of(START)), load_field(loops.frame, field_of(STOP))
    steps = [load_field(loops.frame, field_of(number + 1 + k)) for k in range(segment.addresses)]
    with body.loop(start, stop, 1) as i:
        if segment.reduces_along >> d & 1:
            store(i, element_at(loops.local, I64, body.constant(I64, field_of(segment.step(d)))))
        moved = [address + i * step for address, step in zip(addresses, steps, strict=True)]
        _loop(loops, d + 1, moved)


def _go_through_lines(loops: _Loops, addresses: list[Value]) -> None:
    body, first = loops.body, COUNTS + len(loops.segment.counts)
    for k, address in enumerate(addresses):
        store(address, element_at(loops.local, I64, body.constant(I64, field_of(first + k))))
    arguments = [loops.local, body.named(POINTER, "%loops")]
    body.load(I64, body.call("i64", loops.inner, arguments))
