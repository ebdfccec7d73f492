"""Sliding windows: a view that repeats elements."""

from typing import Any

from numpy.lib.stride_tricks import sliding_window_view as numpy_windows

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, view_of


def sliding_window_view(
    x: Any,
    window_shape: int | tuple[int, ...],
    axis: int | tuple[int, ...] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    """Show every window of a shape that slides over a Tensor.

    Parameters
    ----------
    x : Tensor or array_like
        Input.
    window_shape : int or tuple of int
        Extents of the window along the axes.
    axis : int or tuple of int, optional
        Axes along which it slides; all by default.
    subok : bool, default False
        Accepted because NumPy's function has it; ignored.
    writeable : bool, default False
        Not supported: windows overlap.

    Returns
    -------
    Tensor
        A view of `x` that cannot be written to: positions first, then the dimensions of the window. The cotangent of
        an element is the sum over the windows that show it.

    Raises
    ------
    ValueError
        If a window is larger than `x`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.sliding_window_view(x, 2)
    Tensor([[1., 2.],
            [2., 3.]])
    >>> tg.sliding_window_view(x, 2).sum().backward()
    >>> x.grad
    array([1., 2., 1.])
    """
    if writeable:
        raise UnsupportedError(
            "numpy.lib.stride_tricks.sliding_window_view: writeable=True is not supported for Tensors: windows overlap"
        )
    tensor = as_numbers(x, "numpy.lib.stride_tricks.sliding_window_view")
    return view_of(tensor, numpy_windows(tensor.data_or_traced(), window_shape, axis))


FUNCTIONS = {"sliding_window_view": sliding_window_view}
