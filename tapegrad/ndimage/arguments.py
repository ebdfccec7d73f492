"""Arguments of filters: images, values for each axis, and dtypes of results, with SciPy's errors."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor

_DTYPES = tuple(map(np.dtype, ("f4", "f8", "c8", "c16")))


def image(name: str, value: Any, output: Any) -> tuple[Tensor, Any]:
    """Return an image in the dtype that a filter computes in, and the dtype of the result.

    Raises
    ------
    TypeError
        If the image is of integers, which SciPy rounds the result to.
    UnsupportedError
        If `output` is an array to write to, or a dtype of integers.
    """
    x = as_numbers(value, f"tapegrad.ndimage.{name}")
    if x.dtype.kind in "biu":
        raise TypeError(
            f"{name}: the input has dtype {x.dtype}, which SciPy rounds the result to; write input.astype(float)"
        )
    if output is None:
        return x, x.dtype
    if is_tensor(output) or isinstance(output, np.ndarray):
        raise UnsupportedError(f"{name}: output cannot be an array; assign the result: y[...] = {name}(x)")
    dtype = np.dtype(output)
    if dtype.kind not in "fc" or dtype not in _DTYPES:
        raise UnsupportedError(f"{name}: output must be a dtype of floats or complex numbers, not {dtype}")
    return x.astype(np.result_type(x.dtype, dtype), copy=False), dtype


def for_each_axis(value: Any, count: int) -> list[Any]:
    """Return an argument for each of some axes: that of all of them, or a sequence."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError(f"a sequence of {len(values)} values does not give one for each of {count} axes")
    return values


def axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes to filter along, as numbers from 0; all by default."""
    if axes is None:
        return tuple(range(ndim))
    given = axes if isinstance(axes, Iterable) else (axes,)
    numbers = [operator.index(axis) for axis in given]
    for axis in numbers:
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range for {ndim} dimensions")
    chosen = tuple([axis % ndim for axis in numbers])
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"axes must be unique, not {axes}")
    return chosen
