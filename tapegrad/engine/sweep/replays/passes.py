"""Loops of passes over the instructions of a recording, given as rows of int64: entry points for the planner."""

from tapegrad.engine.codegen.translator.compiler import EVERY_RECORDING, entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64

# Fields of a row for `select`.
(
    LIVE,  # 1: a guard, always needed; -1: dead. Afterwards 1 if the instruction is needed
    TAKES,  # the operands that it has a derivative by, a bit each
    WRITTEN,  # its buffer
    READ,  # buffers of its three operands, -1 for none
) = range(4)
SELECT_FIELDS = READ + 3

# Fields of a row for `number_values`.
(
    TREATMENT,  # permitted treatment of the instruction; afterwards DROPPED if another one computes the same
    KEY,  # equal for two instructions that compute the same of the same operands
    OWN,  # its buffer
    OPERAND,  # for each of three operands its buffer, times `views`, and the number of its view
) = range(4)
VALUE_FIELDS = OPERAND + 3
LEAVE, NUMBER, COMMUTATIVE, PASS, STAYS, DROPPED = 0, 1, 2, 4, 8, -1  # NUMBER and PASS with what else is true


@inline_njit
def _marked(marks, buffer):
    return buffer >= 0 and load_i64(marks, buffer) != 0


@inline_njit
def _mark_reads(row, marks, takes):
    """Mark the operands whose bits are set."""
    for j in range(3):
        buffer = load_i64(row, READ + j)
        if buffer >= 0 and (takes >> j) & 1:
            store_i64(marks, buffer, 1)


@inline_njit
def _reaches(row, marks):
    """Return whether an operand that the instruction has a derivative by is marked."""
    takes = load_i64(row, TAKES)
    for j in range(3):
        if (takes >> j) & 1 and _marked(marks, load_i64(row, READ + j)):
            return True
    return False


@entry_point(group=EVERY_RECORDING)
def select(rows, count, needed, reached, wanted):
    """Find the instructions that buffers marked in `needed`, or a guard, depend on.

    If `reached` is an address, mark there what derivatives reach from the buffers that are marked, through those
    instructions, and in `wanted` what derivatives of the buffers marked there flow back to.
    """
    for i in range(count - 1, -1, -1):
        row = rows + 8 * SELECT_FIELDS * i
        live = load_i64(row, LIVE)
        if live == 1 or (live == 0 and _marked(needed, load_i64(row, WRITTEN))):
            store_i64(row, LIVE, 1)
            _mark_reads(row, needed, 7)
        else:
            store_i64(row, LIVE, 0)
    if reached == 0:
        return
    for i in range(count):
        row = rows + 8 * SELECT_FIELDS * i
        if load_i64(row, LIVE) and _reaches(row, reached):
            store_i64(reached, load_i64(row, WRITTEN), 1)
    for i in range(count - 1, -1, -1):
        row = rows + 8 * SELECT_FIELDS * i
        if load_i64(row, LIVE) and _marked(wanted, load_i64(row, WRITTEN)):
            _mark_reads(row, wanted, load_i64(row, TAKES))


@inline_njit
def _settle_operands(row, replacement, views, commutative):
    """Replace operands by equal earlier ones, and sort those of a commutative op; return a hash of all."""
    for j in range(3):
        operand = load_i64(row, OPERAND + j)
        if operand >= 0:
            store_i64(row, OPERAND + j, load_i64(replacement, operand // views) * views + operand % views)
    first, second = load_i64(row, OPERAND), load_i64(row, OPERAND + 1)
    if commutative and first > second:
        store_i64(row, OPERAND, second)
        store_i64(row, OPERAND + 1, first)
    found = load_i64(row, KEY)
    for j in range(3):
        found = (found ^ (found >> 29)) * 0x2545F4914F6CDD1D + load_i64(row, OPERAND + j)
    return found ^ (found >> 31)


@inline_njit
def _computes_the_same(row, other):
    same = load_i64(row, KEY) == load_i64(other, KEY)
    for j in range(3):
        same = same and load_i64(row, OPERAND + j) == load_i64(other, OPERAND + j)
    return same


@inline_njit
def _find(rows, i, known, mask, at):
    """Return an earlier row that computes the same as row `i`, or `i`, which is added to the known ones."""
    row = rows + 8 * VALUE_FIELDS * i
    while True:
        at &= mask
        other = load_i64(known, at)
        if other < 0:
            store_i64(known, at, i)
            return i
        if _computes_the_same(row, rows + 8 * VALUE_FIELDS * other):
            return other
        at += 1


@entry_point(group=EVERY_RECORDING)
def number_values(rows, count, replacement, views, known, mask):
    """Let buffers be replaced by earlier ones that have the same contents: value numbering.

    `known` is a table of so many entries as `mask` says, all -1.
    """
    for i in range(count):
        row = rows + 8 * VALUE_FIELDS * i
        treatment, own = load_i64(row, TREATMENT), load_i64(row, OWN)
        if treatment == LEAVE:
            continue
        found = _settle_operands(row, replacement, views, treatment & COMMUTATIVE)
        if treatment & PASS:
            store_i64(replacement, own, load_i64(row, OPERAND) // views)
            store_i64(row, TREATMENT, DROPPED)
            continue
        same = _find(rows, i, known, mask, found)
        if same != i and treatment & STAYS == 0:
            store_i64(replacement, own, load_i64(rows + 8 * VALUE_FIELDS * same, OWN))
            store_i64(row, TREATMENT, DROPPED)
