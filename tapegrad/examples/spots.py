"""Fits of a stack of small images, a spot of light in each, as in localisation microscopy.

Each image has a spot of its own, fitted by least squares; all fits run at once in compiled code. The noise is normal,
so that least squares are maximum likelihood: the errors of the fits are compared with the Cramér-Rao bound, the least
standard deviation that an estimate without bias can have. See Ober, Ram and Ward, "Localization accuracy in
single-molecule microscopy", *Biophysical Journal* 86 (2004). ``tapegrad example spots --count 1000000`` fits a million.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad.examples.likelihood import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# between which values the parameters of the spots are drawn: lengths are in pixels, light in photons
TRUTH = {
    "height": (200.0, 600.0),
    "x": (-1.0, 1.0),
    "y": (-1.0, 1.0),
    "width": (1.0, 1.5),
    "background": (20.0, 60.0),
}
NOISE = 10.0
COUNT = 10_000
_MIN_REPORTED_FITS = 100_000  # fits that take long enough to show how many are done
_BLOCK = 10_000  # spots whose images are drawn, or bounds computed, at once
PIXELS = np.mgrid[-4.0:5.0, -4.0:5.0][::-1]


def spot(pixels: Array, height: Any, x: Any, y: Any, width: Any, background: Any) -> Any:
    """Compute the image of one spot."""
    squares = (pixels[0] - x) ** 2 + (pixels[1] - y) ** 2
    return background + height * tg.exp(-0.5 * squares / width**2)


images_of = tg.vmap(tg.jit(lambda p: spot(PIXELS, p[0], p[1], p[2], p[3], p[4])))


def true_parameters(count: int) -> Array:
    """Draw the parameters of so many spots, a row for each."""
    lower, upper = np.array(list(TRUTH.values())).T
    return np.random.default_rng(3).uniform(lower, upper, (count, len(TRUTH)))


def observe(count: int = COUNT) -> tuple[Array]:
    """Draw the images of so many spots."""
    images, truth = (
        np.random.default_rng(4).normal(0.0, NOISE, (count, *PIXELS.shape[1:])),
        true_parameters(count),
    )
    for first in range(0, count, _BLOCK):
        images[first : first + _BLOCK] += images_of(truth[first : first + _BLOCK])
    return (images,)


def starts(images: Array) -> Array:
    """Guess the parameters: the background is the median, and the centre that of the light above half of the height."""
    background = np.median(images, axis=(1, 2))
    light = images - background[:, np.newaxis, np.newaxis]
    height = light.max(axis=(1, 2))
    light = np.where(light > 0.5 * height[:, np.newaxis, np.newaxis], light, 0.0)
    x, y = (np.sum(light * at, axis=(1, 2)) / np.sum(light, axis=(1, 2)) for at in PIXELS)
    return np.column_stack([height, x, y, np.full(len(images), 1.2), background])


def fit(images: Array) -> tg.optimize.CurveFits:
    """Fit all of the images; where they are many, a line on stderr says how far it is."""
    bounds = ([0.0, -4.0, -4.0, 0.3, -np.inf], [np.inf, 4.0, 4.0, 4.0, np.inf])
    fits: tg.optimize.CurveFits = tg.optimize.curve_fit(
        spot,
        PIXELS,
        images,
        starts(images),
        NOISE,
        absolute_sigma=True,
        bounds=bounds,
        progress=len(images) > _MIN_REPORTED_FITS,
    )
    return fits


@tg.vmap
def information(p: Any) -> Any:
    """Compute Fisher's information about the parameters `p` of one spot."""
    slopes = tg.reshape(
        tg.jacobian(lambda p: spot(PIXELS, p[0], p[1], p[2], p[3], p[4]))(p), (-1, len(TRUTH))
    )
    return slopes.T @ slopes / NOISE**2


def bounds_of_errors(truth: Array) -> Array:
    """Compute the Cramér-Rao bounds of the standard deviations of all parameters."""
    blocks = [truth[first : first + _BLOCK] for first in range(0, len(truth), _BLOCK)]
    bounds: Array = np.sqrt(
        np.concatenate([np.linalg.inv(information(p)).diagonal(axis1=1, axis2=2) for p in blocks])
    )
    return bounds


def errors_and_bounds(found: tg.optimize.CurveFits) -> tuple[Array, Array]:
    """Return the errors of the fits that converged, in units of their bounds, and these."""
    truth = true_parameters(len(found))[found.success]
    bounds = bounds_of_errors(truth)
    return (found.x[found.success] - truth) / bounds, bounds


def report(found: tg.optimize.CurveFits, images: Array) -> Iterator[str]:
    """Yield how many fits converged, and by parameter how large their errors are beside the bounds."""
    yield f"{found.success.sum()} of {len(images)} fits converged, {found.nfev.mean():.1f} evaluations each"
    errors, bounds = errors_and_bounds(found)
    yield f"{'parameter':<10}  {'Cramér-Rao bound':>16}  {'error / bound':>13}  {'bias / bound':>12}"
    for name, bound, error in zip(TRUTH, np.median(bounds, axis=0), errors.T, strict=True):
        yield f"{name:<10}  {bound:16.4f}  {np.std(error):13.3f}  {np.mean(error):12.3f}"


def _framed(image: Array) -> Array:
    """Put an edge of nothing to the right and below."""
    return np.pad(image, ((0, 1), (0, 1)), constant_values=np.nan)


def draw(axes: "Axes", found: tg.optimize.CurveFits, images: Array) -> None:
    """Draw some spots with what was fitted, and the errors of the positions beside their bound."""
    figure = axes.figure
    axes.remove()
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.4))
    some = range(min(8, len(found)))
    pairs = [_framed(np.hstack([_framed(images[k])[:-1], images_of(found.x[k : k + 1])[0]])) for k in some]
    columns = [np.vstack(pairs[k : k + 4]) for k in range(0, len(pairs) - len(pairs) % 4 or 1, 4)]
    left.imshow(np.hstack(columns), cmap="magma")
    left.set(xticks=[], yticks=[], title="images, each beside its fit", frame_on=False)
    z = np.linspace(-4.0, 4.0, 200)
    for error, name in zip(errors_and_bounds(found)[0].T, TRUTH, strict=True):
        right.hist(error, np.linspace(-4.0, 4.0, 65), density=True, histtype="step", label=name)
    right.plot(z, np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi), "--", color="black", label="bound")
    right.set(xlabel="error / Cramér-Rao bound", ylabel="density", xlim=(-4.0, 4.0))
    right.set_title(f"{len(found):,} fits")
    right.legend(fontsize="small")
