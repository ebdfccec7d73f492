"""Kernels of segments: many rows over the same elements in one loop. Read `segment` first.

In reading order; each imports only those above it:

    segment                        A segment
    extremes                       largest and smallest elements
    segment_loops                  its outer loops
    packed                         rows of single elements side by side
    segment_rows                   its rows as values
    vectors                        their elements at one vector index
    range_checks                   lists of row numbers before rows are taken by them
    long_segments                  lines of many
    short_segments                 lines of one vector
    iterated                       segments that are executed many times
    segment_kernels                the kernel of a segment
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "segment_kernels", "iterated")
