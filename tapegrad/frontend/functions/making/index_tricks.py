"""``r_[...]`` and ``c_[...]``: join the entries between the brackets, as rows or as columns."""

from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import Tensor

_NUMBERS = (int, float)  # weak: they take the dtype of the others


class Concatenator:
    """Joins Tensors, arrays, numbers and ranges that are written as an index: ``r_[0.0, x, 1:4]``.

    `c_` joins along the last axis, and takes vectors as columns. As in NumPy, a first entry ``"axis,ndim,start"`` says
    along which axis to join, how many dimensions each entry has at least, and where its own begin among them.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.r_[0.0, tg.ones(2), 5:7]
    Tensor([0., 1., 1., 5., 6.])
    >>> tg.c_[tg.zeros(2), tg.ones(2)]
    Tensor([[0., 1.],
            [0., 1.]])
    """

    def __init__(self, name: str, axis: int = 0, ndmin: int = 1, start: int = -1) -> None:
        self._name, self._axis, self._ndmin, self._start = name, axis, ndmin, start

    def __repr__(self) -> str:
        return f"tapegrad.{self._name}"

    def __getitem__(self, key: Any) -> Tensor:
        entries = key if isinstance(key, tuple) else (key,)
        if entries and isinstance(entries[0], str):
            return self._directed(entries[0])[entries[1:]]
        pieces = [each if type(each) in _NUMBERS else self._piece(each) for each in entries]
        kinds = [piece if type(piece) in _NUMBERS else piece.dtype for piece in pieces]
        dtype = np.result_type(*kinds) if kinds else None
        return concatenate(
            [self._placed(as_numbers(piece, self._name)) for piece in pieces], self._axis, dtype=dtype
        )

    def _directed(self, directive: str) -> "Concatenator":
        """Return a concatenator with the numbers of a directive."""
        try:
            numbers = [int(number) for number in directive.split(",")]
        except ValueError:
            raise UnsupportedError(
                f"{self._name}: {directive!r} asks for a numpy.matrix, which is not supported; write 'axis,ndim,start'"
            ) from None
        return Concatenator(self._name, *numbers, *(self._axis, self._ndmin, self._start)[len(numbers) :])

    def _piece(self, entry: Any) -> Tensor:
        """Return an entry with its dimensions in position; a range as a vector."""
        if isinstance(entry, str):
            raise ValueError(f"{self._name}: a directive, {entry!r}, must be the first entry")
        return self._placed(as_numbers(np.r_[entry] if isinstance(entry, slice) else entry, self._name))

    def _placed(self, x: Tensor) -> Tensor:
        """Add the missing dimensions of extent 1 around those of an entry."""
        missing = self._ndmin - x.ndim
        if missing <= 0:
            return x
        before = missing if self._start == -1 else self._start % (missing + 1)
        return reshape(x, (1,) * before + x.shape + (1,) * (missing - before))


r_ = Concatenator("r_")
c_ = Concatenator("c_", -1, 2, 0)
