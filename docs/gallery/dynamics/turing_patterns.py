r"""
Turing patterns
===============

Two substances that react and diffuse make spots and stripes by themselves (Turing, 1952). In Gray's and Scott's model

.. math:: \dot u = D_u \nabla^2 u - u v^2 + f (1 - u), \qquad \dot v = D_v \nabla^2 v + u v^2 - (f + k) v,

u is fed, and v lives on it. From two pictures of v on 64 by 64 cells, the second one with noise, the rates of
diffusion, feed and loss are found: each is a parameter of 100 steps of an image, whose Laplacian is a filter.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

RATES = np.array([0.16, 0.08, 0.037, 0.06])  # two of diffusion, feed and loss
STEPS = 100


def step(state, rates):
    u, v = state
    spread_u, spread_v = (tg.ndimage.laplace(each, mode="wrap") for each in (u, v))
    eaten = u * v * v
    return (
        u + rates[0] * spread_u - eaten + rates[2] * (1 - u),
        v + rates[1] * spread_v + eaten - (rates[2] + rates[3]) * v,
    )


@tg.jit
def grown(rates, u, v):
    last, _ = tg.scan(lambda state, _: (step(state, rates), None), (u, v), length=STEPS)
    return last


# %%
# The pattern grows from specks for 2,000 steps. Then it is seen twice.

rng = np.random.default_rng(4)
v = np.where(
    tg.ndimage.gaussian_filter(rng.standard_normal((64, 64)), 3, mode="wrap").numpy() > 0.12, 0.3, 0.0
)
u = 1 - v
for _ in range(20):
    u, v = grown(RATES, u, v)
later = grown(RATES, u, v)[1] + 0.005 * rng.standard_normal(v.shape)

# %%
# Least squares from rates that are wrong by up to a fifth. The Jacobian goes along the 100 steps forwards, for all four
# rates at once.

start = RATES * [1.2, 0.8, 0.9, 1.1]
misfit = tg.jit(lambda rates: (grown(rates, u, v)[1] - later).reshape(-1))
fit = tg.optimize.least_squares(misfit, start, x_scale=RATES)
print(
    f"{fit.nfev} evaluations: diffusion {fit.x[0]:.4f} and {fit.x[1]:.4f}, feed {fit.x[2]:.5f}, loss {fit.x[3]:.5f}"
)

figure, axes = plt.subplots(1, 3, figsize=(8.5, 3), layout="constrained")
pictures = {"first picture": v, "100 steps later": later, "from wrong rates": grown(start, u, v)[1]}
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    image = axis.imshow(picture, cmap="magma", vmin=0, vmax=0.4)
    axis.set(title=title, xticks=[], yticks=[])
figure.colorbar(image, ax=axes, label="v", shrink=0.9)

# %%
# The rates that the pictures were computed with.

known = {"diffusion of u": 0.16, "diffusion of v": 0.08, "feed": 0.037, "loss": 0.06}
found = dict(zip(known, fit.x, strict=True))
rtol = 0.02
