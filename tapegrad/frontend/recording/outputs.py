"""Arguments `out`, `where` and `casting` of NumPy's functions: results are written to the caller's arrays."""

from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.calls import select
from tapegrad.frontend.tensor.array_checks import refuse_subclass
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor


def deliver(result: Any, out: Any, where: Any = True, casting: Any = "same_kind", *, name: str) -> Any:
    """Write a result into `out` and return `out`; without `out` return the result.

    A Tensor `out` takes the gradient together with the values: values computed from `out` afterwards depend on the
    operands of the result. A plain array takes constants only, and nothing while a function is being recorded,
    because a replay would not write to it.

    Parameters
    ----------
    result : Tensor, numpy.ndarray or number
        Computed result.
    out : Tensor, numpy.ndarray, tuple of one of them, or None
        Has exactly the shape of the result (and of `where`). It may be an operand, or overlap with one.
    where : array_like of bool, default True
        Which elements to write. The others of `out` keep their contents and their gradient. Without an `out` they are
        0, and no gradient flows through them; NumPy leaves them unset.
    casting : str, default 'same_kind'
        Which conversions to the dtype of `out` are allowed.
    name : str
        The function in full, for messages: ``numpy.roll``.

    Returns
    -------
    Tensor, numpy.ndarray or number
        `out` itself if there is one.
    """
    target = one_output(out, name)
    if target is not None and result.shape != target.shape:
        raise ValueError(
            f"{name}: the shape {target.shape} of 'out' is not {result.shape}, the shape of the result"
        )
    return deliver_broadcast(result, target, where, casting, name=name)


def deliver_broadcast(result: Any, target: Any, where: Any, casting: Any, *, name: str) -> Any:
    """Deliver a result that broadcasts to the shape of `out`, as those of ufuncs do."""
    if where is True:
        if target is None:
            return result
        if (
            is_tensor(target)
            and is_tensor(result)
            and result.dtype == target.dtype
            and result.shape == target.shape
        ):
            target[...] = result
            return target
    mask = True if where is True else mask_of(where, name)
    if target is None:
        return _select(mask, result, 0)
    _check_fit(np.broadcast_shapes(result.shape, np.shape(mask)), result.dtype, target, casting, name)
    if not is_tensor(target):
        given = mask.data_or_traced() if is_tensor(mask) else mask
        np.copyto(target, _constant(result, name), casting="unsafe", where=given)
    elif mask is True:
        target[...] = result
    else:
        target[...] = _select(mask, result.astype(target.dtype, copy=False), target)
    return target


def one_output(out: Any, name: str) -> Any:
    """Return the single Tensor or array that is given as `out`, alone or in a tuple; `None` if there is none."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"{name}: 'out' has {len(out)} entries; the function has one result")
        (out,) = out
    if out is None or is_tensor(out):
        return out
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{name}: 'out' must be a Tensor or an array, not {type(out).__name__}")
    refuse_subclass(out, name)
    return out


def mask_of(where: Any, name: str) -> Any:
    """Return the argument `where` as booleans: a Tensor or an array."""
    mask = where if is_tensor(where) or isinstance(where, np.ndarray) else np.asarray(where, bool)
    if mask.dtype.kind != "b":
        raise TypeError(f"{name}: 'where' must be of booleans, not of {mask.dtype}; write where=mask != 0")
    return mask


def _select(mask: Any, result: Any, otherwise: Any) -> Any:
    """Return the result where the mask holds.

    Booleans are selected by logical ops, which can be recorded.
    """
    if result.dtype == bool:
        return (mask & result) | (~mask & (otherwise != 0))
    return select(mask, result, otherwise)


def _check_fit(shape: tuple[int, ...], dtype: Any, target: Any, casting: Any, name: str) -> None:
    if np.broadcast_shapes(shape, target.shape) != target.shape:
        raise ValueError(
            f"{name}: a result of shape {shape} does not broadcast to the shape {target.shape} of 'out'"
        )
    if not np.can_cast(dtype, target.dtype, casting):
        raise TypeError(
            f"{name}: cannot write a result of {dtype} into an 'out' of {target.dtype} by the casting rule {casting!r}"
        )


def _constant(result: Any, name: str) -> np.ndarray:
    """Return a result as a constant, for a plain array `out`."""
    if thread.mode.recorder is not None:
        raise UnsupportedError(
            f"{name}: 'out' is a plain array, which a replay would not write to; use the result (for a += t,"
            " a = a + t), or make the array by tapegrad.zeros or tapegrad.empty inside the function"
        )
    if not is_tensor(result):
        return np.asarray(result)
    if not result.constant:
        raise UnsupportedError(
            f"{name}: 'out' is a plain array, which cannot hold the gradient of the result; use the result (for"
            " a += t, a = a + t), or make the array by tapegrad.zeros or tapegrad.empty"
        )
    return result.escaped(name)
