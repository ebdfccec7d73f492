"""Positions of the elements of a factor, by its plan."""

import numpy as np

from tapegrad.engine.kernels.fronts.plan import HEADER_FIELDS, Header


def positions_of_elements(plan: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each stored element of L, by the number of the pivot.

    Elements above the diagonal, of blocks of pivots, are zero.
    """
    header = Header(*map(int, plan[:HEADER_FIELDS]))
    begin = HEADER_FIELDS + header.n
    first, starts = plan[begin : begin + header.fronts + 1], plan[begin + header.fronts + 1 :]
    rows = starts[2 * header.fronts + 1 :]
    starts = starts[: header.fronts + 1]
    widths, heights = np.diff(first), np.diff(starts)
    sizes = widths * (widths + heights)
    front = np.repeat(np.arange(header.fronts), sizes)
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    column, row = np.divmod(place, (widths + heights)[front])
    below = row >= widths[front]
    found = first[front] + row
    found[below] = rows[(starts[front] + row - widths[front])[below]]
    return found, first[front] + column
