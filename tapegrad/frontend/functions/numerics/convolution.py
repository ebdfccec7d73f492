"""Convolution and correlation of two lines: one instruction that sums products, in each mode and derivative."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.views import with_one_dimension
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype, record_new
from tapegrad.frontend.recording.rules import Step, rules_of_product, state_rules
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import CODES
from tapegrad.ops.structural.lines import CorrelateParams

_CORRELATE = CODES["correlate"]
_MODES = ("valid", "same", "full")


def sums_of_products(x: Tensor, weights: Tensor, params: CorrelateParams) -> Tensor:
    """Record ``y[i] = sum(weights[k] * x[i + k + offset])`` of two lines of one dtype."""
    return record_new(_CORRELATE, [in_c_order(x), in_c_order(weights)], (params.sums,), params, "correlate")


def _lines(a: Any, v: Any, name: str) -> tuple[Tensor, Tensor]:
    """Return two operands as lines of one dtype."""
    x, weights = as_tensor(a, name), as_tensor(v, name)
    for argument, shape in (("a", x.shape), ("v", weights.shape)):
        if len(shape) > 1:
            raise ValueError(f"{name}: {argument!r} has shape {shape}, not one dimension")
        if 0 in shape:
            raise ValueError(f"{name}: {argument!r} cannot be empty")
    x, weights = in_common_dtype(x, weights)
    return with_one_dimension(x), with_one_dimension(weights)


def _mode(mode: Any, name: str) -> str:
    """Return a mode by its name; NumPy also takes a number."""
    known = _MODES[mode] if isinstance(mode, int | np.integer) and 0 <= mode < len(_MODES) else mode
    if known not in _MODES:
        raise ValueError(f"{name}: mode must be 'valid', 'same' or 'full', not {mode!r}")
    return str(known)


def convolve(a: Any, v: Any, mode: Any = "full") -> Tensor:
    """Compute the convolution of two lines: ``y[n] = sum(a[m] * v[n - m])``.

    Parameters
    ----------
    a, v : Tensor or array_like
        One-dimensional, and not empty.
    mode : {'full', 'same', 'valid'}, default 'full'
        Which part: all elements where the lines meet, the middle ones, as many as the longer line has, or those where
        they meet completely.

    Returns
    -------
    Tensor
        Of the dtype that both promote to. The convolution of integers is a constant.

    Raises
    ------
    ValueError
        If a line is empty or has more than one dimension.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.convolve(tg.tensor([1.0, 2.0, 3.0]), [0.0, 1.0, 0.5])
    Tensor([0. , 1. , 2.5, 4. , 1.5])
    """
    x, weights = _lines(a, v, "numpy.convolve")
    mode = _mode(mode, "numpy.convolve")
    if x.dtype.kind != "f":
        return from_array(np.convolve(np.asarray(x), np.asarray(weights), mode), constant=True)
    n, taps = x.size, weights.size
    if taps > n:
        x, weights, n, taps = weights, x, taps, n
    before = taps - 1
    first, count = {"full": (0, n + before), "same": (before // 2, n), "valid": (before, n - before)}[mode]
    return sums_of_products(x, weights, CorrelateParams(count, n, taps, first - taps + 1, 1, 0))


def correlate(a: Any, v: Any, mode: Any = "valid") -> Tensor:
    """Compute the cross-correlation of two lines: ``y[k] = sum(a[n + k] * v[n])``.

    Parameters
    ----------
    a, v : Tensor or array_like
        One-dimensional, and not empty.
    mode : {'valid', 'same', 'full'}, default 'valid'
        Which part: see `convolve`.

    Returns
    -------
    Tensor
        Of the dtype that both promote to. The correlation of integers is a constant.

    Raises
    ------
    ValueError
        If a line is empty or has more than one dimension.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.correlate(tg.tensor([1.0, 2.0, 3.0]), [0.0, 1.0, 0.5], "same")
    Tensor([2. , 3.5, 3. ])
    """
    x, weights = _lines(a, v, "numpy.correlate")
    mode = _mode(mode, "numpy.correlate")
    if x.dtype.kind != "f":
        return from_array(np.correlate(np.asarray(x), np.asarray(weights), mode), constant=True)
    n, taps = x.size, weights.size
    longer = taps > n
    first, count = {
        "full": (1 - taps, n + taps - 1),
        "same": (n // 2 - taps + 1 if longer else -(taps // 2), max(n, taps)),
        "valid": (n - taps if longer else 0, abs(n - taps) + 1),
    }[mode]
    return sums_of_products(x, weights, CorrelateParams(count, n, taps, first, 0, 0))


FUNCTIONS = {"convolve": convolve, "correlate": correlate}


# --- derivatives -----------------------------------------------------------------------------------------------


def _masked_sums(step: Step, x: Tensor, weights: Tensor) -> Tensor:
    return sums_of_products(x, weights, step.params._replace(masked=1))


def _line_bar(step: Step, y_bar: Tensor, weights: Tensor) -> Tensor:
    """Return the cotangent of the line: sums of products again, with the weights in reverse."""
    p = step.params
    params = CorrelateParams(p.size, p.sums, p.taps, 1 - p.taps - p.offset, 1 - p.flipped, 1)
    return sums_of_products(y_bar, weights, params)


def _weights_bar(step: Step, x: Tensor, y_bar: Tensor) -> Tensor:
    p = step.params
    sums = sums_of_products(x, y_bar, CorrelateParams(p.taps, p.size, p.sums, p.offset, 0, 1))
    return sums[::-1] if p.flipped else sums


state_rules("correlate", *rules_of_product(_masked_sums, _line_bar, _weights_bar))
