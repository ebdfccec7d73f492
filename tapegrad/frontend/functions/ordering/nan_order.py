"""Extremes, their positions, medians and quantiles that ignore NaNs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.functions.ordering import quantiles
from tapegrad.frontend.functions.ordering.sorting import argmax, is_recorded, recorded_argextreme
from tapegrad.frontend.functions.reductions import extremes, reductions
from tapegrad.frontend.functions.reductions.lines import is_inexact, operand
from tapegrad.frontend.functions.reductions.nan_reductions import drop_nan_eagerly, warn_where, without_nan
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.tensor.array_checks import real_numbers
from tapegrad.frontend.tensor.modes import no_grad, thread
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like, renamed

_isnan = ELEMENTWISE["isnan"]
_LEFT_OUT = ("along axes.", "along axes, each nan left out.")
_NAN_IF_EMPTY = "without the reduced axes; nan where there is nothing else."
_WARNS = "RuntimeWarning\n    If there is nothing but nan along the axes."


def _extreme(plain: Callable[..., Tensor], neutral: float) -> Callable[..., Tensor]:
    """Make the version of `max` or `min` that ignores NaNs."""
    name = f"nan{plain.__name__}"

    def extreme(
        a: Any,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Tensor:
        x = operand(a, name)
        if initial is None and where is True:
            result = _of_numbers(plain, x, neutral, axis, keepdims)
        else:
            result = plain(without_nan(x, neutral), axis, None, keepdims, initial, where)
        return result if out is None else deliver(result, out, name=f"numpy.{name}")

    return renamed(extreme, name)


def _of_numbers(
    extreme: Callable[..., Tensor], x: Tensor, neutral: float, axis: Axis, keepdims: bool
) -> Tensor:
    """Return an extreme of the elements that are not NaN; NaN if there are none."""
    numbers = drop_nan_eagerly(x, axis, keepdims)
    if numbers is not None:
        return extreme(*numbers, None, keepdims)
    result: Tensor = extreme(without_nan(x, neutral), axis, None, keepdims)
    if not is_inexact(x):
        return result
    with no_grad():
        empty = reductions.how_many(~_isnan(x), x, axis, keepdims, "numpy.nanmax") == 0
    if thread.mode.recorder is None and not np.count_nonzero(empty):
        return result
    warn_where(empty, "All-NaN slice encountered")
    return select(empty, np.nan, result)


nanmax = like(
    extremes.max,
    _LEFT_OUT,
    (" A nan among them is the maximum.", ""),
    ("without the reduced axes. The maximum of integers or booleans is a constant.", _NAN_IF_EMPTY),
    raises="",
    warns=_WARNS,
    examples=">>> tg.nanmax(tg.tensor([1.0, tg.nan, 3.0]))\nTensor(3.)",
)(_extreme(extremes.max, -np.inf))
nanmin = like(
    nanmax, ("maximum", "minimum"), examples=">>> tg.nanmin(tg.tensor([1.0, tg.nan, 3.0]))\nTensor(1.)"
)(_extreme(extremes.min, np.inf))


def _position(plain: Any, neutral: float) -> Callable[..., Any]:
    """Make the version of `argmax` or `argmin` that ignores NaNs."""
    name = f"nan{plain.__name__}"
    eager = getattr(np, name)

    def position(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        if is_recorded(a) and is_inexact(a):
            with no_grad():
                counts = reductions.how_many(~_isnan(a), a, axis, False, name)
                if extremes.min(counts, initial=1.0) == 0:  # a recording guards it
                    raise ValueError("All-NaN slice encountered")
                result = recorded_argextreme(plain, without_nan(a, neutral), axis, keepdims)
        else:
            result = call_guarded(eager, real_numbers(a, name), axis, keepdims=keepdims)
        return result if out is None else deliver(result, out, name=f"numpy.{name}")

    return renamed(position, name)


nanargmax = like(
    argmax,
    ("an axis, the first of several.", "an axis, each nan left out."),
    (" A nan among them is the maximum.", ""),
    (" No gradient flows\n    through positions; the elements that they pick have one.", ""),
    raises="ValueError\n    If there is nothing but nan along the axis.",
    examples=">>> tg.nanargmax(tg.tensor([2.0, tg.nan, 3.0]))\nnp.int64(2)",
)(_position(np.argmax, -np.inf))
nanargmin = like(
    nanargmax, ("maximum", "minimum"), examples=">>> tg.nanargmin(tg.tensor([2.0, tg.nan, 3.0]))\nnp.int64(0)"
)(_position(np.argmin, np.inf))


def _quantiles(x: Tensor, wanted: quantiles.QuantileQuery) -> Tensor:
    """Return quantiles of the elements that are not NaN; NaN if there are none."""
    numbers = drop_nan_eagerly(x, wanted.axis, wanted.keepdims) if wanted.weights is None else None
    if numbers is None:
        return quantiles.quantiles_or_nan(x, wanted)
    return quantiles.quantiles_of(numbers[0], wanted._replace(axis=numbers[1], skips_nan=False))


_AGAIN = (
    "A replay sorts anew, as long as there are as many nan along the axes; with more or fewer the function is\n"
    "recorded again."
)


nanmedian = like(
    quantiles.median,
    _LEFT_OUT,
    ("numpy.median", "numpy.nanmedian"),
    (
        "The middle of the sorted elements, or the mean of the two in the middle; nan if one of them is nan.",
        f"Of the dtype of `a`, {_NAN_IF_EMPTY}",
    ),
    warns=_WARNS,
    notes=_AGAIN,
    examples=">>> tg.nanmedian(tg.tensor([1.0, tg.nan, 3.0]))\nTensor(2.)",
)(quantiles.make_median("nanmedian", _quantiles, skips_nan=True))
nanpercentile = like(
    quantiles.percentile,
    _LEFT_OUT,
    ("numpy.percentile", "numpy.nanpercentile"),
    ("nan where an element is nan", "nan where there is nothing else"),
    raises="",
    warns=_WARNS,
    notes=_AGAIN,
    examples=">>> tg.nanpercentile(tg.tensor([1.0, tg.nan, 3.0]), 25)\nTensor(1.5)",
)(quantiles.make_quantile("nanpercentile", _quantiles, percent=True, skips_nan=True))
nanquantile = like(
    nanpercentile,
    *quantiles.FRACTIONS,
    examples=">>> tg.nanquantile(tg.tensor([1.0, tg.nan, 3.0]), 0.25)\nTensor(1.5)",
)(quantiles.make_quantile("nanquantile", _quantiles, percent=False, skips_nan=True))


FUNCTIONS = {
    function.__name__: function
    for function in (nanmax, nanmin, nanargmax, nanargmin, nanmedian, nanpercentile, nanquantile)
}
