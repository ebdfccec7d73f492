"""Discrete cosine and sine transforms of types 1 to 4, by Fourier transforms of real numbers.

Type 2 takes one transform of the same length (Makhoul, IEEE Transactions on Acoustics, Speech, and Signal Processing
28, 1980), and type 3, its inverse up to a factor, one back. Sine transforms are cosine transforms of reversed or
alternating elements; those of type 1 take a transform of the extended sequence.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.conversions.complex_views import complex_of, pairs_of
from tapegrad.frontend.functions.fourier.rows import FFT, from_half, numbers_of, to_half, transformed
from tapegrad.frontend.functions.fourier.transforms import axis_of, halves_of, length_of, resized
from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.functions.shapes.views import flip
from tapegrad.frontend.recording.shape import moveaxis
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like

# Each transform takes the last axis, in the dtype of its operand, without a factor.


def _angles(n: int, dtype: np.dtype[Any], *numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cosine and sine of pi times a product of numbers over `n`."""
    angles = np.pi * math.prod(numbers, start=np.ones(())) / n
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def _parts(z: Tensor) -> tuple[Tensor, Tensor]:
    pairs = pairs_of(z)
    return pairs[..., 0], pairs[..., 1]


def _cosine_1(x: Tensor) -> Tensor:
    n = x.shape[-1]
    if n < 2:
        raise ValueError("dct: type 1 needs two elements or more along the axis")
    even = concatenate([x, x[..., n - 2 : 0 : -1]], -1)
    return _parts(to_half(even, x.ndim - 1, 0, "dct"))[0]


