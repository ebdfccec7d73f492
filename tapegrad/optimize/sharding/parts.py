"""Parts of the data: given one by one, or cut from arrays, files and collections."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.optimize.sharding.lazy_arrays import DaskPartition, LazyRows, ParquetRowGroup
from tapegrad.pytree import flatten, paths, unflatten


def parts_of(data: Any, rows: int | None, columns: Sequence[str] | None) -> list[Any]:
    """Return the parts of data.

    Parameters
    ----------
    data
        As for `sharded`.
    rows
        The length of a part along the first axis of the arrays.
    columns
        Columns that are read of a Parquet file; by default all.

    Raises
    ------
    TypeError, ValueError
        For data that have no parts, or not of this length.
    """
    if isinstance(data, str | os.PathLike):
        return _row_groups(Path(data), columns)
    if columns is not None:
        raise TypeError("sharded: columns= is for Parquet files, given by their path")
    leaves, definition = flatten(data)
    if leaves and all(hasattr(leaf, "to_delayed") for leaf in leaves):
        return _partitions(leaves, definition)
    if rows is None and leaves and all(getattr(leaf, "chunks", None) for leaf in leaves):
        rows = leaves[0].chunks[0]
    if rows is not None:
        return _cut(data, rows)
    if isinstance(data, dict | np.ndarray) or not isinstance(data, Iterable):
        raise TypeError(
            f"sharded: the parts are a {type(data).__name__}; pass a sequence of parts, or rows=n to cut arrays into"
            " parts of n rows"
        )
    return _not_empty(list(data))


def _not_empty(parts: list[Any]) -> list[Any]:
    if not parts:
        raise ValueError("sharded: there are no parts")
    return parts


def _cut(data: Any, rows: int) -> list[Any]:
    """Cut each array of a structure along its first axis."""
    if isinstance(rows, bool) or int(rows) != rows or rows < 1:
        raise ValueError(f"sharded: rows={rows!r}; it must be a positive integer")
    leaves, definition = flatten(data)
    lengths: list[Any] = [leaf.shape[0] if getattr(leaf, "shape", ()) else None for leaf in leaves]
    if None in lengths or len(set(lengths)) != 1:
        named = ", ".join(f"data{path}: {length}" for path, length in zip(paths(data), lengths, strict=True))
        raise ValueError(
            f"sharded: rows= cuts arrays of one length along their first axes, but they have {named}"
        )
    bounds = range(0, lengths[0], int(rows))
    return _not_empty(
        [unflatten(definition, [_rows(leaf, a, a + bounds.step) for leaf in leaves]) for a in bounds]
    )


def _rows(array: Any, first: int, end: int) -> Any:
    end = min(end, array.shape[0])
    return array[first:end] if isinstance(array, np.ndarray) else LazyRows(array, first, end)


def _partitions(collections: list[Any], definition: Any) -> list[Any]:
    """Return the partitions of Dask collections that are partitioned alike."""
    by_collection = [np.ravel(each.to_delayed()).tolist() for each in collections]
    if len({len(each) for each in by_collection}) != 1:
        counts = ", ".join(str(len(each)) for each in by_collection)
        raise ValueError(
            f"sharded: Dask collections of {counts} partitions; partition them alike, along one axis"
        )
    together = zip(*by_collection, strict=True)
    return _not_empty([unflatten(definition, list(map(DaskPartition, each))) for each in together])


def _row_groups(path: Path, columns: Sequence[str] | None) -> list[Any]:
    """Return the row groups of a Parquet file, or of all files of a folder, in the order of their names."""
    from pyarrow.parquet import read_metadata  # noqa: PLC0415  an extra

    named = None if columns is None else tuple(columns)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    counts: dict[str, int] = {}
    for file in files:
        metadata = read_metadata(file)
        missing = [name for name in named or () if name not in metadata.schema.to_arrow_schema().names]
        if missing:
            raise ValueError(f"sharded: {file} has no columns {', '.join(missing)}")
        counts[str(file.absolute())] = metadata.num_row_groups
    return _not_empty(
        [ParquetRowGroup(file, k, named) for file, count in counts.items() for k in range(count)]
    )
