"""What Python keeps about buffers of the eager tape: gradients that are Tensors, and hooks.

A buffer with a note carries a flag, which a new buffer in its place does not have: a note that has outlived its
buffer is never taken for that of another.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tapegrad.engine.runtime.compiler import make_ready
from tapegrad.engine.sweep import subgraph
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.layout import NONE
from tapegrad.frontend.modes import EAGER

_HEADER = EAGER.header


@dataclass
class Note:
    """What is kept about a buffer.

    Attributes
    ----------
    gradient
        The gradient as a Tensor, in one dimension.
    hooks
        What is called with the gradient of a view of the buffer, by the numbers under which it was registered.
    """

    gradient: Any = None  # a Tensor
    hooks: dict[int, tuple[Any, Callable[[Any], Any]]] = field(default_factory=dict)


notes: dict[int, Note] = {}
_FEW = 256  # notes that are kept without asking whether their buffers still live


def note_of(slot: int) -> Note | None:
    """The note about a slot's buffer."""
    return notes.get(subgraph.noted_buffer(_HEADER, slot))


def noted(slot: int) -> Note:
    """The note about a slot's buffer, a new one if there is none."""
    known = note_of(slot)
    if known is None:
        if len(notes) >= _FEW:
            _forget_outlived()
        make_ready(
            subgraph.note, subgraph.noted_buffer, subgraph.handles, slots.is_used
        )  # for Tensors that go
        subgraph.note(_HEADER, slot, 1)
        known = notes[subgraph.noted_buffer(_HEADER, slot)] = Note()
    return known


def any_hooks() -> bool:
    """Whether there is a hook at all."""
    return any(note.hooks for note in notes.values())


def _forget_outlived() -> None:
    for buffer in [buffer for buffer in notes if not subgraph.is_noted(_HEADER, buffer)]:
        del notes[buffer]


def forget(slot: int) -> Note | None:
    """Drop the note about a slot's buffer; returns it."""
    buffer = subgraph.noted_buffer(_HEADER, slot)
    if buffer == NONE:
        return None
    subgraph.note(_HEADER, slot, 0)
    return notes.pop(buffer, None)


def last_tensor_goes(slot: int) -> None:
    """Drop what nobody can ask for any more: the gradient, and hooks that no instruction can send one to."""
    note = note_of(slot)
    if note is None or subgraph.handles(_HEADER, slot) > 1:
        return
    note.gradient = None
    if not (note.hooks and slots.is_used(_HEADER, slot)):
        forget(slot)
