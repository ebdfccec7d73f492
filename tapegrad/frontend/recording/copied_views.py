"""Copies of views in one call of the engine, without a Tensor for each view in between."""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.sweep.eager import eager, eager_joining
from tapegrad.engine.tape import slots, views
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.views import END, SLICE
from tapegrad.frontend.tensor.modes import Mode, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_slot
from tapegrad.ops import COPY


def _own_slot(x: Tensor, mode: Mode) -> int:
    """Return the slot of an eager Tensor outside of `detect_anomaly`; NONE for all other values."""
    if mode.observed or x._tape is not mode.tape:
        return NONE
    return x._slot if x._base is None else x._slot_on(mode.tape)


def copied_view(x: Tensor, shape: tuple[int, ...], *steps: tuple[Callable[..., int], Any]) -> Tensor | None:
    """Return a copy, in a shape, of a chain of views: each with its argument, a view of the one before.

    `None` where the engine does not make the copy: the caller then makes a Tensor of each view.
    """
    mode = thread.mode
    header, own = mode.tape.header, _own_slot(x, mode)
    if own < 0 or 0 in shape:
        return None
    seen = own
    for view, argument in steps:
        before, seen = seen, _viewed(header, seen, view, argument)
        if before != own:
            slots.drop(header, before)
        if seen < 0:
            return None
    copy = eager.record_elementwise(header, COPY, seen, NONE, NONE, mode.differentiate)
    if seen != own:
        slots.drop(header, seen)
    if copy < 0:
        return None
    slot = views.view_shape(header, copy, shape)
    slots.drop(header, copy)
    return from_slot(mode.tape, slot) if slot >= 0 else None


def _viewed(header: int, slot: int, view: Callable[..., int], argument: Any) -> int:
    try:
        return view(header, slot, argument)
    except (TypeError, OverflowError):  # not integers of 64 bits
        return NONE


def joined_slices(x: Tensor, axis: int, *limits: tuple[int, int]) -> Tensor | None:
    """Return slices along an axis, concatenated; `None` where the engine does not do it, as in `copied_view`.

    Each slice is a pair of nonnegative limits. The axis is not negative.
    """
    mode = thread.mode
    header, own = mode.tape.header, _own_slot(x, mode)
    if own < 0:
        return None
    before = (SLICE, 0, END, 1) * axis
    parts = tuple([views.view_key(header, own, (*before, SLICE, start, stop, 1)) for start, stop in limits])
    slot = NONE
    if min(parts) >= 0:
        slot = eager_joining.record_joined(header, parts, axis, False, mode.differentiate)
    for part in parts:
        if part >= 0:
            slots.drop(header, part)
    return from_slot(mode.tape, slot) if slot >= 0 else None
