"""Tables and labelled arrays of pandas and xarray: all that is in one, for comparison."""

from typing import Any

import numpy as np

from tapegrad.foreign import is_pandas
from tapegrad.frontend.tensor.static_keys import IdentityKey

_BY_IDENTITY: Any = object.__eq__


def contents(table: Any) -> tuple[Any, ...]:
    """Return what a table or a labelled array consists of: equal again if nothing in it has changed."""
    return _of_pandas(table) if is_pandas(table) else _of_xarray(table)


def _of_pandas(table: Any) -> tuple[Any, ...]:
    return (_of_columns(table), _part(getattr(table, "name", None)), _part(getattr(table, "attrs", None)))


def _of_columns(table: Any) -> tuple[Any, ...]:
    if table.ndim == 1:
        labels = (_column(table.index.array),) if hasattr(table, "index") else ()
        return (*labels, _column(table.array))
    columns = [table.iloc[:, k].array for k in range(table.shape[1])]
    return tuple(_column(part) for part in (table.index.array, table.columns.array, *columns))


def _column(array: Any) -> Any:
    """Return what a column consists of, by what a pickle of it would hold: not all of pandas's arrays have a dict."""
    state = array.__reduce_ex__(2)[2:]
    return _part(state if state else array)


def _of_xarray(labelled: Any) -> tuple[Any, ...]:
    if hasattr(labelled, "variables"):
        variables = dict(labelled.variables)
    else:
        variables = {"": getattr(labelled, "variable", labelled), **getattr(labelled, "coords", {})}
    parts = tuple((name, each.dims, _part(each.data), _part(each.attrs)) for name, each in variables.items())
    return (parts, _part(getattr(labelled, "name", None)), _part(labelled.attrs))


def _part(value: Any) -> Any:
    """Return a key that stays equal only if nothing has changed: the bytes of an array."""
    if isinstance(value, tuple | list):
        return tuple(map(_part, value))
    if isinstance(value, dict):
        return tuple((name, _part(part)) for name, part in value.items())
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype.hasobject else value.tobytes()
    return IdentityKey(value) if type(value).__eq__ is _BY_IDENTITY else value
