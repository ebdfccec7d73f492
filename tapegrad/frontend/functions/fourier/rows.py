"""Recorded Fourier transforms along one axis, of the length that the axis has. Complex numbers are pairs of floats."""

import math

import numpy as np

from tapegrad.frontend.conversions.complex_views import made_complex, pairs_of
from tapegrad.frontend.recording.record_structural import as_numbers, record_new
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.array_checks import refuse_complex
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES
from tapegrad.ops.structural.fourier import FourierParams

FFT, IFFT, RFFT, IRFFT = (CODES[name] for name in ("fft", "ifft", "rfft", "irfft"))


def numbers_of(a: object, name: str) -> Tensor:
    """Return an operand of floats or complex numbers; integers become float64."""
    x = as_numbers(a, name)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def real_numbers_of(a: object, name: str) -> Tensor:
    """Return an operand of floats; complex numbers raise."""
    x = numbers_of(a, name)
    if x.dtype.kind == "c":
        refuse_complex(x.dtype, name)
    return x


def _params(shape: tuple[int, ...], axis: int, length: int, halves: int) -> FourierParams:
    return FourierParams(math.prod(shape[:axis]), length, math.prod(shape[axis + 1 :]), halves)


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def transformed(code: int, x: Tensor, axis: int, halves: int, name: str) -> Tensor:
    """Record a transform of a complex Tensor, times ``n ** (-halves / 2)``."""
    shape = x.shape
    params = _params(shape, axis, shape[axis], halves)
    return made_complex(record_new(code, [in_c_order(pairs_of(x))], (*shape, 2), params, name))


def to_half(x: Tensor, axis: int, halves: int, name: str) -> Tensor:
    """Record a transform of a real Tensor: its frequencies from zero to the half of n."""
    shape, n = x.shape, x.shape[axis]
    made = (*_with_length(shape, axis, n // 2 + 1), 2)
    return made_complex(record_new(RFFT, [in_c_order(x)], made, _params(shape, axis, n, halves), name))


def from_half(x: Tensor, n: int, axis: int, halves: int, name: str) -> Tensor:
    """Record the real transform of length `n` whose frequencies from zero to the half of n are a complex Tensor's."""
    shape, params = x.shape, _params(x.shape, axis, n, halves)
    return record_new(IRFFT, [in_c_order(pairs_of(x))], _with_length(shape, axis, n), params, name)
