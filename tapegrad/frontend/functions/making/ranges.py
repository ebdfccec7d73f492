"""Ranges of numbers with Tensors as ends; gradients flow to the ends."""

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.creation import finished, named
from tapegrad.frontend.conversions.guarded_results import contents
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import expand_dims, moveaxis
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import like

_power, _log10, _sign, _ceil, _floor = (
    ELEMENTWISE[name] for name in ("power", "log10", "sign", "ceil", "floor")
)


def _depends(*values: Any) -> bool:
    """Return whether a value is, or contains, a Tensor with derivatives."""
    return any((is_tensor(v) and v.dtype.kind in DIFFERENTIABLE_KINDS) or holds_tensors(v) for v in values)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **keywords: Any,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : Tensor or array_like
        The ends; they broadcast. Where they are Tensors, the gradient flows to them.
    num : int, default 50
        Number of values.
    endpoint : bool, default True
        Whether `stop` is the last of them.
    retstep : bool, default False
        Whether to return the step as well.
    dtype : data-type, optional
        Dtype of the result.
    axis : int, default 0
        The axis of the result that the numbers are along.
    device
        As for ``numpy.linspace``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        The numbers; with `retstep` a tuple of them and the step.

    Examples
    --------
    >>> import tapegrad as tg
    >>> stop = tg.tensor(1.0)
    >>> x = tg.linspace(0.0, stop, 3)
    >>> x
    Tensor([0. , 0.5, 1. ])
    >>> x.sum().backward()
    >>> stop.grad
    array(1.5)
    """
    constant = keywords.pop("constant", None)
    if not _depends(start, stop):
        by_numpy: Any = np.linspace
        made = by_numpy(contents(start), contents(stop), num, endpoint, retstep, dtype, axis, **keywords)
        return (finished(made[0], constant), made[1]) if retstep else finished(made, constant)
    np.empty(0, **keywords)  # NumPy's error for a device that does not exist
    numbers, step = _spaced(_end(start, "linspace"), _end(stop, "linspace"), num, endpoint)
    numbers = finished(_as_dtype(_along(numbers, axis), dtype), constant)
    return (numbers, step) if retstep else numbers


named(linspace, np.linspace)


def _end(value: Any, name: str) -> Any:
    """Return an end; a Python number unchanged, for it takes the dtype of the other end."""
    return value if type(value) in (int, float) else as_numbers(value, name)


def _spaced(start: Any, stop: Any, num: int, endpoint: bool) -> tuple[Tensor, Any]:
    """Return the numbers, along the first axis, and their step; rounded as NumPy rounds."""
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"linspace: num must be non-negative, not {count}")
    delta = (
        stop - start if is_tensor(start) or is_tensor(stop) else as_numbers(0.0 + stop - start, "linspace")
    )
    parts = count - 1 if endpoint else count
    indices = np.arange(count, dtype=delta.dtype).reshape(-1, *[1] * delta.ndim)
    if parts <= 0:
        return indices * delta + start, np.nan
    step = delta / parts
    numbers = indices * step + start
    return (select(indices == parts, stop, numbers) if endpoint else numbers), step


def _along(numbers: Tensor, axis: int) -> Tensor:
    return moveaxis(numbers, 0, axis) if normalize_axis_index(axis, numbers.ndim) else numbers


def _as_dtype(numbers: Tensor, dtype: Any) -> Tensor:
    if dtype is None:
        return numbers
    return (_floor(numbers) if np.dtype(dtype).kind in "iu" else numbers).astype(dtype, copy=False)


@like(
    linspace,
    ("    The ends; ", "    Exponents of the ends; "),
    ("Whether `stop` is", "Whether ``base**stop`` is"),
    (
        "retstep : bool, default False\n    Whether to return the step as well.",
        "base : Tensor or array_like, default 10.0\n    Base of the exponents.",
    ),
    ("device\n    As for ``numpy.linspace``.\n", ""),
    ("; with `retstep` a tuple of them and the step", ""),
    summary="Return `num` numbers from ``base**start`` to ``base**stop``, whose logarithms are evenly spaced.",
    examples=">>> tg.logspace(0, 2, 3)\nTensor([  1.,  10., 100.])",
)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
    *,
    constant: bool | None = None,
) -> Tensor:
    if not _depends(start, stop, base):
        made = np.logspace(contents(start), contents(stop), num, endpoint, contents(base), dtype, axis)
        return finished(made, constant)
    first, last = _end(start, "logspace"), _end(stop, "logspace")
    if np.ndim(base):
        bases = as_numbers(base, "logspace")
        first, base = first + np.zeros(bases.shape, bases.dtype), expand_dims(bases, axis)
    exponents = _along(_spaced(first, last, num, endpoint)[0], axis)
    return finished(_as_dtype(_power(base, exponents), dtype), constant)


@like(
    linspace,
    ("The ends;", "The ends, of the same sign;"),
    ("retstep : bool, default False\n    Whether to return the step as well.\n", ""),
    ("device\n    As for ``numpy.linspace``.\n", ""),
    ("; with `retstep` a tuple of them and the step", ""),
    summary="Return `num` numbers from `start` to `stop`, each a constant multiple of the one before.",
    raises="ValueError\n    If an end is 0.",
    examples=">>> tg.geomspace(1, 1000, 4)\nTensor([   1.,   10.,  100., 1000.])",
)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
    *,
    constant: bool | None = None,
) -> Tensor:
    if not _depends(start, stop):
        made = np.geomspace(contents(start), contents(stop), num, endpoint, dtype, axis)
        return finished(made, constant)
    first, last = (_in_double(as_numbers(end, "geomspace")) for end in (start, stop))
    return finished(_as_dtype(_along(_geometric(first, last, num, endpoint), axis), dtype), constant)


def _in_double(x: Tensor) -> Tensor:
    """Return numbers in float64, or in complex128."""
    return x.astype(np.promote_types(x.dtype, np.float64), copy=False)


def _geometric(first: Tensor, last: Tensor, num: int, endpoint: bool) -> Tensor:
    """Return the numbers along the first axis, with the ends exactly as given."""
    if bool(first == 0) if first.ndim == 0 else bool((first == 0).any()):
        raise ValueError("geomspace: a geometric sequence cannot begin at zero")
    sign = _sign(first)
    logarithms, _ = _spaced(_log10(first / sign), _log10(last / sign), num, endpoint)
    numbers = sign * _power(10.0, logarithms)
    indices = np.arange(numbers.shape[0]).reshape(-1, *[1] * (numbers.ndim - 1))
    if endpoint and numbers.shape[0] > 1:
        numbers = select(indices == numbers.shape[0] - 1, last, numbers)
    return select(indices == 0, first, numbers)


def arange(*ends: Any, dtype: Any = None, constant: bool | None = None, **keywords: Any) -> Tensor:
    """Return evenly spaced numbers from `start` to before `stop`.

    Parameters
    ----------
    start_or_stop : Tensor or number
        The first number; without `stop` that is 0, and this is `stop`.
    stop : Tensor or number, optional
        The end, which is not among the numbers.
    step : Tensor or number, default 1
        The distance from a number to the next one.
    dtype : data-type, optional
        Dtype of the result.
    device, like
        As for ``numpy.arange``.
    constant : bool, optional
        If True, no gradient flows into the Tensor.

    Returns
    -------
    Tensor
        The numbers. The gradient flows to `start` and `step` where they are Tensors; while a function is being
        recorded, the count of numbers becomes a guard.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.arange(3.0)
    Tensor([0., 1., 2.])
    """
    keywords.pop("like", None)
    given: dict[str, Any] = dict(zip(("start", "stop", "step"), ends, strict=False)) | keywords
    if not _depends(*given.values()):
        made = np.arange(*map(contents, ends), dtype=dtype, **{k: contents(v) for k, v in keywords.items()})
        return finished(made, constant)
    first: Any = given.get("start", 0)
    end, step = given.get("stop"), given.get("step", 1)
    first, end = (0, first) if end is None else (first, end)
    with no_grad():
        count = max(0, int(_ceil((end - first) / step)))
    return finished(_as_dtype(first + np.arange(float(count)) * step, dtype), constant)


named(arange, np.arange)
CREATION = {function.__name__: function for function in (arange, linspace, logspace, geomspace)}
