"""Refusal hints: the code to write in place of a Tensor that is asked for as plain numbers.

SciPy's sparse matrices ask before they leave an operator to the other operand. If the answer is an object, and not an
array of numbers, they do leave it: Python then calls ``t.__rmatmul__``, or another method.
"""

import cmath
import math
import sys
import types
from typing import Any

import numpy as np

from tapegrad.foreign import original
from tapegrad.frontend.words.call_site import CallSite
from tapegrad.frontend.words.function_names import full_name
from tapegrad.frontend.words.scipys_functions import remedy, remedy_of_method

_PRODUCTS = frozenset(("_matmul_dispatch", "_mul_dispatch"))
_STEPS_OF_OPERATORS = frozenset(("_divide", "_multiply_2d_with_broadcasting", "multiply"))
_OPERATORS = frozenset(("__mul__", "__rmul__", "__truediv__"))
# By the prefix of a module's name; the first match counts.
_INSTEAD = {
    "scipy.sparse.linalg": (
        "; tapegrad.linalg.spsolve(A, b) takes Tensors. Another function of scipy.sparse.linalg, or a LinearOperator,"
        " can be made a custom op: its vjp uses the transpose"
    ),
    "scipy.sparse": (
        "; a sparse matrix and a Tensor have the operators S @ t, S * t, S / t, S + t and S - t, and a matrix whose"
        " entries are a Tensor is"
        " tapegrad.sparse.csr_array((t, indices, indptr), shape=shape), or coo_array((t, (rows, columns)))"
    ),
    "scipy.special": "; tapegrad.special has logsumexp, softmax, log_softmax, polygamma and zeta for Tensors",
    "scipy.stats": (
        "; tapegrad.stats has norm, t, gamma and all others for Tensors, and from_scipy for those of your own class; of"
        " scipy.stats some functions take them with SCIPY_ARRAY_API=1 in the environment before the first import"
    ),
    "scipy.spatial.transform": (
        "; Rotation.from_rotvec(tapegrad.asarray(v)) makes a Rotation of Tensors, which takes them, with"
        " SCIPY_ARRAY_API=1 in the environment before the first import"
    ),
    **dict.fromkeys(
        ("scipy.integrate.nsum", "scipy.integrate.tanhsinh", "scipy.optimize._elementwise"),
        "; with limits or brackets of Tensors, such as tapegrad.asarray(0.0), it takes Tensors as further arguments,"
        " with SCIPY_ARRAY_API=1 in the environment before the first import",
    ),
    "numpy.ma": "; of a masked array m, np.asarray(m) where nothing is masked, otherwise m.filled(0.0) and ~m.mask",
    "pandas": "; of a Series or a DataFrame, s.to_numpy(), or an operator: s * t is a Tensor",
    "xarray": "; of a DataArray, its operators, NumPy's functions, or d.data",
    "matplotlib": "; to draw it, t.data",
}
_OF_LISTS = ". NumPy does not see Tensors inside a list: write tapegrad.array([t, 1.0]), tapegrad.sum([t, u])"
_OF_WRITES = (
    ". An array of NumPy's holds no gradient: for a[i] = t make it by tapegrad.zeros, by np.zeros_like(t) or"
    " tapegrad.empty, or append to a list, and write np.stack(list)"
)
# Functions of math that have another name here, or none.
_MATH = {
    "dist": "np.linalg.norm(p - q)",
    "erf": "tapegrad.special.erf",
    "erfc": "tapegrad.special.erfc",
    "fsum": "np.sum(t)",
    "gamma": "tapegrad.special.gamma",
    "lgamma": "tapegrad.special.gammaln",
    "ldexp": "t * 2.0**i",
    "remainder": "t - y * np.round(t / y)",
    "sumprod": "np.dot(p, q)",
}
_OF_SPARSE_WRITES = (
    ". A sparse matrix of SciPy holds no gradient: in place of S[i, j] = t collect rows, columns and entries, and write"
    " tapegrad.sparse.coo_array((np.stack(entries), (rows, columns)), shape=S.shape)"
)
_WRITING = (np.ndarray.fill, np.ndarray.put, np.ndarray.__setitem__)
# tapegrad functions that take a Tensor as an argument for which NumPy's take a plain value.
NAMESAKES: set[str] = set()


def asks_for_operator() -> bool:
    """Return whether the caller's caller is SciPy's ``S @ t``, ``S * t`` or ``S / t``, for a sparse matrix S.

    ``S.multiply(t)`` is none: it would return `NotImplemented` to the program.
    """
    asker: types.FrameType | None = sys._getframe(2)
    if asker is not None and asker.f_code.co_name == "atleast_2d":  # NumPy's, which SciPy up to 1.14 calls
        asker = asker.f_back
    frame = asker
    while frame is not None and is_of_sparse(frame) and frame.f_code.co_name in _STEPS_OF_OPERATORS:
        frame = frame.f_back
    names = _PRODUCTS if frame is asker else _OPERATORS
    return frame is not None and is_of_sparse(frame) and frame.f_code.co_name in names


def is_of_sparse(frame: types.FrameType) -> bool:
    """Return whether a frame is one of `scipy.sparse`."""
    return str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.")


