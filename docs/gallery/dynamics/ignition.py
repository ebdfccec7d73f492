"""
The ignition of a solid fuel
============================

A slab of fuel heats itself and is cooled at both faces: the temperature obeys u'' + k exp(u) = 0 with u = 0 at the
faces (Frank-Kamenetskii, 1938; Bratu, 1914). Below k = 3.5138 there are two steady states, a warm one and a hot one
that is the threshold of the explosion; above there is none. Newton's method on 2,000 points takes the Jacobian of
the residuals, each of which depends on three temperatures: it is sparse, and only its diagonal changes.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.sparse.linalg import spsolve

import tapegrad as tg

# %%
# The residuals are written with NumPy's functions. The pattern of the Jacobian is found out. Entries that are the same
# at all temperatures take no sweep; one forward sweep, for the one colour, computes the diagonal.

places = np.linspace(0, 1, 2001)[1:-1]
step = places[1] - places[0]


@tg.jit
def residuals(u, k):
    padded = np.pad(u, 1)
    return padded[2:] - 2 * u + padded[:-2] + k * step**2 * np.exp(u)


jacobian = tg.jacobian(residuals, sparse="csc")
print(jacobian.pattern(places, 1.0))

# %%
# Newton's method from below, and from above.


def steady(u, k):
    for _ in range(30):
        change = spsolve(jacobian(u, k), residuals(u, k))
        u = u - change
        if np.abs(change).max() < 1e-10:
            return u
    raise RuntimeError(f"no steady state for k = {k}")


strengths = np.linspace(0.3, 3.5, 33)
middle = {"warm": [], "hot": []}
for name, height in (("warm", 0.0), ("hot", 1.5)):
    u = height * 4 * places * (1 - places)
    for k in strengths[::-1]:
        u = steady(u, k)
        middle[name].append(u.max())

# %%
# The two states meet at the greatest strength.

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, colour in (("warm", "C0"), ("hot", "C3")):
    axes.plot(strengths[::-1], middle[name], ".-", color=colour, label=name)
axes.set(xlabel="strength of the reaction k", ylabel="temperature in the middle", title="Two steady states")
axes.legend()

# %%
# For k = 1 both are known: 2 log cosh(t / 4), with the two solutions t of t = sqrt(2) cosh(t / 4).

known = {"warm": 0.1405392145, "hot": 4.0914672462}
found = {"warm": steady(0 * places, 1.0).max(), "hot": steady(16.5 * places * (1 - places), 1.0).max()}
rtol = 1e-6
