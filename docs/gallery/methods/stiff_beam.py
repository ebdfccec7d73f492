r"""
The stiffest beam of half the material
======================================

A beam rests on both ends and carries a load in its middle. Of which cells of the rectangle is it made, if half of them
are left out, so that it gives way as little as possible? Each cell has a density :math:`\rho` and the stiffness
:math:`\rho^3`, so that grey cells do not pay (Bendsøe, Sigmund, *Topology Optimization*, 2003). By symmetry the right
half of the beam is computed, of 60 by 20 square cells.
"""

import numpy as np
import scipy.sparse
from matplotlib import pyplot as plt

import tapegrad as tg

# %%
# The stiffness of a cell by Gauss' quadrature, for plane stress and Poisson's ratio 0.3.
m, n, nu = 60, 20, 0.3
elastic = np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]]) / (1 - nu**2)
corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
cell = np.zeros((8, 8))
for x, y in (np.indices((2, 2)).reshape(2, -1).T - 0.5) / np.sqrt(3) + 0.5:
    slopes = (2 * corners - 1) * np.abs(1 - corners - [x, y])[:, ::-1]
    strain = np.zeros((3, 8))
    strain[0, ::2], strain[1, 1::2] = strain[2, 1::2], strain[2, ::2] = slopes.T
    cell += strain.T @ elastic @ strain / 4

# %%
# The matrix of the beam is the sum of the matrices of its cells: entries at one position add up. Its middle, on the
# left, moves up and down only; its right end rests on the lower corner.

at = (np.arange(m)[:, None, None] + corners[:, 0]) * (n + 1) + np.arange(n)[None, :, None] + corners[:, 1]
moves = (2 * at[..., None] + [0, 1]).reshape(m * n, 8)
rows, columns = np.repeat(moves, 8, axis=1).ravel(), np.tile(moves, 8).ravel()
free = np.setdiff1d(np.arange(2 * (m + 1) * (n + 1)), [*range(0, 2 * (n + 1), 2), 2 * m * (n + 1) + 1])
load = np.where(free == 2 * n + 1, -1.0, 0.0)


def stiffness(cells):
    entries = (cells[:, None] * cell.ravel()).reshape(-1)
    return tg.sparse.csr_array((entries, (rows, columns)))[free][:, free]


cholesky = tg.linalg.SparseCholesky(stiffness(np.ones(m * n)))

# %%
# Densities are averages of the variables over a radius of 1.5 cells, so that no pattern of single cells arises.
where = np.stack(np.divmod(np.arange(m * n), n), -1)
near = np.maximum(1.5 - np.linalg.norm(where[:, None] - where, axis=-1), 0)
averages = scipy.sparse.csr_array(near / near.sum(axis=1, keepdims=True))

compliance = tg.jit(lambda cells: load @ cholesky.factor(stiffness(cells)).solve(load))
objective = tg.value_and_grad(tg.jit(lambda x: compliance(1e-9 + (averages @ x) ** 3)))
x = np.full(m * n, 0.5)
for _ in range(50):
    value, slope = objective(x)
    low, high = 0.0, 1e9  # of the price of material, at which half of it is used
    while high - low > 1e-6 * high:
        price = (low + high) / 2
        moved = np.clip(x * np.sqrt(-slope / price), np.maximum(x - 0.2, 0), np.minimum(x + 0.2, 1))
        low, high = (price, high) if moved.mean() > 0.5 else (low, price)
    x = moved

# %%
# The beam is a truss: bars that meet at joints.
plt.imshow((averages @ x).reshape(m, n).T, cmap="Greys", origin="lower", extent=(0, m, 0, n))
plt.title(f"compliance {value:.0f}")

# %%
# The 99 lines of O. Sigmund (2001) print 1007.0221 for uniform grey. What is 1 % stiffer everywhere gives way 1 % less.

first, slope = tg.value_and_grad(compliance)(np.full(m * n, 0.125))
known = {"compliance of grey": 1007.0221077739, "power of the stiffness": -1.0}
found = {"compliance of grey": float(first), "power of the stiffness": float(slope.sum() / first / 8)}
rtol = 1e-8
