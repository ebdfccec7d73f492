"""Products of stacks of vectors and matrices, with the arguments of NumPy's generalized ufuncs."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import conjugate
from tapegrad.frontend.functions.products import linalg
from tapegrad.frontend.recording.layouts import in_order
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import expand_dims, moveaxis, reshape
from tapegrad.frontend.tensor.tensor import Tensor

_POSITIONAL, _ANY, _KEYWORD = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_DEFAULTS: dict[str, Any] = {
    "axes": None,
    "axis": None,
    "keepdims": False,
    "casting": "same_kind",
    "order": "K",
    "dtype": None,
    "subok": True,
    "signature": None,
}
_SIGNATURE = inspect.Signature(
    [
        *(inspect.Parameter(name, _POSITIONAL) for name in ("x1", "x2")),
        inspect.Parameter("out", _ANY, default=None),
        *(inspect.Parameter(name, _KEYWORD, default=default) for name, default in _DEFAULTS.items()),
    ]
)
_ARGUMENTS = """\
    out : Tensor or numpy.ndarray, optional
        Destination of the result.
    axes : list of int and tuple of int, optional
        For each operand and the result, the axes that hold its vectors or matrices; by default the last.
    axis : int, optional
        The axis that holds the vectors, of all operands; only where the result has none.
    keepdims : bool, default False
        Keep the axis that is summed over with extent 1; only where the result has none.
    casting, order, dtype, subok, signature
        As for NumPy's function.
"""


class _Core(NamedTuple):
    """Core dimensions of a product: numbers of its two operands and of its result."""

    name: str
    product: Callable[[Any, Any], Tensor]
    operands: tuple[int, int]
    result: int


def _public(core: _Core) -> Callable[..., Any]:
    """Make the function with all arguments of a generalized ufunc."""

    def multiply(x1: Any, x2: Any, /, out: Any = None, **arguments: Any) -> Any:
        if out is None and not arguments:
            return core.product(x1, x2)
        return _with_arguments(core, (x1, x2), out, arguments)

    multiply.__name__ = multiply.__qualname__ = core.name
    vars(multiply)["__signature__"] = _SIGNATURE
    text = core.product.__doc__ or ""
    multiply.__doc__ = text.replace("\n\n    Returns\n", f"\n{_ARGUMENTS}\n    Returns\n", 1)
    return multiply


def _with_arguments(core: _Core, operands: tuple[Any, Any], out: Any, arguments: dict[str, Any]) -> Any:
    name = f"numpy.{core.name}"
    options = {**_DEFAULTS, **{k: v for k, v in arguments.items() if v is not np._NoValue}}
    if unknown := [k for k in options if k not in _DEFAULTS]:
        raise TypeError(f"{name} has no argument {unknown[0]!r}")
    if options["signature"] is not None:
        raise UnsupportedError(f"{name}: the argument 'signature' is not supported for Tensors; use dtype")
    x, y = (_cast(as_numbers(value, name), options["dtype"], options["casting"], name) for value in operands)
    own, others, of_result = _axes_of(core, (x.ndim, y.ndim), options, name)
    result = core.product(_to_the_end(x, own), _to_the_end(y, others))
    if options["keepdims"]:
        result = expand_dims(result, -1)
    result = moveaxis(result, range(-len(of_result), 0), of_result) if of_result else result
    result = in_order(result, options["order"], name)
    return result if out is None else deliver(result, out, casting=options["casting"], name=name)


def _cast(x: Tensor, dtype: Any, casting: Any, name: str) -> Tensor:
    if dtype is None:
        return x
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(
            f"{name}: cannot convert {x.dtype} to {np.dtype(dtype)} by the casting rule {casting!r}"
        )
    return x.astype(dtype, copy=False)


def _axes_of(
    core: _Core, ndims: tuple[int, int], options: dict[str, Any], name: str
) -> Sequence[tuple[int, ...]]:
    """Return the axes of the vectors or matrices in both operands and in the result; () for the last."""
    axes, axis, keepdims = options["axes"], options["axis"], bool(options["keepdims"])
    if (axis is not None or keepdims) and core.result + core.operands[0] * core.operands[1] != 1:
        what = "axis" if axis is not None else "keepdims"
        raise TypeError(
            f"{name} does not support {what!r}, because its operands are not all vectors; use 'axes'"
        )
    if axes is None:
        return [(), (), ()] if axis is None else [(axis,), (axis,), (axis,) * keepdims]
    if axis is not None:
        raise TypeError(f"{name}: give 'axes' or 'axis', not both")
    of_operands = [min(count, ndim) for count, ndim in zip(core.operands, ndims, strict=True)]
    of_result = core.result - (sum(core.operands) - sum(of_operands)) + keepdims
    return _checked_axes(axes, (*of_operands, of_result), not core.result, name)


def _checked_axes(axes: Any, counts: tuple[int, ...], may_omit: bool, name: str) -> Sequence[tuple[int, ...]]:
    """Return the entries of an argument `axes`, checked to have these numbers of axes."""
    if not isinstance(axes, list) or len(axes) != 3 - (may_omit and len(axes) == 2):
        raise ValueError(
            f"{name}: 'axes' is a list with an entry for each operand and the result, not {axes!r}"
        )
    entries = [(each,) if hasattr(each, "__index__") else tuple(each) for each in axes]
    for entry, count in zip(entries, counts, strict=False):
        if len(entry) != count:
            raise ValueError(f"{name}: the entry {entry} of 'axes' must have {count} axes")
    return [*entries, ()][:3]


def _to_the_end(x: Tensor, axes: Sequence[int]) -> Tensor:
    return moveaxis(x, axes, range(-len(axes), 0)) if axes else x


def _vector_operands(x1: Any, x2: Any, name: str, ndims: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Return operands that have the core dimensions, of matching extents."""
    x, y = as_numbers(x1, name), as_numbers(x2, name)
    if x.ndim < ndims[0] or y.ndim < ndims[1]:
        raise ValueError(f"{name}: operands of shapes {x.shape} and {y.shape} have too few dimensions")
    if x.shape[-1] != y.shape[-ndims[1]]:
        raise ValueError(
            f"{name}: the vectors in operands of shapes {x.shape} and {y.shape} differ in extent"
        )
    return x, y


