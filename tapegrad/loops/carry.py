"""Carry of a loop: its structure, and the leaves that go from one iteration to the next."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.array_checks import check_dtype, refuse_complex
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.loops.body import LoopBody
from tapegrad.loops.run import FlatLoop
from tapegrad.pytree import flatten, paths, unflatten


class LeafStructure(NamedTuple):
    """Structure of leaves, some of which are `None` and have no part in a loop."""

    definition: Any
    is_none: tuple[bool, ...]

    def built(self, leaves: Sequence[Any]) -> Any:
        """Return the structure with these leaves."""
        given = iter(leaves)
        return unflatten(self.definition, [None if none else next(given) for none in self.is_none])


def taken_apart(value: Any) -> tuple[list[Any], LeafStructure]:
    """Return the leaves of a value that are not `None`, and its structure."""
    leaves, definition = flatten(value)
    structure = LeafStructure(definition, tuple(leaf is None for leaf in leaves))
    return [leaf for leaf in leaves if leaf is not None], structure


class Carry:
    """Structure of a carry, with its first values.

    Parameters
    ----------
    name
        The function that messages name.
    init
        The first carry.
    """

    def __init__(self, name: str, init: Any) -> None:
        self._name = name
        leaves, self._structure = taken_apart(init)
        self._paths = [
            path for path, leaf in zip(paths(init), flatten(init)[0], strict=True) if leaf is not None
        ]
        self._weak = [type(leaf) in (int, float, complex) for leaf in leaves]
        self._first = [leaf_of(leaf) for leaf in leaves]

    @property
    def count(self) -> int:
        """Number of leaves."""
        return len(self._first)

    def built(self, leaves: Sequence[Any]) -> Any:
        """Return leaves in the structure of the carry."""
        return self._structure.built(leaves)

    def leaves_of(self, carry: Any, function: str) -> list[Any]:
        """Return the leaves of the carry that a function has returned; raise if it has another structure."""
        leaves, structure = taken_apart(carry)
        if structure != self._structure:
            raise TypeError(
                f"{self._name}: {function} returned a carry of another structure, {_shown(carry)} with"
                f" {len(leaves)} leaves, than it was given, with {self.count} leaves ({', '.join(self._paths)})"
            )
        return [leaf_of(leaf) for leaf in leaves]

    def run(self, loop: FlatLoop, sequences: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run a loop that begins with this carry.

        Python numbers take the dtype that the first iteration gives them, as in an assignment.
        """
        try:
            return loop(self._first, sequences, self._check)
        except _OtherDtypesError as error:
            for k, dtype in error.dtypes.items():
                self._first[k] = np.asarray(self._first[k], dtype)
        return loop(self._first, sequences, self._check)

    def _check(self, body: LoopBody) -> None:
        """Raise if an iteration returns a carry of other shapes or dtypes than it was given."""
        dtypes = {}
        for k, path in enumerate(self._paths):
            given, returned = body.taken[k], body.returned[k]
            if (given.shape, given.dtype) == (returned.shape, returned.dtype):
                continue
            if given.shape == returned.shape and self._weak[k] and _holds(given.dtype, returned.dtype):
                dtypes[k] = returned.dtype
                continue
            raise TypeError(
                f"{self._name}: the carry must keep its shapes and dtypes, but {body.name} was given"
                f" {path or 'it'} as {given.dtype} {given.shape} and returned {returned.dtype} {returned.shape};"
                f" make the first value like the result, as in np.zeros({returned.shape}, {str(returned.dtype)!r})"
            )
        if dtypes:
            raise _OtherDtypesError(dtypes)


class _OtherDtypesError(Exception):
    """Raised if Python numbers of the first carry are of other dtypes in the next."""

    def __init__(self, dtypes: dict[int, np.dtype[Any]]) -> None:
        super().__init__(dtypes)
        self.dtypes = dtypes


def _holds(given: np.dtype[Any], returned: np.dtype[Any]) -> bool:
    return returned.kind in "fc" and "ifc".find(given.kind) <= "ifc".index(returned.kind)


def _shown(value: Any) -> str:
    return type(value).__name__


def leaf_of(leaf: Any) -> Any:
    """Return a leaf of a carry, of sequences or of results as a Tensor, or as an array of a dtype of the engine."""
    if is_tensor(leaf):
        return leaf
    if holds_tensors(leaf):
        return as_numbers(leaf, "a loop")
    array = np.asarray(leaf)
    check_dtype(array.dtype, "a loop", takes_complex=True)
    if array.dtype not in DTYPE_CODES and array.dtype.kind in "iu":
        array = array.astype(np.int64)
    return array


def real_leaf_of(leaf: Any, what: str) -> Any:
    """Return a leaf as `leaf_of` does; raise for complex numbers, naming what it is."""
    value = leaf_of(leaf)
    if value.dtype.kind == "c":
        refuse_complex(value.dtype, what)
    return value


def snapshots_of(name: str, checkpoint: Any, length: int) -> int:
    """Return how many carries the argument `checkpoint` lets the reverse sweep store at most, 0 for its own choice."""
    if checkpoint == "auto":
        return 0
    if checkpoint == "sqrt" and length >= 0:
        # the fewest of which C(count + 2, 2) is no less than the length: no iteration is run again twice
        return max(1, math.ceil((math.sqrt(8 * length + 1) - 3) / 2))
    if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint > 0:
        return checkpoint
    known = '"auto", "sqrt" or a number of carries' if length >= 0 else '"auto" or a number of carries'
    raise ValueError(f"{name}: checkpoint must be {known}, not {checkpoint!r}")
