"""Convolution by Fourier transforms: of whole arrays, or of blocks whose results overlap and are added."""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.fourier.several_axes import fftn, ifftn, irfftn, rfftn
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.signal.arguments import check_mode, of_integers, operands, swapped_for_valid


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Tensor:
    """Convolve two arrays of as many dimensions by Fourier transforms.

    Parameters
    ----------
    in1, in2 : Tensor or array_like
        Arrays. Along axes that are not convolved, and where one has the extent 1, they broadcast.
    mode : {'full', 'same', 'valid'}, default 'full'
        Which part: see `convolve`.
    axes : int or sequence of int, optional
        Axes to convolve along; all by default.

    Returns
    -------
    Tensor
        Of floats, or of complex numbers, if an array is complex. That of integers is a constant.

    Raises
    ------
    ValueError
        If the numbers of dimensions differ, shapes do not broadcast, for unknown modes and axes, and in the mode
        'valid' if neither array is at least as large as the other one.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> np.round(tg.signal.fftconvolve(rows, [[1.0, 1.0]], axes=1).numpy(), 12)
    array([[1., 3., 2.],
           [3., 7., 4.]])
    """
    import scipy.signal

    return _by_transforms("fftconvolve", scipy.signal.fftconvolve, (in1, in2, mode, axes))


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Tensor:
    """Convolve a long array with a short one: by Fourier transforms of blocks, whose results overlap and are added.

    Parameters
    ----------
    in1, in2, mode, axes
        As for `fftconvolve`.

    Returns
    -------
    Tensor
        As that of `fftconvolve`.

    Raises
    ------
    ValueError
        As by `fftconvolve`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> means = tg.signal.oaconvolve(np.arange(200.0), np.ones(3) / 3, mode="valid")
    >>> means.shape, np.round(means.numpy()[:3], 12)
    ((198,), array([1., 2., 3.]))
    """
    import scipy.signal

    return _by_transforms("oaconvolve", scipy.signal.oaconvolve, (in1, in2, mode, axes))


def _by_transforms(name: str, scipys: Any, arguments: tuple[Any, ...]) -> Tensor:
    in1, in2, mode, axes = arguments
    x, v = operands(name, in1, in2)
    if x.ndim != v.ndim:
        raise ValueError(
            f"{name}: in1 and in2 should have the same dimensionality, not shapes {x.shape} and {v.shape}"
        )
    if x.dtype.kind in "biu":
        return of_integers(scipys, x, v, mode, axes)
    if x.ndim == 0:
        return x * v
    if x.size == 0 or v.size == 0:
        return from_array(np.zeros(0, x.dtype), constant=True)
    taken = check_mode(mode)
    chosen = [k for k in _axes(name, axes, x.ndim) if x.shape[k] != 1 and v.shape[k] != 1]
    if any(
        n != t and 1 not in (n, t)
        for k, (n, t) in enumerate(zip(x.shape, v.shape, strict=True))
        if k not in chosen
    ):
        raise ValueError(f"{name}: incompatible shapes for in1 and in2: {x.shape} and {v.shape}")
    x, v, _ = swapped_for_valid(x, v, taken, chosen)
    found: Tensor = convolved_by_transforms(x, v, taken, chosen, in_blocks=name == "oaconvolve")
    return found


