"""Warning about a function that is recorded again and again: what changes, and what to write instead."""

from tapegrad.program.traces.recording_log import (
    CAPTURED,
    DROPPED,
    FORM,
    GUARD,
    INTEGER,
    OBJECT,
    SHAPE,
    STATIC,
    STRUCTURE,
    VALUE,
    Cause,
    RecordingLog,
)

MAX_RECORDINGS = 16  # for one cause, before that is told
_BECAUSE = {
    CAPTURED: "{cause.name} changed",
    OBJECT: "{cause.name} changed",
    GUARD: "a guard failed ({cause.name})",
    DROPPED: "an earlier recording had been dropped",
    STRUCTURE: "the structure of the arguments changed",
    SHAPE: "the shape of {cause.name} changed ({cause.change})",
    FORM: "{cause.name} changed its dtype or its dimensions ({cause.change})",
    INTEGER: "{cause.name}, an integer, changed ({cause.change})",
    VALUE: "{cause.name}, no float and no array, changed ({cause.change})",
}
_MADE_ONCE = "Make it once, outside of the loop, and pass the floats and arrays that change as arguments"
_MASK = "mask the rest: tg.sum(tg.where(np.arange(N) < n, ..., 0.0)), with float(n) as an argument"
_ADVICE = {
    CAPTURED: "Pass it as an argument: a float, or an array of a fixed shape, may change from call to call",
    OBJECT: _MADE_ONCE,
    GUARD: "Select with tg.where(condition, a, b) instead of branching on values, and pass arrays that change as"
    " arguments",
    DROPPED: "Give its recordings more memory, jit(f, memory=...), or call it with fewer signatures",
    STRUCTURE: "Pass an array, padded to a fixed length, instead of lists and dicts that change",
    SHAPE: f"Pad to a fixed length N, and {_MASK}",
    FORM: "Pass it with one dtype and one number of dimensions",
    INTEGER: "Pass a number as float(n). Where it is a length, as in data[:n], compute all N elements and"
    f" {_MASK}. Name it in static_argnums if it takes few values",
    VALUE: _MADE_ONCE,
}


def repeated(name: str, log: RecordingLog) -> dict[tuple[str, str], str]:
    """Return warnings about the causes for which a function, called `name`, was recorded too often, by kind and name.

    Static arguments are not among them: their values were said to be few.
    """
    often = [
        cause for cause in log.latest if log.causes[cause[:2]] >= MAX_RECORDINGS and cause.kind != STATIC
    ]
    return {cause[:2]: _message(name, log, cause) for cause in often}


def _message(name: str, log: RecordingLog, cause: Cause) -> str:
    times, because = log.causes[cause[:2]], _BECAUSE[cause.kind].format(cause=cause)
    return (
        f"{name} was recorded {log.count} times, {times} of them because {because}; each takes milliseconds."
        f" {_ADVICE[cause.kind]}. explain() lists the recordings"
    )
