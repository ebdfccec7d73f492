"""Arrays in a requested form: copies, memory orders, finite elements."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import real_part
from tapegrad.frontend.conversions.creation import asarray, finished
from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.recording.layouts import copied_in_order, in_order
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words import derived_docs


def copy(a: Any, order: Any = "K", subok: bool = False, *, constant: bool | None = None) -> Tensor:
    """Return a copy on memory of its own; the gradient flows through it.

    Parameters
    ----------
    a : Tensor or array_like
        Array to copy. A copy of a plain array is a leaf of the graph.
    order : {'K', 'A', 'C', 'F'}, default 'K'
        Memory order of the copy.
    subok : bool, default False
        Accepted because ``numpy.copy`` has it; ignored.
    constant : bool, optional
        If True, no gradient flows through the Tensor.

    Returns
    -------
    Tensor
        Same shape and dtype.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> y = tg.copy(x)
    >>> y[0] = 5.0
    >>> x
    Tensor([1., 2.])
    """
    if not (is_tensor(a) or holds_tensors(a)):
        return finished(np.array(a, order=order), constant)
    x = as_numbers(a, "copy")
    return finished((copied_in_order if is_tensor(a) else in_order)(x, order, "copy"), constant)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Convert the elements to another dtype.

    Parameters
    ----------
    x : Tensor or array_like
        Elements.
    dtype : data-type
        As for `Tensor.astype`.
    copy : bool, default True
        If False, return the Tensor itself where it has the dtype already.
    device
        As for ``numpy.astype``.

    Returns
    -------
    Tensor
        Gradients flow through conversions between float64 and float32. Integers and booleans are constants.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.astype(tg.tensor([1.5, 2.5]), "float32")
    Tensor([1.5, 2.5], dtype=float32)
    """
    if device not in (None, "cpu"):
        raise ValueError(f"numpy.astype: there is no device {device!r}; the only one is 'cpu'")
    return as_numbers(x, "numpy.astype").astype(dtype, copy=copy)


def real_if_close(a: Any, tol: float = 100) -> Tensor:
    """Return the real parts of complex numbers whose imaginary parts are zero but for rounding.

    Parameters
    ----------
    a : Tensor or array_like
        Elements.
    tol : float, default 100
        Largest absolute value of an imaginary part, in units of the dtype's precision; if not above 1, without these
        units.

    Returns
    -------
    Tensor
        The real parts, a view; otherwise `a` itself if it is a Tensor.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.real_if_close(tg.ones(2))
    Tensor([1., 1.])
    """
    x = as_numbers(a, "numpy.real_if_close")
    if x.dtype.kind != "c":
        return x
    limit = tol * float(np.finfo(x.dtype).eps) if tol > 1 else tol
    close = call_guarded(lambda values: bool(np.all(np.abs(values.imag) < limit)), x)
    return real_part(x) if close else x


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
    constant: bool | None = None,
) -> Tensor:
    """Convert the input to a Tensor, as `asarray` does.

    Parameters
    ----------
    a : array_like or Tensor
        Array, number, nested sequence or Tensor.
    dtype, order, device, copy, like
        As for ``numpy.asanyarray``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        `a` itself if it is a Tensor that is as asked for.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0])
    >>> tg.asanyarray(x) is x
    True
    """
    return asarray(a, dtype, order, constant=constant, device=device, copy=copy)


@derived_docs.like(
    asanyarray,
    (
        "order, device, copy, like\n    As for ``numpy.asanyarray``.",
        "order\n    As for ``numpy.asarray_chkfinite``.",
    ),
    summary="Convert the input to a Tensor, and raise if an element is nan or infinite.",
    raises="ValueError\n    If an element is nan or infinite.",
    examples=">>> tg.asarray_chkfinite([1.0, 2.0])\nTensor([1., 2.])",
)
def asarray_chkfinite(
    a: Any, dtype: Any = None, order: Any = None, *, constant: bool | None = None
) -> Tensor:
    x = asarray(a, dtype, order, constant=constant)
    if x.dtype.kind in DIFFERENTIABLE_KINDS and not call_guarded(_all_finite, x):
        raise ValueError("asarray_chkfinite: the elements must not be nan or infinite")
    return x


