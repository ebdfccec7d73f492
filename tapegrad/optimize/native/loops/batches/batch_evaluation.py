"""Many fits: the model at the trials of all lanes, and which of these have errors or take another branch.

Such a lane is found by itself, and given parameters that are known to be good, so that it does not disturb others.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i64,
    load_u8,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.sweep.replays.handle_calls import evaluate
from tapegrad.engine.sweep.replays.handle_fields import SPECIALIZATION
from tapegrad.engine.sweep.replays.lanes import MASK, run_block
from tapegrad.optimize.native.loops.batches.batch_fields import EMPTY, FRESH, NEEDS_SESSION
from tapegrad.optimize.native.loops.batches.batch_problems import leave_out, lend, load_start
from tapegrad.optimize.native.loops.batches.batch_steps import move
from tapegrad.optimize.native.loops.batches.batch_sums import sum_up
from tapegrad.optimize.native.loops.evaluation import is_for_python


@inline_njit
def _leave_out_masked(batch):
    """Give up the lanes in which guards have failed; return whether there are any."""
    mask, found = load_i64(batch.workspace, MASK), False
    for lane in range(batch.lanes):
        if load_u8(mask, lane) != 0 and load_i64(batch.states, lane) != EMPTY:
            leave_out(batch, lane)
            found = True
    return found


@inline_njit
def _run_lanes(batch):
    """Evaluate the lanes, without those that take another branch; return a status if one of the others fails."""
    status = run_block(batch.workspace)
    while _leave_out_masked(batch) and status != 0:
        status = run_block(batch.workspace)
    return status


@inline_njit
def _find_errors(batch):
    """Evaluate each lane by itself to find those in which there is an error, and give these other parameters."""
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) == EMPTY:
            continue
        for j in range(batch.k):
            store_f64(batch.alone, j, load_f64(batch.trial, j * batch.lanes + lane))
        status = evaluate(batch.session)
        if is_for_python(status) or load_i64(batch.session, SPECIALIZATION) != batch.specialization:
            leave_out(batch, lane)
        elif status != 0:
            store_i64(batch.failed, lane, 1)
            lend(batch, lane)


@inline_njit
def _evaluate_lanes(batch):
    """Evaluate all lanes, and note in which of them there is an error; NEEDS_SESSION, or 0."""
    memset(batch.failed, 0, 8 * batch.lanes)
    if _run_lanes(batch) == 0:
        return 0
    if batch.session == 0:
        return NEEDS_SESSION
    _find_errors(batch)
    if _run_lanes(batch) != 0:
        for lane in range(batch.lanes):
            if load_i64(batch.states, lane) != EMPTY:
                leave_out(batch, lane)
    return 0


@inline_njit
def _reject_failed(batch):
    """Let lanes in which there was an error have their own trials again, with results that are not finite."""
    for lane in range(batch.lanes):
        if load_i64(batch.failed, lane) != 0:
            store_f64(batch.check, lane, math.nan)
            if load_i64(batch.states, lane) == FRESH:
                load_start(batch, lane)
            else:
                move(batch, lane)


@inline_njit
def evaluate_trials(batch):
    """Write sums for the trials of all lanes; return a status on which Python has to act, or 0."""
    if batch.workspace != 0:
        status = _evaluate_lanes(batch)
        if status == 0:
            sum_up(batch)
            _reject_failed(batch)
        return status
    status = evaluate(batch.session)
    if is_for_python(status):
        return status
    if status == 0:
        sum_up(batch)
    else:
        store_f64(batch.check, 0, math.nan)
    return 0
