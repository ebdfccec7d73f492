"""Layouts of the lanes of a buffer, and views over lanes.

LAST: lanes are the last dimension, so that an element of all instances is one line. FIRST: lanes are the first
dimension, so that the buffer of each instance is contiguous. SHARED: the buffer is unbatched, and has no lanes.
"""

from typing import NamedTuple

from tapegrad.engine.tape.fields.view import View

SHARED, LAST, FIRST = "shared", "last", "first"


class Layout(NamedTuple):
    """Layout of the lanes of a buffer.

    Attributes
    ----------
    kind
        SHARED, LAST or FIRST.
    lanes
        Number of lanes.
    bytes
        Bytes of the buffer of one instance.
    """

    kind: str
    lanes: int
    bytes: int

    @property
    def all_bytes(self) -> int:
        """Bytes of the whole buffer."""
        return self.bytes if self.kind == SHARED else self.bytes * self.lanes

    def step(self, itemsize: int) -> int:
        """Return the bytes from an element of one lane to the same element of the next lane."""
        return {SHARED: 0, LAST: itemsize, FIRST: self.bytes}[self.kind]

    def stretched(self, bytes_: int) -> int:
        """Return an offset or a stride over lanes, given that in the buffer of one instance."""
        return bytes_ * self.lanes if self.kind == LAST else bytes_

    def widened(self, view: View, behind: int = 0) -> View:
        """Return a view of all lanes, with the lanes as a dimension in front of the last `behind` ones."""
        missing = max(0, behind - view.ndim)
        shape = (1,) * missing + view.shape
        strides = (0,) * missing + tuple(map(self.stretched, view.strides))
        at = len(shape) - behind
        return View(
            self.stretched(view.offset),
            (*shape[:at], self.lanes, *shape[at:]),
            (*strides[:at], self.step(view.itemsize), *strides[at:]),
            view.dtype,
        )
