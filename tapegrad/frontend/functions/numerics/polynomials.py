"""Polynomials by their coefficients, the highest power first, as in NumPy's legacy interface."""

from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.numerics.convolution import convolve
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to
from tapegrad.frontend.tensor.array_checks import plain
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import like

# Dtypes, beside float64, whose constants Python numbers represent.
_EXACT = frozenset((np.dtype(np.float64), np.dtype(np.int64)))


def _operand(a: Any, name: str) -> Tensor:
    if isinstance(a, np.poly1d):
        raise UnsupportedError(f"{name}: poly1d is not supported; pass its coefficients, p.coeffs")
    return as_numbers(a, name)


def coefficients_of(p: Any, name: str) -> Tensor:
    """Return coefficients as a line; a single number is a polynomial of degree 0."""
    x = _operand(p, name)
    if x.ndim > 1:
        raise ValueError(f"{name}: coefficients of shape {x.shape} are not in one dimension")
    return x.reshape(-1)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:  # noqa: N803  NumPy's name
    """Return a Vandermonde matrix, whose columns are powers of a line.

    Parameters
    ----------
    x : Tensor or array_like
        One-dimensional.
    N : int, optional
        Number of columns; as many as rows by default.
    increasing : bool, default False
        Whether the powers increase from left to right.

    Returns
    -------
    Tensor
        Shape ``(len(x), N)``, in float64.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.vander(tg.tensor([2.0, 3.0]), 3)
    Tensor([[4., 2., 1.],
            [9., 3., 1.]])
    """
    line = as_numbers(x, "numpy.vander")
    if line.ndim != 1:
        raise ValueError(f"numpy.vander: x has shape {line.shape}, not one dimension")
    count = line.size if N is None else int(N)
    if line.dtype.kind not in DIFFERENTIABLE_KINDS:
        return as_numbers(np.vander(np.asarray(line), count, increasing), "numpy.vander")
    line = line.astype(np.promote_types(line.dtype, np.float64), copy=False)  # NumPy promotes float32 too
    powers: list[Any] = [np.ones(line.shape, line.dtype), line][:count]
    while len(powers) < count:
        powers.append(powers[-1] * line)
    if not powers:
        return as_numbers(np.empty((line.size, 0), line.dtype), "numpy.vander")
    return stack(powers if increasing else powers[::-1], axis=1)


