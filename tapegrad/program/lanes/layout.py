"""Layouts of the lanes of a buffer, and views of them.

LAST: lanes are the last dimension, so that an element of all instances is one line. FIRST: each instance's buffer is
whole, one behind another. A buffer that all instances share has no lanes.
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
        How many there are.
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
        """Bytes from an element of one lane to the same of the next."""
        return {SHARED: 0, LAST: itemsize, FIRST: self.bytes}[self.kind]

    def stretched(self, bytes_: int) -> int:
        """Bytes between two elements of a lane that are so many bytes apart in the buffer of one instance."""
        return bytes_ * self.lanes if self.kind == LAST else bytes_

    def widened(self, view: View, behind: int = 0) -> View:
        """Return a view of all lanes; the lanes are a dimension in front of the last `behind` ones."""
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
