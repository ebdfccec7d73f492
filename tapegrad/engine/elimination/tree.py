"""Elimination trees of sparse symmetric matrices (Liu 1990), and column counts of their factors.

The pattern is that of a lower triangle. Arguments are addresses of int64 lists; -1 stands for no vertex. Column counts
are by the leaves of row subtrees (Gilbert, Ng, Peyton 1994; Davis 2006, section 4.5).
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, memset, store_i64


@entry_point()
def bucket(count: int, keys: int, n: int, starts: int, listed: int) -> None:
    """Sort the numbers 0, ..., count - 1 by their keys below `n`, stably; write the start of each key (n + 1), too."""
    memset(starts, 0, 8 * (n + 1))
    for k in range(count):
        key = load_i64(keys, k) + 1
        store_i64(starts, key, load_i64(starts, key) + 1)
    for i in range(n):
        store_i64(starts, i + 1, load_i64(starts, i) + load_i64(starts, i + 1))
    for k in range(count):
        key = load_i64(keys, k)
        place = load_i64(starts, key)
        store_i64(listed, place, k)
        store_i64(starts, key, place + 1)
    for step in range(n):
        i = n - step
        store_i64(starts, i, load_i64(starts, i - 1))
    store_i64(starts, 0, 0)


@entry_point()
def elimination_tree(n: int, starts: int, columns: int, parent: int, ancestor: int) -> None:
    """Write the parent of each vertex, given the columns of each row of the lower triangle; `ancestor` is scratch."""
    for i in range(n):
        store_i64(parent, i, -1)
        store_i64(ancestor, i, -1)
        for p in range(load_i64(starts, i), load_i64(starts, i + 1)):
            j = load_i64(columns, p)
            while j != -1 and j < i:
                following = load_i64(ancestor, j)
                store_i64(ancestor, j, i)
                if following == -1:
                    store_i64(parent, j, i)
                j = following


@entry_point()
def fills_in(n: int, starts: int, rows: int, child: int, sibling: int, mark: int) -> int:
    """Return 1 if elimination in the given order adds entries to the rows of each column, else 0; the rest is scratch.

    It adds none if each column without its parent, its first row below the diagonal, is a part of its parent's.
    """
    for j in range(n):
        store_i64(child, j, -1)
        store_i64(mark, j, -1)
    for j in range(n):
        parent = n
        for p in range(load_i64(starts, j), load_i64(starts, j + 1)):
            i = load_i64(rows, p)
            if i > j:
                parent = min(parent, i)
        if parent < n:
            store_i64(sibling, j, load_i64(child, parent))
            store_i64(child, parent, j)
    for j in range(n):
        store_i64(mark, j, j)
        for p in range(load_i64(starts, j), load_i64(starts, j + 1)):
            store_i64(mark, load_i64(rows, p), j)
        below = load_i64(child, j)
        while below != -1:
            for p in range(load_i64(starts, below), load_i64(starts, below + 1)):
                i = load_i64(rows, p)
                if i > below and load_i64(mark, i) != j:
                    return 1
            below = load_i64(sibling, below)
    return 0


@entry_point()
def postorder(n: int, parent: int, order: int, child: int, sibling: int, stack: int) -> int:
    """Write the vertices in an order in which subtrees are contiguous, children before parents; the rest is scratch."""
    for i in range(n):
        store_i64(child, i, -1)
    for step in range(n):
        i = n - 1 - step
        above = load_i64(parent, i)
        if above != -1:
            store_i64(sibling, i, load_i64(child, above))
            store_i64(child, above, i)
    count = 0
    for root in range(n):
        if load_i64(parent, root) == -1:
            count = _visit(root, order, count, child, sibling, stack)
    return count


@inline_njit
def _visit(root: int, order: int, count: int, child: int, sibling: int, stack: int) -> int:
    """Append the subtree of a root to the order; return the number of vertices in it."""
    store_i64(stack, 0, root)
    depth = 1
    while depth > 0:
        i = load_i64(stack, depth - 1)
        below = load_i64(child, i)
        if below == -1:
            store_i64(order, count, i)
            count += 1
            depth -= 1
        else:
            store_i64(child, i, load_i64(sibling, below))
            store_i64(stack, depth, below)
            depth += 1
    return count


@entry_point()
def depths(n: int, parent: int, depth: int) -> None:
    """Write the number of edges between each vertex and the root of its tree; parents come after their children."""
    for step in range(n):
        i = n - 1 - step
        above = load_i64(parent, i)
        store_i64(depth, i, 0 if above == -1 else load_i64(depth, above) + 1)


@entry_point()
def column_counts(n: int, parent: int, starts: int, rows: int, counts: int, scratch: int) -> None:
    """Write the entries of each column of L, given the rows of each column; vertices are in postorder.

    `scratch` has room for ``4 * n`` integers.
    """
    first, last_first, leaf, ancestor = scratch, scratch + 8 * n, scratch + 16 * n, scratch + 24 * n
    for j in range(n):
        store_i64(first, j, -1)
        store_i64(last_first, j, -1)
        store_i64(leaf, j, -1)
        store_i64(ancestor, j, j)
    for k in range(n):
        store_i64(counts, k, 1 if load_i64(first, k) == -1 else 0)
        j = k
        while j != -1 and load_i64(first, j) == -1:
            store_i64(first, j, k)
            j = load_i64(parent, j)
    for j in range(n):
        above = load_i64(parent, j)
        if above != -1:
            store_i64(counts, above, load_i64(counts, above) - 1)
        for p in range(load_i64(starts, j), load_i64(starts, j + 1)):
            _note_leaf(load_i64(rows, p), j, counts, first, last_first, leaf, ancestor)
        if above != -1:
            store_i64(ancestor, j, above)
    for j in range(n):
        above = load_i64(parent, j)
        if above != -1:
            store_i64(counts, above, load_i64(counts, above) + load_i64(counts, j))


@inline_njit
def _note_leaf(i: int, j: int, counts: int, first: int, last_first: int, leaf: int, ancestor: int) -> None:
    """Count vertex j if it is a leaf of the subtree of row i; the paths of two leaves are joined once."""
    if i <= j or load_i64(first, j) <= load_i64(last_first, i):
        return
    store_i64(last_first, i, load_i64(first, j))
    before = load_i64(leaf, i)
    store_i64(leaf, i, j)
    store_i64(counts, j, load_i64(counts, j) + 1)
    if before == -1:
        return
    common = before
    while common != load_i64(ancestor, common):
        common = load_i64(ancestor, common)
    while before != common:
        following = load_i64(ancestor, before)
        store_i64(ancestor, before, common)
        before = following
    store_i64(counts, common, load_i64(counts, common) - 1)
