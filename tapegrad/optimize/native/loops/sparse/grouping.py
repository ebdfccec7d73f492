"""Groups of columns that no row joins, and pairs of groups: functions on lists of int64, called once a pattern."""

from tapegrad.engine.codegen.translator.compiler import entry_point
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64


@entry_point()
def choose_independent(count: int, candidates: int, starts: int, rows: int, taken: int, chosen: int) -> int:
    """Choose candidates one after the other that share no row with those before; return their number.

    `starts` and `rows` list the rows of each group; `taken` has an integer for each row, all zero.
    """
    number = 0
    for c in range(count):
        group = load_i64(candidates, c)
        begin, end, joined = load_i64(starts, group), load_i64(starts, group + 1), 0
        for p in range(begin, end):
            joined |= load_i64(taken, load_i64(rows, p))
        if joined == 0:
            for p in range(begin, end):
                store_i64(taken, load_i64(rows, p), 1)
            store_i64(chosen, number, group)
            number += 1
    return number


@entry_point()
def list_pairs(count: int, starts: int, members: int, later: int, earlier: int) -> int:
    """Write for each list the pairs of its members, each with itself and those before it; return their number."""
    number = 0
    for k in range(count):
        begin = load_i64(starts, k)
        for a in range(begin, load_i64(starts, k + 1)):
            for b in range(begin, a + 1):
                store_i64(later, number, load_i64(members, a))
                store_i64(earlier, number, load_i64(members, b))
                number += 1
    return number
