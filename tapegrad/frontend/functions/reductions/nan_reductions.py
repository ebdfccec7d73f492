"""Sums, means, variances and scans that ignore NaNs.

A NaN has no gradient. Eager code warns, as NumPy does, if no element remains: a replay runs no Python.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions import reductions, scans, statistics
from tapegrad.frontend.functions.reductions.lines import inexact, is_inexact, numbers
from tapegrad.frontend.indexing.indexing import elements_now
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver, mask_of
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like, renamed

_isnan = ELEMENTWISE["isnan"]


def without_nan(x: Tensor, neutral: float) -> Tensor:
    """Return `x` with a neutral value in place of each NaN."""
    return select(_isnan(x), neutral, x) if is_inexact(x) else x


def drop_nan_eagerly(x: Tensor, axis: Axis, keepdims: bool) -> tuple[Tensor, Axis] | None:
    """Return an operand without NaNs and an axis that give the same result, in eager code: `x`, or its numbers alone.

    `None` if there are none, or different counts in the lines along an axis; and in a recording, whose instructions
    must be right for NaNs at any position.
    """
    if thread.mode.recorder is not None or not is_inexact(x):
        return None
    values = x.data_or_traced()
    missing = np.isnan(values)
    many = np.count_nonzero(missing)
    if many == values.size:
        return None
    if many == 0:
        return x, axis
    whole = axis is None or (values.ndim == 1 and type(axis) is int and axis in (0, -1))
    return (elements_now(x, np.flatnonzero(~missing)), None) if whole and not keepdims else None


def _numbers(x: Tensor, where: Any, name: str) -> Any:
    """Return the mask of elements that count and are not NaN."""
    found = ~_isnan(x)
    return found if where is True else found & mask_of(where, name)


def warn_where(conditions: Any, message: str) -> None:
    """Warn in eager code, as NumPy does."""
    if thread.mode.recorder is None and np.count_nonzero(conditions):
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def _total(plain: Callable[..., Tensor], neutral: float) -> Callable[..., Tensor]:
    """Make the version of `sum` or `prod` that takes a neutral element for each NaN."""
    name = f"nan{plain.__name__}"

    def total(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Tensor:
        x = without_nan(numbers(a, name), neutral)
        result = plain(x, axis, dtype, None, keepdims, initial, where)
        return result if out is None else deliver(result, out, name=f"numpy.{name}")

    return renamed(total, name)


nansum = like(
    reductions.sum,
    ("along axes.", "along axes, each nan taken as zero."),
    notes="",
    references="",
    examples=""">>> x = tg.tensor([1.0, tg.nan, 3.0])
>>> tg.nansum(x).backward()
>>> x.grad
array([1., 0., 1.])""",
)(_total(reductions.sum, 0.0))
nanprod = like(
    reductions.prod,
    ("along axes.", "along axes, each nan taken as one."),
    notes="",
    examples=""">>> x = tg.tensor([2.0, tg.nan, 3.0])
>>> tg.nanprod(x).backward()
>>> x.grad
array([3., 0., 2.])""",
)(_total(reductions.prod, 1.0))

_ONLY_NAN = "If there is nothing but nan along the axes."


@like(
    reductions.mean,
    ("along axes.", "along axes, each nan left out."),
    (" The mean of no elements is nan.", " It is nan where there is nothing else."),
    warns=f"RuntimeWarning\n    {_ONLY_NAN}",
    examples=">>> tg.nanmean(tg.tensor([1.0, tg.nan, 3.0]))\nTensor(2.)",
)
def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    x = inexact(a, "nanmean", dtype)
    mask = _numbers(x, where, "numpy.nanmean")
    count = reductions.how_many(mask, x, axis, keepdims, "numpy.nanmean")
    warn_where(count == 0, "Mean of empty slice")
    result: Tensor = reductions.sum(select(mask, x, 0.0), axis, keepdims=keepdims) / count
    return result if out is None else deliver(result, out, name="numpy.nanmean")


def _variance(x: Tensor, spread: statistics.Spread) -> Tensor:
    """Return the variance of the numbers in `x`."""
    present = None
    if spread.where is True and spread.mean is None:
        present = drop_nan_eagerly(x, spread.axis, spread.keepdims)
    if present is not None:
        return statistics.variance(present[0], spread._replace(axis=present[1]))
    return statistics.variance(x, spread._replace(where=_numbers(x, spread.where, spread.name)))


_SPREAD = (
    ("along axes", "along axes, each nan left out"),
    ("as `mean` returns it", "as `nanmean` returns it"),
    (
        "without the reduced axes.",
        "without the reduced axes; nan where there are no degrees of freedom left.",
    ),
)
nanvar = like(
    statistics.var, *_SPREAD, notes="", examples=">>> tg.nanvar(tg.tensor([1.0, tg.nan, 5.0]))\nTensor(4.)"
)(statistics.make_spread("nanvar", _variance, np.nan))
nanstd = like(
    statistics.std,
    (": the square root of the variance", ""),
    *_SPREAD,
    notes="",
    examples=">>> tg.nanstd(tg.tensor([1.0, tg.nan, 5.0]))\nTensor(2.)",
)(statistics.make_spread("nanstd", _variance, np.nan, is_root=True))


def _scan(plain: Callable[..., Tensor], neutral: float) -> Callable[..., Tensor]:
    """Make the version of `cumsum` or `cumprod` that takes a neutral element for each NaN."""
    name = f"nan{plain.__name__}"

    def scan(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
        result = plain(without_nan(numbers(a, name), neutral), axis, dtype)
        return result if out is None else deliver(result, out, name=f"numpy.{name}")

    return renamed(scan, name)


nancumsum = like(
    scans.cumsum,
    ("along an axis.", "along an axis, each nan taken as zero."),
    notes="",
    examples=">>> tg.nancumsum(tg.tensor([2.0, tg.nan, 3.0]))\nTensor([2., 2., 5.])",
)(_scan(scans.cumsum, 0.0))
nancumprod = like(
    scans.cumprod,
    ("along an axis.", "along an axis, each nan taken as one."),
    notes="",
    examples=">>> tg.nancumprod(tg.tensor([2.0, tg.nan, 3.0]))\nTensor([2., 2., 6.])",
)(_scan(scans.cumprod, 1.0))

FUNCTIONS = {
    function.__name__: function
    for function in (nansum, nanprod, nanmean, nanvar, nanstd, nancumsum, nancumprod)
}
