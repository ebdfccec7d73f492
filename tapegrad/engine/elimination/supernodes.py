"""Supernodes: adjacent columns of L with nearly equal structure are one front (Ashcraft, Grimes 1989).

Columns are in postorder. A front is joined with the last of its children where the zeros that this adds to L are few,
for products of larger blocks are faster.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64

# Columns of a joined front, and the percentage of zeros up to which it may have so many (as CHOLMOD's defaults)
_ALWAYS, _SMALL, _MEDIUM = 4, 16, 48
_SMALL_ZEROS, _MEDIUM_ZEROS, _LARGE_ZEROS = 80, 10, 5


@entry_point()
def join_columns(n: int, parent: int, counts: int, first: int, rows: int, zeros: int) -> int:
    """Write the first column of each front, and its rows with those of the pivots; return the number of fronts.

    `first` has room for ``n + 1`` integers, `rows` and the scratch `zeros` for n.
    """
    fronts = 0
    for j in range(n):
        store_i64(first, fronts, j)
        store_i64(rows, fronts, load_i64(counts, j))
        store_i64(zeros, fronts, 0)
        fronts += 1
        store_i64(first, fronts, j + 1)
        while fronts > 1 and _joins(fronts - 2, parent, first, rows, zeros):
            fronts -= 1
            _join(fronts - 1, first, rows, zeros)
    return fronts


@inline_njit
def _added_zeros(s: int, first: int, rows: int) -> int:
    """Return the zeros that joining fronts s and s + 1 adds to the columns of the former."""
    own = load_i64(first, s + 1) - load_i64(first, s)
    return own * (own + load_i64(rows, s + 1) - load_i64(rows, s))


@inline_njit
def _joins(s: int, parent: int, first: int, rows: int, zeros: int) -> bool:
    """Return whether to join fronts s and s + 1, which are the last two."""
    end = load_i64(first, s + 1)
    above = load_i64(parent, end - 1)
    if above < end or above >= load_i64(first, s + 2):
        return False
    width = load_i64(first, s + 2) - load_i64(first, s)
    added = _added_zeros(s, first, rows)
    if added == 0 or width <= _ALWAYS:
        return True
    empty = added + load_i64(zeros, s) + load_i64(zeros, s + 1)
    length = end - load_i64(first, s) + load_i64(rows, s + 1)
    total = width * length - width * (width - 1) // 2
    percent = _LARGE_ZEROS
    if width <= _SMALL:
        percent = _SMALL_ZEROS
    elif width <= _MEDIUM:
        percent = _MEDIUM_ZEROS
    return 100 * empty < percent * total


@inline_njit
def _join(s: int, first: int, rows: int, zeros: int) -> None:
    """Join fronts s and s + 1."""
    empty = _added_zeros(s, first, rows) + load_i64(zeros, s) + load_i64(zeros, s + 1)
    store_i64(zeros, s, empty)
    store_i64(rows, s, load_i64(first, s + 1) - load_i64(first, s) + load_i64(rows, s + 1))
    store_i64(first, s + 1, load_i64(first, s + 2))


@entry_point()
def front_parents(fronts: int, first: int, parent: int, front_of: int, above: int) -> None:
    """Write the front of each column, and the parent of each front; a root has the number of fronts for a parent."""
    for s in range(fronts):
        for j in range(load_i64(first, s), load_i64(first, s + 1)):
            store_i64(front_of, j, s)
    for s in range(fronts):
        column = load_i64(parent, load_i64(first, s + 1) - 1)
        store_i64(above, s, fronts if column == -1 else load_i64(front_of, column))


@entry_point()
def front_rows(
    fronts: int, first: int, above: int, starts: int, begins: int, listed: int, rows: int, scratch: int
) -> int:
    """Write the rows of each front below its pivots, unsorted; return the fronts whose rows are not as many as counted.

    `starts` has where the rows of each front begin in `rows`; `begins` and `listed` have the rows of each column of the
    matrix. `scratch` has room for an integer of each column and two of each front.
    """
    n = load_i64(first, fronts)
    child, sibling = scratch + 8 * n, scratch + 8 * (n + fronts)
    _list_children(fronts, above, child, sibling)
    for j in range(n):
        store_i64(scratch, j, -1)
    wrong = 0
    for s in range(fronts):
        begin, stop = load_i64(begins, load_i64(first, s)), load_i64(begins, load_i64(first, s + 1))
        place, most = load_i64(starts, s), load_i64(starts, s + 1)
        end = load_i64(first, s + 1)
        place = _add_rows(s, end, listed + 8 * begin, stop - begin, rows, place, most, scratch)
        below = load_i64(child, s)
        while below != -1:
            begin, stop = load_i64(starts, below), load_i64(starts, below + 1)
            place = _add_rows(s, end, rows + 8 * begin, stop - begin, rows, place, most, scratch)
            below = load_i64(sibling, below)
        wrong += int(place != most)
    return wrong


@inline_njit
def _list_children(fronts: int, above: int, child: int, sibling: int) -> None:
    for s in range(fronts):
        store_i64(child, s, -1)
    for step in range(fronts):
        s = fronts - 1 - step
        parent = load_i64(above, s)
        if parent < fronts:
            store_i64(sibling, s, load_i64(child, parent))
            store_i64(child, parent, s)


@inline_njit
def _add_rows(s: int, end: int, listed: int, count: int, rows: int, place: int, most: int, mark: int) -> int:
    """Append the listed rows from `end` on that are not yet in front s; return the place after the last one."""
    for p in range(count):
        i = load_i64(listed, p)
        if i >= end and load_i64(mark, i) != s and place < most:
            store_i64(mark, i, s)
            store_i64(rows, place, i)
            place += 1
    return place


@entry_point()
def sort_rows(fronts: int, starts: int, rows: int, n: int, begins: int, owners: int) -> None:
    """Sort the rows of each front; `begins` has room for ``n + 1`` integers, `owners` for as many as `rows`."""
    for i in range(n + 1):
        store_i64(begins, i, 0)
    for p in range(load_i64(starts, fronts)):
        i = load_i64(rows, p) + 1
        if i < n:
            store_i64(begins, i, load_i64(begins, i) + 1)
    for i in range(1, n):
        store_i64(begins, i, load_i64(begins, i) + load_i64(begins, i - 1))
    for s in range(fronts):
        for p in range(load_i64(starts, s), load_i64(starts, s + 1)):
            i = load_i64(rows, p)
            place = load_i64(begins, i)
            store_i64(owners, place, s)
            store_i64(begins, i, place + 1)
    _write_sorted(fronts, starts, rows, n, begins, owners)


@inline_njit
def _write_sorted(fronts: int, starts: int, rows: int, n: int, begins: int, owners: int) -> None:
    """Write the rows of each front in ascending order, given the fronts of each row."""
    place = 0
    for i in range(n):
        end = load_i64(begins, i)
        while place < end:
            s = load_i64(owners, place)
            own = load_i64(starts, s)
            store_i64(rows, own, i)
            store_i64(starts, s, own + 1)
            place += 1
    for step in range(fronts):
        s = fronts - step
        store_i64(starts, s, load_i64(starts, s - 1))
    store_i64(starts, 0, 0)