def _cosine_2(x: Tensor) -> Tensor:
    n, last = x.shape[-1], x.ndim - 1
    order = np.r_[0:n:2, (n - 1 - n % 2) : 0 : -2] if n > 1 else np.zeros(1, int)
    re, im = _parts(to_half(x[..., order], last, 0, "dct"))
    c, s = _angles(2 * n, x.dtype, np.arange(n // 2 + 1))
    first, rest = 2 * (c * re + s * im), 2 * (s * re - c * im)
    return concatenate([first, rest[..., (n - 1) // 2 : 0 : -1]], -1)


def _cosine_3(x: Tensor) -> Tensor:
    n, last = x.shape[-1], x.ndim - 1
    half = n // 2 + 1
    mirrored = concatenate([x[..., :1] * 0, x[..., : n - half : -1]], -1) if n > 1 else x * 0
    c, s = _angles(2 * n, x.dtype, np.arange(half))
    ahead = x[..., :half]
    spectrum = stack([c * ahead + s * mirrored, s * ahead - c * mirrored], -1)
    v = from_half(complex_of(spectrum), n, last, 0, "dct")
    order = np.empty(n, int)
    order[np.r_[0:n:2, (n - 1 - n % 2) : 0 : -2] if n > 1 else np.zeros(1, int)] = np.arange(n)
    return v[..., order]


def _cosine_4(x: Tensor) -> Tensor:
    n, last = x.shape[-1], x.ndim - 1
    c, s = _angles(2 * n, x.dtype, np.arange(n))
    turned = complex_of(stack([c * x, -s * x], -1))
    re, im = _parts(transformed(FFT, resized(turned, 2 * n, last), last, 0, "dct")[..., :n])
    c, s = _angles(4 * n, x.dtype, 2 * np.arange(n) + 1)
    made: Tensor = 2 * (c * re + s * im)
    return made


def _alternating(x: Tensor) -> Tensor:
    return x * (1 - 2 * (np.arange(x.shape[-1]) % 2)).astype(x.dtype)


def _sine_1(x: Tensor) -> Tensor:
    n = x.shape[-1]
    zero = pad(x[..., :0], [(0, 0)] * (x.ndim - 1) + [(0, 1)])
    odd = concatenate([zero, x, zero, -flip(x, -1)], -1)
    return -_parts(to_half(odd, x.ndim - 1, 0, "dst"))[1][..., 1 : n + 1]


def _sine_2(x: Tensor) -> Tensor:
    return flip(_cosine_2(_alternating(x)), -1)


def _sine_3(x: Tensor) -> Tensor:
    return _alternating(_cosine_3(flip(x, -1)))


def _sine_4(x: Tensor) -> Tensor:
    return _alternating(_cosine_4(flip(x, -1)))


_COSINES: dict[int, Callable[[Tensor], Tensor]] = {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}
_SINES: dict[int, Callable[[Tensor], Tensor]] = {1: _sine_1, 2: _sine_2, 3: _sine_3, 4: _sine_4}
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


# --- norms -----------------------------------------------------------------------------------------------------


def _scaled(x: Tensor, factor: float, at: tuple[int, ...]) -> Tensor:
    """Multiply the elements at some places of the last axis."""
    if not at:
        return x
    factors = np.ones(x.shape[-1], x.dtype)
    factors[list(at)] = factor
    return x * factors


def _ends(kind: int, is_cosine: bool, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the places whose inputs, and whose outputs, an orthogonal transform scales by the root of two."""
    if kind == 1 and is_cosine:
        return (0, n - 1), (0, n - 1)
    place = (0,) if is_cosine else (n - 1,)
    return {2: ((), place), 3: (place, ())}.get(kind, ((), ()))


class _Request(NamedTuple):
    """Arguments of a transform along an axis: its type, and all behind it."""

    kind: Any
    n: Any
    axis: Any
    norm: Any
    orthogonalize: Any


def _along(x: Any, asked: _Request, is_cosine: bool, is_inverse: bool, name: str) -> Tensor:
    """Return a transform along an axis."""
    transforms = _COSINES if is_cosine else _SINES
    if asked.kind not in transforms:
        raise ValueError(f"{name}: type={asked.kind!r}; it must be 1, 2, 3 or 4")
    kind = _INVERSE[asked.kind] if is_inverse else asked.kind
    given = numbers_of(x, name)
    along = axis_of(given, asked.axis, name)
    if given.dtype.kind == "c":  # of both parts
        return complex_of(_along(pairs_of(given), asked._replace(axis=along), is_cosine, is_inverse, name))
    points = length_of(given.shape[along] if asked.n is None else asked.n, name)
    moved = moveaxis(resized(given, points, along), along, -1)
    halves = halves_of(asked.norm, is_inverse)
    ends = _ends(kind, is_cosine, points) if orthogonal(asked.norm, asked.orthogonalize) else ((), ())
    made = _scaled(transforms[kind](_scaled(moved, math.sqrt(2.0), ends[0])), math.sqrt(0.5), ends[1])
    period = 2 * points + (0 if kind != 1 else -2 if is_cosine else 2)
    made = made * made.dtype.type(period ** (-halves / 2)) if halves else made
    return moveaxis(made, -1, along)


def orthogonal(norm: Any, orthogonalize: Any) -> bool:
    """Return whether ends are scaled so that the transform is orthogonal: as asked for, or for the norm "ortho"."""
    return norm == "ortho" if orthogonalize is None else bool(orthogonalize)


def dct(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, *, orthogonalize: Any = None
) -> Tensor:
    """Return the discrete cosine transform along an axis.

    Parameters
    ----------
    x : Tensor or array_like
        Real numbers; of complex ones both parts are transformed.
    type : {1, 2, 3, 4}, default 2
        Type of the transform, as for ``scipy.fft.dct``.
    n : int, optional
        Length of the transform: the axis is cut, or padded with zeros. That of the axis by default.
    axis : int, default -1
        The axis.
    norm : {None, "backward", "ortho", "forward"}, optional
        Factor of the transform, as for ``scipy.fft.dct``.
    orthogonalize : bool, optional
        Whether to scale the ends so that the transform is orthogonal for ``norm="ortho"``, which is the default then.

    Returns
    -------
    Tensor
        Same dtype as `x`.

    Raises
    ------
    ValueError
        If there is no such type or norm, `n` is below 1, or below 2 for type 1.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fft.dct(tg.tensor([1.0, 2.0]), norm="ortho") ** 2
    Tensor([4.5, 0.5])
    """
    return _along(x, _Request(type, n, axis, norm, orthogonalize), True, False, "dct")


@like(
    dct,
    summary="Return the inverse of the discrete cosine transform along an axis.",
    examples=">>> tg.fft.idct(tg.fft.dct(tg.tensor([1.0, 2.0])))\nTensor([1., 2.])",
)
def idct(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, *, orthogonalize: Any = None
) -> Tensor:
    return _along(x, _Request(type, n, axis, norm, orthogonalize), True, True, "idct")


@like(
    dct,
    ("scipy.fft.dct", "scipy.fft.dst"),
    (", or below 2 for type 1", ""),
    summary="Return the discrete sine transform along an axis.",
    examples='>>> tg.fft.dst(tg.tensor([1.0, 2.0]), norm="ortho") ** 2\nTensor([4.5, 0.5])',
)
def dst(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, *, orthogonalize: Any = None
) -> Tensor:
    return _along(x, _Request(type, n, axis, norm, orthogonalize), False, False, "dst")


@like(
    dst,
    summary="Return the inverse of the discrete sine transform along an axis.",
    examples=">>> tg.fft.idst(tg.fft.dst(tg.tensor([1.0, 2.0])))\nTensor([1., 2.])",
)
def idst(
    x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, *, orthogonalize: Any = None
) -> Tensor:
    return _along(x, _Request(type, n, axis, norm, orthogonalize), False, True, "idst")


FUNCTIONS = {function.__name__: function for function in (dct, idct, dst, idst)}
