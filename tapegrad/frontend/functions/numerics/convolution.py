"""Convolution and correlation: one instruction that sums products, in each mode and derivative."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import imag_part, is_complex, made_complex, real_part
from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.functions.shapes.joining import stack
from tapegrad.frontend.functions.shapes.views import with_one_dimension
from tapegrad.frontend.recording.record_structural import as_numbers, in_common_dtype, record_new
from tapegrad.frontend.recording.rules import Step, rules_of_product, state_rules, total
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import CODES
from tapegrad.ops.structural.lines import CorrelateParams

_CORRELATE = CODES["correlate"]
_MAX_AXES = 3  # of one instruction
_MODES = ("valid", "same", "full")


def sums_of_products(x: Tensor, weights: Tensor, params: CorrelateParams, shape: tuple[int, ...]) -> Tensor:
    """Record ``y[i] = sum(weights[k] * x[i + k + offset])`` of two arrays of one dtype; y gets a shape."""
    return record_new(_CORRELATE, [in_c_order(x), in_c_order(weights)], shape, params, "correlate")


def correlate_arrays(
    x: Tensor, weights: Tensor, offset: Sequence[int], shape: Sequence[int], flipped: bool = False
) -> Tensor:
    """Return ``y[i] = sum(weights[k] * x[i + k + offset])`` along all axes, of arrays of one precision.

    Parameters
    ----------
    x, weights
        Of as many axes; x is zero outside its elements.
    offset
        For each axis the place in x that the first weight meets in the first sum.
    shape
        Shape of the result.
    flipped
        True to read the weights from their end along all axes, as a convolution does.
    """
    if is_complex(x) or is_complex(weights):
        return _correlate_parts(x, weights, offset, shape, flipped)
    axes = _merged_axes(tuple(shape), x.shape, weights.shape, tuple(offset))
    if len(axes) <= _MAX_AXES:
        axes = [(1, 1, 1, 0)] * (_MAX_AXES - len(axes)) + axes
        sums, size, taps, places = zip(*axes, strict=True)
        params = CorrelateParams._make((*sums, *size, *taps, *places, int(flipped), 0))
        return sums_of_products(x, weights, params, tuple(shape))
    axis = next(k for k, taps in enumerate(weights.shape) if taps > 1)
    return _sum_along(x, weights, axis, offset, shape, flipped)


def _correlate_parts(
    x: Tensor, weights: Tensor, offset: Sequence[int], shape: Sequence[int], flipped: bool
) -> Tensor:
    """Correlate complex numbers by their parts."""

    def of_parts(a: Tensor, b: Tensor) -> Tensor:
        return correlate_arrays(a, b, offset, shape, flipped)

    if not is_complex(x):
        parts = [of_parts(x, real_part(weights)), of_parts(x, imag_part(weights))]
    elif not is_complex(weights):
        parts = [of_parts(real_part(x), weights), of_parts(imag_part(x), weights)]
    else:
        a, b, c, d = real_part(x), imag_part(x), real_part(weights), imag_part(weights)
        parts = [of_parts(a, c) - of_parts(b, d), of_parts(a, d) + of_parts(b, c)]
    return made_complex(stack(parts, -1))


def _merged_axes(*extents: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return sums, size, taps and offset of each axis, neighbours along which nothing is added up as one axis."""
    axes: list[tuple[int, ...]] = []
    for sums, size, taps, offset in zip(*extents, strict=True):
        is_plain = sums == size and (taps, offset) == (1, 0)
        if is_plain and axes and axes[-1][0] == axes[-1][1] and axes[-1][2:] == (1, 0):
            before = axes.pop()[0]
            sums = size = before * sums
        axes.append((sums, size, taps, offset))
    return axes


def _sum_along(
    x: Tensor, weights: Tensor, axis: int, offset: Sequence[int], shape: Sequence[int], flipped: bool
) -> Tensor:
    """Return the sum over the taps of one axis of the correlations along the other ones."""
    taps, first, count = weights.shape[axis], offset[axis], shape[axis]
    before = max(0, -first)
    after = max(0, first + taps - 1 + count - x.shape[axis])
    widths = [(before, after) if k == axis else (0, 0) for k in range(x.ndim)]
    padded, lead = pad(x, widths), (slice(None),) * axis
    offset = [0 if k == axis else place for k, place in enumerate(offset)]
    terms = []
    for k in range(taps):
        start, at = first + before + k, taps - 1 - k if flipped else k
        part = padded[(*lead, slice(start, start + count))]
        terms.append(correlate_arrays(part, weights[(*lead, slice(at, at + 1))], offset, shape, flipped))
    return total(terms)


def _lines(a: Any, v: Any, name: str) -> tuple[Tensor, Tensor]:
    """Return two operands as lines of one dtype."""
    x, weights = as_numbers(a, name), as_numbers(v, name)
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
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        return from_array(np.convolve(np.asarray(x), np.asarray(weights), mode), constant=True)
    n, taps = x.size, weights.size
    if taps > n:
        x, weights, n, taps = weights, x, taps, n
    before = taps - 1
    first, count = {"full": (0, n + before), "same": (before // 2, n), "valid": (before, n - before)}[mode]
    return correlate_arrays(x, weights, (first - taps + 1,), (count,), flipped=True)


def correlate(a: Any, v: Any, mode: Any = "valid") -> Tensor:
    """Compute the cross-correlation of two lines: ``y[k] = sum(a[n + k] * conj(v[n]))``.

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
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        return from_array(np.correlate(np.asarray(x), np.asarray(weights), mode), constant=True)
    n, taps = x.size, weights.size
    longer = taps > n
    first, count = {
        "full": (1 - taps, n + taps - 1),
        "same": (n // 2 - taps + 1 if longer else -(taps // 2), max(n, taps)),
        "valid": (n - taps if longer else 0, abs(n - taps) + 1),
    }[mode]
    weights = weights.conj() if is_complex(weights) else weights
    return correlate_arrays(x, weights, (first,), (count,))


FUNCTIONS = {"convolve": convolve, "correlate": correlate}


# --- derivatives -----------------------------------------------------------------------------------------------


def _masked_sums(step: Step, x: Tensor, weights: Tensor) -> Tensor:
    return sums_of_products(x, weights, step.params._replace(masked=1), step.view(-1).shape)


def _array_bar(step: Step, y_bar: Tensor, weights: Tensor) -> Tensor:
    """Return the cotangent of the array: sums of products again, with the weights in reverse."""
    p = step.params
    offset = [1 - taps - place for taps, place in zip(p.taps, p.offset, strict=True)]
    params = CorrelateParams._make((*p.size, *p.sums, *p.taps, *offset, 1 - p.flipped, 1))
    return sums_of_products(y_bar, weights, params, step.view(0).shape)


def _weights_bar(step: Step, x: Tensor, y_bar: Tensor) -> Tensor:
    p, shape = step.params, step.view(1).shape
    params = CorrelateParams._make((*p.taps, *p.size, *p.sums, *p.offset, 0, 1))
    sums = sums_of_products(x, y_bar, params, shape)
    return sums[(slice(None, None, -1),) * len(shape)] if p.flipped else sums


state_rules("correlate", *rules_of_product(_masked_sums, _array_bar, _weights_bar))
