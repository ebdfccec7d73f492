r"""
The Rydberg constant
====================

In 1885 Balmer found that four lines of hydrogen, measured by Ångström, obey :math:`\lambda = h\,m^2 / (m^2 - 4)`
for :math:`m = 3, 4, 5, 6`, with :math:`h` = 364.56 nm. Rydberg's constant is :math:`R = 4 / h` if wavelengths are
those in a vacuum, which are longer by the refractive index of air, 1.00028. This script repeats Balmer's fit on
Ångström's wavelengths (*Annalen der Physik* 261 (1885) 80), and estimates :math:`R_H` from modern ones in air (NIST
Atomic Spectra Database). The known value is CODATA's :math:`R_\infty` = 10,973,731.568 /m over :math:`1 + m_e / m_p`.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

levels = np.arange(3.0, 10.0)
angstroem = np.array([656.210, 486.074, 434.010, 410.120])  # nm, 1868
modern = np.array([656.279, 486.135, 434.0472, 410.1734, 397.0075, 388.9064, 383.5397])  # nm, in standard air

# %%
# Two corrections count at this precision: fine structure binds the electron more strongly by
# :math:`\alpha^2 (5/4 - 1/n) / n^2` of a level's energy, on average (Dirac), and the index of refraction of standard
# air (Peck and Reeder 1972) depends on the wavelength itself.


def balmer(m, h):
    return h * m**2 / (m**2 - 4)


def in_air(m, rydberg):  # rydberg in 1/um, result in nm
    term = [(1 + (1.25 - 1 / n) / (137.036 * n) ** 2) / n**2 for n in (2.0, m)]
    wave_number = rydberg * (term[0] - term[1])
    squared = wave_number**2
    index = 1 + 0.05792105 / (238.0185 - squared) + 0.00167917 / (57.362 - squared)
    return 1000 / (wave_number * index)


h, h_variance = tg.optimize.curve_fit(balmer, levels[:4], angstroem, p0=[300.0])
rydberg, variance = tg.optimize.curve_fit(in_air, levels, modern, p0=[11.0])
print(f"Balmer's h = {h[0]:.3f} +- {h_variance[0, 0] ** 0.5:.3f} nm")
print(f"R_H = {1e6 * rydberg[0]:,.1f} +- {1e6 * variance[0, 0] ** 0.5:.1f} /m")

# %%
# What would a line at level 20 be, and how well is it known? The error follows by the derivative of the model, here for
# all levels at once.

m = np.arange(3.0, 21.0)
predicted = in_air(m, rydberg[0])
slope = tg.jacobian(lambda r: in_air(m, r))(rydberg[0])
print(f"H20: {predicted[-1]:.4f} +- {abs(slope[-1]) * variance[0, 0] ** 0.5:.5f} nm")

# %%
# The series as a spectrum, with the limit at :math:`m = \infty`, and what is left of the measured wavelengths.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 4.5), height_ratios=[1, 1.2], layout="constrained", sharex=True
)
top.set_facecolor("black")
for line, strength in zip(predicted, 1.2 / (m - 2) ** 0.6, strict=True):
    top.axvline(line, color=plt.cm.turbo((line - 365) / 300), lw=2.5, alpha=min(1.0, strength))
for name, line in zip("αβγδ", predicted, strict=False):
    top.annotate(f"H{name}", (line, 1.0), (0, 3), "data", "offset points", ha="center", annotation_clip=False)
top.axvline(in_air(1e9, rydberg[0]), color="white", lw=0.8, ls=":")
top.set(yticks=[], xlim=(358, 670))
bottom.axhline(0, color="grey", lw=0.8)
bottom.plot(modern, 1000 * (modern - predicted[:7]), "o", label="modern, less the fit of $R_H$")
bottom.plot(
    angstroem, 1000 * (angstroem - balmer(levels[:4], h[0])), "s", label="Ångström 1868, less Balmer's law"
)
bottom.set(xlabel="wavelength in air (nm)", ylabel="residual (pm)")
bottom.legend(frameon=False)

known = {"h / nm": 364.56, "R_H / 1/m": 10967758.3}
found = {"h / nm": h[0], "R_H / 1/m": 1e6 * rydberg[0]}
rtol = 3e-6
