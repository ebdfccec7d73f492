"""Interpolation, by the names and with the arguments of `scipy.interpolate`, with derivatives by values and places.

In reading order; each imports only those above it:

    arguments                      constant knots, values, results
    intervals                      the interval of each place
    linear_maps                    constant sparse matrices, by SciPy
    piecewise                      `PPoly`
    cubic                          `CubicHermiteSpline`, `CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`
    bspline                        `BSpline`, `make_interp_spline`
    grid                           `RegularGridInterpolator`

It imports the rooms up to `loops`.
"""

from typing import TYPE_CHECKING

from tapegrad.interpolate.bspline import BSpline as BSpline
from tapegrad.interpolate.bspline import make_interp_spline as make_interp_spline
from tapegrad.interpolate.cubic import Akima1DInterpolator as Akima1DInterpolator
from tapegrad.interpolate.cubic import CubicHermiteSpline as CubicHermiteSpline
from tapegrad.interpolate.cubic import CubicSpline as CubicSpline
from tapegrad.interpolate.cubic import PchipInterpolator as PchipInterpolator
from tapegrad.interpolate.grid import RegularGridInterpolator as RegularGridInterpolator
from tapegrad.interpolate.piecewise import PPoly as PPoly

if not TYPE_CHECKING:  # which knows the names

    def __getattr__(name: str) -> object:
        """Name what there is, for a name that is not there."""
        if name.startswith("_"):
            raise AttributeError(f"module 'tapegrad.interpolate' has no attribute {name!r}")
        raise AttributeError(
            f"tapegrad.interpolate has no {name}: there are CubicSpline, PchipInterpolator, Akima1DInterpolator,"
            " CubicHermiteSpline, PPoly, make_interp_spline, BSpline and RegularGridInterpolator; tg.interp"
            " interpolates linearly"
        )
