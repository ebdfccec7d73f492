"""Differences of neighbours, and integrals by the trapezoidal rule."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.functions.reductions.lines import constant, is_inexact, numbers
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.reductions.scans import cumsum
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.shape import broadcast_to, ravel, reshape
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


def _neighbours(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return all elements but the last along an axis, and all but the first."""
    if axis == 0:
        return x[:-1], x[1:]
    before = (slice(None),) * axis
    return x[(*before, slice(None, -1))], x[(*before, slice(1, None))]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Compute the differences of neighbouring elements along an axis.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to subtract.
    n : int, default 1
        How often to take differences.
    axis : int, default -1
        Axis along which neighbours are taken.
    prepend, append : Tensor or array_like, optional
        Elements to put before and behind `a` along the axis first; a number stands for one element.

    Returns
    -------
    Tensor
        Shorter by `n` along the axis. The differences of integers and booleans are constants.

    Raises
    ------
    ValueError
        If `n` is negative or `a` has no dimension.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.diff(tg.tensor([1.0, 4.0, 9.0]), prepend=0.0)
    Tensor([1., 3., 5.])
    """
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    x = numbers(a, "diff")
    if n == 0:
        return x
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, x.ndim)
    if prepend is not None or append is not None:
        pieces = [*_beside(x, prepend, axis), x, *_beside(x, append, axis)]
        if any(map(is_inexact, pieces)):
            x = concatenate(pieces, axis)
    if not is_inexact(x):
        return constant(np.diff, x, n, axis, **_drop_none(prepend=prepend, append=append))
    for _ in range(n):
        before, after = _neighbours(x, axis)
        x = after - before
    return x


def _drop_none(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _beside(x: Tensor, given: Any, axis: int) -> list[Tensor]:
    """Return the array before or after an operand: a number as one element of each line; nothing if it is `None`."""
    if given is None:
        return []
    piece = numbers(given, "diff")
    return [piece if piece.ndim else broadcast_to(piece, _one_along(axis, x.shape))]


def _one_along(axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Compute the differences of neighbouring elements of the flattened operand.

    Parameters
    ----------
    ary : Tensor or array_like
        Elements to subtract.
    to_end, to_begin : Tensor or array_like, optional
        Elements to put behind and before the differences.

    Returns
    -------
    Tensor
        One-dimensional. The differences of integers are constants.

    Raises
    ------
    TypeError
        If `to_end` or `to_begin` cannot be converted to the dtype of `ary`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.ediff1d(tg.tensor([1.0, 4.0, 9.0]), to_end=0.0)
    Tensor([3., 5., 0.])
    """
    x = ravel(numbers(ary, "ediff1d"))
    if not is_inexact(x):
        return constant(np.ediff1d, x, **_drop_none(to_end=to_end, to_begin=to_begin))
    before, after = _neighbours(x, 0)
    first, last = _converted("to_begin", to_begin, x), _converted("to_end", to_end, x)
    pieces = [*first, after - before, *last]
    return pieces[0] if len(pieces) == 1 else concatenate(pieces)


def _converted(name: str, given: Any, x: Tensor) -> list[Tensor]:
    """Return the elements before or after differences, flat and in their dtype; nothing if not given."""
    if given is None:
        return []
    piece = numbers(given, "ediff1d")
    if not np.can_cast(piece.dtype, x.dtype, "same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return [ravel(piece.astype(x.dtype, copy=False))]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """Integrate along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor or array_like
        Values of the integrand.
    x : Tensor or array_like, optional
        Coordinates of these values: of the shape of `y`, or one-dimensional along the axis. By default they are evenly
        spaced.
    dx : Tensor or array_like, default 1.0
        The spacing, if `x` is not given.
    axis : int, default -1
        Axis to integrate along.

    Returns
    -------
    Tensor
        Without the axis.

    Examples
    --------
    >>> import tapegrad as tg
    >>> y = tg.tensor([0.0, 1.0, 4.0])
    >>> tg.trapezoid(y, dx=0.5).backward()
    >>> y.grad
    array([0.25, 0.5 , 0.25])
    """
    areas, axis = _areas(numbers(y, "trapezoid"), x, dx, axis, "trapezoid")
    return sum(areas, axis)


def _areas(y: Tensor, x: Any, dx: Any, axis: int, name: str) -> tuple[Tensor, int]:
    """Return the areas of the trapezoids, and the axis as a nonnegative number."""
    axis = normalize_axis_index(axis, y.ndim)
    before, after = _neighbours(y, axis)
    if x is None and type(dx) is float and dx == 1.0:
        return (before + after) / 2.0, axis
    return _widths(y, x, dx, axis, name) * (before + after) / 2.0, axis


def _widths(y: Tensor, x: Any, dx: Any, axis: int, name: str) -> Any:
    if x is None:
        return dx if isinstance(dx, int | float) else numbers(dx, name)
    x = numbers(x, name)
    if x.ndim != 1:
        return diff(x, axis=axis - y.ndim)
    return reshape(diff(x), (-1, *(1,) * (y.ndim - 1 - axis)))


@like(
    trapezoid,
    (
        "    Axis to integrate along.",
        """    Axis to integrate along.
initial : {None, 0}, optional
    First element of the result. By default it is one element shorter than `y`.""",
    ),
    ("Without the axis.", "The integrals from the first element on."),
    summary="Integrate along an axis by the trapezoidal rule, up to each element.",
    raises="""ValueError
    If there are no elements along the axis, the shape of `x` does not fit, or `initial` is another number.""",
    see_also="scipy.integrate.cumulative_trapezoid : The same for arrays.",
    examples=""">>> tg.cumulative_trapezoid(tg.tensor([0.0, 2.0, 4.0]), initial=0)
Tensor([0., 1., 4.])""",
)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Tensor:
    values = numbers(y, "cumulative_trapezoid")
    axis = normalize_axis_index(axis, values.ndim)
    _check(values.shape, x, axis, initial)
    areas, axis = _areas(values, x, dx, axis, "cumulative_trapezoid")
    result = cumsum(areas, axis)
    if initial is None:
        return result
    return concatenate([np.zeros(_one_along(axis, result.shape), result.dtype), result], axis)


def _check(shape: tuple[int, ...], x: Any, axis: int, initial: Any) -> None:
    """Raise SciPy's errors."""
    if shape[axis] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if x is not None:
        given = np.shape(x)
        if len(given) not in (1, len(shape)):
            raise ValueError("If given, shape of x must be 1-D or the same as y.")
        if given[0 if len(given) == 1 else axis] != shape[axis]:
            raise ValueError("If given, length of x along axis must be the same as y.")
    if initial is not None and (np.ndim(initial) != 0 or initial != 0):
        raise ValueError("`initial` must be `None` or `0`.")


FUNCTIONS = {
    "diff": diff,
    "ediff1d": ediff1d,
    "trapezoid": trapezoid,
    "cumulative_trapezoid": cumulative_trapezoid,
}
