"""Linear filters of images, by the names and with the arguments of `scipy.ndimage`, with derivatives of all orders.

In reading order; each imports only those above it:

    arguments                      images, arguments for each axis, dtypes of results
    boundaries                     margins: extension of an image beyond its edges
    correlation                    `correlate`, `convolve`, and both along one axis
    smoothing                      `gaussian_filter`, `uniform_filter`, and both along one axis
    edges                          `sobel`, `prewitt`, `laplace`, Gaussian derivatives
    shifting                       `shift` by whole elements

It imports the rooms up to `frontend`.
"""

from typing import TYPE_CHECKING

from tapegrad.ndimage.correlation import convolve as convolve
from tapegrad.ndimage.correlation import convolve1d as convolve1d
from tapegrad.ndimage.correlation import correlate as correlate
from tapegrad.ndimage.correlation import correlate1d as correlate1d
from tapegrad.ndimage.edges import gaussian_gradient_magnitude as gaussian_gradient_magnitude
from tapegrad.ndimage.edges import gaussian_laplace as gaussian_laplace
from tapegrad.ndimage.edges import laplace as laplace
from tapegrad.ndimage.edges import prewitt as prewitt
from tapegrad.ndimage.edges import sobel as sobel
from tapegrad.ndimage.shifting import shift as shift
from tapegrad.ndimage.smoothing import gaussian_filter as gaussian_filter
from tapegrad.ndimage.smoothing import gaussian_filter1d as gaussian_filter1d
from tapegrad.ndimage.smoothing import uniform_filter as uniform_filter
from tapegrad.ndimage.smoothing import uniform_filter1d as uniform_filter1d

if not TYPE_CHECKING:  # which knows the names

    def __getattr__(name: str) -> object:
        """Name what there is, for a name that is not there."""
        if name.startswith("_"):
            raise AttributeError(f"module 'tapegrad.ndimage' has no attribute {name!r}")
        raise AttributeError(
            f"tapegrad.ndimage has no {name}: there are correlate, convolve, gaussian_filter, uniform_filter, the same"
            " with 1d, sobel, prewitt, laplace, gaussian_laplace, gaussian_gradient_magnitude and shift"
        )
