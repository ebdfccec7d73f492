"""`backward` by the sweep on Tensors, for gradients that are Tensors and under `detect_anomaly`."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import FREED_MEANWHILE, Geometry, GraphInstruction, listed
from tapegrad.autodiff.regions import materialize
from tapegrad.autodiff.tensor_sweeps import active_buffers, walk_back
from tapegrad.engine.sweep.derivatives import subgraph
from tapegrad.engine.tape import memory, slots
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.shape import view_region
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.attachments import Attachment, attachment_of, ensure_attachment
from tapegrad.frontend.tensor.modes import EAGER, eager_mode, no_grad, restoring
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import COPY

_HEADER = EAGER.header


@restoring
def backward_on_tensors(
    root: int, seed: Any, inputs: list[int] | None, create_graph: bool, accumulate: bool, retain_graph: bool
) -> None:
    """Accumulate the gradients of an eager result with respect to the slots `inputs`, or to all Tensors.

    Parameters
    ----------
    root
        Slot of the result.
    seed
        A Tensor or an array of its shape, or 1.0.
    create_graph
        Whether the sweep is recorded, so that the gradients are Tensors that can be differentiated.
    """
    with eager_mode(), listed(EAGER, [root], inputs) as instructions:
        cotangents = Accumulator(EAGER)
        targets = _targets(cotangents, root, instructions, inputs)
        active = None if inputs is None else active_buffers(cotangents, instructions, inputs)
        with nullcontext() if create_graph else no_grad():
            cotangents.add(root, seed)
            walk_back(EAGER, instructions, cotangents, active, create_graph, [root])
        if subgraph.end_sweep(_HEADER, root, retain_graph):
            raise FreedGraphError(FREED_MEANWHILE)
        for slot in targets:
            value = cotangents.of_buffer(slot)
            geometry = cotangents.geometry(slot)
            flat = geometry.flat
            gradient = materialize(0.0 if value is None else value, flat.shape, flat.dtype)
            _accumulate_grad(slot, gradient, create_graph, accumulate)


def _targets(
    cotangents: Accumulator, root: int, instructions: list[GraphInstruction], inputs: list[int] | None
) -> list[int]:
    """Return a slot for each buffer that gets a gradient, zero or not: the buffers of live Tensors in the graph.

    With `inputs`: their buffers only, and only those in the graph.
    """
    found = {cotangents.geometry(root).buffer: root}
    for each in instructions:
        found.update(each.shown)
    if inputs is not None:
        asked = {cotangents.geometry(slot).buffer for slot in inputs}
        found = {buffer: slot for buffer, slot in found.items() if buffer in asked}
    return list(found.values())


def _accumulate_grad(slot: int, gradient: Tensor, create_graph: bool, accumulate: bool) -> None:
    """Add to the gradient of a buffer, or replace it."""
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
    """Drop the gradient of a buffer if it is a Tensor."""
    attachment = attachment_of(slot)
    if attachment is not None:
        attachment.gradient = None


def gradient_tensor(slot: int) -> Tensor | None:
    """Return the gradient of a slot if it is a Tensor, and `None` if it is an array or there is none."""
    attachment = attachment_of(slot)
    if attachment is None or attachment.gradient is None:
        return None
    geometry = Geometry.of(EAGER, slot)
    _merge_native_grad(slot, attachment, geometry)
    gradient: Tensor = attachment.gradient
    return gradient if geometry.view == geometry.flat.view else view_region(gradient, geometry.view)


def _merge_native_grad(slot: int, attachment: Attachment, geometry: Geometry) -> None:
    """Add what compiled sweeps have accumulated since to a gradient that is a Tensor."""
    fields = np.array([geometry.buffer_size, geometry.dtype.itemsize], np.int64)
    whole = slots.view_geometry(_HEADER, slot, 0, id(fields), DTYPE_CODES[geometry.dtype])
    array = show(EAGER, whole, True)
    if array is not None:
        attachment.gradient = attachment.gradient + array.copy().view(attachment.gradient.dtype)
        memory.clear_cotangent(_HEADER, slot, False)
    slots.drop(_HEADER, whole)


def clear_gradient(slot: int, keep: bool) -> None:
    """Set the elements of a slot to zero in a gradient that is a Tensor, which becomes a constant; or drop it."""
    if not keep:
        drop_gradient(slot)
        return
    attachment = ensure_attachment(slot)
    whole = attachment.gradient.data_or_traced().copy()
    attachment.gradient = from_array(whole, constant=True)
    view_region(attachment.gradient, Geometry.of(EAGER, slot).view).data_or_traced()[...] = 0
