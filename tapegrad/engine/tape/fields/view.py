"""A view: where the elements of an array lie in a buffer. `kernels.language.strided` says the same to compiled code."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class View(NamedTuple):
    """View of a buffer: shape, dtype, and offset and strides in bytes."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def in_c_order(cls, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int = 0) -> "View":
        """Return a view of contiguous elements in C order."""
        strides, step = [], dtype.itemsize
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        return cls(offset, shape, tuple(reversed(strides)), dtype)

    def repeated(self, times: int, step: int) -> "View":
        """Return the view of so many views like this one, each `step` bytes further than the one before."""
        return self._replace(shape=(times, *self.shape), strides=(step, *self.strides))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def bounds(self) -> tuple[int, int]:
        """First byte of the elements in the buffer, and one past the last. They are equal if there are none."""
        if 0 in self.shape:
            return self.offset, self.offset
        steps = [stride * (extent - 1) for extent, stride in zip(self.shape, self.strides, strict=True)]
        below, above = sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)
        return self.offset + below, self.offset + above + self.itemsize

    @property
    def contiguous(self) -> bool:
        """True if the elements are contiguous in C order. A view without elements may have any strides."""
        step = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return 0 in self.shape
            step *= extent
        return True

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, 0 along axes that nothing is stepped over."""
        return tuple(
            stride if extent > 1 else 0 for extent, stride in zip(self.shape, self.strides, strict=True)
        )

    @property
    def overlaps(self) -> bool:
        """True if the view shows an element more than once, as in a broadcast."""
        return 0 in self.strides and any(
            stride == 0 and extent > 1 for extent, stride in zip(self.shape, self.strides, strict=True)
        )

    def as_strided(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> "View":
        """Another view with elements of the same dtype."""
        return View(offset, shape, strides, self.dtype)

    def select_axes(self, axes: Sequence[int]) -> "View":
        """Return the view with some of its axes, in this order."""
        return self._replace(
            shape=tuple(self.shape[d] for d in axes), strides=tuple(self.strides[d] for d in axes)
        )

    def covers(self, bytes_: int) -> bool:
        """Return whether the view is the whole of a buffer of so many bytes, in C order."""
        return self.nbytes == bytes_ and self.contiguous