def _vecdot(x1: Any, x2: Any) -> Tensor:
    """Compute dot products of vectors, of complex ones with the conjugates of the first.

    Parameters
    ----------
    x1, x2 : Tensor or array_like, shape (..., n)
        Vectors; their other dimensions broadcast.

    Returns
    -------
    Tensor
        Without the dimension of the vectors.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.vecdot(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), [1.0, 10.0])
    Tensor([21., 43.])
    """
    x, y = _vector_operands(x1, x2, "numpy.vecdot", (1, 1))
    x = conjugate(x)
    if y.ndim == 1:
        return linalg.matmul(x, y)
    if x.ndim == 1:
        return linalg.matmul(y, x)
    return _without(linalg.matmul(expand_dims(x, -2), expand_dims(y, -1)), (-2, -1))


def _matvec(x1: Any, x2: Any) -> Tensor:
    """Multiply matrices by vectors.

    Parameters
    ----------
    x1 : Tensor or array_like, shape (..., m, n)
        Matrices.
    x2 : Tensor or array_like, shape (..., n)
        Vectors; leading dimensions broadcast.

    Returns
    -------
    Tensor, shape (..., m)
        A vector for each pair.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.matvec(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), [1.0, 10.0])
    Tensor([21., 43.])
    """
    x, y = _vector_operands(x1, x2, "numpy.matvec", (2, 1))
    return _without(linalg.matmul(x, expand_dims(y, -1)), (-1,))


def _vecmat(x1: Any, x2: Any) -> Tensor:
    """Multiply vectors, of complex numbers their conjugates, by matrices.

    Parameters
    ----------
    x1 : Tensor or array_like, shape (..., n)
        Vectors, taken as rows.
    x2 : Tensor or array_like, shape (..., n, m)
        Matrices; leading dimensions broadcast.

    Returns
    -------
    Tensor, shape (..., m)
        A vector for each pair.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.vecmat([1.0, 10.0], tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([31., 42.])
    """
    x, y = _vector_operands(x1, x2, "numpy.vecmat", (1, 2))
    x = conjugate(x)
    return _without(linalg.matmul(expand_dims(x, -2), y), (-2,))


def _without(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Remove dimensions of extent 1."""
    gone = {x.ndim + axis for axis in axes}
    return reshape(x, tuple(e for k, e in enumerate(x.shape) if k not in gone))


matmul, vecdot, matvec, vecmat = (
    _public(core)
    for core in (
        _Core("matmul", linalg.matmul, (2, 2), 2),
        _Core("vecdot", _vecdot, (1, 1), 0),
        _Core("matvec", _matvec, (2, 1), 1),
        _Core("vecmat", _vecmat, (1, 2), 1),
    )
)
FUNCTIONS = {"matmul": matmul, "vecdot": vecdot, "matvec": matvec, "vecmat": vecmat}
