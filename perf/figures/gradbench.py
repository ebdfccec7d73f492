"""GradBench: a tool made of this library in its twelve evals, beside other tools."""

import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.gradbench.rivals import BUILT, OPTIONS, PACKAGES, Clone, own_speaker
from perf.gradbench.session import Session, converse
from perf.peers import Unavailable
from tapegrad.testing.timer import WrongAnswer

OWN, EMPTY = "tapegrad", "tapegrad, empty cache"
PAIR, WHOLE, COLD = 45.0, 560.0, 100.0  # seconds for an eval and a tool, all of them, and small inputs
Table = dict[str, dict[str, Session]]


def _small(limit: float, **environment: str) -> Session:
    """Run the eval of small inputs."""
    speakers = own_speaker("perf.gradbench.small_eval"), own_speaker(**environment)
    return converse(*speakers, Path(__file__).parents[2], limit)


def _first_seconds(session: Session) -> list[float]:
    return [each.seconds[0] for each in session.evaluations if each.seconds]


def _quick() -> Outcome:
    """Drive the tool by small inputs; an answer that is wrong ends the measurement."""
    session = _small(600)
    found = session.evaluations
    if not session.complete:
        raise WrongAnswer(f"{session.failure} {[each for each in found if not each.valid]}"[:2000])
    table: list[tuple[str, ...]] = [("eval", "function", "first run", "last run")]
    for each in found:
        table.append((each.module, each.function, *(f"{1e3 * each.seconds[k]:.3g} ms" for k in (0, -1))))
    modules = {each.module for each in found}
    target = Target("evals with right answers", len(modules), len(OPTIONS), "", at_least=True)
    return Outcome([target], table=table, notes=["small inputs, answers by other means"])


def _sessions(clone: Clone, rivals: list[str]) -> Table:
    """Run each eval with one tool after the other; this library goes first, once from an empty cache."""
    begin = perf_counter()
    return {name: _row(clone, name, rivals, perf_counter() - begin > WHOLE) for name in OPTIONS}


def _row(clone: Clone, name: str, rivals: list[str], is_late: bool) -> dict[str, Session]:
    """Run an eval with all tools; with this library alone if it is late."""
    row: dict[str, Session] = {}
    with tempfile.TemporaryDirectory() as cache:
        speakers = dict.fromkeys((EMPTY, OWN), own_speaker(TAPEGRAD_CACHE_DIR=cache))
        speakers |= {tool: clone.tool_speaker(tool) for tool in rivals}
        late = "not measured" if is_late else ""
        for tool, speaker in speakers.items():
            outcome = clone.outcomes(tool).get(name, "undefined") or late if tool in rivals else ""
            pair = clone.eval_speaker(name), speaker, clone.folder, PAIR
            row[tool] = Session([], outcome) if outcome else converse(*pair)
            print(f"    {name:9} {tool:21} {_cell(row, tool)}", file=sys.stderr, flush=True)
    return row


def _cell(row: dict[str, Session], tool: str) -> str:
    """Tell how many times this library's time a tool takes; of the library itself the time."""
    session, own = row[tool], row.get(OWN, Session([]))
    if not session.complete:
        valid = f", {session.valid} of {len(session.evaluations)} valid" if session.evaluations else ""
        return ("-" if session.failure == "undefined" else session.failure[:40] or "wrong") + valid
    if session.evaluations[0].module == "hello":
        return "valid"
    alone = tool == OWN or not own.complete
    return f"{session.seconds():.3g} s" if alone else f"{session.seconds() / own.seconds():.2f}"


def _ahead(table: Table, tool: str) -> tuple[int, int]:
    """Count the evals in which this library is faster than a tool, and those of both with a score."""
    scored = [(row[tool], row[OWN]) for name, row in table.items() if name != "hello"]
    both = [(its, own) for its, own in scored if its.complete and own.complete]
    return sum(its.seconds() > own.seconds() for its, own in both), len(both)


def _targets(table: Table, tools: list[str]) -> list[Target]:
    valid = sum(row[OWN].complete for row in table.values())
    targets = [Target("evals with valid answers", valid, len(OPTIONS), "", at_least=True)]
    for tool in tools:
        ahead, both = _ahead(table, tool)
        limit = both if tool in PACKAGES else both // 2 + 1
        targets.append(Target(f"ahead of {tool}, evals of {both}", ahead, limit, "", at_least=True))
    return targets


def _notes_on_first_runs(table: Table) -> list[str]:
    """Split the first runs, in which functions are recorded, by what the cache has."""
    sessions = [row[OWN] for row in table.values()]
    first = [each for session in sessions for each in _first_seconds(session)]
    whole = sum(sum(each.seconds) for session in sessions for each in session.evaluations)
    with tempfile.TemporaryDirectory() as folder:
        small = [_small(COLD, TAPEGRAD_CACHE_DIR=folder) for _ in range(2)]
    empty, warm = (_first_seconds(each) for each in small)
    cold = f"{sum(empty):.2g} s" if small[0].complete else f"more than {COLD:.0f} s"
    return [
        f"tapegrad's first runs: {median(first):.2f} s in the median, {max(first):.2f} s at most, "
        f"{100 * sum(first) / whole:.0f} % of all its time",
        f"{len(warm)} first runs on small inputs: {sum(warm):.2g} s, and {cold} with an empty cache of kernels",
    ]


def _measure(settings: Settings) -> Outcome:
    if OWN in settings.without:
        raise Unavailable("tapegrad is left out")
    folder = settings.beside("gradbench", "git clone https://github.com/gradbench/gradbench")
    if folder is None or settings.quick:
        return _quick()
    clone = Clone(folder)
    missing = dict(clone.prepare(settings.without))
    left_out = {*missing, *settings.without}
    tools = [tool for tool in (*PACKAGES, *BUILT) if tool not in left_out]
    table = _sessions(clone, tools)
    notes = [*_notes_on_first_runs(table), *(f"{tool}: {reason}" for tool, reason in missing.items())]
    rows = [(name, *(_cell(row, tool) for tool in (OWN, EMPTY, *tools))) for name, row in table.items()]
    return Outcome(_targets(table, tools), notes=notes, table=[("eval", OWN, EMPTY, *tools), *rows])


GRADBENCH = (Figure("gradbench", "GradBench: twelve evals beside other tools", _measure),)
