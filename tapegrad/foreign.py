"""Objects of other libraries: how they are recognised, without importing a library that the program does not use.

`StandIn` is the other way round: a callable under the name of another library's function.
"""

import functools
import importlib
import operator
import sys
import weakref
from collections.abc import Callable
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


def has_own_operators(value: Any) -> bool:
    """Return whether the class of a value, which is no array, asks for the operators of arrays by NumPy's attributes.

    Such are quantities with units.
    """
    cls = type(value)
    if hasattr(cls, "__array__"):
        return False
    return hasattr(cls, "__array_ufunc__") or getattr(cls, "__array_priority__", 0) > 0


def is_masked(value: Any) -> bool:
    """Return whether a value is a masked array of NumPy."""
    return _is_of(value, "numpy.ma", "MaskedArray")


def is_linear_operator(value: Any) -> bool:
    """Return whether a value is a ``scipy.sparse.linalg.LinearOperator``."""
    return _is_of(value, "scipy.sparse.linalg", "LinearOperator")


def is_distribution(value: Any) -> bool:
    """Return whether a value is a distribution of SciPy, or of a user's class that inherits from one."""
    return _is_of(value, "scipy.stats", "rv_continuous", "rv_discrete")


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


class StandIn:
    """Callable that stands under the name of a function or a class of another library for a while.

    It equals that in comparisons and in tables of functions, those of Numba included, has its attributes and instances,
    and is pickled as it. `original` tells them apart from all else.

    Parameters
    ----------
    function
        What it stands for.
    """

    __slots__ = ("__dict__",)
    __wrapped__: Callable[..., Any]

    def __new__(cls, *arguments: Any) -> Any:
        """Make one that weak references can be made to if they can be to what it stands for.

        Numba's tables of functions have a weak reference in place of a function, where there can be one.
        """
        function = next(each for each in arguments if not isinstance(each, str))
        return super().__new__(_referable(cls) if _is_referable(function) else cls)  # type: ignore[arg-type]

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.__wrapped__ == original(other))

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __mro_entries__(self, bases: Any) -> tuple[Any, ...]:
        return (self.__wrapped__,)

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.__wrapped__.__module__, self.__wrapped__.__qualname__)


@functools.cache
def _referable(cls: type) -> type:
    return type(cls.__name__, (cls,), {"__slots__": ("__weakref__",), "__module__": cls.__module__})


def _is_referable(value: Any) -> bool:
    try:
        weakref.ref(value)
    except TypeError:
        return False
    return True


def original(value: Any) -> Any:
    """Return the function that a stand-in stands for; of any other value, itself."""
    return vars(value)["__wrapped__"] if issubclass(type(value), StandIn) else value


def _by_name(module: str, name: str) -> Any:
    return original(operator.attrgetter(name)(importlib.import_module(module)))
