"""Driver of single fits and minimisations, and sessions of the functions that optimisers evaluate.

A run is a machine of states: where Python has to act, or its budget of evaluations is used up, it returns, and goes on
when it is called again. Its record has `session`, which evaluates the function at `trial`, and `counts`, which begin
with those of this module.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED
from tapegrad.engine.sweep.replays.handle_calls import close_session, evaluate, open_session

MAX_NFEV, BUDGET, PHASE, NFEV = range(4)  # counts; BUDGET: evaluations left until Python is asked
FINISHED, STARTING, CHOOSING, TRYING = range(4)  # phases; the first one is also that before all others
PAUSED = -2  # status of a loop that has used up its budget


@inline_njit
def is_for_python(status):
    """Return whether Python has to act: to record a new specialization, or to raise a user's exception."""
    return status == GUARD_FAILED or status == CALL_FAILED


@inline_njit
def count(counts, what):
    """Count one more."""
    store_i64(counts, what, load_i64(counts, what) + 1)


@inline_njit
def spend(counts):
    """Take one evaluation from the budget; return whether there was one."""
    left = load_i64(counts, BUDGET)
    store_i64(counts, BUDGET, left - 1)
    return left > 0


@inline_njit
def evaluate_trial(run):
    """Evaluate the function at the trial, and count that unless Python has to act; return the status."""
    status = evaluate(run.session)
    if not is_for_python(status):
        count(run.counts, NFEV)
    return status


@inline_njit
def _advance(run, choose, begin, assess):
    """Evaluate the next trial, and go on from there; return a status on which Python has to act, or 0."""
    if load_i64(run.counts, PHASE) == CHOOSING:
        status = choose(run)
        if status != 0 or load_i64(run.counts, PHASE) == CHOOSING:
            return status
    status = evaluate_trial(run)
    if is_for_python(status):
        return status
    if load_i64(run.counts, PHASE) == TRYING:
        assess(run, status == 0)
    else:
        begin(run, status == 0)
    return 0


@inline_njit
def drive(run, begin_next, choose, begin, assess, finish, limit):
    """Go on with runs until they are finished, or Python has to act; return the status of the last evaluation.

    `begin_next` sets out from another start, if there is one. From an accepted point, `choose` writes a trial and sets
    the phase to TRYING, or leaves that to its next call; it returns a status. `begin` and `assess` are told whether the
    start, or a trial, could be computed, and set the next phase: CHOOSING, or TRYING with another trial. `finish` ends
    a run, at the maximum of evaluations with the status `limit`.
    """
    while load_i64(run.counts, PHASE) != FINISHED or begin_next(run):
        if load_i64(run.counts, NFEV) >= load_i64(run.counts, MAX_NFEV):
            finish(run, limit)
            continue
        if not spend(run.counts):
            return PAUSED
        status = _advance(run, choose, begin, assess)
        if status != 0:
            return status
    return 0


# --- sessions, opened and closed by Python -----------------------------------------------------------------------


@entry_point()
def begin_session(handle, addresses, session):
    """Open a session; return a status."""
    return open_session(handle, addresses, session)


@entry_point()
def end_session(session):
    """Close a session; return its address."""
    close_session(session)
    return session
