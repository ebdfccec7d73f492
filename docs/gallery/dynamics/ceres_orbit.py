r"""
The orbit of Ceres
==================

Piazzi in Palermo followed Ceres for 41 days of 1801, then lost it in the Sun's glare. Gauss found its orbit, and in
December it was seen again near where he had said. Here 19 of Piazzi's positions (*Monatliche Correspondenz* 4 (1801)
280) are fitted by least squares, with Kepler's equation :math:`x - e \sin x = M`. Gauss's elements of November 1801
were a = 2.7673 au, i = 10° 36' 57", node 81° 0' 44", aphelion 326° 27' 38", e = 0.0825.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

rows = np.loadtxt("../data/ceres_1801.csv", delimiter=",", skiprows=1)
sexagesimal = np.array([1, 1 / 60, 1 / 3600])
days = rows[:, 0] + (rows[:, 1:4] @ sexagesimal - 13.363 / 15) / 24  # since Greenwich noon, 31 December 1800
seen = np.radians([rows[:, 4:7] @ sexagesimal, rows[:, 7:] @ sexagesimal])
scale = 206265 * np.stack([np.cos(seen[1]), np.ones(len(days))])  # of radians to seconds of arc

# %%
# The Sun as seen from the Earth (Meeus, *Astronomical Algorithms*, chapter 25), then Ceres. Kepler's equation is solved
# by six steps of Newton's method, which are differentiated as they stand.


def turn(x, y, angle):
    return x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)


def sun(days):
    anomaly = np.radians(0.15762 + 0.9856003 * days)
    centre = 0.0335824 * np.sin(anomaly) + 0.0003525 * np.sin(2 * anomaly)
    longitude = np.radians(279.66813 + 0.98564733 * days) + centre
    return 0.999718 / (1 + 0.0167918 * np.cos(anomaly + centre)) * np.array(turn(1.0, 0.0, longitude))


def ceres(p, days):
    a, e, i, node, perihelion, anomaly = (p[k] for k in range(6))
    x = mean = anomaly + 0.01720209895 * (days - 0.012) / a**1.5  # light takes 0.012 days
    for _ in range(6):
        x = x - (x - e * np.sin(x) - mean) / (1 - e * np.cos(x))
    u, v = turn(a * (np.cos(x) - e), a * np.sqrt(1 - e**2) * np.sin(x), perihelion)
    return *turn(u, v * np.cos(i), node), v * np.sin(i)


def sky(p, days):
    (x, y, z), (sun_x, sun_y) = ceres(p, days), sun(days)
    x, (y, z) = x + sun_x, turn(y + sun_y, z, 0.40955)  # by the tilt of the Earth's axis
    return tg.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])


start = np.array([2.7, 0.1, 0.2, 1.4, 1.0, 5.0])
fit = tg.optimize.least_squares(lambda p: tg.ravel((sky(p, days) - seen) * scale), start, method="native")
deviation = np.sqrt(2 * fit.cost / (seen.size - 6))
covariance = deviation**2 * np.linalg.inv(fit.jac.T @ fit.jac)
a, e, i, node, perihelion, _ = fit.x
print(f"residuals {deviation:.1f}'', a = {a:.3f} +- {covariance[0, 0] ** 0.5:.3f} au, e = {e:.3f}")

# %%
# Where was Ceres on 31 December 1801 (red)? The error follows by a Jacobian; orbits are drawn by the covariance.

jacobian = tg.jacobian(sky)(fit.x, 365.5)
error = np.degrees(np.sqrt(np.diag(jacobian @ covariance @ jacobian.T)))
print("right ascension, declination:", np.degrees(sky(fit.x, 365.5).data) % 360, "+-", error, "degrees")
figure, axes = plt.subplots(figsize=(6, 5.6), layout="constrained")
period = np.linspace(0, 1690, 600)
for p in np.random.default_rng(1).multivariate_normal(fit.x, covariance, 60):
    axes.plot(*ceres(p, period)[:2], color="tab:orange", alpha=0.06)
axes.plot(*ceres(fit.x, period)[:2], color="tab:orange", label="Ceres")
axes.plot(*-sun(period[:132]), color="tab:blue", lw=1, label="Earth")
for day, colour in [*((day, "0.6") for day in days), (365.5, "tab:red")]:
    axes.plot(*np.transpose([-sun(day), ceres(fit.x, day)[:2]]), "o-", color=colour, ms=3, lw=0.7)
axes.plot(0, 0, "*", color="gold", ms=14, mec="k", mew=0.5)
axes.set(xlabel="x (au)", ylabel="y (au)", aspect="equal")
axes.legend(frameon=False, loc="lower right")

known = {"a": 2.7673, "i": 10.6158, "node": 81.0122, "aphelion": 326.4606}
found = dict(zip(known, [a, *np.degrees([i, node, node + perihelion + np.pi])], strict=True))
rtol = 5e-3
