"""Objects of other libraries: how they are recognised, without importing a library that the program does not use."""

import sys
from typing import Any


def _is_of(value: Any, library: str, *names: str) -> bool:
    """Return whether a value is an instance of one of a library's classes."""
    module = sys.modules.get(library)
    if module is None:
        return False
    return isinstance(value, tuple([getattr(module, name) for name in names if hasattr(module, name)]))


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse array or a sparse matrix of SciPy."""
    return _is_of(value, "scipy.sparse", "sparray", "spmatrix")


def is_sparse_matrix(value: Any) -> bool:
    """Return whether a value is a sparse matrix of SciPy in the narrow sense, whose ``*`` multiplies matrices."""
    return _is_of(value, "scipy.sparse", "spmatrix")


def is_sparse_tensor(value: Any) -> bool:
    """Return whether a value is a sparse matrix with computed entries: our own, but few programs import it."""
    return _is_of(value, "tapegrad.sparse.arrays", "SparseArray")


def is_masked(value: Any) -> bool:
    """Return whether a value is a masked array of NumPy."""
    return _is_of(value, "numpy.ma", "MaskedArray")


def is_linear_operator(value: Any) -> bool:
    """Return whether a value is a ``scipy.sparse.linalg.LinearOperator``."""
    return _is_of(value, "scipy.sparse.linalg", "LinearOperator")


def is_pandas(value: Any) -> bool:
    """Return whether a value is a column, an index or a table of pandas."""
    return _is_of(value, "pandas", "Series", "DataFrame", "Index")


def is_xarray(value: Any) -> bool:
    """Return whether a value is an array or a collection of arrays of xarray."""
    return _is_of(value, "xarray", "DataArray", "Variable", "Dataset")


def is_data_array(value: Any) -> bool:
    """Return whether a value is one array of xarray."""
    return _is_of(value, "xarray", "DataArray", "Variable")


def is_namespace(value: Any) -> bool:
    """Return whether a value holds the arguments of a command line."""
    return _is_of(value, "argparse", "Namespace")


def is_labelled_array(value: Any) -> bool:
    """Return whether a value is one array with labels: a Series of pandas, or a DataArray of xarray."""
    return _is_of(value, "pandas", "Series") or _is_of(value, "xarray", "DataArray")
