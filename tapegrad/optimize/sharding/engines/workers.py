"""Evaluation of runs of parts in a worker: another process, here or on another machine.

A worker keeps what it has been sent: tables of evaluators, and parts. A task has no more than keys of these, and where
to evaluate. What the worker does not have it asks for in its answer, and the task comes again with it.
"""

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

from tapegrad.errors import UnrecordedWayError
from tapegrad.optimize.sharding.recordings import EvaluationPoint, Table
from tapegrad.optimize.sharding.store import Store
from tapegrad.optimize.sharding.tree import Node, Value, nodes_of

_MAX_TABLES = 64  # that a worker keeps
_MAX_COLLECTIONS = 4  # of parts


class RunTask(NamedTuple):
    """A run of parts, and what is to be computed of each.

    Attributes
    ----------
    collection
        Name of the collection of parts.
    size, keep
        Number of parts of the collection, and as for `Store`.
    first, end
        Numbers of the parts.
    point
        Where.
    table
        Key of the evaluators.
    content
        The evaluators, pickled, and parts by number; empty where the worker should have them.
    """

    collection: str
    size: int
    keep: int
    first: int
    end: int
    point: EvaluationPoint
    table: tuple[Any, ...]
    content: bytes = b""
    parts: dict[int, bytes] = {}  # noqa: RUF012  never written to


@dataclass(frozen=True)
class MissingContent:
    """Answer of a worker that needs more before it can do a task.

    Attributes
    ----------
    table
        Whether it needs the evaluators.
    parts
        Numbers of the parts that it needs.
    """

    table: bool
    parts: tuple[int, ...]


@dataclass(frozen=True)
class UnknownPart:
    """A part whose signature, or branch, no recording has."""

    part: int


Answer = list[Node] | MissingContent | UnknownPart


class _SentParts:
    """Parts of one function that a worker has been sent."""

    def __init__(self, count: int, keep: int) -> None:
        self.sent: dict[int, Any] = {}
        self.store = Store(self.sent.__getitem__, count, keep)


_tables: OrderedDict[tuple[Any, ...], Table] = OrderedDict()
_collections: OrderedDict[str, _SentParts] = OrderedDict()


def known_table(key: tuple[Any, ...], content: bytes) -> Table | None:
    """Return the evaluators of a key, or of their content where they are new; `None` without it."""
    table = _tables.get(key)
    if table is None and content:
        table = pickle.loads(content)  # sent by the process that it works for
        _entered(_tables, key, table, _MAX_TABLES)
    return table


def evaluate(task: RunTask) -> Answer:
    """Evaluate a run of parts, in a worker."""
    table = known_table(task.table, task.content)
    if task.collection not in _collections:
        _entered(_collections, task.collection, _SentParts(task.size, task.keep), _MAX_COLLECTIONS)
    collection = _collections[task.collection]
    collection.sent |= {number: pickle.loads(content) for number, content in task.parts.items()}
    missing = tuple(number for number in range(task.first, task.end) if number not in collection.sent)
    if missing or table is None:
        return MissingContent(table is None, missing)
    return evaluate_run(collection.store, table, task.point, task.first, task.end)


def evaluate_run(store: Store, table: Table, point: EvaluationPoint, first: int, end: int) -> Answer:
    """Evaluate a run of parts that are there."""
    further = point.signature

    def value(number: int) -> Value:
        try:
            return store.value(table.evaluate, point, number, further)
        except UnrecordedWayError:
            raise _AtPart(number) from None
        except Exception as error:
            raise portable_error(error) from None

    try:
        return nodes_of(map(value, range(first, end)), first)
    except _AtPart as stopped:
        return UnknownPart(stopped.args[0])


class _AtPart(Exception):
    """A part is unknown; its number."""


def portable_error(error: Exception) -> Exception:
    """Return an exception that can be pickled: it itself, or another one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does
        other = RuntimeError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            other.add_note(note)
        return other
    return error


def _entered(kept: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Enter a value as the latest, and drop the first one of too many."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
