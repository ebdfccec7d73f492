"""NumPy's protocols: ``np.sin(t)`` and ``np.sum(t)`` do what ``tapegrad.sin(t)`` and ``tapegrad.sum(t)`` do.

Functions are known by identity, not by name: ``np.linalg.norm`` is not ``np.norm``, and a ufunc of another library
that is called ``sin`` is not ``np.sin``.
"""

import functools
import inspect
import sys
import types
from functools import partial
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_xarray
from tapegrad.frontend.conversions import creation
from tapegrad.frontend.functions.elements import (
    bits,
    complex_parts,
    number_parts,
    rounding,
    scimath,
    special,
    ufunc_methods,
)
from tapegrad.frontend.functions.making import copies, filled, ranges, windows
from tapegrad.frontend.functions.matrices import (
    covariances,
    decompositions,
    determinants,
    eigenvalues,
    least_squares,
    matrix_chains,
    norms,
    systems,
    triangles,
)
from tapegrad.frontend.functions.numerics import (
    convolution,
    differences,
    histograms,
    interpolation,
    mapping,
    padding,
    polynomial_roots,
    polynomials,
    slopes,
)
from tapegrad.frontend.functions.ordering import (
    array_api_sets,
    choices,
    nan_order,
    placement,
    quantiles,
    search,
    selection,
    sets,
    sorting,
)
from tapegrad.frontend.functions.products import einsum, generalized, matrix_stacks, products, vectors
from tapegrad.frontend.functions.reductions import (
    exponentials,
    extremes,
    nan_reductions,
    predicates,
    reductions,
    scans,
    statistics,
)
from tapegrad.frontend.functions.shapes import (
    diagonals,
    joining,
    rearranging,
    splitting,
    stacking,
    tiling,
    views,
)
from tapegrad.frontend.numpy_face import array_api, fourier_doors, numpy_reexports
from tapegrad.frontend.recording import elementwise, shape
from tapegrad.frontend.recording.record import OWN
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods
from tapegrad.frontend.words.call_site import refusal
from tapegrad.frontend.words.function_names import full_name
from tapegrad.frontend.words.refusal_hints import (
    NAMESAKES,
    asks_for_operator,
    boxed,
    is_of_sparse,
    unsupported,
)
from tapegrad.ops import ELEMENTWISE

_ELSEWHERE = {row.name for row in ELEMENTWISE if row.home != "tapegrad"}
FUNCTIONS: dict[str, Any] = {
    **{name: function for name, function in elementwise.FUNCTIONS.items() if name not in _ELSEWHERE},
    "i0": special.i0,
    **reductions.FUNCTIONS,
    **extremes.FUNCTIONS,
    **scans.FUNCTIONS,
    **differences.FUNCTIONS,
    **statistics.FUNCTIONS,
    **covariances.FUNCTIONS,
    **exponentials.FUNCTIONS,
    **sorting.FUNCTIONS,
    **quantiles.FUNCTIONS,
    **nan_reductions.FUNCTIONS,
    **nan_order.FUNCTIONS,
    **histograms.FUNCTIONS,
    **shape.FUNCTIONS,
    **generalized.FUNCTIONS,
    **products.FUNCTIONS,
    **vectors.FUNCTIONS,
    **einsum.FUNCTIONS,
    **joining.FUNCTIONS,
    **views.FUNCTIONS,
    **splitting.FUNCTIONS,
    **stacking.FUNCTIONS,
    **tiling.FUNCTIONS,
    **diagonals.FUNCTIONS,
    **padding.FUNCTIONS,
    **creation.FUNCTIONS,
    **copies.FUNCTIONS,
    **array_api_sets.FUNCTIONS,
    **predicates.FUNCTIONS,
    **number_parts.FUNCTIONS,
    **bits.FUNCTIONS,
    **rounding.FUNCTIONS,
    **complex_parts.FUNCTIONS,
    **selection.FUNCTIONS,
    **choices.FUNCTIONS,
    **rearranging.FUNCTIONS,
    **placement.FUNCTIONS,
    **sets.FUNCTIONS,
    **search.FUNCTIONS,
    **interpolation.FUNCTIONS,
    **convolution.FUNCTIONS,
    **polynomials.FUNCTIONS,
    **polynomial_roots.FUNCTIONS,
    **slopes.FUNCTIONS,
    **mapping.FUNCTIONS,
    **windows.FUNCTIONS,
}
LINALG: dict[str, Any] = {
    **matrix_stacks.LINALG,
    **matrix_chains.LINALG,
    **norms.LINALG,
    **systems.LINALG,
    **determinants.LINALG,
    **triangles.LINALG,
    **decompositions.LINALG,
    **eigenvalues.LINALG,
    **least_squares.LINALG,
    "matrix_rank": predicates.matrix_rank,
}
CREATION: dict[str, Any] = {
    **creation.CREATION,
    **ranges.CREATION,
    **filled.CREATION,
    **copies.CREATION,
    **array_api.CREATION,
}
# Functions with plain results, or with results that do not depend on the elements.
CONSTANTS = {
    *(function for name, function in predicates.FUNCTIONS.items() if name != "where"),
    *predicates.UFUNCS.values(),
    *bits.UFUNCS.values(),
    sorting.argpartition,
    *(elementwise.FUNCTIONS[row.name] for row in ELEMENTWISE if row.predicate),
    *creation.FUNCTIONS.values(),
    *numpy_reexports.OF_INTEGERS.values(),
    predicates.matrix_rank,
    einsum.einsum_path,
}
# Functions that take constant Tensors only, or none and raise.
CONSTANTS_ONLY = set(numpy_reexports.TO_FILES.values())
REFUSING = CONSTANTS_ONLY | {sorting.sort_complex}
# Functions of this library that take a Tensor as an argument for which NumPy's take a plain value.
TAKING_TENSORS = FUNCTIONS.keys() | (CREATION.keys() - creation.MADE.keys() - array_api.CREATION.keys())
NAMESAKES.update(TAKING_TENSORS, (f"linalg.{name}" for name in LINALG), ("c_", "r_"))
_UFUNCS: dict[Any, Any] = {
    **{getattr(np, row.ufunc): elementwise.FUNCTIONS[row.name] for row in ELEMENTWISE if row.ufunc},
    **predicates.UFUNCS,
    **number_parts.UFUNCS,
    **bits.UFUNCS,
    **{getattr(np, name): function for name, function in generalized.FUNCTIONS.items() if hasattr(np, name)},
}
for _ufunc, _function in _UFUNCS.items():
    if _ufunc.nout == 1 and not _ufunc.signature:
        ufunc_methods.with_methods(_ufunc, _function)
