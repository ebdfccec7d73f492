"""Arrays that are read where they are needed: small to send, and described by where they come from."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.pytree import flatten, unflatten


@dataclass(frozen=True)
class MappedArray:
    """Array in a file, in C order, that is mapped into memory."""

    path: str
    dtype: str
    offset: int  # bytes
    shape: tuple[int, ...]

    def load(self) -> np.ndarray:
        """Map the array, read-only."""
        if not math.prod(self.shape):
            return np.empty(self.shape, self.dtype)
        return np.asarray(np.memmap(self.path, self.dtype, "r", self.offset, self.shape))

    def __str__(self) -> str:
        return f"{self.path}, bytes from {self.offset}"


@dataclass(frozen=True)
class LazyRows:
    """Rows of an array that is no array of NumPy's, such as one of zarr's."""

    array: Any
    first: int
    end: int

    def load(self) -> np.ndarray:
        """Read the rows."""
        return np.asarray(self.array[self.first : self.end])

    def __str__(self) -> str:
        return f"{self.array!r}, rows {self.first} to {self.end}"


@dataclass(frozen=True)
class ParquetRowGroup:
    """Row group of a Parquet file."""

    path: str
    number: int
    columns: tuple[str, ...] | None

    def load(self) -> dict[str, np.ndarray]:
        """Read the columns, an array each."""
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415  an extra

        with ParquetFile(self.path) as file:
            table = file.read_row_group(self.number, self.columns and list(self.columns))
        return {name: np.asarray(table[name]) for name in table.column_names}

    def __str__(self) -> str:
        return f"{self.path}, row group {self.number}"


@dataclass(frozen=True)
class DaskPartition:
    """Partition of a Dask array or dataframe; of the latter its columns."""

    delayed: Any

    def load(self) -> Any:
        """Compute the partition."""
        return _columns_of(self.delayed.compute())

    def __str__(self) -> str:
        return str(self.delayed.key)


LAZY = (MappedArray, LazyRows, ParquetRowGroup, DaskPartition)


def load(part: Any) -> Any:
    """Return a part with arrays in place of all that is read."""
    return with_leaves(part() if callable(part) else part, _read)


def portable(part: Any) -> Any:
    """Return a part to be pickled: files that are mapped into memory are mapped again where it is used."""
    return part if callable(part) else with_leaves(part, _mapped)


def described(part: Any) -> str:
    """Return where a part comes from; nothing for arrays in memory."""
    if not callable(part):
        leaves = flatten(portable(part))[0]
        return "; ".join(dict.fromkeys(str(leaf) for leaf in leaves if isinstance(leaf, LAZY)))
    keywords = getattr(part, "keywords", {})
    arguments = [*map(repr, getattr(part, "args", ())), *(f"{k}={v!r}" for k, v in keywords.items())]
    function = getattr(part, "func", part)
    name = getattr(function, "__qualname__", repr(function))
    return f"{name}({', '.join(arguments)})" if arguments else name


def with_leaves(part: Any, change: Callable[[Any], Any]) -> Any:
    """Return a structure with other leaves; a leaf may become a structure."""
    leaves, definition = flatten(part)
    return unflatten(definition, list(map(change, leaves)))


def _read(leaf: Any) -> Any:
    if isinstance(leaf, LAZY):
        return leaf.load()
    return np.asarray(leaf) if isinstance(leaf, np.memmap) else _columns_of(leaf)


def _columns_of(value: Any) -> Any:
    """Return the columns of a table of pandas as a dict of arrays; other values as they are."""
    if not (hasattr(value, "columns") and hasattr(value, "to_numpy")):
        return value
    return {name: value[name].to_numpy() for name in value.columns}


def _mapped(leaf: Any) -> Any:
    """Return the place of an array in its file, if it is a part of one that is mapped and shared, in C order."""
    if not isinstance(leaf, np.memmap):
        return leaf
    if leaf.filename is None or leaf.mode == "c" or not leaf.flags.c_contiguous:
        return np.asarray(leaf)
    whole: Any = leaf
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    offset = whole.offset + leaf.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return MappedArray(str(Path(leaf.filename).absolute()), leaf.dtype.str, offset, leaf.shape)
