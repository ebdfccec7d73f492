"""`backward` by the sweep on Tensors: for gradients that are Tensors themselves, and where hooks are to be called."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import FREED_MEANWHILE, Geometry, Instruction, listed
from tapegrad.autodiff.regions import full, region_of
from tapegrad.autodiff.tensor_sweeps import active_buffers, walk_back
from tapegrad.engine.sweep import subgraph
from tapegrad.engine.tape import memory, slots
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.arrays import show
from tapegrad.frontend.attachments import Attachment, attachment_of, ensure_attachment
from tapegrad.frontend.modes import EAGER, eager_mode, no_grad, restoring
from tapegrad.frontend.record import unary
from tapegrad.frontend.tensor import Tensor, from_array
from tapegrad.ops import COPY

_HEADER = EAGER.header


@restoring
def sweep(
    root: int, seed: Any, inputs: list[int] | None, create_graph: bool, accumulate: bool, retain_graph: bool
) -> None:
    """Give gradients to the Tensors behind an eager result, those on the slots `inputs` or all.

    Parameters
    ----------
    root
        Slot of the result.
    seed
        A Tensor or an array of its shape, or 1.0.
    create_graph
        Whether the gradients are Tensors that can be differentiated.
    """
    with eager_mode(), listed(EAGER, [root], inputs) as instructions:
        parts = Accumulator(EAGER)
        targets = _targets(parts, root, instructions, inputs)
        active = None if inputs is None else active_buffers(parts, instructions, inputs)
        with nullcontext() if create_graph else no_grad():
            parts.add(root, seed)
            walk_back(EAGER, instructions, parts, active, create_graph, [root])
        if subgraph.end_sweep(_HEADER, root, retain_graph):
            raise FreedGraphError(FREED_MEANWHILE)
        for slot in targets:
            value = parts.whole(slot)
            geometry = parts.geometry(slot)
            gradient = full(0.0 if value is None else value, (geometry.elements,), geometry.dtype)
            _deliver(slot, gradient, create_graph, accumulate)


def _targets(
    parts: Accumulator, root: int, instructions: list[Instruction], inputs: list[int] | None
) -> list[int]:
    """A slot for each buffer that is given a gradient, though it be zero.

    These are the buffers in the graph that a Tensor shows, and of those that were asked for the ones in the graph.
    """
    found = {parts.geometry(root).buffer: root}
    for each in instructions:
        found.update(each.shown)
    if inputs is not None:
        asked = {parts.geometry(slot).buffer for slot in inputs}
        found = {buffer: slot for buffer, slot in found.items() if buffer in asked}
    return list(found.values())


def _deliver(slot: int, gradient: Tensor, create_graph: bool, accumulate: bool) -> None:
    """Add a gradient to what a buffer's Tensors show as theirs, or replace it."""
    if not accumulate:
        memory.clear_cotangent(_HEADER, slot, False)
        drop_gradient(slot)
    if not create_graph:
        array = np.ascontiguousarray(gradient.data_or_traced())
        subgraph.add_cotangent(_HEADER, slot, id(array))
        return
    attachment = ensure_attachment(slot)
    attachment.gradient = (
        unary(COPY, gradient) if attachment.gradient is None else attachment.gradient + gradient
    )


def drop_gradient(slot: int) -> None:
    """Forget a buffer's gradient that is a Tensor."""
    attachment = attachment_of(slot)
    if attachment is not None:
        attachment.gradient = None


def gradient_tensor(slot: int) -> Tensor | None:
    """A slot's gradient if it is a Tensor; `None` if it is an array, or there is none."""
    attachment = attachment_of(slot)
    if attachment is None or attachment.gradient is None:
        return None
    geometry = Geometry.of(EAGER, slot)
    _take_in(slot, attachment, geometry)
    gradient: Tensor = attachment.gradient
    return gradient if len(geometry.shape) == 1 and geometry.whole else region_of(gradient, *geometry.place)


def _take_in(slot: int, attachment: Attachment, geometry: Geometry) -> None:
    """Add a gradient that an ordinary sweep has left since."""
    words = np.array([geometry.elements, geometry.dtype.itemsize], np.int64)
    whole = slots.view_geometry(_HEADER, slot, 0, id(words))
    array = show(EAGER, whole, True)
    if array is not None:
        attachment.gradient = attachment.gradient + array.copy()
        memory.clear_cotangent(_HEADER, slot, False)
    slots.drop(_HEADER, whole)


def clear_gradient(slot: int, keep: bool) -> None:
    """Set a gradient that is a Tensor to zero, a constant, where the slot sees it; or forget it."""
    if not keep:
        drop_gradient(slot)
        return
    attachment = ensure_attachment(slot)
    whole = attachment.gradient.data_or_traced().copy()
    attachment.gradient = from_array(whole, constant=True)
    region_of(attachment.gradient, *Geometry.of(EAGER, slot).place).data_or_traced()[...] = 0
