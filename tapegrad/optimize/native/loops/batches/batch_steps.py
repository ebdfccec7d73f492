"""Many fits: the steps of all lanes, damped and held at bounds."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, memcpy, store_f64
from tapegrad.optimize.native.loops.batches.batch_fields import GOING
from tapegrad.optimize.native.loops.batches.lanes import damp, decompose, raise_to, solve
from tapegrad.optimize.native.loops.box import is_held


@inline_njit
def _hold(batch, lane):
    """Remove the parameters at an active bound from a lane's linear system: unit row and column, zero step."""
    x, gradient = batch.x + 8 * lane, batch.gradient + 8 * lane
    for j in range(batch.k):
        if is_held(x, gradient, batch.lower, batch.upper, j, batch.lanes):
            for c in range(batch.k):
                low, high = min(j, c), max(j, c)
                at = (high * (high + 1) // 2 + low) * batch.lanes + lane
                store_f64(batch.factor, at, 1.0 if j == c else 0.0)
            store_f64(batch.step, j * batch.lanes + lane, 0.0)


@inline_njit
def move(batch, lane):
    """Write a lane's trial from its step, which is cut at the bounds."""
    for j in range(batch.k):
        at = j * batch.lanes + lane
        before = load_f64(batch.x, at)
        after = before - load_f64(batch.step, at)
        after = min(max(after, load_f64(batch.lower, j)), load_f64(batch.upper, j))
        store_f64(batch.trial, at, after)


@inline_njit
def propose(batch):
    """Write the next trial of all lanes that are going."""
    k, row = batch.k, 8 * batch.lanes
    memcpy(batch.factor, batch.matrix, row * (k * (k + 1) // 2))
    memcpy(batch.step, batch.gradient, row * k)
    for j in range(k):
        diagonal = row * (j * (j + 1) // 2 + j)
        raise_to(batch.scale + row * j, batch.matrix + diagonal, batch.lanes)
        damp(
            batch.factor + diagonal,
            batch.matrix + diagonal,
            batch.damping,
            batch.scale + row * j,
            batch.lanes,
        )
    if batch.bounded != 0:
        for lane in range(batch.lanes):
            _hold(batch, lane)
    decompose(batch.factor, k, batch.lanes)
    solve(batch.factor, batch.step, k, batch.lanes)
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) == GOING:
            move(batch, lane)
