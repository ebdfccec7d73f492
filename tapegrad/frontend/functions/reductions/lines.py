"""Shared code of reductions and scans: axes, masks, lines along axes, integers."""

import builtins
import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.layout import C128, F32
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import made_complex, pairs_of
from tapegrad.frontend.conversions.guarded_results import contents, is_recording
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import mask_of
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor, record_lines
from tapegrad.frontend.recording.shape import moveaxis, reshape
from tapegrad.frontend.tensor.array_checks import complex_seen, refuse_complex
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.array_like import Axis

_ALL = -1  # bit mask of all axes
_not_equal = ELEMENTWISE["not_equal"]


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes that an argument `axis` names, sorted; raise NumPy's errors for axes out of bounds."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    if ndim == 0 and axis in (0, -1):  # as in NumPy, a number is a line of one element
        return ()
    if isinstance(axis, list | bool):
        raise TypeError(f"axis must be an integer or a tuple of integers, not {axis!r}")
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def mask_of_axes(axis: Axis, x: Tensor) -> int:
    """Return the axes that an argument `axis` names as a bit mask."""
    if axis is None:
        return _ALL
    ndim = x.ndim
    if type(axis) is int and -ndim <= axis < ndim:
        return 1 << (axis % ndim)
    return builtins.sum(1 << k for k in axes_of(axis, ndim))


def count_along(axis: Axis, shape: tuple[int, ...]) -> int:
    """Return the number of elements that are reduced to one."""
    if axis is None:
        return math.prod(shape)
    return math.prod([shape[k] for k in axes_of(axis, len(shape))])


def kept_shape(axis: Axis, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a result that keeps the reduced axes."""
    axes = axes_of(axis, len(shape))
    return tuple(1 if k in axes else extent for k, extent in enumerate(shape))


def is_inexact(x: Tensor) -> bool:
    """Return whether a Tensor can have a gradient; in half of the time that `Tensor.dtype` takes."""
    if x._array is not None:
        return x._array.dtype.kind in DIFFERENTIABLE_KINDS
    tape: Any = x._tape
    dtype = slots.dtype_of(tape.header, x._slot)
    return bool(dtype <= F32 or dtype >= C128)


def is_complex(x: Tensor) -> bool:
    """Return whether a Tensor is of complex numbers; at once in a process that has none."""
    return complex_seen[0] and x.dtype.kind == "c"


def numbers(a: Any, name: str, dtype: Any = None) -> Tensor:
    """Return an operand as a Tensor of real or complex numbers, in the requested dtype."""
    x = a if isinstance(a, Tensor) else as_numbers(a, name)
    return x if dtype is None else x.astype(dtype, copy=False)


def operand(a: Any, name: str, dtype: Any = None) -> Tensor:
    """Return an operand as a Tensor of real numbers, in the requested dtype."""
    x = a if isinstance(a, Tensor) else as_tensor(a, name)
    if is_complex(x):
        refuse_complex(x.dtype, name)
    return x if dtype is None else x.astype(dtype, copy=False)


def inexact(a: Any, name: str, dtype: Any = None) -> Tensor:
    """Return an operand of a function of floats and complex numbers: integers and booleans become float64."""
    if dtype is not None and np.dtype(dtype).kind not in DIFFERENTIABLE_KINDS:
        raise TypeError(f"numpy.{name}: 'dtype' must be of floats, not {np.dtype(dtype)}")
    x = numbers(a, name, dtype)
    return x if is_inexact(x) else x.astype(np.float64)


def floating(a: Any, name: str, dtype: Any = None) -> Tensor:
    """Return an operand of a function of real numbers: integers and booleans become float64."""
    x = inexact(a, name, dtype)
    if is_complex(x):
        refuse_complex(x.dtype, name)
    return x


def beginning(initial: Any, dtype: np.dtype[Any], name: str) -> Any:
    """Return the argument `initial` of a reduction, converted so that NumPy gives the result's dtype."""
    return initial if type(initial) in (int, float) else numbers(initial, name, dtype)


def counted(x: Tensor, where: Any, neutral: Any, name: str) -> Tensor:
    """Return `x` with a neutral value in place of the elements outside of the mask."""
    if where is True:
        return x
    mask = mask_of(where, name)
    if np.broadcast_shapes(mask.shape, x.shape) != x.shape:
        raise ValueError(f"{name}: 'where' of shape {mask.shape} does not broadcast to the shape {x.shape}")
    return select(mask, x, neutral)


def constant(function: Any, *operands: Any, **arguments: Any) -> Tensor:
    """Call a NumPy function on integers or booleans; its result is a constant."""
    options = {name: contents(value) for name, value in arguments.items() if value is not None}
    if options.get("where") is True:  # NumPy's default: no initial value
        del options["where"]
    return from_array(np.asarray(function(*map(contents, operands), **options)), constant=True)


def is_without_zero(x: Tensor) -> bool:
    """Return whether all elements are known to be nonzero; False while recording."""
    if is_recording():
        return False
    values = x.data_or_traced()
    return bool(np.count_nonzero(values) == values.size)


def root_of_sum(total: Tensor, root: Tensor) -> Tensor:
    """Return a root of sums of nonnegative terms, with derivatives of all orders 0 where a sum is 0."""
    return root if is_without_zero(total) else select(_not_equal(total, 0.0), root, 0.0)


def by_lines(code: int, name: str, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Reduce along axes by an op of lines."""
    return record_lines(code, x, mask_of_axes(axis, x), keepdims, name)


def by_linear_lines(code: int, name: str, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Reduce, or scan, along axes by a linear op of lines; of complex numbers each part by itself."""
    if not is_complex(x):
        return record_lines(code, x, mask_of_axes(axis, x), keepdims, name)
    axes = builtins.sum(1 << k for k in axes_of(axis, x.ndim))
    return made_complex(record_lines(code, pairs_of(x), axes, keepdims, name))


def lines_along(x: Tensor, axes: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """Return the elements with some sorted axes of `shape`, that of `x`, joined into one last axis."""
    if axes == (len(shape) - 1,):
        return x
    if len(axes) == len(shape):
        return reshape(x, -1)
    rest = tuple(shape[k] for k in range(len(shape)) if k not in axes)
    if not axes:
        return reshape(x, (*rest, 1))
    moved = moveaxis(x, axes, range(len(rest), len(shape)))
    return moved if len(axes) == 1 else reshape(moved, (*rest, math.prod(shape[k] for k in axes)))
