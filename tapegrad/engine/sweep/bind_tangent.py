"""Bind an instruction to a frame for its tangent."""

from tapegrad.engine.kernels.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.raw_memory import store_i64
from tapegrad.engine.runtime.compiler import inline_njit
from tapegrad.engine.sweep.bind import (
    bind_loops,
    bind_reverse,
    bind_whole,
    clear_addresses,
    cotangent_address,
    item_bits,
    op_word,
    primal_address,
)
from tapegrad.engine.sweep.control_words import TANGENT
from tapegrad.engine.tape.layout import (
    BROADCAST_SUM,
    F32,
    OP_KIND,
    OP_LINEAR,
    OPAQUE,
    get_dtype,
)


@inline_njit
def _tangent_or_primal(header, slot):
    """What a linear op's forward kernel is given in place of an operand's primal: row numbers stay what they are."""
    if slot < 0:
        return 0
    return cotangent_address(header, slot) if get_dtype(header, slot) <= F32 else primal_address(header, slot)


@inline_njit
def bind_tangent(header, op, result, a, b, c, params, frame, outer):
    """Fill `frame` for running an instruction's tangent: BAR words are addresses of tangents.

    The tangents are those that the column of cotangents names. Of a linear op it is the forward frame, with tangents
    in place of primals; an operand that has no tangent is 0 there, for which the caller puts zeros.
    """
    if op_word(header, op, OP_LINEAR) == 0:
        bind_reverse(header, op, result, a, b, c, params, frame, outer, TANGENT)
        return
    kind = op_word(header, op, OP_KIND)
    store_i64(frame, PARAMS, params)
    clear_addresses(frame)
    if kind == BROADCAST_SUM:
        store_i64(frame, STORE, item_bits(header, op, a, b, c))
        store_i64(frame, X_BAR, cotangent_address(header, result))
        store_i64(frame, Y_BAR, cotangent_address(header, a))
        bind_loops(header, result, -1, -1, a, result, kind, frame, outer)
        return
    store_i64(frame, X, _tangent_or_primal(header, a))
    store_i64(frame, X + 1, _tangent_or_primal(header, b))
    store_i64(frame, X + 2, _tangent_or_primal(header, c))
    store_i64(frame, Y, cotangent_address(header, result))
    if kind < OPAQUE:
        bind_loops(header, a, b, c, result, result, kind, frame, outer)
    else:
        bind_whole(header, a, b, c, frame)
