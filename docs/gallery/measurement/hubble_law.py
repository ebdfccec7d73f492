r"""
Hubble's law
============

In 1929 Hubble compared the velocities :math:`v` of 24 nebulae with their distances :math:`r` (*Proceedings of the
National Academy of Sciences* 15 (1929) 168). The Sun moves, too, which adds the projection of its velocity on the
direction of each nebula:

.. math:: v = K r + X \cos\alpha \cos\delta + Y \sin\alpha \cos\delta + Z \sin\delta.

Hubble found K = 465 ± 50, X = -65 ± 50, Y = 226 ± 95 and Z = -195 ± 40 km/s (K for each megaparsec). His distances were
seven times too short, as was seen later; today's value is about 70 km/s.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

# NGC number, distance (Mpc), velocity (km/s), and today's right ascension (hours) and declination (degrees)
table = """SMC .032 170 0.88 -72.8 LMC .034 290 5.39 -69.8 6822 .214 -130 19.75 -14.8 598 .263 -70 1.56 30.7
221 .275 -185 .71 40.9 224 .275 -220 .71 41.3 5457 .45 200 14.05 54.3 4736 .5 290 12.85 41.1
5194 .5 270 13.5 47.2 4449 .63 200 12.47 44.1 4214 .8 300 12.26 36.3 3031 .9 -30 9.93 69.1
3627 .9 650 11.34 13. 4826 .9 150 12.95 21.7 5236 .9 500 13.62 -29.9 1068 1. 920 2.71 0.
5055 1.1 450 13.26 42. 7331 1.1 500 22.62 34.4 4258 1.4 500 12.32 47.3 4151 1.7 960 12.18 39.4
4382 2. 500 12.42 18.2 4472 2. 850 12.5 8. 4486 2. 800 12.51 12.4 4649 2. 1090 12.73 11.6"""
rows = np.array(table.split()).reshape(24, 5)
distance, velocity, hours, declination = rows[:, 1:].astype(float).T
ra, dec = np.radians(15 * hours), np.radians(declination)
toward = np.array([np.cos(ra) * np.cos(dec), np.sin(ra) * np.cos(dec), np.sin(dec)])


def law(data, k, x, y, z):
    return k * data[0] + x * data[1] + y * data[2] + z * data[3]


fit = tg.optimize.curve_fit(law, np.vstack([distance, toward]), velocity, p0=[500.0, 0.0, 0.0, 0.0])
for name, value, error in zip("KXYZ", fit.x, np.sqrt(np.diag(fit.cov)), strict=True):
    print(f"{name} = {value:6.1f} +- {error:.1f} km/s")

# %%
# Velocities without the part of the Sun's motion, and the band of the slope. Nebulae nearby have motions of their own.

sun = fit.x[1:] @ toward
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
at = np.linspace(0, 2.1, 50)
error = np.sqrt(fit.cov[0, 0])
axes.fill_between(at, (fit.x[0] - 2 * error) * at, (fit.x[0] + 2 * error) * at, alpha=0.15, lw=0)
axes.plot(at, fit.x[0] * at, label=f"K = {fit.x[0]:.0f} ± {error:.0f} km/s/Mpc")
axes.plot([distance, distance], [velocity, velocity - sun], color="0.7", lw=1)
axes.plot(distance, velocity, "o", mfc="none", color="0.6", label="measured")
axes.plot(distance, velocity - sun, "ko", label="less the motion of the Sun")
axes.axhline(0, color="0.8", lw=0.8)
axes.set(xlabel="distance in 1929 (Mpc)", ylabel="velocity (km/s)", xlim=(0, 2.1))
axes.legend(frameon=False, loc="upper left")

# %%
# Hubble's numbers; he rounded by hand, and coordinates are those of another equinox.

known = {"K": 465.0, "X": -65.0, "Y": 226.0, "Z": -195.0}
found = dict(zip("KXYZ", fit.x, strict=True))
rtol = 0.08