def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial by Horner's scheme.

    Parameters
    ----------
    p : Tensor or array_like
        Coefficients, the highest power first.
    x : Tensor or array_like
        Points of evaluation.

    Returns
    -------
    Tensor
        Same shape as `x`.

    Raises
    ------
    UnsupportedError
        For ``numpy.poly1d``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.polyval(tg.tensor([1.0, 0.0, 2.0]), 3.0)
    Tensor(11.)
    """
    x = _operand(x, "numpy.polyval")
    terms = _numbers(p) if x.dtype == np.float64 else None
    if terms is None:
        coefficients = _operand(p, "numpy.polyval")
        if coefficients.dtype.kind not in DIFFERENTIABLE_KINDS and x.dtype.kind not in DIFFERENTIABLE_KINDS:
            return as_numbers(np.polyval(np.asarray(coefficients), np.asarray(x)), "numpy.polyval")
        terms = list(coefficients)
    if len(terms) < 2:
        return x * 0 + (terms[0] if terms else 0)
    total = terms[0] * x + terms[1]
    for term in terms[2:]:
        total = total * x + term
    return total


def _numbers(p: Any) -> list[Any] | None:
    """Return coefficients that are eager constants as Python numbers, which are fast to record."""
    if is_tensor(p) or is_recording() or isinstance(p, np.poly1d) or holds_tensors(p):
        return None
    array = plain(p, "numpy.polyval")
    line: list[Any] | None = array.tolist() if array.ndim == 1 and array.dtype in _EXACT else None
    return line


def _aligned(a1: Any, a2: Any, name: str) -> tuple[Tensor, Tensor]:
    """Return the coefficients of two polynomials, the shorter one padded with zeros in front."""
    short, long = (coefficients_of(each, name) for each in (a1, a2))
    missing = long.size - short.size
    if missing == 0:
        return short, long
    if missing < 0:
        return short, _with_zeros(long, -missing)
    return _with_zeros(short, missing), long


def _with_zeros(p: Tensor, count: int) -> Tensor:
    return concatenate([np.zeros(count, p.dtype), p])


def polyadd(a1: Any, a2: Any) -> Any:
    """Add two polynomials.

    Parameters
    ----------
    a1, a2 : Tensor or array_like
        Coefficients, the highest power first.

    Returns
    -------
    Tensor
        The coefficients of the sum.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.polyadd(tg.tensor([1.0, 2.0]), [3.0, 0.0, 1.0])
    Tensor([3., 1., 3.])
    """
    first, second = _aligned(a1, a2, "numpy.polyadd")
    return first + second


@like(
    polyadd,
    ("Add two polynomials", "Subtract a polynomial from another one"),
    ("the sum", "the difference"),
    examples=">>> tg.polysub(tg.tensor([1.0, 2.0]), [3.0, 0.0, 1.0])\nTensor([-3.,  1.,  1.])",
)
def polysub(a1: Any, a2: Any) -> Any:
    first, second = _aligned(a1, a2, "numpy.polysub")
    return first - second


@like(
    polyadd,
    (
        "highest power first.",
        "highest power first. Zeros in front are left out, which a recorded function guards.",
    ),
    ("the sum", "the product"),
    summary="Multiply two polynomials.",
    examples=">>> tg.polymul(tg.tensor([1.0, 2.0]), [1.0, -2.0])\nTensor([ 1.,  0., -4.])",
)
def polymul(a1: Any, a2: Any) -> Tensor:
    return convolve(_trimmed(a1, "numpy.polymul"), _trimmed(a2, "numpy.polymul"))


def _trimmed(p: Any, name: str) -> Tensor:
    """Return coefficients without leading zeros; at least one."""
    line = coefficients_of(p, name)
    while line.size > 1 and bool(line[0] == 0):
        line = line[1:]
    return line if line.size else as_numbers(np.zeros(1, line.dtype), name)


def polyder(p: Any, m: int = 1) -> Any:
    """Return the derivative of a polynomial.

    Parameters
    ----------
    p : Tensor or array_like
        Coefficients, the highest power first.
    m : int, default 1
        How often to differentiate.

    Returns
    -------
    Tensor
        The coefficients of the derivative.

    Raises
    ------
    ValueError
        If `m` is negative.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.polyder(tg.tensor([1.0, 2.0, 3.0]))
    Tensor([2., 2.])
    """
    m = int(m)
    if m < 0:
        raise ValueError(f"numpy.polyder: m must be non-negative, not {m}")
    line = coefficients_of(p, "numpy.polyder")
    factors = np.ones(max(line.size - m, 0), np.int64)
    for k in range(m):
        factors = factors * np.arange(line.size - 1 - k, m - 1 - k, -1)[: factors.size]
    return line[: factors.size] * factors


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return an antiderivative of a polynomial.

    Parameters
    ----------
    p : Tensor or array_like
        Coefficients, the highest power first.
    m : int, default 1
        How often to integrate.
    k : number or sequence of number, optional
        Constants of integration, that of the first one first; zeros by default. One number stands for all.

    Returns
    -------
    Tensor
        The coefficients of the antiderivative.

    Raises
    ------
    ValueError
        If `m` is negative, or there are fewer constants.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.polyint(tg.tensor([2.0, 2.0]), k=3.0)
    Tensor([1., 2., 3.])
    """
    m = int(m)
    if m < 0:
        raise ValueError(f"numpy.polyint: m must be non-negative, not {m}")
    line = coefficients_of(p, "numpy.polyint")
    constants = coefficients_of(np.zeros(m) if k is None else k, "numpy.polyint")
    if constants.size == 1 and m > 1:
        constants = broadcast_to(constants, (m,))
    if constants.size < m:
        raise ValueError(f"numpy.polyint: {m} constants of integration are needed, not {constants.size}")
    for j in range(m):
        line = concatenate([line / np.arange(float(line.size), 0, -1), constants[j : j + 1]])
    return line


FUNCTIONS = {
    function.__name__: function for function in (vander, polyval, polyadd, polysub, polymul, polyder, polyint)
}
