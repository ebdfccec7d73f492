"""Convolutions, filters and spectra, by the names and with the arguments of `scipy.signal`, with derivatives.

In reading order; each imports only those above it:

    arguments                      operands of one dtype, modes, results of integers
    direct                         `convolve2d`, `correlate2d`; sums of products in any dimension
    spectral                       `fftconvolve`, `oaconvolve`
    convolution                    `convolve`, `correlate`: by the faster one
    recursive                      `lfilter`, `sosfilt`, and both forwards and backwards
    spectra                        `hilbert`, `stft`, `istft`, `freqz`

It imports the rooms up to `loops`.
"""

from typing import TYPE_CHECKING

from tapegrad.signal.convolution import convolve as convolve
from tapegrad.signal.convolution import correlate as correlate
from tapegrad.signal.direct import convolve2d as convolve2d
from tapegrad.signal.direct import correlate2d as correlate2d
from tapegrad.signal.recursive import filtfilt as filtfilt
from tapegrad.signal.recursive import lfilter as lfilter
from tapegrad.signal.recursive import lfilter_zi as lfilter_zi
from tapegrad.signal.recursive import sosfilt as sosfilt
from tapegrad.signal.recursive import sosfiltfilt as sosfiltfilt
from tapegrad.signal.spectra import freqz as freqz
from tapegrad.signal.spectra import hilbert as hilbert
from tapegrad.signal.spectra import istft as istft
from tapegrad.signal.spectra import stft as stft
from tapegrad.signal.spectral import fftconvolve as fftconvolve
from tapegrad.signal.spectral import oaconvolve as oaconvolve

if not TYPE_CHECKING:  # which knows the names

    def __getattr__(name: str) -> object:
        """Name what there is, for a name that is not there."""
        if name.startswith("_"):
            raise AttributeError(f"module 'tapegrad.signal' has no attribute {name!r}")
        raise AttributeError(
            f"tapegrad.signal has no {name}: there are convolve, correlate, both with 2d, fftconvolve, oaconvolve,"
            " lfilter, lfilter_zi, sosfilt, filtfilt, sosfiltfilt, hilbert, stft, istft and freqz; design filters and"
            " windows by scipy.signal"
        )
