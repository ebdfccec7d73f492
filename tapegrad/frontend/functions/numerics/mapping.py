"""Users' functions applied to lines, to elements, and to parts where conditions hold."""

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.reductions.predicates import FUNCTIONS as PREDICATES
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.indexing.indexing import pick
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, expand_dims, moveaxis, ravel, reshape
from tapegrad.frontend.tensor.tensor import Tensor

_nonzero = PREDICATES["nonzero"]


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Apply a function to each line along an axis.

    Parameters
    ----------
    func1d : callable
        Takes a line, and returns a number or an array.
    axis : int
        Axis along which the lines lie.
    arr : Tensor or array_like
        Input.
    *args, **kwargs
        Further arguments of the function.

    Returns
    -------
    Tensor
        Shape of `arr`, with that of a result in place of the axis.

    Raises
    ------
    ValueError
        If there are no lines.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.apply_along_axis(tg.cumsum, 0, tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[1., 2.],
            [4., 6.]])
    """
    x = as_numbers(arr, "numpy.apply_along_axis")
    axis = normalize_axis_index(axis, x.ndim)
    lines = moveaxis(x, axis, -1)
    rest = lines.shape[:-1]
    if 0 in rest:
        raise ValueError(f"numpy.apply_along_axis: there are no lines along axis {axis} of shape {x.shape}")
    name = "numpy.apply_along_axis"
    results = [as_numbers(func1d(lines[at], *args, **kwargs), name) for at in np.ndindex(*rest)]
    own = results[0].ndim
    together = reshape(stack(results), (*rest, *results[0].shape))
    return moveaxis(together, range(len(rest), len(rest) + own), range(axis, axis + own))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Apply a function along one axis after another.

    Parameters
    ----------
    func : callable
        Takes an array and an axis; returns an array with or without that axis.
    a : Tensor or array_like
        Input.
    axes : int or sequence of int
        The axes.

    Returns
    -------
    Tensor
        Has as many dimensions as `a`.

    Raises
    ------
    ValueError
        If the function returns another number of dimensions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.apply_over_axes(tg.sum, tg.ones((2, 3)), [0, 1])
    Tensor([[6.]])
    """
    value = as_numbers(a, "numpy.apply_over_axes")
    for axis in np.atleast_1d(axes).tolist():
        axis = normalize_axis_index(axis, value.ndim)
        result = as_numbers(func(value, axis), "numpy.apply_over_axes")
        if result.ndim == value.ndim - 1:
            result = expand_dims(result, axis)
        if result.ndim != value.ndim:
            raise ValueError(
                f"numpy.apply_over_axes: the function returned shape {result.shape} for shape {value.shape}"
            )
        value = result
    return value


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """Evaluate functions where their conditions hold.

    Parameters
    ----------
    x : Tensor or array_like
        Points of evaluation.
    condlist : sequence of array_like of bool
        Conditions; where several hold, the last one counts. Where none holds, the result is 0.
    funclist : sequence of callable, Tensor or number
        For each condition a function of the elements where it holds, in one dimension, or a value; one more is for the
        elements where none holds.
    *args, **kw
        Further arguments of the functions.

    Returns
    -------
    Tensor
        Of the shape and the dtype of `x`.

    Raises
    ------
    ValueError
        If the numbers of conditions and functions do not fit.

    Notes
    -----
    Which elements a function is given depends on the conditions: while a function is being recorded they become
    guards. `where` and `select` are instructions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([-2.0, 1.0, 3.0])
    >>> y = tg.piecewise(x, [x < 0, x > 2], [lambda x: x**2, 9.0, lambda x: -x])
    >>> y
    Tensor([ 4., -1.,  9.])
    >>> y.backward()
    >>> x.grad
    array([-4., -1.,  0.])
    """
    points = as_numbers(x, "numpy.piecewise")
    conditions = _conditions(condlist, points)
    if len(funclist) == len(conditions) + 1:
        conditions = [*conditions, ~np.logical_or.reduce(conditions)]
    if len(funclist) != len(conditions):
        raise ValueError(f"numpy.piecewise: {len(conditions)} conditions, but {len(funclist)} functions")
    pieces, flat = [as_numbers(np.zeros(1, points.dtype), "numpy.piecewise")], ravel(points)
    of_pieces = np.zeros(points.size, np.int64)
    for condition, function in zip(conditions, funclist, strict=True):
        held = np.flatnonzero(condition)
        if held.size == 0:
            continue
        piece = _piece(function, pick(flat, held, held.shape), args, kw)
        numbers = sum(each.size for each in pieces)
        of_pieces[held] = numbers + (np.arange(held.size) if piece.size > 1 else 0)
        pieces.append(piece)
    return pick(concatenate(pieces), of_pieces, points.shape)


