"""Analytic signals, short-time Fourier transforms and frequency responses."""

import operator
import warnings
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.functions.elements.complex_parts import real
from tapegrad.frontend.functions.fourier.transforms import fft, ifft, irfft, rfft
from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import moveaxis
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.signal.arguments import floats

_NEGLIGIBLE = 1e-10  # sum of squares of windows
_BOUNDARIES = {
    "even": ("reflect", "even"),
    "odd": ("reflect", "odd"),
    "constant": ("edge", None),
    "zeros": ("constant", None),
}


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Tensor:  # noqa: N803  SciPy's argument
    """Return the analytic signal: real lines, and their Hilbert transforms as imaginary parts.

    Parameters
    ----------
    x : Tensor or array_like
        Lines of real numbers.
    N : int, optional
        Length of the transforms, to which the lines are cut or filled up with zeros; theirs by default.
    axis : int, default -1
        Axis of the lines.

    Returns
    -------
    Tensor
        Complex numbers, `N` of them along the axis.

    Raises
    ------
    ValueError
        If the lines are complex, or `N` is not positive.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.arange(8.0)
    >>> envelope = abs(tg.signal.hilbert(3 * np.cos(2 * np.pi * t / 8 + 1)))
    >>> np.round(envelope.numpy(), 12)
    array([3., 3., 3., 3., 3., 3., 3., 3.])
    """
    line = floats(as_numbers(x, "tapegrad.signal.hilbert"))
    if line.dtype.kind == "c":
        raise ValueError("hilbert: x must be real")
    axis = normalize_axis_index(axis, line.ndim)
    length = line.shape[axis] if N is None else operator.index(N)
    if length <= 0:
        raise ValueError(f"hilbert: N must be positive, not {length}")
    weights = np.zeros(length, line.dtype)
    weights[0] = 1
    weights[1 : (length + 1) // 2] = 2
    if length % 2 == 0:
        weights[length // 2] = 1
    weights = weights.reshape(-1, *[1] * (line.ndim - axis - 1))
    found: Tensor = ifft(fft(line, length, axis) * weights, axis=axis)
    return found


def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None, fs: float = 2 * np.pi,  # noqa: N803
    include_nyquist: bool = False,
) -> tuple[Any, Tensor]:  # fmt: skip
    """Return the frequency response of a digital filter.

    Parameters
    ----------
    b, a : Tensor or array_like, of one dimension
        Coefficients of the numerator and the denominator.
    worN : int or array_like, default 512
        Number of frequencies, from 0 up to half of `fs`, or the frequencies, which can be a Tensor.
    whole : bool, default False
        Whether the frequencies go up to `fs`.
    plot : callable, optional
        Called with both results.
    fs : float, default 2 pi
        Sampling frequency.
    include_nyquist : bool, default False
        Whether the last frequency is half of `fs`.

    Returns
    -------
    w : numpy.ndarray or Tensor
        Frequencies.
    h : Tensor
        Complex responses.

    Raises
    ------
    ValueError
        If the coefficients are not lines, or the number of frequencies is negative.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> w, h = tg.signal.freqz(np.array([0.5, 0.5]), worN=[0.0, np.pi / 2])
    >>> np.round(h.numpy(), 12)
    array([1. +0.j , 0.5-0.5j])
    """
    top, bottom = (floats(as_numbers(each, "tapegrad.signal.freqz")).reshape(-1) for each in (b, a))
    for argument, value in (("b", b), ("a", a)):
        if np.ndim(value) > 1 or np.size(value) == 0:
            raise ValueError(
                f"freqz: {argument} has shape {np.shape(value)}, but must be a line that is not empty"
            )
    if isinstance(worN, int | np.integer) or worN is None:
        count = 512 if worN is None else int(worN)
        if count < 0:
            raise ValueError(f"freqz: worN must be nonnegative, not {count}")
        last = 2 * np.pi if whole else np.pi
        w: Any = np.linspace(0, last, count, endpoint=include_nyquist and not whole)
    else:
        given = worN if is_tensor(worN) else np.atleast_1d(np.asarray(worN, np.float64))
        w = 2 * np.pi * given / fs
    step = np.exp(-1j * w)
    h = _polynomial(top, step) / _polynomial(bottom, step)
    w = w * (fs / (2 * np.pi))
    if plot is not None:
        plot(w, h)
    return w, h


def _polynomial(coefficients: Tensor, z: Any) -> Any:
    """Return the value of a polynomial, its constant first, by Horner's rule."""
    value: Any = coefficients[-1] + 0 * z
    for k in range(coefficients.size - 2, -1, -1):
        value = coefficients[k] + value * z
    return value


# --- short-time Fourier transforms -----------------------------------------------------------------------------


def stft(  # noqa: PLR0913  SciPy's arguments
    x: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
    padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> tuple[np.ndarray, np.ndarray, Tensor]:  # fmt: skip
    """Return the Fourier transforms of windows that go along lines.

    Parameters
    ----------
    x : Tensor or array_like
        Lines.
    fs : float, default 1.0
        Sampling frequency.
    window : str, tuple or array_like, default 'hann_periodic'
        Window, by `scipy.signal.get_window` or by its values.
    nperseg : int, default 256
        Elements of a window.
    noverlap : int, optional
        Elements that a window shares with the next one; by default half of them.
    nfft : int, optional
        Length of the transforms, that of the window by default.
    detrend : {'linear', 'constant'}, callable or False, default False
        What is subtracted from each window, or a function of the windows, which lie along their last axis.
    return_onesided : bool, default True
        Whether to leave out negative frequencies, of real lines.
    boundary : {'zeros', 'even', 'odd', 'constant', None}, default 'zeros'
        Extension of the lines by half a window.
    padded : bool, default True
        Whether to fill up with zeros, so that the windows meet all elements.
    axis : int, default -1
        Axis of the lines.
    scaling : {'spectrum', 'psd'}, default 'spectrum'
        Whether squares of the results are powers, or powers by frequency.

    Returns
    -------
    f, t : numpy.ndarray
        Frequencies; times of the windows.
    Zxx : Tensor
        Complex amplitudes: an axis of frequencies in place of `axis`, and a last one of times.

    Raises
    ------
    ValueError
        As by SciPy's function.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> f, t, z = tg.signal.stft(np.cos(2 * np.pi * np.arange(64.0) / 4), nperseg=16)
    >>> z.shape, f[abs(z[:, 4].numpy()).argmax()]
    ((9, 9), np.float64(0.25))
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"stft: scaling must be 'spectrum' or 'psd', not {scaling!r}")
    if boundary is not None and boundary not in _BOUNDARIES:
        raise ValueError(f"stft: boundary must be one of {[*_BOUNDARIES, None]}, not {boundary!r}")
    line = floats(as_numbers(x, "tapegrad.signal.stft"))
    axis = normalize_axis_index(axis, line.ndim)
    line = moveaxis(line, axis, -1)
    weights, taps = _window(window, nperseg, line.shape[-1])
    step, length = _steps("stft", taps, noverlap, nfft)
    if boundary is not None:
        line = _extended(line, taps // 2, boundary)
    missing = -(line.shape[-1] - taps) % step % taps
    if padded and missing:
        line = _filled_up(line, missing)
    is_onesided = return_onesided and line.dtype.kind != "c"
    if return_onesided and not is_onesided:
        warnings.warn("stft: of complex lines both sides are returned", stacklevel=2)
    power = weights.sum() ** 2 if scaling == "spectrum" else fs * (weights**2).sum()
    segments = np.lib.stride_tricks.sliding_window_view(line, taps, axis=-1)[..., ::step, :]
    segments = _without_trend(segments, detrend)
    transform, frequencies = (rfft, np.fft.rfftfreq) if is_onesided else (fft, np.fft.fftfreq)
    found = transform(segments * (weights / np.sqrt(power)).astype(_real_dtype(line)), length)
    half = 0 if boundary is None else taps / 2
    times = (np.arange(found.shape[-2]) * step + taps / 2 - half) / fs
    return frequencies(length, 1 / fs), times, moveaxis(found, -1, axis)


def _without_trend(segments: Any, detrend: Any) -> Any:
    """Return segments less their means or straight lines, or what a function makes of them."""
    if detrend is None or detrend is False:
        return segments
    if callable(detrend):
        return detrend(segments)
    if detrend not in ("constant", "linear"):
        raise ValueError(
            f"stft: detrend={detrend!r} must be 'linear', 'constant', False or a function of segments"
        )
    columns = np.vander(np.linspace(-1.0, 1.0, segments.shape[-1]), 2 if detrend == "linear" else 1)
    basis = np.linalg.qr(columns)[0].astype(_real_dtype(segments))
    return segments - (segments @ basis) @ basis.T


def istft(  # noqa: PLR0913  SciPy's arguments
    Zxx: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,  # noqa: N803
    noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True, boundary: bool = True,
    time_axis: int = -1, freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple[np.ndarray, Tensor]:  # fmt: skip
    """Return the lines whose short-time Fourier transforms are nearest to some amplitudes.

    Parameters
    ----------
    Zxx : Tensor or array_like
        Amplitudes, as `stft` returns them.
    fs, window, nperseg, noverlap, nfft, scaling
        As for `stft`; `nperseg` is by default what the number of frequencies says.
    input_onesided : bool, default True
        Whether negative frequencies were left out.
    boundary : bool, default True
        Whether the lines were extended by half a window.
    time_axis, freq_axis : int
        Axes of times and of frequencies.

    Returns
    -------
    t : numpy.ndarray
        Times.
    x : Tensor
        Lines, along an axis in place of `time_axis`.

    Raises
    ------
    ValueError
        As by SciPy's function.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> line = np.sin(np.arange(32.0))
    >>> t, x = tg.signal.istft(tg.signal.stft(line, nperseg=8)[2])
    >>> np.abs(x.numpy() - line).max() < 1e-14
    np.True_
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"istft: scaling must be 'spectrum' or 'psd', not {scaling!r}")
    z = as_numbers(Zxx, "tapegrad.signal.istft")
    if z.ndim < 2:
        raise ValueError("istft: Zxx must have at least two dimensions")
    times, bands = (normalize_axis_index(each, z.ndim) for each in (time_axis, freq_axis))
    if times == bands:
        raise ValueError("istft: time_axis and freq_axis must differ")
    z = moveaxis(z, (times, bands), (-2, -1))
    default = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    taps = default if nperseg is None else operator.index(nperseg)
    if taps < 1:
        raise ValueError("istft: nperseg must be a positive integer")
    odd = taps if input_onesided and taps == default + 1 else default
    step, length = _steps("istft", taps, noverlap, odd if nfft is None else nfft)
    weights, _ = _window(window, taps, taps)
    segments = (irfft if input_onesided else ifft)(z, length)[..., :taps]
    factor = weights.sum() if scaling == "spectrum" else np.sqrt(fs * (weights**2).sum())
    dtype = _real_dtype(segments)
    line = _overlapped(segments * (weights * factor).astype(dtype), step)
    squares = _overlapped(np.broadcast_to(weights**2, (z.shape[-2], taps)), step)
    if boundary:
        line, squares = (each[..., taps // 2 : each.shape[-1] - taps // 2] for each in (line, squares))
    if not (squares > _NEGLIGIBLE).all():
        missing = "" if boundary else ", possibly due to a missing boundary"
        warnings.warn(
            f"istft: the windows leave out elements{missing}; they do not tell the line", stacklevel=2
        )
    line = line / np.where(squares > _NEGLIGIBLE, squares, 1.0).astype(dtype)
    if input_onesided:
        line = real(line)
    return np.arange(line.shape[-1]) / float(fs), moveaxis(line, -1, times - (bands < times))


def _window(window: Any, taps: int | None, size: int) -> tuple[np.ndarray, int]:
    """Return a window's values in float64, and their number."""
    if isinstance(window, str | tuple):
        from scipy.signal import get_window

        count = 256 if taps is None else operator.index(taps)
        if count < 1:
            raise ValueError("nperseg must be a positive integer")
        if count > size:
            warnings.warn(
                f"nperseg = {count} is greater than the input, which has {size} elements", stacklevel=3
            )
        return get_window(window, min(count, size)), min(count, size)
    values = np.asarray(window)
    if values.ndim != 1:
        raise ValueError(f"window must be 1-D, not of shape {values.shape}")
    if len(values) > size:
        raise ValueError("window is longer than the input")
    if taps is not None and taps != len(values):
        raise ValueError(f"nperseg = {taps} differs from the {len(values)} elements of the window")
    return values.astype(np.float64), len(values)


def _steps(name: str, taps: int, noverlap: int | None, nfft: int | None) -> tuple[int, int]:
    """Return the elements from a window to the next one, and the length of transforms."""
    length = taps if nfft is None else operator.index(nfft)
    if length < taps:
        raise ValueError(f"{name}: nfft must be at least nperseg")
    shared = taps // 2 if noverlap is None else operator.index(noverlap)
    if shared >= taps:
        raise ValueError(f"{name}: noverlap must be less than nperseg")
    return taps - shared, length


def _real_dtype(x: Any) -> Any:
    """Return the dtype of the parts of a Tensor's numbers."""
    return np.dtype(np.float32 if x.dtype in (np.float32, np.complex64) else np.float64)


def _extended(line: Tensor, width: int, boundary: str) -> Tensor:
    """Return lines with an extension at both ends."""
    if boundary != "zeros" and width > line.shape[-1] - 1:
        raise ValueError(f"stft: the extension of {width} elements needs a longer line than {line.shape[-1]}")
    mode, kind = _BOUNDARIES[boundary]
    widths = (*[(0, 0)] * (line.ndim - 1), (width, width))
    return pad(line, widths, mode, **({"reflect_type": kind} if kind else {}))


def _filled_up(line: Any, missing: int) -> Any:
    """Return lines with zeros behind them."""
    return np.pad(line, (*[(0, 0)] * (line.ndim - 1), (0, missing)))


def _overlapped(segments: Any, step: int) -> Any:
    """Return lines of overlapping segments, which lie along the last two axes, added up.

    Chunks of `step` elements are added: the k-th ones of all segments together, k chunks from the beginning.
    """
    count, taps = segments.shape[-2:]
    chunks = -(-taps // step)
    padded = _filled_up(segments, chunks * step - taps) if chunks * step > taps else segments
    lead = segments.shape[:-2]
    split = padded.reshape(*lead, count, chunks, step)
    total: Any = 0.0
    for k in range(chunks):
        part = split[..., k, :].reshape(*lead, count * step)
        total = total + np.pad(part, (*[(0, 0)] * len(lead), (k * step, (chunks - 1 - k) * step)))
    return total[..., : taps + (count - 1) * step]
