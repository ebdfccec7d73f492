"""The kernel of a segment: one loop over all of its rows, or none where a vector holds each line."""

from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.segments.long_segments import Long
from tapegrad.engine.codegen.segments.range_checks import RangeCheck
from tapegrad.engine.codegen.segments.segment import CHECK, Segment
from tapegrad.engine.codegen.segments.segment_loops import around
from tapegrad.engine.codegen.segments.short_segments import Short


def define(segment: Segment, target: Target, symbol: str) -> list[Body]:
    """Return the functions of a segment's kernel, which is the last one."""
    if not segment.loops:
        return [_of_lines(segment, target, f'define i64 @"{symbol}"')]
    inner = f'@"{symbol}.lines"'
    return [
        _of_lines(segment, target, f"define internal i64 {inner}"),
        around(segment, target, symbol, inner),
    ]


def _of_lines(segment: Segment, target: Target, head: str) -> Body:
    """Return the function for one line of each operand."""
    body = Body(target, f"{head}(ptr %frame, ptr %loops)")
    checks = segment.rows[0].kind == CHECK
    (RangeCheck if checks else Short if segment.is_short else Long)(body, segment).emit()
    body.ret("i64 0")
    return body
