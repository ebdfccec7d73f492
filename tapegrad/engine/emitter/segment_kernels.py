"""The kernel of a segment: one loop over all of its rows, or none where a vector holds each line."""

from tapegrad.engine.emitter.body import Body
from tapegrad.engine.emitter.long_segments import Long
from tapegrad.engine.emitter.segment import Segment
from tapegrad.engine.emitter.segment_loops import around
from tapegrad.engine.emitter.short_segments import Short
from tapegrad.engine.emitter.target import Target


def define(segment: Segment, target: Target, symbol: str) -> list[Body]:
    """The functions of a segment's kernel, itself the last."""
    if not segment.loops:
        return [_of_lines(segment, target, f'define i64 @"{symbol}"')]
    inner = f'@"{symbol}.lines"'
    return [
        _of_lines(segment, target, f"define internal i64 {inner}"),
        around(segment, target, symbol, inner),
    ]


def _of_lines(segment: Segment, target: Target, head: str) -> Body:
    """The function that goes through one line of each."""
    body = Body(target, f"{head}(ptr %frame, ptr %loops)")
    (Short if segment.is_short else Long)(body, segment).emit()
    body.do("ret i64 0")
    return body
