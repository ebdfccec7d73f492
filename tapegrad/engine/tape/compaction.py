"""Compact a tape: close the gaps that dead instructions leave."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.layout import DEAD, DEAD_OP, INSTRUCTIONS

_COMPACT_FROM = 1024  # minimum of dead instructions for a compaction


@inline_njit
def trim(header):
    """Drop dead instructions at the end; compact the tape once dead ones are the majority."""
    n = load_i64(header, INSTRUCTIONS)
    dead = load_i64(header, DEAD)
    while n > 0 and col.op(header, n - 1) == DEAD_OP:
        n -= 1
        dead -= 1
    store_i64(header, INSTRUCTIONS, n)
    store_i64(header, DEAD, dead)
    if dead > _COMPACT_FROM and 2 * dead > n:
        _compact(header)


@inline_njit
def _compact(header):
    """Close the gaps that dead instructions left. Slots keep their numbers, so no reader needs to know."""
    to = 0
    for i in range(load_i64(header, INSTRUCTIONS)):
        if col.op(header, i) == DEAD_OP:
            continue
        buffer = col.buffer(header, col.result(header, i))
        if col.producer(header, buffer) == i:
            col.set_producer(header, buffer, to)
        col.set_op(header, to, col.op(header, i))
        col.set_result(header, to, col.result(header, i))
        col.set_operand0(header, to, col.operand0(header, i))
        col.set_operand1(header, to, col.operand1(header, i))
        col.set_operand2(header, to, col.operand2(header, i))
        col.set_params(header, to, col.params(header, i))
        col.set_mark(header, to, 0)
        to += 1
    store_i64(header, INSTRUCTIONS, to)
    store_i64(header, DEAD, 0)
