"""Columns of a dense Jacobian that can share a tangent, found in the recording of the function.

No two columns of one colour have an entry in the same row, so each entry is the very number that a tangent along its
own column has: what reaches its row depends on no other column of the colour.
"""

from collections.abc import Sequence

import numpy as np

from tapegrad.autodiff.graph_view import listed
from tapegrad.autodiff.sparsity.detection import Detection
from tapegrad.engine.sweep.sparsity import colouring
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import DensePatternError

_MAX_STEPS = 256  # instructions; each takes some 50 us
_MAX_LISTED = 32  # entries of all sets, by the number of inputs
_MAX_BYTES = 1 << 26  # of the tangents of a buffer along all colours


class SharedColumns:
    """Colours of the columns of a Jacobian, and its entries.

    Parameters
    ----------
    colours
        int64: for each column its colour, -1 where it has no entries.
    rows, columns
        int64: of each entry.
    """

    def __init__(self, colours: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        self.colours, self.rows, self.columns = colours, rows, columns
        self.count = int(colours.max(initial=-1)) + 1


def shared_columns(tape: Tape, inputs: Sequence[int], output: int, most: int) -> SharedColumns | None:
    """Return which columns of the Jacobian of a slot can share tangents, by the elements of all inputs together.

    Parameters
    ----------
    tape
        The recording.
    inputs, output
        Its slots.
    most
        The largest number of colours that is of use.

    Returns
    -------
    SharedColumns, optional
        `None` if there would be more colours, if their tangents take too much memory, or if that takes long to find
        out.
    """
    with listed(tape, [output], list(inputs)) as instructions:
        if not 0 < len(instructions) <= _MAX_STEPS:
            return None
        try:
            detection = Detection(tape, instructions, inputs, splits=False, most_listed=_MAX_LISTED)
            numbers = detection.all_of(output)
        except DensePatternError:
            return None
        largest = max(step.geometry(step.result).bytes for step in detection.steps)
    if numbers is None:
        return None
    pool, sets = detection.pool, numbers.reshape(-1)
    counts = np.diff(pool.starts)[sets]
    if counts.max(initial=0) > most:  # a row needs as many colours as it has entries
        return None
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = pool.entries[np.arange(starts[-1]) + np.repeat(pool.starts[sets] - starts[:-1], counts)]
    rows = np.repeat(np.arange(len(sets)), counts)
    found = SharedColumns(_coloured(columns, rows, starts, pool.inputs), rows, columns)
    return found if 0 < found.count <= min(most, _MAX_BYTES // max(largest, 1)) else None


def _coloured(columns: np.ndarray, rows: np.ndarray, row_starts: np.ndarray, count: int) -> np.ndarray:
    """Colour columns by distance two, in their order."""
    order = np.argsort(columns, kind="stable")
    column_starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=count))])
    used = np.flatnonzero(np.diff(column_starts))
    lists = [used, column_starts, rows[order], row_starts, columns]
    kept = [np.ascontiguousarray(each, np.int64) for each in lists]
    colours, forbidden = np.full(count, -1, np.int64), np.full(count + 1, -1, np.int64)
    addresses = [each.ctypes.data for each in (*kept, colours, forbidden)]
    colouring.colour_columns(addresses[0], len(used), *addresses[1:])
    return colours
