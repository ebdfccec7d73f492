"""Flat iteration in C order, to read and to write (``t.flat``), and NumPy's methods for other views of memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import complex_dtype, part_dtype
from tapegrad.frontend.functions.shapes.tiling import resize
from tapegrad.frontend.indexing.indexing import getitem
from tapegrad.frontend.indexing.writes import setitem
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import contiguous, ravel, reshape
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, view_of


class FlatElements:
    """Flat elements of a Tensor in C order: the value of its property `flat`.

    Attributes
    ----------
    base
        The Tensor.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.zeros((2, 2))
    >>> x.flat[::3] = 1.0
    >>> x
    Tensor([[1., 0.],
            [0., 1.]])
    """

    __slots__ = ("base",)

    def __init__(self, base: Tensor) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Tensor]:
        x = self.base
        if x.data_or_traced().flags.c_contiguous:
            return iter(ravel(x))
        return (getitem(x, index) for index in np.ndindex(x.shape))  # of what it is then: `ravel` would copy

    def __getitem__(self, key: Any, /) -> Tensor:
        return contiguous(getitem(ravel(self.base), key))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Write values to the selected elements; the values are repeated as needed, as in NumPy."""
        x = self.base
        numbers = np.arange(x.size)[key]
        given = as_numbers(value, "flat")
        if given.size == 0:
            return
        if given.ndim and given.shape != numbers.shape:
            given = resize(given, numbers.shape)
        if x.data_or_traced().flags.c_contiguous:
            setitem(reshape(x, -1), key, given)
        else:
            setitem(x, np.unravel_index(numbers, x.shape), given)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array: np.ndarray = self.base.reshape(-1).__array__(dtype, copy)
        return array

    def copy(self) -> Tensor:
        """Return a copy of the elements in one dimension.

        Returns
        -------
        Tensor
            Shape ``(size,)``; gradients flow through it.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.eye(2).flat.copy()
        Tensor([1., 0., 0., 1.])
        """
        return contiguous(ravel(self.base))


def _flat(x: Tensor) -> FlatElements:
    return FlatElements(x)


def _set_flat(x: Tensor, values: Any) -> None:
    FlatElements(x)[...] = values


def view(x: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    """Return a view of all elements.

    Parameters
    ----------
    dtype : data-type, optional
        The Tensor's own, or of complex numbers the dtype of their parts, and of floats that of complex numbers: the
        last dimension has twice or half as many elements then. Other bytes cannot be taken for numbers of another
        dtype, which `astype` converts to.
    type : type, optional
        `Tensor` or nothing.

    Returns
    -------
    Tensor
        Shares the memory; its gradient is the same view of the Tensor's gradient.

    Raises
    ------
    UnsupportedError
        For any other dtype or another class.
    ValueError
        If the last dimension is not contiguous, or has an odd number of floats.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.zeros(2)
    >>> x.view()[0] = 1.0
    >>> x
    Tensor([1., 0.])
    """
    if isinstance(dtype, int | tuple):
        raise UnsupportedError(
            "Tensor.view takes a dtype, as in NumPy; for a shape write t.reshape"
            + (str(dtype) if isinstance(dtype, tuple) else f"({dtype}, ...)")
        )
    if dtype is Tensor:
        dtype, type = None, dtype
    if type not in (None, Tensor):
        raise UnsupportedError(
            f"Tensor.view: a view of type {type.__name__} is not supported; write t.data.view(type)"
        )
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if np.dtype(dtype) in (part_dtype(x.dtype), complex_dtype(x.dtype)):
            check_dtype(np.dtype(dtype), "Tensor.view", takes_complex=True)
            return view_of(x, x.data_or_traced().view(dtype))
        raise UnsupportedError(
            f"Tensor.view: the bytes of {x.dtype} cannot be taken for {np.dtype(dtype)}, through which no gradient"
            " would flow; astype() converts numbers, .data.view() takes the bytes of an array"
        )
    return getitem(x, ...)


def _resize(x: Tensor, *new_shape: Any, refcheck: bool = True) -> None:
    """Raise an error, because a Tensor keeps its memory and the number of its elements.

    Parameters
    ----------
    *new_shape : int or tuple of int
        As for ``numpy.ndarray.resize``.
    refcheck : bool, default True
        As for ``numpy.ndarray.resize``.

    Raises
    ------
    UnsupportedError
        Always; `tapegrad.resize` and `pad` return a new Tensor.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.resize(tg.tensor([1.0, 2.0]), 3)
    Tensor([1., 2., 1.])
    """
    raise UnsupportedError(
        "Tensor.resize: a Tensor cannot grow or shrink in place; write t = tapegrad.pad(t, (0, n)), which adds zeros,"
        " or t = tapegrad.resize(t, new_shape), which repeats the elements"
    )


bind_methods(
    flat=property(_flat, _set_flat, doc="All elements in C order, to read and to write."),
    view=view,
    resize=_resize,
)