def _all_finite(x: np.ndarray) -> bool:
    return bool(np.isfinite(x).all())


def _make_contiguous(name: str, memory_order: str) -> Callable[..., Tensor]:
    """Make `ascontiguousarray` or `asfortranarray`."""

    def in_one_piece(a: Any, dtype: Any = None, *, like: Any = None, constant: bool | None = None) -> Tensor:
        """Return the elements contiguous in memory, in C order.

        Parameters
        ----------
        a : Tensor or array_like
            Elements.
        dtype : data-type, optional
            Dtype of the result.
        like
            As for ``numpy.ascontiguousarray``.
        constant : bool, optional
            If True, no gradient flows into the Tensor.

        Returns
        -------
        Tensor
            `a` itself if it is as asked for, otherwise a recorded copy; with one dimension or more.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.ascontiguousarray(tg.zeros((2, 3)).T).flags.c_contiguous
        True
        """
        x = in_order(asarray(a, dtype, constant=constant), memory_order, "ascontiguousarray")
        return x if x.ndim else reshape(x, (1,))

    return derived_docs.renamed(in_one_piece, name)


ascontiguousarray = _make_contiguous("ascontiguousarray", "C")
asfortranarray = derived_docs.like(
    ascontiguousarray,
    ("in C order", "in Fortran order"),
    ("numpy.ascontiguousarray", "numpy.asfortranarray"),
    examples=">>> tg.asfortranarray(tg.zeros((2, 3))).flags.f_contiguous\nTrue",
)(_make_contiguous("asfortranarray", "F"))


def require(
    a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None, constant: bool | None = None
) -> Tensor:
    """Return a Tensor whose memory satisfies requirements.

    Parameters
    ----------
    a : Tensor or array_like
        Elements.
    dtype : data-type, optional
        Dtype of the result.
    requirements : str or sequence of str, optional
        Memory orders 'C' and 'F', and 'O' for memory of its own, as for ``numpy.require``. What else may be asked for
        holds of every Tensor.
    like
        As for ``numpy.require``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        `a` itself if it is as asked for, otherwise a recorded copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.require(tg.zeros((2, 3)), requirements="F").flags.f_contiguous
    True
    """
    asked = {_REQUIREMENTS.get(each.upper(), each.upper()) for each in requirements or ()}
    if {"C", "F"} <= asked:
        raise ValueError("require: a Tensor cannot be in both memory orders")
    x = asarray(a, dtype, constant=constant)
    order = next((each for each in ("C", "F") if each in asked), "K")
    x = in_order(x, order, "require")
    return copy(x, order) if "O" in asked and x.base is not None else x


_REQUIREMENTS = {
    "C_CONTIGUOUS": "C",
    "CONTIGUOUS": "C",
    "F_CONTIGUOUS": "F",
    "FORTRAN": "F",
    "OWNDATA": "O",
}


def fromiter(
    iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None, constant: bool | None = None
) -> Tensor:
    """Return a Tensor of the numbers that an iterator gives.

    Parameters
    ----------
    iter : iterable of Tensor or number
        Gradients flow to those that are Tensors.
    dtype : data-type
        Dtype of the result.
    count : int, default -1
        Number of values to take; all by default.
    like
        As for ``numpy.fromiter``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        With one dimension.

    Raises
    ------
    ValueError
        If the iterator ends before `count` numbers.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fromiter((k * k for k in range(3)), float)
    Tensor([0., 1., 4.])
    """
    values = list(itertools.islice(iter, count if count >= 0 else None))
    if not holds_tensors(values):
        return finished(np.fromiter(values, dtype, count), constant)
    if len(values) < count:
        raise ValueError(f"fromiter: the iterator ended after {len(values)} numbers, not {count}")
    return finished(as_numbers(values, "fromiter").astype(dtype, copy=False), constant)


FUNCTIONS = {"astype": astype, "real_if_close": real_if_close}
CREATION = {
    function.__name__: function
    for function in (
        copy, asanyarray, asarray_chkfinite, ascontiguousarray, asfortranarray, require, fromiter,
    )
}  # fmt: skip
