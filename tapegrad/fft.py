"""Fourier transforms of Tensors, by the names and with the arguments of `numpy.fft` and `scipy.fft`.

``numpy.fft.fft(t)`` and ``scipy.fft.fft(t)`` do the same as ``tapegrad.fft.fft(t)`` for a Tensor.
"""

from tapegrad.frontend.functions.fourier.cosines import dct as dct
from tapegrad.frontend.functions.fourier.cosines import dst as dst
from tapegrad.frontend.functions.fourier.cosines import idct as idct
from tapegrad.frontend.functions.fourier.cosines import idst as idst
from tapegrad.frontend.functions.fourier.cosines_of_axes import dctn as dctn
from tapegrad.frontend.functions.fourier.cosines_of_axes import dstn as dstn
from tapegrad.frontend.functions.fourier.cosines_of_axes import idctn as idctn
from tapegrad.frontend.functions.fourier.cosines_of_axes import idstn as idstn
from tapegrad.frontend.functions.fourier.frequencies import fftfreq as fftfreq
from tapegrad.frontend.functions.fourier.frequencies import fftshift as fftshift
from tapegrad.frontend.functions.fourier.frequencies import ifftshift as ifftshift
from tapegrad.frontend.functions.fourier.frequencies import rfftfreq as rfftfreq
from tapegrad.frontend.functions.fourier.several_axes import fft2 as fft2
from tapegrad.frontend.functions.fourier.several_axes import fftn as fftn
from tapegrad.frontend.functions.fourier.several_axes import hfft2 as hfft2
from tapegrad.frontend.functions.fourier.several_axes import hfftn as hfftn
from tapegrad.frontend.functions.fourier.several_axes import ifft2 as ifft2
from tapegrad.frontend.functions.fourier.several_axes import ifftn as ifftn
from tapegrad.frontend.functions.fourier.several_axes import ihfft2 as ihfft2
from tapegrad.frontend.functions.fourier.several_axes import ihfftn as ihfftn
from tapegrad.frontend.functions.fourier.several_axes import irfft2 as irfft2
from tapegrad.frontend.functions.fourier.several_axes import irfftn as irfftn
from tapegrad.frontend.functions.fourier.several_axes import rfft2 as rfft2
from tapegrad.frontend.functions.fourier.several_axes import rfftn as rfftn
from tapegrad.frontend.functions.fourier.transforms import fft as fft
from tapegrad.frontend.functions.fourier.transforms import hfft as hfft
from tapegrad.frontend.functions.fourier.transforms import ifft as ifft
from tapegrad.frontend.functions.fourier.transforms import ihfft as ihfft
from tapegrad.frontend.functions.fourier.transforms import irfft as irfft
from tapegrad.frontend.functions.fourier.transforms import rfft as rfft
