"""Tensors filled with a value or by a function; gradients flow to the Tensors that the value depends on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.creation import example, finished
from tapegrad.frontend.recording.layouts import in_order
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, contiguous
from tapegrad.frontend.tensor.array_checks import refuse_lost_parts, refuse_subclass
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, is_tensor


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
    constant: bool | None = None,
) -> Tensor:
    """Return a new Tensor filled with `fill_value`.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the result.
    fill_value : Tensor or array_like
        Fill value; broadcasts to the shape. From a Tensor the result is computed, so the gradient flows to
        it.
    dtype : data-type, optional
        Dtype of the result; that of the value by default.
    order : {'C', 'F'}, default 'C'
        Memory order of the result.
    device, like
        As for ``numpy.full``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        A leaf of the graph, or a constant; computed from `fill_value` if that is a Tensor.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.full(2, 7.0)
    Tensor([7., 7.])
    >>> x = tg.tensor(3.0)
    >>> tg.full((2, 2), x).sum().backward()
    >>> x.grad
    array(4.)
    """
    if not (is_tensor(fill_value) or holds_tensors(fill_value)):
        _check_value(fill_value, dtype, "full")
        return finished(np.full(shape, fill_value, dtype, order, device=device), constant)
    return finished(_spread(as_numbers(fill_value, "full"), shape, dtype, order, "full"), constant)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
    constant: bool | None = None,
) -> Tensor:
    """Return a new Tensor filled with `fill_value`, with the shape and dtype of `a`.

    Parameters
    ----------
    a : Tensor or array_like
        The example.
    fill_value : Tensor or array_like
        Fill value; broadcasts to the shape. From a Tensor the result is computed, so the gradient
        flows to it.
    dtype : data-type, optional
        Dtype of the result; that of `a` by default.
    order : {'K', 'A', 'C', 'F'}, default 'K'
        Memory order of the result.
    subok : bool, default True
        Accepted because ``numpy.full_like`` has it; ignored.
    shape : int or tuple of int, optional
        The shape of the result; that of `a` by default.
    device
        As for ``numpy.full_like``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        A leaf of the graph, or a constant; computed from `fill_value` if that is a Tensor.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.full_like(tg.zeros(2), 7.0)
    Tensor([7., 7.])
    """
    like = example(a)
    if not (is_tensor(fill_value) or holds_tensors(fill_value)):
        _check_value(fill_value, like.dtype if dtype is None else dtype, "full_like")
        made = np.full_like(like, fill_value, dtype, order, True, shape, device=device)
        return finished(np.asarray(made), constant)
    extents = like.shape if shape is None else shape
    target = like.dtype if dtype is None else dtype
    return finished(
        _spread(as_numbers(fill_value, "full_like"), extents, target, order, "full_like"), constant
    )


def _check_value(value: Any, dtype: Any, name: str) -> None:
    """Raise for a value that NumPy would convert in part: without its mask or its imaginary part."""
    refuse_subclass(value, name)
    refuse_lost_parts(value, dtype, name)


def _spread(value: Tensor, shape: Any, dtype: Any, order: Any, name: str) -> Tensor:
    """Return a value broadcast to a shape, copied."""
    value = value if dtype is None else value.astype(dtype, copy=False)
    made: Tensor = in_order(contiguous(broadcast_to(value, shape)), order, name)
    return made


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: Any = float,
    like: Any = None,
    constant: bool | None = None,
    **kwargs: Any,
) -> Tensor:
    """Return what a function gives of the indices of each element, along each dimension.

    Parameters
    ----------
    function : callable
        Called once, with an array of indices for each dimension.
    shape : tuple of int
        The shape of these arrays.
    dtype : data-type, optional
        Dtype of these arrays.
    like
        As for ``numpy.fromfunction``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.
    **kwargs
        Further arguments of the function.

    Returns
    -------
    Tensor
        What the function returns; where that is computed from Tensors, the gradient flows to them.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fromfunction(lambda i, j: i + j, (2, 2))
    Tensor([[0., 1.],
            [1., 2.]])
    """
    made = np.fromfunction(function, shape, dtype=dtype, **kwargs)
    return finished(made if is_tensor(made) else np.asarray(made), constant)


def fill(x: Tensor, value: Any) -> None:
    """Set all elements to a value.

    Parameters
    ----------
    value : Tensor or array_like
        Broadcasts to the shape. Where it is a Tensor, the gradient flows to it.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.zeros(2)
    >>> x.fill(7.0)
    >>> x
    Tensor([7., 7.])
    """
    x[...] = value


CREATION = {"full": full, "full_like": full_like, "fromfunction": fromfunction}
bind_methods(fill=fill)
