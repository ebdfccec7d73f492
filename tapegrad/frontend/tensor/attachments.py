"""Attachments of buffers of the eager tape: gradients that are Tensors, and hooks.

A buffer with attachments carries a flag. A new buffer at its index lacks the flag, so that attachments of a released
buffer are never taken for its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tapegrad.engine.codegen.translator.compiler import make_ready
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.derivatives import subgraph
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.frontend.tensor.modes import EAGER

_HEADER = EAGER.header


@dataclass
class Attachment:
    """Attachment of a buffer.

    Attributes
    ----------
    gradient
        The gradient as a Tensor, in one dimension.
    hooks
        Hooks and the views that they belong to, by registration number.
    """

    gradient: Any = None  # a Tensor
    hooks: dict[int, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)


class RemovableHook(Uncopied):
    """Handle of a gradient hook; returned by `Tensor.register_hook`."""

    def __init__(self, hooks: dict[int, Any], number: int) -> None:
        self._hooks = hooks
        self._number = number

    def remove(self) -> None:
        """Remove the hook. To call it again does nothing.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([3.0, 4.0])
        >>> handle = x.register_hook(lambda g: g / 10)
        >>> handle.remove()
        >>> (x**2).backward()
        >>> x.grad
        array([6., 8.])
        """
        self._hooks.pop(self._number, None)


attachments: dict[int, Attachment] = {}
_MAX_UNCHECKED = 256  # attachments that are kept without a check whether their buffers are live


def attachment_of(slot: int) -> Attachment | None:
    """Return the attachments of a slot's buffer."""
    return attachments.get(subgraph.attachment_buffer(_HEADER, slot))


def ensure_attachment(slot: int) -> Attachment:
    """Return the attachments of a slot's buffer, a new one if there is none."""
    known = attachment_of(slot)
    if known is None:
        if len(attachments) >= _MAX_UNCHECKED:
            _forget_outlived()
        # for Tensors that are garbage collected
        make_ready(subgraph.mark_attachment, subgraph.attachment_buffer, subgraph.tensor_refs, slots.is_used)
        subgraph.mark_attachment(_HEADER, slot, 1)
        known = attachments[subgraph.attachment_buffer(_HEADER, slot)] = Attachment()
    return known


def any_hooks() -> bool:
    """Return whether any hook is registered."""
    return any(attachment.hooks for attachment in attachments.values())


def _forget_outlived() -> None:
    for buffer in [buffer for buffer in attachments if not subgraph.has_attachment(_HEADER, buffer)]:
        del attachments[buffer]


def forget(slot: int) -> Attachment | None:
    """Remove and return the attachments of a slot's buffer."""
    buffer = subgraph.attachment_buffer(_HEADER, slot)
    if buffer == NONE:
        return None
    subgraph.mark_attachment(_HEADER, slot, 0)
    return attachments.pop(buffer, None)


def last_tensor_dropped(slot: int) -> None:
    """Release the gradient, and the hooks if no instruction uses the buffer."""
    attachment = attachment_of(slot)
    if attachment is None or subgraph.tensor_refs(_HEADER, slot) > 1:
        return
    attachment.gradient = None
    if not (attachment.hooks and slots.is_used(_HEADER, slot)):
        forget(slot)
