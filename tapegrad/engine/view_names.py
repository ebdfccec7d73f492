"""Views in words: the index, transposition or reshape that leads from the whole of a buffer to a slot on it."""

from collections.abc import Sequence

from tapegrad.engine.tape.snapshot import Slot

Layout = tuple[int, tuple[int, ...], tuple[int, ...]]  # offset, extents, strides


def layout(slot: Slot) -> Layout:
    """Where the elements of a slot lie in its buffer."""
    return slot.offset, slot.shape, slot.strides


def _significant(view: Layout) -> Layout:
    """A layout without the strides that nothing is stepped over by."""
    offset, shape, strides = view
    return offset, shape, tuple(s if e > 1 else 0 for e, s in zip(shape, strides, strict=True))


def same(view: Layout, other: Layout) -> bool:
    """Whether two layouts name the same elements in the same places of an array."""
    return _significant(view) == _significant(other)


def describe_view(base: Layout, view: Layout) -> str:
    """What leads from `base`, for which a name stands, to `view`: ``[1:]``, ``.T``; "" if that is all of it."""
    if same(base, view):
        return ""
    for attempt in (_index, _transposition, _reshape, _reordered, _expanded, _repetition):
        found = attempt(base, view)
        if found:
            return found
    offset, shape, strides = view
    return f".view(offset={offset}, shape={shape}, strides={strides})"


def _starts(base: Layout, offset: int) -> list[int] | None:
    """Coordinates of the element of `base` at a byte offset."""
    starts = [0] * len(base[1])
    left = offset - base[0]
    for d in sorted(range(len(starts)), key=lambda d: -abs(base[2][d])):
        stride = base[2][d]
        if stride > 0 and base[1][d] > 1:
            starts[d] = min(left // stride, base[1][d] - 1)
            left -= starts[d] * stride
    return starts if left == 0 and min(starts, default=0) >= 0 else None


def _index(base: Layout, view: Layout) -> str:
    """A basic index with integers and slices; "" if there is none."""
    starts = _starts(base, view[0])
    if starts is None or 0 in view[1] or len(view[1]) > len(base[1]):
        return ""
    parts: list[str] = []
    to_come = list(zip(view[1], view[2], strict=True))
    for d, (start, extent, stride) in enumerate(zip(starts, base[1], base[2], strict=True)):
        left = len(starts) - d
        part = _slice(start, extent, stride, *to_come[0]) if to_come else ""
        if part and (left == len(to_come) or to_come[0][0] > 1):
            parts.append(part)
            to_come.pop(0)
        else:
            parts.append(str(start))
    if to_come:
        return ""
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return f"[{', '.join(parts)}]"


def _slice(start: int, extent: int, stride: int, count: int, step: int) -> str:
    """The slice of a dimension that takes `count` elements `step` bytes apart; "" if there is none."""
    by = 1 if count == 1 else step // stride if stride else 0
    last = start + by * (count - 1)
    if by == 0 or (by * stride != step and count > 1) or not 0 <= last < extent:
        return ""
    if by < 0:
        return f"{'' if start == extent - 1 else start}:{last - 1 if last else ''}:{by}"
    first = str(start) if start else ""
    stop = "" if last + by >= extent else str(last + 1)
    return f"{first}:{stop}" + (f":{by}" if by > 1 else "")


def _transposition(base: Layout, view: Layout) -> str:
    """The order of dimensions in which all of the base is seen; "" if it is not."""
    order = _order(base, view)
    if order is None:
        return ""
    return ".T" if order == list(range(len(order)))[::-1] else f".transpose({_listed(order)})"


def _order(base: Layout, view: Layout) -> list[int] | None:
    if view[0] != base[0] or len(view[1]) != len(base[1]):
        return None
    left = list(range(len(base[1])))
    order = []
    for extent, stride in zip(view[1], view[2], strict=True):
        fitting = [d for d in left if base[1][d] == extent and (base[2][d] == stride or extent == 1)]
        if not fitting:
            return None
        order.append(fitting[0])
        left.remove(fitting[0])
    return order


def _packed(extents: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Extents and strides with neighbours merged that are walked through as one dimension."""
    loops: list[tuple[int, int]] = []
    for extent, stride in zip(extents, strides, strict=True):
        if extent == 1:
            continue
        if loops and loops[-1][1] == extent * stride:
            loops[-1] = (loops[-1][0] * extent, stride)
        else:
            loops.append((extent, stride))
    return loops


def _reshape(base: Layout, view: Layout) -> str:
    """The shape in which all of the base is seen, in the same order; "" if it is not."""
    if view[0] != base[0] or _packed(*base[1:]) != _packed(*view[1:]):
        return ""
    return f".reshape({_listed(view[1])})"


def _reordered(base: Layout, view: Layout) -> str:
    """An index or a reshape, and an order of dimensions; "" if there are none."""
    offset, shape, strides = view
    order = sorted(range(len(shape)), key=lambda d: -abs(strides[d]))
    ordered = (offset, tuple(shape[d] for d in order), tuple(strides[d] for d in order))
    found = _index(base, ordered) or _reshape(base, ordered)
    return found and found + _transposition(ordered, view)


def _expanded(base: Layout, view: Layout) -> str:
    """An index, and a reshape that puts in dimensions of extent 1; "" if there are none."""
    offset, shape, strides = view
    kept = [d for d, extent in enumerate(shape) if extent != 1]
    found = _index(base, (offset, tuple(shape[d] for d in kept), tuple(strides[d] for d in kept)))
    return found and f"{found}.reshape({_listed(shape)})"


def _listed(extents: Sequence[int]) -> str:
    return ", ".join(map(str, extents))


def _repetition(base: Layout, view: Layout) -> str:
    """The view without dimensions of stride 0, and the shape to which it is broadcast; "" if nothing is repeated."""
    offset, shape, strides = view
    repeated = [e > 1 and s == 0 for e, s in zip(shape, strides, strict=True)]
    if not any(repeated):
        return ""
    lead = 0
    while lead < len(repeated) and repeated[lead]:
        lead += 1
    once = tuple(1 if r else e for e, r in zip(shape[lead:], repeated[lead:], strict=True))
    return f"{describe_view(base, (offset, once, strides[lead:]))}.broadcast_to({_listed(shape)})"