def _conditions(condlist: Any, x: Tensor) -> list[np.ndarray]:
    """Return the conditions as booleans, which a recording guards; a single one may be given without a list."""
    several = isinstance(condlist, list | tuple) or np.ndim(condlist) > 0
    alone = not several or (x.ndim > 0 and np.ndim(condlist[0]) == 0)
    conditions = []
    for condition in [condlist] if alone else condlist:
        if not is_recording() and _is_mask(condition, x.shape):
            conditions.append(condition)
            continue
        holds = np.zeros(x.shape, bool)
        if np.shape(condition) != x.shape:
            raise ValueError(
                f"numpy.piecewise: a condition of shape {np.shape(condition)} for shape {x.shape}"
            )
        holds[_nonzero(condition) if x.ndim else (np.asarray(condition, bool),)] = True
        conditions.append(holds)
    return conditions


def _is_mask(condition: Any, shape: tuple[int, ...]) -> bool:
    return type(condition) is np.ndarray and condition.dtype == bool and condition.shape == shape


def _piece(function: Any, points: Tensor, args: tuple[Any, ...], kw: dict[str, Any]) -> Tensor:
    """Return the values of a function at some points, in their dtype, flattened."""
    value = function(points, *args, **kw) if callable(function) else function
    values = as_numbers(value, "numpy.piecewise")
    is_lossy = points.dtype.kind not in DIFFERENTIABLE_KINDS and values.dtype.kind in DIFFERENTIABLE_KINDS
    if is_lossy and not values.constant:
        raise TypeError(
            f"numpy.piecewise: the result has the dtype of x, {points.dtype}, in which values of {values.dtype} lose"
            " their gradient; convert x with astype(float)"
        )
    if values.ndim and values.shape != points.shape and values.size != 1:
        raise ValueError(f"numpy.piecewise: values of shape {values.shape} at {points.size} points")
    line = values if values.ndim == 1 else ravel(values)
    return line if line.dtype == points.dtype else line.astype(points.dtype)


def vectorize(
    pyfunc: Callable[..., Any] | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Iterable[Any] | None = None,
    cache: bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """Make a function of numbers a function of arrays, called once for each element.

    Parameters
    ----------
    pyfunc : callable, optional
        Takes numbers, as Tensors of no dimensions, and returns one or several. Left out, a decorator is returned.
    otypes : str or sequence of data-type, optional
        Dtypes of the results.
    doc : str, optional
        Docstring of the new function.
    excluded : set of int and str, optional
        Positions and names of arguments that are passed on as they are.
    cache : bool, default False
        Accepted because ``numpy.vectorize`` has it; ignored.
    signature : None
        Not supported.

    Returns
    -------
    callable
        It takes Tensors and arrays, which broadcast, and returns a Tensor, or a tuple of them. It is slow: write with
        functions of arrays where you can.

    Examples
    --------
    >>> import tapegrad as tg
    >>> @tg.vectorize
    ... def clipped(x):
    ...     return x if x > 0 else 0.0
    >>> clipped(tg.tensor([-1.0, 2.0]))
    Tensor([0., 2.])
    """
    if signature is not None:
        raise UnsupportedError("numpy.vectorize: 'signature' is not supported; use apply_along_axis")
    if pyfunc is None:
        return functools.partial(vectorize, otypes=otypes, doc=doc, excluded=excluded, cache=cache)
    function, left_out = pyfunc, frozenset(excluded or ())

    @functools.wraps(function)
    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        return _of_each_element(function, args, kwargs, left_out, otypes)

    if doc is not None:
        of_arrays.__doc__ = doc
    return of_arrays


def _of_each_element(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], left_out: Any, otypes: Any
) -> Any:
    """Call a function with the elements of its arguments, except for the excluded ones."""
    varied: dict[Any, Tensor] = {
        key: as_numbers(value, "numpy.vectorize")
        for key, value in itertools.chain(enumerate(args), kwargs.items())
        if key not in left_out
    }
    shape = np.broadcast_shapes(*[x.shape for x in varied.values()])
    if 0 in shape and otypes is None:
        raise ValueError("numpy.vectorize: there are no elements; 'otypes' must give the dtype of the result")
    lines = {key: ravel(broadcast_to(x, shape)) for key, x in varied.items()}

    def call(i: int) -> Any:
        given = {key: line[i] for key, line in lines.items()}
        named = {name: given.get(name, value) for name, value in kwargs.items()}
        return function(*[given.get(k, value) for k, value in enumerate(args)], **named)

    return _collected([call(i) for i in range(int(np.prod(shape)))], shape, otypes)


def _collected(results: list[Any], shape: tuple[int, ...], otypes: Any) -> Any:
    """Join the results of the calls for single elements."""
    if not results:
        made = [as_numbers(np.zeros(shape, kind), "numpy.vectorize") for kind in otypes]
        return made[0] if len(made) == 1 else tuple(made)
    several = isinstance(results[0], tuple)
    columns = list(zip(*results, strict=True)) if several else [results]
    joined = [
        reshape(stack([as_numbers(each, "numpy.vectorize") for each in column]), shape) for column in columns
    ]
    if otypes is not None:
        joined = [x.astype(kind, copy=False) for x, kind in zip(joined, otypes, strict=True)]
    return tuple(joined) if several else joined[0]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (apply_along_axis, apply_over_axes, piecewise, vectorize)
}
