"""Positions in the factor: of the entries of the matrix, of the updates of small fronts; and the memory of updates.

A front of w pivots and r rows below is a panel of ``w + r`` rows and w columns, in Fortran order; panels lie one after
the other.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64


@entry_point()
def entry_targets(
    fronts: int, first: int, starts: int, rows: int, begins: int, listed: int, targets: int, local: int
) -> int:
    """Write the element of L of each entry of the matrix.

    `begins` has the first place of each column in `listed`, in which each entry has its number and its row. `local` is
    scratch for each column.
    """
    panel = 0
    for s in range(fronts):
        pivot, end = load_i64(first, s), load_i64(first, s + 1)
        width, begin, stop = end - pivot, load_i64(starts, s), load_i64(starts, s + 1)
        height = width + stop - begin
        for i in range(width):
            store_i64(local, pivot + i, i)
        for p in range(begin, stop):
            store_i64(local, load_i64(rows, p), width + p - begin)
        for j in range(pivot, end):
            column = panel + (j - pivot) * height
            for p in range(load_i64(begins, j), load_i64(begins, j + 1)):
                row = load_i64(listed, 2 * p + 1)
                store_i64(targets, load_i64(listed, 2 * p), column + load_i64(local, row))
        panel += width * height
    return panel


@entry_point()
def update_targets(n: int, starts: int, rows: int, targets: int) -> int:
    """Write the element of L of each product of two elements of a column, for fronts of one column; return how many.

    Column j has the pairs ``b <= a`` of its rows below the diagonal, b outside.
    """
    count = 0
    for j in range(n):
        begin, stop = load_i64(starts, j), load_i64(starts, j + 1)
        for b in range(begin, stop):
            column = load_i64(rows, b)
            # the panel of a column begins after those before it: one pivot each, and their rows
            panel, own = column + load_i64(starts, column), load_i64(starts, column)
            store_i64(targets, count, panel)
            count += 1
            for a in range(b + 1, stop):
                row = load_i64(rows, a)
                while load_i64(rows, own) != row:
                    own += 1
                store_i64(targets, count, panel + 1 + own - load_i64(starts, column))
                count += 1
    return count


@entry_point()
def update_memory(fronts: int, above: int, starts: int, sizes: int, owners: int) -> int:
    """Return the elements of the largest stack of updates; the rest is scratch of an integer for each front."""
    depth, used, most = 0, 0, 0
    for s in range(fronts):
        own = load_i64(starts, s + 1) - load_i64(starts, s)
        most = max(most, used + own * own)
        while depth > 0 and load_i64(above, load_i64(owners, depth - 1)) == s:
            depth -= 1
            used -= load_i64(sizes, depth)
        if own > 0:
            store_i64(owners, depth, s)
            store_i64(sizes, depth, own * own)
            depth += 1
            used += own * own
    return most
