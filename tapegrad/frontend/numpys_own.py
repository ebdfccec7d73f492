"""What is NumPy's own here: types, settings, names, indices and files, of which no gradient is asked.

Code that is written for NumPy finds them under another import. The functions among them that NumPy dispatches are asked
for Tensors by its protocol: `OF_INTEGERS` and `TO_FILES` say what they do then.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.predicates import of_integers
from tapegrad.frontend.outcomes import contents, mapped

_TYPES = (
    "bool_", "bytes_", "character", "complex128", "complex64", "complexfloating", "datetime64", "double", "dtype",
    "finfo", "flexible", "float16", "float32", "float64", "floating", "generic", "iinfo", "inexact", "int16", "int32",
    "int64", "int8", "int_", "intc", "integer", "intp", "longdouble", "ndarray", "number", "object_", "signedinteger",
    "single", "str_", "timedelta64", "uint", "uint16", "uint32", "uint64", "uint8", "uintp", "unsignedinteger", "void",
)  # fmt: skip
_QUESTIONS = (
    "base_repr", "binary_repr", "broadcast_shapes", "format_float_positional", "format_float_scientific", "isdtype",
    "isfortran", "isscalar", "issubdtype", "iterable", "mintypecode", "promote_types", "typename",
)  # fmt: skip
_SETTINGS = (
    "errstate", "get_printoptions", "geterr", "geterrcall", "printoptions", "set_printoptions", "seterr", "seterrcall",
)  # fmt: skip
_OF_INTEGERS = ("ix_", "ravel_multi_index", "unravel_index")
_INDICES = (
    "diag_indices", "index_exp", "indices", "mask_indices", "mgrid", "ndenumerate", "ndindex", "ogrid", "s_",
    "tril_indices", "triu_indices", *_OF_INTEGERS,
)  # fmt: skip
_TO_FILES = ("save", "savetxt", "savez", "savez_compressed")
_FROM_FILES = ("fromfile", "fromregex", "fromstring", "genfromtxt", "load", "loadtxt")
NAMES = (*_TYPES, *_QUESTIONS, *_SETTINGS, *_INDICES, *_TO_FILES, *_FROM_FILES)
OWN: dict[str, Any] = {"euler_gamma": np.euler_gamma, **{name: getattr(np, name) for name in NAMES}}


def _of_constants(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of NumPy's that takes what is constant; any other Tensor says what to write instead."""

    @functools.wraps(function)
    def of_constants(*args: Any, **kwargs: Any) -> Any:
        return function(*mapped(contents, args), **{k: mapped(contents, v) for k, v in kwargs.items()})

    return of_constants


OF_INTEGERS: dict[str, Callable[..., Any]] = {name: of_integers(getattr(np, name)) for name in _OF_INTEGERS}
TO_FILES: dict[str, Callable[..., Any]] = {name: _of_constants(getattr(np, name)) for name in _TO_FILES}