def _axes(name: str, axes: Any, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    numbers = [operator.index(axis) for axis in (axes if isinstance(axes, Iterable) else (axes,))]
    if not numbers:
        raise ValueError(f"{name}: when provided, axes cannot be empty")
    if not all(-ndim <= axis < ndim for axis in numbers):
        raise ValueError(f"{name}: axes {axes} exceed the dimensionality of the input, {ndim}")
    chosen = sorted(axis % ndim for axis in numbers)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{name}: all axes must be unique, not {axes}")
    return chosen


# --- whole arrays, and blocks ----------------------------------------------------------------------------------


def transforms_of(x: Any, v: Any) -> float:
    """Return the number of transforms of a convolution, counting those of real numbers half."""
    return 3.0 if "c" in (x.dtype.kind, v.dtype.kind) else 1.5


def convolved_by_transforms(x: Any, v: Any, mode: str, axes: Iterable[int], in_blocks: bool = False) -> Any:
    """Return the part of a convolution along some axes that a mode takes."""
    chosen = [k for k in axes if x.shape[k] != 1 and v.shape[k] != 1]
    if chosen and in_blocks:
        whole = _of_blocks(x, v, chosen)
    elif chosen:
        whole = _of_whole(x, v, chosen)
    else:
        whole = x * v
    if mode == "full":
        return whole
    shape = list(x.shape if mode == "same" else whole.shape)
    if mode == "valid":
        for k in chosen:
            shape[k] = x.shape[k] - v.shape[k] + 1
    first = [(n - kept) // 2 for n, kept in zip(whole.shape, shape, strict=True)]
    return whole[tuple([slice(at, at + kept) for at, kept in zip(first, shape, strict=True)])]


def _of_whole(x: Any, v: Any, axes: Sequence[int]) -> Any:
    """Return the full convolution along some axes."""
    from scipy.fft import next_fast_len

    is_real = "c" not in (x.dtype.kind, v.dtype.kind)
    needed = [x.shape[k] + v.shape[k] - 1 for k in axes]
    found = _product_of_spectra(x, v, [next_fast_len(n, is_real) for n in needed], axes)
    return found[_cut(found.ndim, axes, needed)]


def _product_of_spectra(x: Any, v: Any, lengths: Sequence[int], axes: Sequence[int]) -> Any:
    """Return the cyclic convolution of two arrays along some axes, which have the lengths then."""
    if "c" in (x.dtype.kind, v.dtype.kind):
        forward, back = fftn, ifftn
    else:
        forward, back = rfftn, irfftn
    return back(forward(x, lengths, axes) * forward(v, lengths, axes), lengths, axes)


def _cut(ndim: int, axes: Sequence[int], lengths: Sequence[int]) -> tuple[slice, ...]:
    key = [slice(None)] * ndim
    for axis, length in zip(axes, lengths, strict=True):
        key[axis] = slice(length)
    return tuple(key)


class Blocks(NamedTuple):
    """Blocks of the longer one of two arrays along an axis.

    Attributes
    ----------
    length
        Elements of a transform.
    step
        Elements from a block to the next one.
    number
        Number of blocks.
    is_first
        True if the first array is the longer one.
    """

    length: int
    step: int
    number: int
    is_first: bool

    @classmethod
    def along(cls, n: int, taps: int) -> "Blocks | None":
        """Return the blocks that need the fewest operations, by Lambert's W function; `None` for one block."""
        from scipy.fft import next_fast_len
        from scipy.special import lambertw

        longer, shorter = max(n, taps), min(n, taps)
        if shorter >= longer / 2:
            return None
        overlap = shorter - 1
        best = -overlap * lambertw(-1 / (2 * math.e * overlap), k=-1).real
        length = next_fast_len(math.ceil(best))
        if length >= longer:
            return None
        step = length - overlap
        return cls(length, step, -(-longer // step), n > taps)


def _of_blocks(x: Any, v: Any, axes: Sequence[int]) -> Any:
    """Return the full convolution by blocks; along each axis that of the blocks is before that of their elements."""
    from scipy.fft import next_fast_len

    plans = {k: Blocks.along(x.shape[k], v.shape[k]) for k in axes}
    if not any(plans.values()):
        return _of_whole(x, v, axes)
    needed = [x.shape[k] + v.shape[k] - 1 for k in axes]
    lengths = [
        plan.length if (plan := plans[k]) else next_fast_len(n) for k, n in zip(axes, needed, strict=True)
    ]
    first, second = _in_blocks(x, plans, True), _in_blocks(v, plans, False)
    places, place = [], 0
    for k in range(x.ndim):
        place += k in plans
        places.append(place)
        place += 1
    found = _product_of_spectra(first, second, lengths, [places[k] for k in axes])
    for k in reversed(axes):
        found = _overlapped(found, places[k], plans[k])
    return found[_cut(found.ndim, axes, needed)]


def _in_blocks(x: Any, plans: dict[int, Blocks | None], is_first: bool) -> Any:
    """Return an array with an axis of blocks before each axis that is convolved: one block of the shorter array."""
    widths, shape = [(0, 0)] * x.ndim, []
    for k, n in enumerate(x.shape):
        plan = plans.get(k)
        if plan is not None and plan.is_first == is_first:
            widths[k] = (0, plan.number * plan.step - n)
            shape += [plan.number, plan.step]
        else:
            shape += [1, n] if k in plans else [n]
    padded = np.pad(x, widths) if any(after for _, after in widths) else x
    return padded.reshape(shape)


def _overlapped(found: Any, axis: int, plan: Blocks | None) -> Any:
    """Return the sum of blocks that overlap; `axis` is that of their elements, behind that of the blocks."""
    shape, lead = list(found.shape), (slice(None),) * axis
    merged = [*shape[: axis - 1], -1, *shape[axis + 1 :]]
    if plan is None:
        return found.reshape(merged)
    overlap = plan.length - plan.step
    widths = [(0, 0)] * found.ndim
    widths[axis] = (0, plan.step - overlap)
    beyond = np.pad(found[(*lead, slice(plan.step, None))], widths).reshape(merged)
    inside = found[(*lead, slice(plan.step))].reshape(merged)
    ends = [(0, 0)] * inside.ndim
    ends[axis - 1] = (0, plan.step)
    starts = [(0, 0)] * inside.ndim
    starts[axis - 1] = (plan.step, 0)
    return np.pad(inside, ends) + np.pad(beyond, starts)
