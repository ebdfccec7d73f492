"""`backward` through custom ops and hooks: the compiled sweep runs from one call of Python to the next."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad.autodiff import hooks
from tapegrad.autodiff.accumulate_grad import drop_gradient
from tapegrad.autodiff.custom import callbacks
from tapegrad.autodiff.graph_view import FREED_MEANWHILE, Geometry, entries_of, id_of, slot_numbers
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language.frame import FIELDS
from tapegrad.engine.status import raise_for
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS
from tapegrad.engine.sweep.derivatives import reverse_segments, subgraph
from tapegrad.engine.sweep.derivatives.subgraph import CALLED, G_FLAGS, G_OPERAND0, G_RESULT, PAUSE
from tapegrad.engine.tape.fields.layout import BUFFERS, E_CALLS, E_FREED, E_KERNEL, NONE
from tapegrad.engine.tape.tape import fields_at
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.tensor.attachments import any_hooks, attachments
from tapegrad.frontend.tensor.modes import EAGER, eager_mode, no_grad, restoring

_HEADER = EAGER.header


@restoring
def backward_in_segments(
    root: int, seed: np.ndarray | None, inputs: list[int] | None, accumulate: bool, retain_graph: bool
) -> None:
    """Accumulate the gradients of an eager result with respect to the slots `inputs`, or to all Tensors.

    Parameters
    ----------
    root
        Slot of the result.
    seed
        An array of its shape and dtype in C order; `None` for ones.
    """
    wanted = slot_numbers(inputs)
    with eager_mode(), entries_of(EAGER, [root], wanted) as entries:
        sweep = _SegmentedSweep(root, entries)
        try:
            sweep.run(seed)
            if subgraph.end_sweep(_HEADER, root, retain_graph):
                raise FreedGraphError(FREED_MEANWHILE)
            sweep.accumulate_grads(wanted, accumulate)
        finally:
            sweep.close()


class _SegmentedSweep:
    """Reverse sweep over listed instructions, with its own cotangents until `accumulate_grads`."""

    def __init__(self, root: int, entries: np.ndarray) -> None:
        self._root, self._entries = root, entries
        self._column = np.zeros(int(EAGER.fields[BUFFERS]), np.int64)  # address of a cotangent, by buffer
        self._left = np.array([len(entries)], np.int64)
        self._complete: set[int] = set()  # buffers whose hooks have seen their cotangents

    def run(self, seed: np.ndarray | None) -> None:
        """Sweep from the root to the leaves."""
        reverse_segments.seed(_HEADER, self._root, id_of(seed), id(self._column))
        missing = np.empty(2, np.int64)
        arguments = (_HEADER, id(self._entries), id(self._column), id(self._left), id(missing))
        while status := reverse_segments.go_back(*arguments):
            if status == E_KERNEL:
                kernel_table.load_code(int(missing[0]), int(missing[1]), 1)
            elif status == E_CALLS:
                self._pause(int(self._left[0]) - 1)
            else:
                _check(status)
        if any_hooks():
            self._complete_leaves()

    def accumulate_grads(self, wanted: np.ndarray | None, accumulate: bool) -> None:
        """Add the cotangents to the gradients of the buffers, or replace the gradients."""
        entries, column = self._entries, self._column
        reverse_segments.deliver(
            _HEADER, self._root, id(entries), len(entries), id(column), id_of(wanted), not accumulate
        )
        if attachments and not accumulate:
            for slot in {self._root, *entries[:, G_RESULT : G_OPERAND0 + 3].ravel().tolist()}:
                if slot >= 0 and column[Geometry.of(EAGER, slot).buffer] == NONE:
                    drop_gradient(slot)

    def close(self) -> None:
        """Release the cotangents that were not accumulated."""
        reverse_segments.drop(_HEADER, self._root, id(self._entries), len(self._entries), id(self._column))

    def _pause(self, k: int) -> None:
        """Call the hooks or the custom op of entry `k`, so that the sweep can continue."""
        entry = self._entries[k].tolist()
        result, flags = entry[G_RESULT], entry[G_FLAGS]
        self._call_hooks(result)
        if flags & CALLED:
            self._call_op(k)
            self._left[0] = k
        else:
            self._entries[k, G_FLAGS] = flags & ~PAUSE

    def _call_op(self, k: int) -> None:
        """Run the vjp of a custom op."""
        frame, outer = np.zeros(FIELDS, np.int64), np.empty(OUTER_FIELDS, np.int64)
        status = reverse_segments.bind(_HEADER, id(self._entries), k, id(self._column), id(frame), id(outer))
        if status == 0:
            callbacks.reverse(frame)
        elif status != reverse_segments.NOTHING_FLOWS:
            _check(status)

    def _complete_leaves(self) -> None:
        self._call_hooks(self._root)
        for row in self._entries.tolist():
            for j in range(3):
                if row[G_FLAGS] >> j & 1:
                    self._call_hooks(row[G_OPERAND0 + j])

    def _call_hooks(self, slot: int) -> None:
        """Call the hooks of a buffer, once its cotangent is complete."""
        buffer = subgraph.attachment_buffer(_HEADER, slot)
        if buffer == NONE or buffer in self._complete:
            return
        self._complete.add(buffer)
        for geometry, hook in hooks.hooks_of(slot):
            cotangent = self._cotangent(slot, geometry)
            with no_grad():
                replacement = hooks.call_hook(hook, cotangent.copy(), geometry)
            if replacement is not None:
                cotangent[...] = replacement.data_or_traced()

    def _cotangent(self, slot: int, geometry: Geometry) -> Any:
        """Return the cotangent of a view, without a copy."""
        flat, view = geometry.flat, geometry.view
        whole = fields_at(
            reverse_segments.fill(_HEADER, slot, id(self._column)), flat.buffer_size, flat.dtype
        )
        if view.dtype != whole.dtype and not view.size:
            return whole[:0].view(view.dtype).reshape(view.shape)
        if view.dtype != whole.dtype:  # complex numbers among floats
            return np.ndarray(view.shape, view.dtype, whole, view.offset, view.strides)
        return as_strided(whole[view.offset // whole.itemsize :], view.shape, view.strides)


def _check(status: int) -> None:
    """Raise the exception of a status of the engine."""
    if status == E_FREED:
        raise FreedGraphError(FREED_MEANWHILE)
    raise_for(status, "backward", [])
