"""Parts in the memory of a process, with their signatures."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.runtime.operating_system import memory_bytes
from tapegrad.optimize.sharding.lazy_arrays import LAZY, MappedArray, described, load
from tapegrad.optimize.sharding.recordings import EvaluationPoint, Signature
from tapegrad.optimize.sharding.tree import Value
from tapegrad.pytree import flatten


class Loaded(NamedTuple):
    """A part in memory."""

    part: Any
    signature: Signature


class Store:
    """Parts that a process has, loaded when they are needed, and kept as far as they fit.

    Of parts that are read one after the other, in every evaluation, those that come first are kept and the others read
    again: if the latest were kept, each would be gone when its turn came.

    Parameters
    ----------
    part_of
        Returns a part, as it was given, by its number.
    count
        How many there are.
    keep
        How many bytes of parts that are read are kept. Arrays in memory, and those that are mapped, do not count.

    Attributes
    ----------
    count, keep
        Number of parts, and how many bytes of them are kept.
    """

    def __init__(self, part_of: Callable[[int], Any], count: int, keep: int) -> None:
        self._part_of, self.count, self.keep = part_of, count, keep
        self._loaded: dict[int, Loaded] = {}
        self._bytes = 0

    def loaded(self, number: int) -> Loaded:
        """Return a part."""
        loaded = self._loaded.get(number)
        if loaded is None:
            given = self._part_of(number)
            part = load(given)
            loaded = Loaded(part, Signature.of(part))
            size = _bytes_read(given, part)
            if self._bytes + size <= self.keep:
                self._bytes += size
                self._loaded[number] = loaded
        return loaded

    def value(
        self, evaluate: Callable[..., Value], point: EvaluationPoint, number: int, further: Signature
    ) -> Value:
        """Evaluate a part by a function of the point, the number, the part, and its signature with that of arguments.

        Raises
        ------
        Exception
            What the part has raised, with a note of its number and where it comes from.
        """
        try:
            part, signature = self.loaded(number)
            return evaluate(point, number, part, (signature, further))
        except Exception as error:
            self._note(number, error)
            raise

    def _note(self, number: int, error: BaseException) -> None:
        source = described(self._part_of(number))
        text = f"sharded: in part {number} of {self.count}{source and f' ({source})'}"
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)


def _bytes_read(given: Any, part: Any) -> int:
    """Return the bytes of a part that were read into memory of their own."""
    leaves = flatten(given)[0]
    if not callable(given) and all(
        not isinstance(leaf, LAZY) or isinstance(leaf, MappedArray) for leaf in leaves
    ):
        return 0
    return sum(leaf.nbytes for leaf in flatten(part)[0] if isinstance(leaf, np.ndarray))


def default_keep(processes: int) -> int:
    """Return a quarter of the machine's memory, in bytes, shared by processes."""
    memory = memory_bytes()
    return 1 << 30 if memory is None else memory // (4 * processes)
