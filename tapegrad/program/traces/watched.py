"""Listing of a function's captured state by name, with the time that each comparison takes."""

from collections.abc import Iterable
from typing import NamedTuple

from tapegrad.engine.codegen.python_calls.comparisons import Comparisons
from tapegrad.engine.runtime.short_times import nanoseconds, quantity
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.captured.references import Captured
from tapegrad.program.traces.listing import Listing

MAX_MEASURED = 1_000  # references; the others are taken to cost as much


class WatchedItem(NamedTuple):
    """Something that a function sees, which is compared before each replay.

    Attributes
    ----------
    name : str
        How code comes to it: ``global SCALE``, ``self.weights``, ``table['a'].k``.
    kind : str
        ``variable``, ``attribute``, ``contents`` of a container or a buffer, ``function`` (its code and defaults),
        ``class`` of an object, ``absence`` of attributes that would hide others.
    items : int
        How many objects or elements are compared.
    ns : float
        Nanoseconds that this takes before each replay.
    """

    name: str
    kind: str
    items: int
    ns: float


class Watched(Listing[WatchedItem]):
    """Captured state of a function, the most expensive reference first.

    Attributes
    ----------
    ns : float
        Nanoseconds that all comparisons take together before each replay.
    """

    ns: float = 0.0

    def _head(self) -> tuple[str, ...]:
        return "name", "kind", "items", "before each replay"

    def _cells(self, record: WatchedItem) -> tuple[str, ...]:
        return record.name, record.kind, f"{record.items:,}", quantity(record.ns)


def watched_in(name: str, states: Iterable[CapturedState], most: int = MAX_MEASURED) -> Watched:
    """Measure the comparisons of some states, those of the largest references one by one, and list them."""
    states = list(states)
    references = [reference for state in states for reference in state.reach.references]
    references.sort(key=lambda reference: -reference.items)
    found = sorted(_merged(map(_item, references, _costs(references, most))), key=lambda item: -item.ns)
    total = sum(nanoseconds(state.holds) for state in states)
    items = sum(item.items for item in found)
    title = f"{name} is compared with {items:,} items before each replay, in {quantity(total)}"
    listing: Watched = Watched.of(found, title if found else f"{name} is watched for nothing")
    listing.ns = total
    return listing


def _costs(references: list[Captured], most: int) -> list[float]:
    """Return the time in ns that each reference adds to an empty comparison, of which there is one for all."""
    nothing = nanoseconds(Comparisons([]).holds)
    measured = [max(0.0, nanoseconds(Comparisons(each.rows).holds) - nothing) for each in references[:most]]
    items = sum(reference.items for reference in references[:most])
    each = sum(measured) / max(items, 1)
    return [*measured, *(each * reference.items for reference in references[most:])]


def _merged(items: Iterable[WatchedItem]) -> Iterable[WatchedItem]:
    """Add up what has one name: an attribute that several classes define."""
    found: dict[tuple[str, str], WatchedItem] = {}
    for item in items:
        known = found.get(item[:2])
        more = item if known is None else item._replace(items=known.items + item.items, ns=known.ns + item.ns)
        found[item[:2]] = more
    return found.values()


def _item(reference: Captured, cost: float) -> WatchedItem:
    return WatchedItem(reference.name, reference.kind, reference.items, cost)
