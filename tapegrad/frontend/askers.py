"""Who asks for a Tensor as plain numbers, and what the user should write instead.

SciPy's sparse matrices ask before they leave a product to the other operand. Where the answer is an object, and not an
array of numbers, they do leave it: Python then calls ``t.__rmatmul__``.
"""

import math
import types
from typing import Any

import numpy as np

from tapegrad.frontend.called import called_function, called_object, is_element_write
from tapegrad.frontend.function_names import full_name

_PRODUCTS = frozenset(("_matmul_dispatch", "_mul_dispatch"))
_DEPTH = 8  # frames of a library between the one that asks and the one that the user has called
# By the beginning of a module's name; the first that fits.
_INSTEAD = {
    "scipy.sparse.linalg": (
        "; a function of scipy.sparse.linalg, or a LinearOperator, can be made a custom op: its vjp uses the transpose"
    ),
    "scipy.linalg": "; functions of the same names that take Tensors are in tapegrad.linalg",
    "scipy.sparse": "; a sparse matrix and a Tensor have the products S @ t and t @ S",
    "scipy.special": "; tapegrad.special has logsumexp, softmax, log_softmax, polygamma and zeta for Tensors",
    "scipy.stats": "; tapegrad.stats has norm, t, gamma and others for Tensors",
    "numpy.ma": "; of a masked array m, np.asarray(m) where nothing is masked, otherwise m.filled(0.0) and ~m.mask",
    "pandas": "; of a Series or a DataFrame, s.to_numpy(), or an operator: s * t is a Tensor",
    "xarray": "; of a DataArray, its operators, NumPy's functions, or d.data",
    "matplotlib": "; to draw it, t.data",
    "numpy.polynomial": "; of a power series, tapegrad.polyval(c[::-1], x)",
}
_OF_LISTS = ". NumPy does not see Tensors inside a list: write tapegrad.array([t, 1.0]), tapegrad.sum([t, u])"
_OF_WRITES = (
    ". An array of NumPy's holds no gradient: for a[i] = t make it by tapegrad.zeros, zeros_like or empty"
)
_WRITING = (np.ndarray.fill, np.ndarray.put, np.ndarray.__setitem__)
# Names of tapegrad's functions, as far as they take Tensors where NumPy's of the same name may not.
NAMESAKES: set[str] = set()


def is_sparse_product(asker: types.FrameType) -> bool:
    """Whether a frame is SciPy's ``S @ t``, for a sparse matrix S."""
    return asker.f_code.co_name in _PRODUCTS and _module(asker).startswith("scipy.sparse.")


def _module(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def boxed(value: Any) -> np.ndarray:
    """Return an array of no dimensions with an object in it: what NumPy makes of what is no array."""
    box = np.empty((), object)
    box[()] = value
    return box


def instead_of_array(asker: types.FrameType | None) -> str:
    """Return what to write where a plain array is asked for, the end of a sentence."""
    words = instead_of(asker) or _words(called_function())  # a decorator may stand in another module
    return words or instead_of_number() or _OF_LISTS


def instead_of_number() -> str:
    """Return what to write where the program needs a plain number, or an array: nothing if that cannot be told."""
    called = called_object()
    if is_element_write() or any(called is method for method in _WRITING):
        return _OF_WRITES
    if isinstance(called, type) and issubclass(called, np.generic):
        return f". To change the dtype, write t.astype({full_name(called)})"
    name = getattr(called, "__name__", "")
    if name in NAMESAKES and getattr(called, "__objclass__", None) is np.ndarray:
        return f". Methods of plain arrays take no Tensors: write tapegrad.{name}(a, t)"
    if name in NAMESAKES and called is getattr(math, name, None):
        return f". Functions of math take plain numbers: write tapegrad.{name}"
    own = called_function().removeprefix("numpy.")
    return f". tapegrad.{own} takes Tensors, and lists of them" if own in NAMESAKES else ""


def instead_of(asker: types.FrameType | None) -> str:
    """Return what to write instead, the end of a sentence, where a library that we know asks; otherwise nothing.

    Where one has called another, it is the outer one that the program knows of.
    """
    found = ""
    for _ in range(_DEPTH):
        if asker is None:
            break
        found = _words(_module(asker)) or found
        asker = asker.f_back
    return found


def _words(module: str) -> str:
    fitting = (words for library, words in _INSTEAD.items() if f"{module}.".startswith(f"{library}."))
    return next(fitting, "")
