"""Make Tensors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.ops import CODES
from tapegrad.record import as_float, read_now, unary
from tapegrad.state import modes, thread
from tapegrad.storage import check_dtype, copy_of, from_array, is_tensor

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor


_FLOAT64 = np.dtype(np.float64)


def _checked(array: np.ndarray, constant: bool | None) -> "Tensor":
    """A Tensor on an array, if dtype and `constant` go together."""
    check_dtype(array.dtype, "tensor")
    if constant is False and array.dtype.kind != "f":
        raise ValueError(
            f"a Tensor of dtype {array.dtype} is always constant; write tensor(..., dtype=float)"
        )
    return from_array(array, constant=bool(constant))


def tensor(data: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True) -> "Tensor":
    """A Tensor with a copy of `data`.

    Parameters
    ----------
    data
        Array, number, nested sequence or Tensor. From a Tensor the contents are taken, not the graph.
    dtype
        float64 or float32 to be differentiable; integers and booleans are constants. NumPy's choice by default.
    constant
        ``True``: no gradient flows into it.
    copy
        ``False``: use an array's own memory where that is possible.

    Raises
    ------
    UnsupportedError
        For float16, complex and other dtypes that are not supported.
    ValueError
        For ``constant=False`` with integers or booleans.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([1, 2], dtype=float)
    Tensor([1., 2.])
    """
    if type(data) is np.ndarray and data.dtype is _FLOAT64 and dtype is None and constant is None and copy:
        made = copy_of(data, False) if not modes.active else None
        if made is not None:
            return made
    source = data.data if is_tensor(data) else data
    if modes.active and thread.tape.recording and isinstance(source, np.ndarray):
        target = source.dtype if dtype is None else np.dtype(dtype)
        if copy or target != source.dtype:
            return _recorded_copy(data.detach() if is_tensor(data) else source, target, constant)
    return _checked(np.array(source, dtype) if copy else np.asarray(source, dtype), constant)


def _recorded_copy(source: Any, dtype: np.dtype[Any], constant: bool | None) -> "Tensor":
    """A copy, of an array or of a constant, that each replay makes anew."""
    if dtype.kind != "f":
        return _checked(np.array(read_now(source), dtype), constant)
    check_dtype(dtype, "tensor")
    copy = unary(CODES["positive"], as_float(source, dtype, thread.tape, False))
    return copy.detach() if constant else copy


def asarray(a: Any, dtype: Any = None, *, constant: bool | None = None) -> "Tensor":
    """`a` as a Tensor: a Tensor as it is, an array without a copy of its memory."""
    if is_tensor(a) and (dtype is None or a.dtype == dtype) and (constant is None or a.constant == constant):
        return a  # type: ignore[no-any-return]
    if is_tensor(a) and constant is None and dtype is not None:
        return a.astype(dtype)  # type: ignore[no-any-return]
    return tensor(a, dtype, constant=constant, copy=False)


def zeros(shape: Any, dtype: Any = float, *, constant: bool | None = None) -> "Tensor":
    """Zeros."""
    return _checked(np.zeros(shape, dtype), constant)


def ones(shape: Any, dtype: Any = float, *, constant: bool | None = None) -> "Tensor":
    """Ones."""
    return _checked(np.ones(shape, dtype), constant)


def empty(shape: Any, dtype: Any = float, *, constant: bool | None = None) -> "Tensor":
    """Memory whose contents are not set."""
    return _checked(np.empty(shape, dtype), constant)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, constant: bool | None = None) -> "Tensor":
    """`fill_value` everywhere."""
    return _checked(np.full(shape, fill_value, dtype), constant)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, constant: bool | None = None
) -> "Tensor":
    """Ones on the `k`-th diagonal, zeros elsewhere."""
    return _checked(np.eye(N, M, k, dtype), constant)


def arange(*arguments: Any, dtype: Any = None, constant: bool | None = None) -> "Tensor":
    """Numbers from `start` to before `stop` in steps, as NumPy's `arange`."""
    return _checked(np.arange(*arguments, dtype=dtype), constant)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: Any = None,
    constant: bool | None = None,
) -> "Tensor":
    """`num` numbers at equal distances from `start` to `stop`."""
    return _checked(np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype), constant)


def _like(a: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    array = a if is_tensor(a) else np.asarray(a)
    return array.shape, array.dtype


def zeros_like(a: Any, dtype: Any = None, *, constant: bool | None = None) -> "Tensor":
    """Zeros of the shape and dtype of `a`."""
    shape, own = _like(a)
    return zeros(shape, dtype or own, constant=constant)


def ones_like(a: Any, dtype: Any = None, *, constant: bool | None = None) -> "Tensor":
    """Ones of the shape and dtype of `a`."""
    shape, own = _like(a)
    return ones(shape, dtype or own, constant=constant)


def empty_like(a: Any, dtype: Any = None, *, constant: bool | None = None) -> "Tensor":
    """Memory of the shape and dtype of `a` whose contents are not set."""
    shape, own = _like(a)
    return empty(shape, dtype or own, constant=constant)


def full_like(a: Any, fill_value: Any, dtype: Any = None, *, constant: bool | None = None) -> "Tensor":
    """`fill_value` in the shape and dtype of `a`."""
    shape, own = _like(a)
    return full(shape, fill_value, dtype or own, constant=constant)


CREATION = (
    tensor, asarray, zeros, ones, empty, full, eye, arange, linspace, zeros_like, ones_like, empty_like, full_like,
)  # fmt: skip
FUNCTIONS = {function.__name__: function for function in (zeros_like, ones_like, empty_like, full_like)}
