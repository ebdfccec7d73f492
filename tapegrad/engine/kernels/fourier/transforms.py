"""Fourier transforms along an axis, by NumPy's loops of pocketfft, and the transposes of those of real data.

Complex numbers are pairs of floats. An array is seen as so many blocks (`lines`) of `length` rows of `inner` elements.
A loop takes the columns of a block, or all blocks if a row is one element, so that no axis is moved. A transform of
length n is the bare sum times n to the power ``-halves / 2``: its norm.

The transpose of a complex transform is the one in the other direction. That of a real transform, ``rfft_back``, is the
inverse one with half the weight on all frequencies that stand for two; that of the inverse, ``irfft_back``, is the real
transform with twice the weight on these.
"""

import math
from typing import Any

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.library import entry
from tapegrad.engine.kernels.language.raw_memory import (
    call_with_data,
    free,
    load_at,
    load_i64,
    malloc,
    size_of,
    stack_i64,
    store_at,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.ops.params import field_index
from tapegrad.ops.structural.fourier import FourierParams

FFT, IFFT, RFFT, RFFT_BACK, IRFFT, IRFFT_BACK = range(6)
_LINES, _LENGTH, _INNER, _HALVES = (field_index(FourierParams, name) for name in FourierParams._fields)

_COMPLEX = ("fft", "ifft")
_TO_COMPLEX, _TO_REAL = ("rfft_n_even", "rfft_n_odd"), ("irfft",)
LIBRARY = {
    f"{op}_{direction}_{dtype}": names
    for op, names in {
        "fft": _COMPLEX,
        "ifft": _COMPLEX,
        **dict.fromkeys(("rfft", "rfft_back", "irfft", "irfft_back"), (*_TO_COMPLEX, *_TO_REAL)),
    }.items()
    for direction in ("forward", "reverse")
    for dtype in ("f64", "f32")
}
# By element size: of float64 and of float32
_FFT_LOOPS = (entry("fft", "d"), entry("fft", "f"))
_IFFT_LOOPS = (entry("ifft", "d"), entry("ifft", "f"))
_EVEN_LOOPS = (entry("rfft_n_even", "d"), entry("rfft_n_even", "f"))
_ODD_LOOPS = (entry("rfft_n_odd", "d"), entry("rfft_n_odd", "f"))
_IRFFT_LOOPS = (entry("irfft", "d"), entry("irfft", "f"))


@always_inline
def _loop_of(which: int, length: int, single: int) -> int:
    """Return the number of the library loop of a transform."""
    if which == FFT:
        return _FFT_LOOPS[single]
    if which == IFFT:
        return _IFFT_LOOPS[single]
    if which == RFFT_BACK or which == IRFFT:
        return _IRFFT_LOOPS[single]
    return _ODD_LOOPS[single] if length % 2 else _EVEN_LOOPS[single]


@always_inline
def _is_real(which: int, is_source: bool) -> bool:
    """Return whether the source, or else the target, of a transform is real."""
    if is_source:
        return which == RFFT or which == IRFFT_BACK
    return which == IRFFT or which == RFFT_BACK


@always_inline
def _rows(which: int, length: int, is_source: bool) -> int:
    """Return the number of rows of a block of the source, or else of the target."""
    if which == FFT or which == IFFT or _is_real(which, is_source):
        return length
    return length // 2 + 1


@always_inline
def _norm(length: int, halves: int) -> float:
    if halves == 0:
        return 1.0
    return 1.0 / length if halves == 2 else 1.0 / math.sqrt(1.0 * length)


@noinline
def _transform(which: int, loops: int, source: int, target: int, params: int, zero: Any) -> None:
    """Write the transform of the source to the target."""
    blocks, length, inner = load_i64(params, _LINES), load_i64(params, _LENGTH), load_i64(params, _INNER)
    reads, writes = _rows(which, length, True), _rows(which, length, False)
    source_item = size_of(zero) if _is_real(which, True) else 2 * size_of(zero)
    target_item = size_of(zero) if _is_real(which, False) else 2 * size_of(zero)
    factor = _norm(length, load_i64(params, _HALVES))
    if which == RFFT_BACK:
        factor *= 0.5
    elif which == IRFFT_BACK:
        factor *= 2.0
    room = stack_i64(12)
    store_at(room, 0, factor, zero)
    lines, counts, strides = room + 8, room + 32, room + 56
    store_i64(lines, 1, room)
    count = blocks if inner == 1 else inner
    store_i64(counts, 0, count)
    store_i64(counts, 1, reads)
    store_i64(counts, 2, writes)
    store_i64(strides, 0, source_item * (reads if inner == 1 else 1))
    store_i64(strides, 1, 0)
    store_i64(strides, 2, target_item * (writes if inner == 1 else 1))
    store_i64(strides, 3, source_item * inner)
    store_i64(strides, 4, target_item * inner)
    loop = _loop_of(which, length, 0 if size_of(zero) == 8 else 1)
    for block in range(1 if inner == 1 else blocks):
        store_i64(lines, 0, source + block * reads * inner * source_item)
        store_i64(lines, 2, target + block * writes * inner * target_item)
        call_with_data(loops, loop, lines, counts, strides)


@noinline
def _weigh_ends(which: int, source: int, target: int, params: int, zero: Any) -> None:
    """Correct the transpose of a real transform for the frequencies that stand for one: zero, and the half of n."""
    blocks, length, inner = load_i64(params, _LINES), load_i64(params, _LENGTH), load_i64(params, _INNER)
    rows, size = length // 2 + 1, size_of(zero)
    share = 0.5 * _norm(length, load_i64(params, _HALVES))
    for line in range(blocks * inner):
        block, column = line // inner, line % inner
        if which == IRFFT_BACK:
            first = target + 2 * size * (block * rows * inner + column)
            last = first + 2 * size * inner * (rows - 1)
            store_at(first, 0, 0.5 * load_at(first, 0, zero), zero)
            if length % 2 == 0:
                store_at(last, 0, 0.5 * load_at(last, 0, zero), zero)
        else:
            first = source + 2 * size * (block * rows * inner + column)
            last = first + 2 * size * inner * (rows - 1)
            even = share * load_at(first, 0, zero)
            half = share * load_at(last, 0, zero) if length % 2 == 0 else 0.0
            to = target + size * (block * length * inner + column)
            for j in range(length):
                at = j * inner * size
                store_at(to, at, load_at(to, at, zero) + (even - half if j % 2 else even + half), zero)


@noinline
def _apply(which: int, loops: int, source: int, target: int, params: int, zero: Any) -> None:
    _transform(which, loops, source, target, params, zero)
    if which == RFFT_BACK or which == IRFFT_BACK:
        _weigh_ends(which, source, target, params, zero)


@always_inline
def _forward(which: int, frame: int, loops: int, zero: Any) -> int:
    _apply(which, loops, load_i64(frame, X), load_i64(frame, Y), load_i64(frame, PARAMS), zero)
    return 0


@always_inline
def _reverse(which: int, frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) a transform of the result's cotangent to the operand's."""
    x_bar, y_bar, params = load_i64(frame, X_BAR), load_i64(frame, Y_BAR), load_i64(frame, PARAMS)
    if load_i64(frame, STORE) & 1:
        _apply(which, loops, y_bar, x_bar, params, zero)
        return 0
    rows = (
        _rows(which, load_i64(params, _LENGTH), False) * load_i64(params, _LINES) * load_i64(params, _INNER)
    )
    floats = rows if _is_real(which, False) else 2 * rows
    own = malloc(floats * size_of(zero) + 1)
    if own == 0:
        return OUT_OF_MEMORY
    _apply(which, loops, y_bar, own, params, zero)
    for k in range(floats):
        at = k * size_of(zero)
        store_at(x_bar, at, load_at(x_bar, at, zero) + load_at(own, at, zero), zero)
    free(own)
    return 0


@always_inline
def fft_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the transform of the complex array X[0] to Y."""
    return _forward(FFT, frame, loops, zero)


@always_inline
def fft_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the transpose, applied to Y_BAR, to X_BAR[0]."""
    return _reverse(IFFT, frame, loops, zero)


@always_inline
def ifft_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the transform in the other direction of the complex array X[0] to Y."""
    return _forward(IFFT, frame, loops, zero)


@always_inline
def ifft_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the transpose, applied to Y_BAR, to X_BAR[0]."""
    return _reverse(FFT, frame, loops, zero)


@always_inline
def rfft_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the transform of the real array X[0] to the complex array Y: frequencies from zero to the half of n."""
    return _forward(RFFT, frame, loops, zero)


@always_inline
def rfft_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the transpose, applied to Y_BAR, to X_BAR[0]."""
    return _reverse(RFFT_BACK, frame, loops, zero)


@always_inline
def rfft_back_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the transpose of `rfft`, applied to the complex array X[0], to the real array Y."""
    return _forward(RFFT_BACK, frame, loops, zero)


@always_inline
def rfft_back_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) `rfft` of Y_BAR to X_BAR[0]."""
    return _reverse(RFFT, frame, loops, zero)


@always_inline
def irfft_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the inverse of `rfft`, applied to the complex array X[0], to the real array Y."""
    return _forward(IRFFT, frame, loops, zero)


@always_inline
def irfft_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the transpose, applied to Y_BAR, to X_BAR[0]."""
    return _reverse(IRFFT_BACK, frame, loops, zero)


@always_inline
def irfft_back_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the transpose of `irfft`, applied to the real array X[0], to the complex array Y."""
    return _forward(IRFFT_BACK, frame, loops, zero)


@always_inline
def irfft_back_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) `irfft` of Y_BAR to X_BAR[0]."""
    return _reverse(IRFFT, frame, loops, zero)