_FUNCTIONS: dict[Any, Any] = {
    getattr(module, name): function
    for module, functions in (
        (np, {**FUNCTIONS, **CREATION, **numpy_reexports.OF_INTEGERS, **numpy_reexports.TO_FILES}),
        (np.linalg, LINALG),
        (np.emath, scimath.FUNCTIONS),
        (np.lib.stride_tricks, windows.FUNCTIONS),
    )
    for name, function in functions.items()
    if hasattr(module, name)
}


def _unsupported(name: str) -> UnsupportedError:
    """Return the error for an unsupported function, or for the user's function that calls it."""
    return refusal(UnsupportedError, partial(unsupported, name))


def _is_polynomial_of_columns(inputs: tuple[Any, ...], caller: types.FrameType) -> bool:
    """Return whether `numpy.polynomial` takes a Tensor for a number, and combines columns of coefficients with it."""
    name = caller.f_globals.get("__name__", "")
    return name.startswith("numpy.polynomial.") and all(map(np.ndim, inputs))


def _array_ufunc(x: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
    if not OWN.issuperset(map(type, inputs)) and any(map(is_xarray, inputs)):
        return NotImplemented  # xarray calls the ufunc again on the arrays inside, and keeps the labels
    is_imported = "numpy.polynomial" in sys.modules  # frames are not looked at in most programs
    if is_imported and type(inputs[0]) is np.ndarray and _is_polynomial_of_columns(inputs, sys._getframe(1)):
        raise _unsupported("numpy.polynomial")
    known = _UFUNCS.get(ufunc) or _of_scipy(ufunc)
    if method == "__call__" and known is not None:
        return known(*inputs, **arguments)
    if known is not None and not ufunc.signature:
        return ufunc_methods.call(ufunc, known, method, *inputs, **arguments)
    raise _unsupported(full_name(ufunc) + ("" if method == "__call__" else f".{method}"))


def _array_function(
    x: Tensor, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if function is np.atleast_2d and is_of_sparse(sys._getframe(1)):  # S * t, up to SciPy 1.14
        return boxed(args[0]).reshape(1, 1) if asks_for_operator() else np.atleast_2d(np.asarray(args[0]))
    known = implementation(function)
    if known is None:
        raise _unsupported(full_name(function))
    return _call(function, known, args, kwargs)


def implementation(function: Any) -> Any:
    """Return the implementation of a function that NumPy dispatches; None if it is not supported."""
    if isinstance(function, np.ufunc):
        return _UFUNCS.get(function) or _of_scipy(function)
    return _FUNCTIONS.get(function) or fourier_doors.of_numpy(function)


def _of_scipy(ufunc: np.ufunc) -> Any:
    """Return tapegrad's function for a ufunc of `scipy.special`; None if there is none."""
    home = sys.modules.get("scipy.special._ufuncs")  # wrapped under SCIPY_ARRAY_API; the ufuncs are only here
    return _SCIPY.get(ufunc.__name__) if getattr(home, ufunc.__name__, None) is ufunc else None


_SCIPY = {
    **{row.name: elementwise.FUNCTIONS[row.name] for row in ELEMENTWISE if row.public},
    **special.FUNCTIONS,
    "_lambertw": special.lambertw,
    "_zeta": elementwise.FUNCTIONS["zeta"],  # functions of SciPy call these two
    "_riemann_zeta": elementwise.FUNCTIONS["riemann_zeta"],
}


@functools.cache
def _names(function: Any) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


@functools.cache
def _refusal(function: Any, count: int, names: tuple[str, ...]) -> str:
    """Return why a call with this number of positional arguments and these keywords is refused; empty if it is not."""
    try:
        inspect.signature(function).bind(*[None] * count, **dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return ""


def _call(called: Any, function: Any, args: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
    """Call tapegrad's function with NumPy's arguments; raise for those that it does not have."""
    if arguments:
        known = _names(function)
        arguments = {
            k: v for k, v in arguments.items() if v is not np._NoValue and (v is not None or k in known)
        }
    refusal = _refusal(function, len(args), tuple(arguments))
    if refusal:
        raise UnsupportedError(f"{full_name(called)} of Tensors: {refusal}")
    return function(*args, **arguments)


bind_methods(__array_ufunc__=_array_ufunc, __array_function__=_array_function)
fourier_doors.open_doors()