def boxed(value: Any) -> np.ndarray:
    """Return a 0-d array that contains an object, as NumPy makes of values that are not arrays."""
    box = np.empty((), object)
    box[()] = value
    return box


def asked_array(site: CallSite) -> str:
    """Return the subject of a sentence, the function or library that asks for an array, behind what to write instead.

    That comes first where it is one line.
    """
    name = site.function_name()
    return remedy_first(site) + (f"{name}()" if name else "a plain array")


def remedy_first(site: CallSite) -> str:
    """Return a sentence on what to write instead, where that needs no more words; empty for others."""
    method = site.distribution_method
    return remedy_of_method(method) if method else ""


def hint_for_array(site: CallSite) -> str:
    """Return the hint where a plain array is asked for, the end of a sentence."""
    if site.is_ours:
        return ". No derivative is known by this argument"
    if site.distribution_method:
        return ""
    if site.is_element_write and any(module.startswith("scipy.sparse") for module in site.modules):
        return _OF_SPARSE_WRITES
    name = site.function_name()
    known = (
        remedy(name) or hint_for_library(site) or _of_library(name)
    )  # a decorator may be defined in another module
    return known or hint_for_number(site) or (_as_op(name) if name else _OF_LISTS)


def hint_for_number(site: CallSite) -> str:
    """Return the hint where the program needs a plain number, or an array: empty if it is not known which."""
    called = site.function
    if site.is_element_write and any(module.startswith("scipy.sparse") for module in site.modules):
        return _OF_SPARSE_WRITES
    if site.is_element_write or any(called is method for method in _WRITING):
        return _OF_WRITES
    if isinstance(called, type) and issubclass(called, np.generic):
        return f". To change the dtype, write t.astype({full_name(called)})"
    name = getattr(called, "__name__", "")
    if name in NAMESAKES and getattr(called, "__objclass__", None) is np.ndarray:
        return f". Methods of plain arrays take no Tensors: write tapegrad.{name}(a, t)"
    if any(called is kind for kind in (float, int, complex)):
        return f". Drop {name}(): a Tensor of no dimensions computes as a number does"
    if called is not None and called is original(getattr(math, name, None)):
        return _of_math(name)
    if called is not None and called is getattr(cmath, name, None):
        return f". Functions of cmath take plain numbers: write np.{name}(t.astype(complex))"
    full = site.function_name()
    own = full.removeprefix("numpy.")
    if own in NAMESAKES:
        return f". tapegrad.{own} takes Tensors, and lists of them"
    return _of_library(full) or (_as_op(full) if full.startswith("scipy.") else "")


def _of_math(name: str) -> str:
    """Return the hint for a function of math, and for all of them where a context computes them."""
    own = _MATH.get(name) or (f"tapegrad.{name} or np.{name}" if name in NAMESAKES else "")
    context = hasattr(sys.modules.get("tapegrad"), "in_place_of_scipy")
    inside = ", or call it inside of `with tapegrad.in_place_of_scipy():`" if context and own else ""
    return ". Functions of math take plain numbers" + (f": write {own}{inside}" if own else "")


def hint_for_library(site: CallSite) -> str:
    """Return the hint for a known library that asks for an array, the end of a sentence; empty for others.

    If a library has called another, the outer one counts: the program calls it.
    """
    return next(filter(None, map(_of_library, reversed(site.modules))), "")


def no_njit(site: CallSite) -> str:
    """Return the sentences on a function of Numba's that is called with a Tensor."""
    function = getattr(site.function, "__func__", site.function)
    name = getattr(getattr(function, "py_func", None), "__name__", "")
    known = name.isidentifier()
    called, subject = (name, f"{name}, an @njit function,") if known else ("f", "an @njit function")
    return (
        f"{subject} takes arrays, not Tensors{site.place}: write tapegrad.jit({called})(t), which records the Python"
        f" functions behind it, or {called}.py_func(t); {called}(t.data) has no gradient. To keep it compiled, make it"
        " an op that knows its derivative: tapegrad.custom_op"
    )


def unsupported(name: str, site: CallSite) -> str:
    """Return the sentences on an unsupported function, or on the user's function that calls it."""
    outer = site.function_name(through_others=True)
    inner = f", because it calls {name}" if outer else ""
    called = outer or name
    hint = remedy(called) or _of_library(called) + _as_op(called)
    return f"{called} is not supported for Tensors{inner}{site.place}{hint}"


def _of_library(name: str) -> str:
    fitting = (words for library, words in _INSTEAD.items() if f"{name}.".startswith(f"{library}."))
    return remedy(name) or next(fitting, "")


def _as_op(name: str) -> str:
    """Return the sentence on custom ops, with the three lines to write."""
    own = name.partition(" ")[0]  # a ufunc may have several names
    short = own.rpartition(".")[2]
    return (
        ". To differentiate through it, make it an op that knows its derivative:\n\n"
        f'    @tapegrad.custom_op("{short}", vjp=lambda y_bar, y, x: ...)  # the gradient by x\n'
        f"    def {short}(x):  # of NumPy arrays\n"
        f"        return {own}(x)\n"
    )
