"""Parameters of structural ops as 64-bit fields: what the records beside the rows of `structural` share.

An op that has parameters has a record of named integers, which alone states their meaning, number and legal values. The
recorder builds a record, kernels load its fields by the same names, and derivative rules, verifier and printer read it
back from an instruction. Compiled code imports this module and the records, so this module imports nothing of the
package.

In memory a field of type `int` is one integer. A `Region` takes ``2 + 3 * ndim`` integers; a tuple of regions is
preceded by their number.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class OperandView(Protocol):
    """The layout of an operand or a result, as a record of parameters reads it."""

    @property
    def offset(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def contiguous(self) -> bool: ...
    @property
    def bounds(self) -> tuple[int, int]: ...
    def as_strided(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> "OperandView": ...


class Params(Protocol):
    """Record of parameters: a NamedTuple that can be checked against the views of an instruction."""

    def broken(self, operands: Sequence[OperandView], result: OperandView) -> str:
        """Describe a mismatch with the operands and the result; empty if all fits."""


# Integers of a region: the first two, and the first of the extents
OFFSET, NDIM, EXTENTS = range(3)


class Region(NamedTuple):
    """Strided region of a buffer, and the strides of another view in the region's shape; offset and strides in bytes.

    In memory: ``[offset, ndim, extents..., strides..., strides of the other view...]``.
    """

    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    other_strides: tuple[int, ...]

    @property
    def fields(self) -> list[int]:
        return [self.offset, len(self.extents), *self.extents, *self.strides, *self.other_strides]

    @classmethod
    def read(cls, fields: Iterator[int]) -> "Region":
        offset, ndim = next(fields), next(fields)
        extents, strides, others = [tuple([next(fields) for _ in range(ndim)]) for _ in range(3)]
        return cls(offset, extents, strides, others)

    def broken(self, buffer: OperandView, other: OperandView) -> str:
        """Describe a region outside the buffer, or strides that leave the other view; empty if all fits."""
        first, end = buffer.as_strided(self.offset, self.extents, self.strides).bounds
        bytes_ = buffer.size * buffer.itemsize
        if first < 0 or end > bytes_:
            return f"a region from byte {first} to {end} of a buffer of {bytes_}"
        if first == end:
            return ""
        own = other.bounds
        reached = other.as_strided(other.offset, self.extents, self.other_strides).bounds
        if other.size > 0 and own[0] <= reached[0] and reached[1] <= own[1]:
            return ""
        return f"a view of shape {other.shape} is read with strides {self.other_strides} over {self.extents}"


# --- to integers and back --------------------------------------------------------------------------------------


def fields_of(params: Any) -> Sequence[int]:
    """Return the 64-bit fields of a record in their order."""
    record: Any = type(params)
    if _one_field_each(record):
        own: Sequence[int] = params
        return own
    fields: list[int] = []
    for value in params:
        if isinstance(value, Region):
            fields += value.fields
        elif isinstance(value, tuple):
            fields += [len(value), *(field for region in value for field in region.fields)]
        else:
            fields.append(value)
    return fields


@functools.cache
def _one_field_each(record: Any) -> bool:
    return all(kind is int for kind in record.__annotations__.values())


def read(record: type[Any], fields: Sequence[int]) -> Any:
    """Rebuild a record from its 64-bit fields.

    Raises
    ------
    ValueError
        If there are more or fewer integers than the record has.
    """
    left = iter(fields)
    try:
        values = [_value(record.__annotations__[name], left) for name in record._fields]
    except StopIteration:
        raise ValueError(f"{len(fields)} fields are too few for {record.__name__}") from None
    if next(left, None) is not None:
        raise ValueError(f"{len(fields)} fields are too many for {record.__name__}")
    return record(*values)


def _value(kind: Any, fields: Iterator[int]) -> Any:
    """Take a field's value from the remaining integers."""
    if kind is int:
        return next(fields)
    if kind is Region:
        return Region.read(fields)
    # A list: a generator would turn StopIteration into an error.
    return tuple([Region.read(fields) for _ in range(next(fields))])


def field_index(record: type[Any], field: str) -> int:
    """Return the number of the first integer of a field; fields before it take one integer each."""
    at: int = record._fields.index(field)
    assert all(record.__annotations__[name] is int for name in record._fields[:at])
    return at
