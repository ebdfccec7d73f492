"""
Aberrations of a telescope from two images of a star
====================================================

An image of a star shows the power of a Fourier transform, whose phase is lost: it does not tell an error of the mirror
from its opposite. A second image out of focus by a known amount does (phase diversity: Gonsalves, *Optical
Engineering* 21, 1982). In this way the spherical aberration of the Hubble space telescope was measured.

The mirror's error is a sum of Zernike's polynomials, in radians of the wave. The data are drawn with noise of photons;
the known answer is the error that they were drawn with.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

SIZE, PHOTONS = 64, 1e7
y, x = (np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2) / (SIZE / 4)
radius, angle = np.hypot(x, y), np.arctan2(y, x)
aperture = (radius <= 1) & (radius >= 0.33)  # the secondary mirror obscures the centre
zernike = {
    "defocus": np.sqrt(3) * (2 * radius**2 - 1),
    "astigmatism": np.sqrt(6) * radius**2 * np.cos(2 * angle),
    "coma": np.sqrt(8) * (3 * radius**3 - 2 * radius) * np.cos(angle),
    "trefoil": np.sqrt(8) * radius**3 * np.cos(3 * angle),
    "spherical": np.sqrt(5) * (6 * radius**4 - 6 * radius**2 + 1),
}
modes = np.stack(list(zernike.values())) * aperture
known = {"defocus": 0.3, "astigmatism": -0.4, "coma": 0.25, "trefoil": 0.2, "spherical": -1.1}


def images(coefficients):
    """Return the expected photons in focus, and out of focus by two radians."""
    wave = np.tensordot(coefficients, modes, 1)
    fields = aperture * np.exp(1j * np.stack([wave, wave + 2.0 * modes[0]]))
    spread = np.abs(np.fft.fft2(fields)) ** 2
    return PHOTONS * spread / (SIZE**2 * aperture.sum())


# %%
# The logarithm of Poisson's likelihood has its maximum where this is least. A start without any error is a saddle point
# of the focused image alone, but not of both.

counts = np.random.default_rng(4).poisson(images(np.array(list(known.values()))))


def misfit(coefficients):
    expected = images(coefficients) + 1.0
    return (expected - counts * np.log(expected)).sum() / PHOTONS


result = tg.optimize.minimize(misfit, np.zeros(5), method="BFGS")

figure, panels = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
shift = np.fft.fftshift
for axes, image, title in zip(panels, counts, ("in focus", "out of focus"), strict=False):
    axes.imshow(np.log1p(shift(image)), cmap="magma")
    axes.set(title=title, xticks=[], yticks=[])
for axes, coefficients, title in zip(
    panels[2:], (result.x, np.array(list(known.values()))), ("mirror, found", "mirror, drawn"), strict=True
):
    wave = np.where(aperture, np.tensordot(coefficients, modes, 1), np.nan)
    shown = axes.imshow(wave, cmap="RdBu", vmin=-3, vmax=3)
    axes.set(title=title, xticks=[], yticks=[])
figure.colorbar(shown, ax=panels, label="radians", shrink=0.8)
plt.show()

found = dict(zip(zernike, result.x, strict=True))
known = {"defocus": 0.3, "astigmatism": -0.4, "coma": 0.25, "trefoil": 0.2, "spherical": -1.1}
rtol = 0.01
