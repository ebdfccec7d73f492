"""Names of NumPy without a gradient: types, settings, indices, files and modules.

Code written for NumPy finds them here under another import. NumPy dispatches some of them: `OF_INTEGERS` and
`TO_FILES` give their results for Tensors. Functions in `_OF_PLAIN_ARRAYS`, and those of the modules, compute with
plain arrays and refuse all Tensors but constants.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import contents, mapped
from tapegrad.frontend.functions.reductions.predicates import of_integers

_TYPES = (
    "bool", "bool_", "broadcast", "byte", "bytes_", "cdouble", "character", "clongdouble", "complex128", "complex64",
    "complexfloating", "csingle", "datetime64", "double", "dtype", "finfo", "flatiter", "flexible", "float16",
    "float32", "float64", "floating", "generic", "half", "iinfo", "inexact", "int16", "int32", "int64", "int8", "int_",
    "intc", "integer", "intp", "long", "longdouble", "longlong", "matrix", "memmap", "ndarray", "nditer", "number",
    "object_", "poly1d", "recarray", "record", "short", "signedinteger", "single", "str_", "timedelta64", "ubyte",
    "ufunc", "uint", "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ulong", "ulonglong", "unsignedinteger",
    "ushort", "void",
)  # fmt: skip
_VALUES = ("False_", "ScalarType", "True_", "euler_gamma", "little_endian", "sctypeDict", "typecodes")
_QUESTIONS = (
    "base_repr", "binary_repr", "broadcast_shapes", "format_float_positional", "format_float_scientific", "isdtype",
    "isfortran", "isscalar", "issubdtype", "iterable", "mintypecode", "promote_types", "typename",
)  # fmt: skip
_SETTINGS = (
    "errstate", "get_printoptions", "getbufsize", "geterr", "geterrcall", "printoptions", "set_printoptions",
    "setbufsize", "seterr", "seterrcall",
)  # fmt: skip
_OF_INTEGERS = ("ix_", "ravel_multi_index", "unravel_index")
_INDICES = (
    "diag_indices", "index_exp", "indices", "mask_indices", "mgrid", "ndenumerate", "ndindex", "ogrid", "s_",
    "tril_indices", "triu_indices", *_OF_INTEGERS,
)  # fmt: skip
_TO_FILES = ("save", "savetxt", "savez", "savez_compressed")
_FROM_FILES = (
    "fromfile",
    "fromregex",
    "fromstring",
    "genfromtxt",
    "loadtxt",
)  # without `load`: that of this package also reads compiled functions
_OF_PLAIN_ARRAYS = (
    "asmatrix", "bmat", "busday_count", "busday_offset", "busdaycalendar", "datetime_as_string", "datetime_data",
    "frompyfunc", "i0", "is_busday", "isnat", "nested_iters", "packbits", "polydiv", "unpackbits",
)  # fmt: skip
MODULES = (
    "char", "dtypes", "emath", "exceptions", "lib", "ma", "random", "rec", "strings",
)  # fmt: skip
_NOW = (
    *_TYPES, *_VALUES, *_QUESTIONS, *_SETTINGS, *_INDICES, *_TO_FILES, *_FROM_FILES, *_OF_PLAIN_ARRAYS
)  # fmt: skip
NAMES = (*_NOW, *MODULES)
OWN: dict[str, Any] = {
    name: getattr(np, name) for name in _NOW
}  # NumPy imports most of its modules late, too


def _of_constants(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a NumPy function that takes constants; any other Tensor raises with a hint."""

    @functools.wraps(function)
    def of_constants(*args: Any, **kwargs: Any) -> Any:
        return function(*mapped(contents, args), **{k: mapped(contents, v) for k, v in kwargs.items()})

    return of_constants


OF_INTEGERS: dict[str, Callable[..., Any]] = {name: of_integers(getattr(np, name)) for name in _OF_INTEGERS}
TO_FILES: dict[str, Callable[..., Any]] = {name: _of_constants(getattr(np, name)) for name in _TO_FILES}
