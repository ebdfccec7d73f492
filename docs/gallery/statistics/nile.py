r"""
The flow of the Nile
====================

A hundred years of the river's annual flow at Aswan, as a level :math:`\mu_t` that drifts and is seen with noise:
:math:`y_t = \mu_t + \varepsilon_t`, :math:`\mu_{t+1} = \mu_t + \eta_t`. Kalman's filter gives the likelihood of the two
variances. It is written with matrices, as for any state: here the levels of two years. The loop over the
years is plain Python; a recording of it becomes straight-line code over numbers in registers.

Data: Cobb, *Biometrika* 65, 1978. Published answer: Durbin and Koopman, *Time Series Analysis by State Space Methods*,
2001, section 2.10.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

flow = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
    831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
])  # fmt: skip
years = 1871 + np.arange(len(flow))  # in 10^8 m^3 each

# %%
# The state holds the levels of this year and of the last one. What is known of the first level is its observation.

step = np.array([[1.0, 0.0], [1.0, 0.0]])  # from year to year
drift = np.array([[1.0, 0.0], [0.0, 0.0]])


def filtered(p, levels=None):
    noise, moves = np.exp(p[0]), np.exp(p[1])
    state, cov = np.array([flow[0], flow[0]]) * 1.0, np.ones((2, 2)) * noise
    total = 0.0
    for y in flow[1:]:
        state, cov = step @ state, step @ cov @ step.T + drift * moves
        error, spread = y - state[0], cov[0, 0] + noise
        gain = cov[:, 0] / spread
        state, cov = state + gain * error, cov - gain[:, None] * cov[0]
        total = total + 0.5 * (np.log(2 * np.pi * spread) + error * error / spread)
        if levels is not None:
            levels.append((state[0], cov[0, 0]))
    return total


fit = tg.optimize.minimize(filtered, np.log([10_000.0, 1_000.0]), method="native")
noise, moves = np.exp(fit.x)
print(
    f"variance of the noise {noise:.0f}, of the steps {moves:.1f}; -log L {fit.fun:.3f} after {fit.nfev} calls"
)
errors = np.sqrt(np.diagonal(np.linalg.inv(tg.hessian(filtered)(fit.x))))
print("standard errors of their logarithms:", errors.round(2))

# %%
# The filter follows the fall of about 1899, when the first dam was built, within a few years.

found_levels: list[tuple[float, float]] = []
filtered(fit.x, found_levels)
level, variance = np.array(found_levels).T
figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
width = 1.645 * np.sqrt(variance)
axes.fill_between(years[1:], level - width, level + width, alpha=0.2, label="90 %")
axes.plot(years, flow, "o", ms=3.5, color="0.3", label="annual flow")
axes.plot(years[1:], level, lw=2, label="level, of all years before")
axes.set(xlabel="year", ylabel=r"flow at Aswan ($10^8$ m$^3$)", xlim=(1870, 1971))
axes.legend(frameon=False)

# %%
# Durbin and Koopman's variances.

known = {"noise": 15099.0, "moves": 1469.1}
found = {"noise": noise, "moves": moves}
rtol = 1e-4
