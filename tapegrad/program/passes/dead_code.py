"""Which instructions a replay needs: what an output or a guard depends on, and what a cotangent flows through."""

from collections.abc import Iterable

from tapegrad.ops import GUARDS
from tapegrad.program.listing import Listing


def live_instructions(listing: Listing, outputs: Iterable[int], needed: Iterable[int] = ()) -> list[int]:
    """Instructions that the output slots, the buffers `needed`, or a guard depend on, in order.

    The others are dead code.
    """
    wanted = {listing.buffer_of[slot] for slot in outputs} | set(needed)
    live = []
    for i in range(len(listing) - 1, -1, -1):
        if listing.op[i] >= 0 and (listing.op[i] in GUARDS or listing.written(i) in wanted):
            live.append(i)
            wanted.update(listing.read(i))
    return live[::-1]


def active_buffers(listing: Listing, live: list[int], inputs: list[int], outputs: Iterable[int]) -> set[int]:
    """Buffers through which a derivative flows from one of the input buffers to one of the output buffers."""
    reached = set(inputs)
    for i in live:
        if listing.differentiable_result(i) and any(
            buffer in reached and listing.has_cotangent(i, j) for j, buffer in enumerate(listing.read(i))
        ):
            reached.add(listing.written(i))
    useful = set(outputs)
    for i in reversed(live):
        if listing.written(i) in useful and listing.differentiable_result(i):
            useful.update(b for j, b in enumerate(listing.read(i)) if listing.has_cotangent(i, j))
    return reached & useful


def active_operands(listing: Listing, i: int, active: set[int]) -> list[int]:
    """The operands of instruction `i` that get a cotangent."""
    if listing.written(i) not in active or not listing.differentiable_result(i):
        return []
    return [j for j, b in enumerate(listing.read(i)) if b in active and listing.has_cotangent(i, j)]
