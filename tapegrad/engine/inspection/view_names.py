"""Views as text: the index, transposition or reshape that leads from the whole of a buffer to a slot on it."""

from collections.abc import Sequence

from tapegrad.engine.tape.fields.view import View


def _same_elements(view: View, other: View) -> bool:
    """Return whether two views show the same elements at the same indices."""
    return (view.offset, view.shape, view.steps) == (other.offset, other.shape, other.steps)


def describe_view(base: View, view: View) -> str:
    """Write the expression from `base`, which has a name, to `view`: ``[1:]``, ``.T``; "" if they are equal."""
    if _same_elements(base, view):
        return ""
    for attempt in (_index, _transposition, _reshape, _reordered, _expanded, _repetition):
        found = attempt(base, view)
        if found:
            return found
    return f".view(offset={view.offset}, shape={view.shape}, strides={view.strides})"


def _starts(base: View, offset: int) -> list[int] | None:
    """Return the coordinates of the element of `base` at a byte offset."""
    starts = [0] * len(base.shape)
    left = offset - base.offset
    for d in sorted(range(len(starts)), key=lambda d: -abs(base.strides[d])):
        stride = base.strides[d]
        if stride > 0 and base.shape[d] > 1:
            starts[d] = min(left // stride, base.shape[d] - 1)
            left -= starts[d] * stride
    return starts if left == 0 and min(starts, default=0) >= 0 else None


def _index(base: View, view: View) -> str:
    """Write a basic index with integers and slices; "" if there is none."""
    starts = _starts(base, view.offset)
    if starts is None or 0 in view.shape or len(view.shape) > len(base.shape):
        return ""
    parts: list[str] = []
    to_come = list(zip(view.shape, view.strides, strict=True))
    for d, (start, extent, stride) in enumerate(zip(starts, base.shape, base.strides, strict=True)):
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
    """Write the slice of a dimension that takes `count` elements `step` bytes apart; "" if there is none."""
    by = 1 if count == 1 else step // stride if stride else 0
    last = start + by * (count - 1)
    if by == 0 or (by * stride != step and count > 1) or not 0 <= last < extent:
        return ""
    if by < 0:
        return f"{'' if start == extent - 1 else start}:{last - 1 if last else ''}:{by}"
    first = str(start) if start else ""
    stop = "" if last + by >= extent else str(last + 1)
    return f"{first}:{stop}" + (f":{by}" if by > 1 else "")


def _transposition(base: View, view: View) -> str:
    """Write the order of dimensions in which all of the base is seen; "" if it is not."""
    order = _order(base, view)
    if order is None:
        return ""
    return ".T" if order == list(range(len(order)))[::-1] else f".transpose({_listed(order)})"


def _order(base: View, view: View) -> list[int] | None:
    if view.offset != base.offset or len(view.shape) != len(base.shape):
        return None
    left = list(range(len(base.shape)))
    order = []
    for extent, stride in zip(view.shape, view.strides, strict=True):
        fitting = [d for d in left if base.shape[d] == extent and (base.strides[d] == stride or extent == 1)]
        if not fitting:
            return None
        order.append(fitting[0])
        left.remove(fitting[0])
    return order


def _packed(view: View) -> list[tuple[int, int]]:
    """Return extents and strides, with adjacent dimensions merged if one loop covers both."""
    loops: list[tuple[int, int]] = []
    for extent, stride in zip(view.shape, view.strides, strict=True):
        if extent == 1:
            continue
        if loops and loops[-1][1] == extent * stride:
            loops[-1] = (loops[-1][0] * extent, stride)
        else:
            loops.append((extent, stride))
    return loops


def _reshape(base: View, view: View) -> str:
    """Write the reshape in which all of the base is seen in the same order; "" if it is not."""
    if view.offset != base.offset or _packed(base) != _packed(view):
        return ""
    return f".reshape({_listed(view.shape)})"


def _reordered(base: View, view: View) -> str:
    """Write an index or a reshape, and an order of dimensions; "" if there are none."""
    ordered = view.select_axes(sorted(range(view.ndim), key=lambda d: -abs(view.strides[d])))
    found = _index(base, ordered) or _reshape(base, ordered)
    return found and found + _transposition(ordered, view)


def _expanded(base: View, view: View) -> str:
    """Write an index, and a reshape that adds dimensions of extent 1; "" if there are none."""
    found = _index(base, view.select_axes([d for d, extent in enumerate(view.shape) if extent != 1]))
    return found and f"{found}.reshape({_listed(view.shape)})"


def _listed(extents: Sequence[int]) -> str:
    return ", ".join(map(str, extents))


def _repetition(base: View, view: View) -> str:
    """Write the view without dimensions of stride 0, and its broadcast shape; "" if nothing is repeated."""
    if not view.overlaps:
        return ""
    repeated = [e > 1 and s == 0 for e, s in zip(view.shape, view.strides, strict=True)]
    lead = 0
    while lead < len(repeated) and repeated[lead]:
        lead += 1
    once = tuple(1 if r else e for e, r in zip(view.shape[lead:], repeated[lead:], strict=True))
    source = view._replace(shape=once, strides=view.strides[lead:])
    return f"{describe_view(base, source)}.broadcast_to({_listed(view.shape)})"
