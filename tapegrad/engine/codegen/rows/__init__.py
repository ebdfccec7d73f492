"""Elementwise kernels from the texts of the op table: forward, reverse and tangent. Read `case` and `rows` first.

In reading order; each imports only those above it:

    case                           one kernel of a row: its dtype, direction and lines
    functions                      vector functions, compiled once for a machine
    exponentials                   sums of exponentials
    adjacent_loops                 loops of them that kernels written by hand call
    expressions                    what is left as values
    complex_expressions            the same of complex numbers
    stages                         texts cut at calls of libraries
    loops                          A loop over elements, and the two functions that do it
    directions                     the loop of a row in each direction
    several_tangents               several tangents of a row at once
    tangents                       the tangent kernel of a row
    rows                           the kernels of a row, general ones and by what is known of a frame
    accumulation                   the kernel of sums, broadcasts and copies
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "case", "adjacent_loops", "several_tangents")
